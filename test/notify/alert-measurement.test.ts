import t from 'tap'
import type { Alert } from '../../src/manage/alerts.js'
import { runRead } from '../../src/query/read.js'
import overview from '../../src/reads/stats/overview.js'
import type { AgentEventRow, EventRow } from '../../src/rows.js'
import { sql } from '../../src/sql.js'
import { ago, alertEvaluation, fetches, MINUTE, pathname, visitors } from '../fixtures/alert-evaluation.js'

type Rows = { events?: EventRow[]; agent_events?: AgentEventRow[] }
const version = (hostname: string, kind: string, status: number, sha256: string, minutes: number) => sql`
  insert into policies (hostname, kind, url, status, sha256, first_seen, last_seen)
  values (${hostname}, ${kind}, 'x', ${status}, ${sha256}, ${ago(minutes)}, ${ago(minutes)})`

const breach = { robots_allowed: false, robots_rule: '/x', robots_line: 3, verified: true, verification: 'ranges' }
const spoofed = { verified: false, verification: 'spoofed' as const }
const metric = 'visitors'
const change = { kind: 'change' as const, metric }

t.test('every kind measures its window by the reads', async (t) => {
  const cases: [why: string, rows: Rows, alert: Partial<Alert>, value: number | undefined, fires: boolean][] = [
    ['as many as asked', { events: visitors(3, 30) }, { metric, value: 3 }, 3, true],
    ['one less', { events: visitors(3, 30) }, { metric, value: 4 }, 3, false],
    ['more than', { events: visitors(3, 30) }, { metric, op: 'gt', value: 3 }, 3, false],
    ['a count of nothing is zero', {}, { metric, op: 'lt', value: 1 }, 0, true],
    ['a share of nothing is none', {}, { metric: 'bounce', op: 'lte', value: 1 }, undefined, false],
    ['before the window', { events: visitors(3, 61) }, { metric }, 0, false],
    ['its first moment is in it', { events: visitors(3, 60) }, { metric }, 3, true],
    ['its end is not', { events: visitors(3, 0) }, { metric }, 0, false],
    ['by the filters', { events: visitors(3, 30) }, { metric, filters: pathname('/x') }, 0, false],
    ['of agents', { agent_events: fetches(5, 9) }, { audience: 'agent', metric: 'fetches', value: 5 }, 5, true],
    ['of another site', { events: visitors(3, 30, { site_id: 2 }) }, { metric }, 0, false],
    [
      'a fall by half',
      { events: [...visitors(4, 90), ...visitors(2, 30)] },
      { ...change, op: 'lte', value: -0.5 },
      -0.5,
      true,
    ],
    [
      'a smaller one',
      { events: [...visitors(4, 90), ...visitors(3, 30)] },
      { ...change, op: 'lte', value: -0.5 },
      -0.25,
      false,
    ],
    ['from nothing there is no change', { events: visitors(9, 30) }, { ...change, value: 0.1 }, undefined, false],
    [
      'an agent that was never here',
      { agent_events: fetches(2, 30) },
      { kind: 'new_agent', audience: 'agent' },
      1,
      true,
    ],
    [
      'one that was, years ago',
      { agent_events: [...fetches(1, 3e6), ...fetches(2, 30)] },
      { kind: 'new_agent', audience: 'agent' },
      0,
      false,
    ],
    [
      'one that only bears its name',
      { agent_events: fetches(2, 30, spoofed) },
      { kind: 'new_agent', audience: 'agent' },
      0,
      false,
    ],
    [
      'itself, where that one was here',
      { agent_events: [...fetches(1, 90, spoofed), ...fetches(2, 30)] },
      { kind: 'new_agent', audience: 'agent' },
      1,
      true,
    ],
    [
      'at another site it is none',
      { agent_events: [...fetches(1, 90, { site_id: 2 }), ...fetches(2, 30)] },
      { kind: 'new_agent', audience: 'agent' },
      1,
      true,
    ],
    [
      'spoofed claims',
      { agent_events: [...fetches(2, 30, spoofed), ...fetches(9, 30)] },
      { kind: 'unverified_agent', audience: 'agent', value: 2 },
      2,
      true,
    ],
    [
      'no proof is no spoof',
      { agent_events: fetches(9, 30) },
      { kind: 'unverified_agent', audience: 'agent' },
      0,
      false,
    ],
    [
      'violations',
      { agent_events: fetches(3, 30, breach) },
      { kind: 'policy_violation', audience: 'agent', value: 3 },
      3,
      true,
    ],
    [
      'in grace',
      { agent_events: fetches(3, 30, { ...breach, robots_grace: true }) },
      { kind: 'policy_violation', audience: 'agent' },
      0,
      false,
    ],
    [
      'errors',
      { agent_events: [400, 404, 399, 500, 200].flatMap((status) => fetches(1, 30, { status })) },
      { kind: 'agent_errors', audience: 'agent', value: 3 },
      3,
      true,
    ],
    ['fewer of them', { agent_events: fetches(9, 30) }, { kind: 'agent_errors', audience: 'agent' }, 0, false],
  ]
  const world = await alertEvaluation(t)
  const found: number[] = []
  const all: Required<Rows> = { events: [], agent_events: [] }
  for (const [i, [, rows, given]] of cases.entries()) {
    // Each case has its own hostname, and so its own rows.
    const hostname = `h${i}.example`
    all.events.push(...(rows.events ?? []).map((row) => ({ ...row, hostname })))
    all.agent_events.push(...(rows.agent_events ?? []).map((row) => ({ ...row, hostname })))
    const filters: Alert['filters'] = [{ dimension: 'hostname', op: 'is', value: hostname }, ...(given.filters ?? [])]
    found.push((await world.make({ ...given, filters })).id)
  }
  await world.commit(all)
  await world.tick()
  for (const [i, [why, , , value, fires]] of cases.entries()) {
    const id = found[i] ?? 0
    t.same(await world.events(id), fires ? ['fired 10:00'] : [], why)
    if (fires) t.equal((await world.event(id))?.value, value, why)
  }
  t.same(world.logged, [])
})

t.test('policy_changed counts versions that differ from the one before', async (t) => {
  const cases: [versions: [kind: string, status: number, sha: string, minutes: number][], n: number, why: string][] = [
    [[['robots', 200, 'a', 30]], 0, 'the first there is changes nothing'],
    [
      [
        ['robots', 200, 'a', 90],
        ['robots', 200, 'b', 30],
      ],
      1,
      'another text',
    ],
    [
      [
        ['llms', 200, 'a', 90],
        ['llms', 404, '', 30],
      ],
      1,
      'none any more',
    ],
    [
      [
        ['robots', 404, '', 90],
        ['robots', 403, '', 30],
      ],
      0,
      'none as before',
    ],
    [
      [
        ['robots', 200, 'a', 90],
        ['robots', 0, '', 40],
        ['robots', 503, '', 35],
        ['robots', 200, 'a', 30],
      ],
      0,
      'not reached for a while',
    ],
    [
      [
        ['robots', 200, 'a', 90],
        ['robots', 0, '', 40],
        ['robots', 200, 'b', 30],
      ],
      1,
      'and then another',
    ],
    [
      [
        ['robots', 200, 'a', 90],
        ['robots', 200, 'b', 61],
      ],
      0,
      'before the window',
    ],
    [
      [
        ['robots', 200, 'a', 90],
        ['llms', 200, 'x', 80],
        ['robots', 200, 'b', 30],
        ['llms', 200, 'y', 20],
      ],
      2,
      'both files',
    ],
  ]
  const world = await alertEvaluation(t)
  const found: number[] = []
  for (const [i, [versions]] of cases.entries()) {
    const [site, own] = [10 + i, `p${i}.example`]
    const hosts = [own, `foreign${i}.example`]
    await world.records.write(
      sql`insert into sites select * replace (${site} as id, ${own} as name, ${JSON.stringify([own])} as domains)
        from sites where id = 1`,
      ...hosts.flatMap((host) => versions.map((one) => version(host, ...one))),
    )
    found.push((await world.make({ site, kind: 'policy_changed', audience: 'agent' })).id)
  }
  await world.tick()
  for (const [i, [, n, why]] of cases.entries()) {
    const id = found[i] ?? 0
    t.same(await world.events(id), n > 0 ? ['fired 10:00'] : [], why)
    if (n > 0) t.equal((await world.event(id))?.value, n, `${why}: of its own hostnames`)
  }
})

t.test('the value is the one that the API returns', async (t) => {
  const world = await alertEvaluation(t)
  await world.commit({ events: [...visitors(7, 30), ...visitors(3, 30, { pathname: '/x' })] })
  const { id } = await world.make({ metric, filters: pathname('/x') })
  await world.tick()
  const event = await world.event(id)
  const query = new URLSearchParams({ site: '1', ...event?.window, filters: JSON.stringify(event?.alert.filters) })
  const { data } = await runRead(overview, query, world.readDependencies(new AbortController().signal))
  t.match(data, { visitors: event?.value })
  t.equal(event?.value, 3)
})

t.test('in an incomplete window only a verdict that more rows could not change counts', async (t) => {
  const many = { metric, op: 'gte', value: 3 } as const
  const few = { metric, op: 'lt', value: 4 } as const
  const enough = { metric, op: 'lt', value: 3 } as const
  const cases: [why: string, given: Partial<Alert>, missing: number, fires: boolean][] = [
    ['as many as asked are as many with those that are missing', many, 60 * MINUTE, true],
    ['too few may be those that are missing', few, MINUTE, false],
    ['as may be all of nothing', { ...few, filters: pathname('/none') }, 60 * MINUTE, false],
    ['a restart takes some seconds', few, 36_000, true],
    ['more than a hundredth is more', few, 36_001, false],
    ['a share may be any', { metric: 'bounce', op: 'gte', value: 0.5 }, MINUTE, false],
    ['of a complete window it is one', { metric: 'bounce', op: 'gte', value: 0.5 }, 0, true],
    ['a change is made of two counts', { ...change, op: 'gte', value: 0.1 }, 73_000, false],
    ['of two windows it is a hundredth', { ...change, op: 'gte', value: 0.1 }, 72_000, true],
    ['not too few, whatever is missing', enough, 60 * MINUTE, false],
  ]
  const each = await alertEvaluation(t)
  await each.commit({ events: [...visitors(2, 90), ...visitors(3, 30)] })
  for (const [why, given, missing, fires] of cases) {
    each.setMissing(missing)
    const { id } = await each.make(given)
    await each.tick()
    t.same(await each.events(id), fires ? ['fired 10:00'] : [], why)
  }

  const world = await alertEvaluation(t)
  await world.commit({ events: visitors(3, 59) })
  const [high, low] = [await world.make(many), await world.make({ ...few, value: 3 })]
  await world.tick()
  world.setMissing(MINUTE)
  for (const i of [2, 3, 4]) await world.tick(i)
  t.same([await world.events(high.id), await world.events(low.id)], [['fired 10:00'], []], 'nothing ends or begins')
  world.setMissing(0)
  for (const i of [5, 6]) await world.tick(i)
  t.same(
    [await world.events(high.id), await world.events(low.id)],
    [['fired 10:00', 'resolved 10:06'], ['fired 10:05']],
    'until it is known',
  )
  world.setMissing(MINUTE)
  await world.commit({ events: visitors(3, -6) })
  for (const i of [7, 8]) await world.tick(i)
  t.match((await world.events(low.id)).at(-1), 'resolved 10:08', 'enough is enough')
})
