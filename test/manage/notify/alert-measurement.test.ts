import t from 'tap'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import overview from '../../../src/analytics/reads/stats/overview.js'
import type { Alert } from '../../../src/manage/alerts.js'
import type { AgentEventRow, EventRow } from '../../../src/storage/rows.js'
import { sql } from '../../../src/storage/sql.js'
import { ago, alertEvaluation, fetches, MINUTE, pathname, visitors } from '../../fixtures/alert-evaluation.js'
import { copySite } from '../../fixtures/copy-site.js'

type Rows = { events?: EventRow[]; agent_events?: AgentEventRow[] }
const version = (hostname: string, kind: string, status: number, sha256: string, minutes: number) => sql`
  insert into policies (hostname, kind, url, status, sha256, first_seen, last_seen)
  values (${hostname}, ${kind}, 'x', ${status}, ${sha256}, ${ago(minutes)}, ${ago(minutes)})`

const breach = { robots_allowed: false, robots_rule: '/x', robots_line: 3, verified: true, verification: 'ranges' }
const spoofed = { verified: false, verification: 'spoofed' as const }
const named = { agent_id: 'agent.example', operator: 'agent.example' }
const metric = 'visitors'
const change = { kind: 'change' as const, metric }

t.test('every kind measures its window by the reads', async (t) => {
  const cases: [why: string, rows: Rows, alert: Partial<Alert>, value: number | undefined, fires: boolean][] = [
    ['equal to the value', { events: visitors(3, 30) }, { metric, value: 3 }, 3, true],
    ['one below the value', { events: visitors(3, 30) }, { metric, value: 4 }, 3, false],
    ['gt excludes the value itself', { events: visitors(3, 30) }, { metric, op: 'gt', value: 3 }, 3, false],
    ['a count without rows is zero', {}, { metric, op: 'lt', value: 1 }, 0, true],
    ['a share without rows has no value', {}, { metric: 'bounce', op: 'lte', value: 1 }, undefined, false],
    ['before the window', { events: visitors(3, 61) }, { metric }, 0, false],
    ['the window includes its start', { events: visitors(3, 60) }, { metric }, 3, true],
    ['the window excludes its end', { events: visitors(3, 0) }, { metric }, 0, false],
    ['filters apply', { events: visitors(3, 30) }, { metric, filters: pathname('/x') }, 0, false],
    ['fetches by agents', { agent_events: fetches(5, 9) }, { audience: 'agent', metric: 'fetches', value: 5 }, 5, true],
    ['rows of another site', { events: visitors(3, 30, { site_id: 2 }) }, { metric }, 0, false],
    [
      'a fall by half',
      { events: [...visitors(4, 90), ...visitors(2, 30)] },
      { ...change, op: 'lte', value: -0.5 },
      -0.5,
      true,
    ],
    [
      'a smaller fall',
      { events: [...visitors(4, 90), ...visitors(3, 30)] },
      { ...change, op: 'lte', value: -0.5 },
      -0.25,
      false,
    ],
    ['a change from zero has no value', { events: visitors(9, 30) }, { ...change, value: 0.1 }, undefined, false],
    [
      'an agent without an earlier fetch',
      { agent_events: fetches(2, 30) },
      { kind: 'new_agent', audience: 'agent' },
      1,
      true,
    ],
    [
      'an agent that fetched years ago',
      { agent_events: [...fetches(1, 3e6), ...fetches(2, 30)] },
      { kind: 'new_agent', audience: 'agent' },
      0,
      false,
    ],
    [
      'a spoofed claim is not a new agent',
      { agent_events: fetches(2, 30, spoofed) },
      { kind: 'new_agent', audience: 'agent' },
      0,
      false,
    ],
    [
      'a host that an unverified signature names is no new agent: any client can name one',
      { agent_events: fetches(2, 30, { ...named, verification: 'indeterminate' }) },
      { kind: 'new_agent', audience: 'agent' },
      0,
      false,
    ],
    [
      'an agent that is in no catalogue and signs validly, after unverified claims of its name',
      {
        agent_events: [
          ...fetches(1, 90, { ...named, verification: 'indeterminate' }),
          ...fetches(2, 30, { ...named, verified: true, verification: 'web_bot_auth' }),
        ],
      },
      { kind: 'new_agent', audience: 'agent' },
      1,
      true,
    ],
    [
      'an agent after a spoofed claim of its name',
      { agent_events: [...fetches(1, 90, spoofed), ...fetches(2, 30)] },
      { kind: 'new_agent', audience: 'agent' },
      1,
      true,
    ],
    [
      'an earlier fetch from another site does not count',
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
      'unverified fetches are not spoofed',
      { agent_events: fetches(9, 30) },
      { kind: 'unverified_agent', audience: 'agent' },
      0,
      false,
    ],
    [
      'policy violations',
      { agent_events: fetches(3, 30, breach) },
      { kind: 'policy_violation', audience: 'agent', value: 3 },
      3,
      true,
    ],
    [
      'violations in the grace period',
      { agent_events: fetches(3, 30, { ...breach, robots_grace: true }) },
      { kind: 'policy_violation', audience: 'agent' },
      0,
      false,
    ],
    [
      'responses with a status from 400',
      { agent_events: [400, 404, 399, 500, 200].flatMap((status) => fetches(1, 30, { status })) },
      { kind: 'agent_errors', audience: 'agent', value: 3 },
      3,
      true,
    ],
    [
      'responses without errors',
      { agent_events: fetches(9, 30) },
      { kind: 'agent_errors', audience: 'agent' },
      0,
      false,
    ],
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

t.test('a budget is the cost of a window, or its bytes', async (t) => {
  const operator: Alert['filters'] = [{ dimension: 'operator', op: 'is', value: 'OpenAI' }]
  const claude = { agent_id: 'claudebot', operator: 'Anthropic' }
  const agent_events = [
    ...fetches(1, 30, { bytes: 3_000_000 }),
    ...fetches(1, 30, { ...claude, bytes: 2_000_000 }),
    ...fetches(1, 30, { ...spoofed, bytes: 1_000_000 }),
    ...fetches(1, 30, { bytes: 9_000_000, action: 'block' }),
    ...fetches(1, 90, { bytes: 9_000_000 }),
  ]
  // At 1.50 a megabyte.
  const cases: [why: string, alert: Partial<Alert>, value: number | undefined, top?: object][] = [
    ['the cost of all, those included that only claim a name', { value: 8 }, 9, { operator: 'OpenAI', cost: 4.5 }],
    ['a budget that is spent is not exceeded', { value: 9 }, undefined],
    ['one operator, without what only claims its name', { value: 4.4, filters: operator }, 4.5],
    ['bytes', { value: 5_999_999, metric: 'bytes' }, 6_000_000, { operator: 'OpenAI', bytes: 3_000_000 }],
    ['bytes of one operator', { value: 3_000_000, metric: 'bytes', filters: operator }, undefined],
  ]
  for (const [price, why] of [
    [1_500, 'with a price'],
    [null, 'without a price no cost is known'],
  ] as const) {
    const world = await alertEvaluation(t)
    await world.records.write(sql`update sites set price_per_gigabyte = ${price} where id = 1`)
    await world.commit({ events: [], agent_events })
    const made = []
    for (const [, alert] of cases)
      made.push(await world.make({ kind: 'budget', audience: 'agent', metric: 'cost', op: 'gt', ...alert }))
    await world.tick()
    for (const [i, [of, { metric: counted }, value, top]] of cases.entries()) {
      const event = await world.event(made[i]?.id ?? 0)
      const isKnown = price !== null || counted === 'bytes'
      t.equal(event?.value, isKnown ? value : undefined, `${why}: ${of}`)
      if (isKnown && top) t.match(event?.details[0], top)
    }
    t.same(world.logged, [])
  }
})

t.test('policy_changed counts versions that differ from the one before', async (t) => {
  const cases: [versions: [kind: string, status: number, sha: string, minutes: number][], n: number, why: string][] = [
    [[['robots', 200, 'a', 30]], 0, 'a first version is not a change'],
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
      'a file that was removed',
    ],
    [
      [
        ['robots', 404, '', 90],
        ['robots', 403, '', 30],
      ],
      0,
      'a file that is missing as before',
    ],
    [
      [
        ['robots', 200, 'a', 90],
        ['robots', 0, '', 40],
        ['robots', 503, '', 35],
        ['robots', 200, 'a', 30],
      ],
      0,
      'unreachable for a while, then the same text',
    ],
    [
      [
        ['robots', 200, 'a', 90],
        ['robots', 0, '', 40],
        ['robots', 200, 'b', 30],
      ],
      1,
      'unreachable for a while, then another text',
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
      copySite(site, { name: own, domains: JSON.stringify([own]) }),
      ...hosts.flatMap((host) => versions.map((one) => version(host, ...one))),
    )
    found.push((await world.make({ site, kind: 'policy_changed', audience: 'agent' })).id)
  }
  await world.tick()
  for (const [i, [, n, why]] of cases.entries()) {
    const id = found[i] ?? 0
    t.same(await world.events(id), n > 0 ? ['fired 10:00'] : [], why)
    if (n > 0) t.equal((await world.event(id))?.value, n, `${why}: only the hostnames of the site count`)
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
    ['enough rows are enough with the missing ones too', many, 60 * MINUTE, true],
    ['the missing rows could reach the bound', few, MINUTE, false],
    ['the missing rows could reach the bound from zero', { ...few, filters: pathname('/none') }, 60 * MINUTE, false],
    ['a hundredth may be missing, so that a restart does not count', few, 36_000, true],
    ['more than a hundredth is too much', few, 36_001, false],
    ['the missing rows could change a share to any value', { metric: 'bounce', op: 'gte', value: 0.5 }, MINUTE, false],
    ['a share of a complete window', { metric: 'bounce', op: 'gte', value: 0.5 }, 0, true],
    [
      'a change with more than a hundredth of both windows missing',
      { ...change, op: 'gte', value: 0.1 },
      73_000,
      false,
    ],
    ['a change with a hundredth of both windows missing', { ...change, op: 'gte', value: 0.1 }, 72_000, true],
    ['enough rows are never too few, whatever is missing', enough, 60 * MINUTE, false],
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
  t.same(
    [await world.events(high.id), await world.events(low.id)],
    [['fired 10:00'], []],
    'an unclear verdict neither fires nor resolves',
  )
  world.setMissing(0)
  for (const i of [5, 6]) await world.tick(i)
  t.same(
    [await world.events(high.id), await world.events(low.id)],
    [['fired 10:00', 'resolved 10:06'], ['fired 10:05']],
    'a complete window decides again',
  )
  world.setMissing(MINUTE)
  await world.commit({ events: visitors(3, -6) })
  for (const i of [7, 8]) await world.tick(i)
  t.match((await world.events(low.id)).at(-1), 'resolved 10:08', 'enough rows resolve it despite the missing ones')
})
