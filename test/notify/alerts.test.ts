import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createReadDeps } from '../../src/http/reads.js'
import { type Alert, createAlerts } from '../../src/manage/alerts.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import { createAlertEvaluator } from '../../src/notify/alert-evaluator.js'
import { AlertEvent, alertMail } from '../../src/notify/alert-event.js'
import { createOutbox } from '../../src/notify/outbox.js'
import { runRead } from '../../src/query/read.js'
import overview from '../../src/reads/stats/overview.js'
import type { AgentEventRow, EventRow } from '../../src/rows.js'
import { sql } from '../../src/sql.js'
import type { Store } from '../../src/store.js'
import { deed } from '../fixtures/audit-context.js'
import { createInProcessEngine } from '../fixtures/in-process-engine.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

const MINUTE = 60_000
/** The evaluation at this moment covers the hour until 10:00. */
const NOW = Date.UTC(2026, 10, 21, 10, 1, 2)
/** Returns the instant `minutes` before the end of that window. */
const ago = (minutes: number) => new Date(Date.UTC(2026, 10, 21, 10) - minutes * MINUTE)

const GPTBOT = { agent_id: 'gptbot', name: 'GPTBot', operator: 'OpenAI', purpose: 'training', verification: [] }
const CATALOG = [{ ...GPTBOT, respects_robots: 'yes' as const }]

async function open(t: Test) {
  const { engine, commit } = await createInProcessEngine(t)
  const { records } = engine
  let at = NOW
  const now = () => new Date(at)
  await bootstrap(records, { domains: ['example.com'], timezone: 'UTC', now: now() })
  const like1 = sql`
    insert into sites select * replace (2 as id, 'x' as name, '["other.example"]' as domains) from sites where id = 1`
  await records.write(like1)
  const sites = createSites(records)
  const alerts = createAlerts({ records, random: randomBytes })
  const outbox = createOutbox({ records, random: () => 0.5 })
  const read = { store: engine.events, now, catalog: CATALOG, sites }
  let meanwhile: (() => Promise<unknown>) | undefined
  const query: Store['query'] = async (...asked) => {
    const before = meanwhile
    meanwhile = undefined
    await before?.()
    return read.store.query(...asked)
  }
  const readDependencies = (signal: AbortSignal) =>
    createReadDeps(
      { ...read, store: { ...read.store, query } },
      {
        principal: { kind: 'operator' },
        access: 'stats:read',
        request: new Request('http://localhost/', { signal }),
      },
    )
  const logged: object[] = []
  let lacking = 0
  const create = () =>
    createAlertEvaluator({
      ...{ alerts, sites, records, readDependencies, now, wakeDelivery: () => {} },
      clock: () => 0,
      missingMs: async () => lacking,
      log: (details) => logged.push(details),
    })
  let alerting = create()
  let names = 0
  return {
    ...{ records, alerts, sites, outbox, commit, readDependencies, logged },
    make: (given: Partial<Alert>) => {
      const made: Alert = {
        ...{ site: 1, name: `A${names++}`, kind: 'threshold', audience: 'human', filters: [], op: 'gte', value: 1 },
        ...{ window_minutes: 60, channels: [{ type: 'email', target: 'a@example.com' }], enabled: true, ...given },
      }
      return alerts.create(made, deed)
    },
    /** Evaluates at that many minutes after `NOW`. */
    async tick(minutes = 0) {
      at = NOW + minutes * MINUTE
      await alerting.tick(new AbortController().signal)
    },
    /** Sets how many milliseconds of every window were not recorded. */
    lacking: (ms: number) => {
      lacking = ms
    },
    /** Runs during the next query. */
    meanwhile: (work: () => Promise<unknown>) => {
      meanwhile = work
    },
    restart: () => {
      alerting = create()
    },
    /** Returns the events that were queued, the oldest first: `fired 10:00`. */
    async events(alert: number) {
      const list = await outbox.list({ alert })
      return list.map(({ key }) => `${key.split(':').at(-2)} ${/T(\d\d:\d\d)/.exec(key)?.[1]}`).reverse()
    },
    async event(alert: number) {
      const [row] = await records.query(
        sql`select payload from notices where alert = ${alert} order by id desc limit 1`,
      )
      return row === undefined ? undefined : AlertEvent.parse(JSON.parse(String(row.payload)))
    },
  }
}

type Rows = { events?: EventRow[]; agent_events?: AgentEventRow[] }
const visitors = (n: number, minutes: number, given: Partial<EventRow> = {}): EventRow[] =>
  Array.from({ length: n }, (_, i) =>
    eventRow({
      timestamp: ago(minutes),
      visitor_id: BigInt(i + 1),
      session_id: BigInt((minutes + 1_000) * 100 + i),
      ...given,
    }),
  )
const fetches = (n: number, minutes: number, given: Partial<AgentEventRow> = {}): AgentEventRow[] =>
  Array.from({ length: n }, () => agentRow({ timestamp: ago(minutes), ...given }))
const version = (hostname: string, kind: string, status: number, sha256: string, minutes: number) => sql`
  insert into policies (hostname, kind, url, status, sha256, first_seen, last_seen)
  values (${hostname}, ${kind}, 'x', ${status}, ${sha256}, ${ago(minutes)}, ${ago(minutes)})`

const pathname = (value: string): Alert['filters'] => [{ dimension: 'pathname', op: 'is', value }]
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
  const world = await open(t)
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
  const world = await open(t)
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

t.test('fires, resolves after two calm evaluations and keeps quiet for an hour', async (t) => {
  const world = await open(t)
  const { id } = await world.make({ metric: 'pageviews', window_minutes: 5, value: 1 })
  const many = await world.make({ metric: 'pageviews', window_minutes: 5, value: 1, enabled: false })
  await world.commit({ events: visitors(1, -2) })
  const heard: string[] = []
  for (let i = 0; i < 12; i++) {
    await world.tick(i)
    await world.tick(i)
    // The state outlives the process.
    if (i === 4) world.restart()
    const told = await world.events(id)
    if (told.length > heard.length) heard.push(`${told.at(-1)} at ${i}`)
  }
  // The hit of 10:02 is in the windows that end at 10:03 to 10:07; calm at 10:08 and 10:09.
  t.same(heard, ['fired 10:03 at 3', 'resolved 10:09 at 9'])
  t.match((await world.alerts.get(id)).last_fired_at, '2026-11-21T10:04:02.000Z')
  await world.commit({ events: visitors(1, -20) })
  await world.tick(21)
  t.equal((await world.events(id)).length, 2, 'it is quiet for an hour')
  await world.commit({ events: visitors(1, -64) })
  await world.tick(200)
  await world.tick(65)
  t.match((await world.events(id)).at(-1), 'fired 11:05', 'then it fires again, also where the clock was elsewhere')
  t.same(await world.events(many.id), [], 'one that is disabled says nothing')
  t.same(await world.outbox.list({ alert: many.id }), [])
})

t.test('what appears during the quiet period is sent after it, once', async (t) => {
  const world = await open(t)
  const { id } = await world.make({ kind: 'new_agent', audience: 'agent', window_minutes: 5 })
  await world.commit({ agent_events: fetches(1, 1) })
  await world.commit({ agent_events: fetches(1, -20, { agent_id: 'claudebot', operator: 'Anthropic' }) })
  for (const i of [0, 1, 2, 19, 21, 22, 40, 58, 59, 60, 61, 62, 80, 119, 120, 121, 130]) await world.tick(i)
  t.same(await world.events(id), ['fired 10:00', 'fired 11:00'])
  t.match((await world.event(id))?.details, [{ agent_id: 'claudebot', fetches: 1 }])
})

t.test('the value is the one that the API returns', async (t) => {
  const world = await open(t)
  await world.commit({ events: [...visitors(7, 30), ...visitors(3, 30, { pathname: '/x' })] })
  const { id } = await world.make({ metric, filters: pathname('/x') })
  await world.tick()
  const event = await world.event(id)
  const query = new URLSearchParams({ site: '1', ...event?.window, filters: JSON.stringify(event?.alert.filters) })
  const { data } = await runRead(overview, query, world.readDependencies(new AbortController().signal))
  t.match(data, { visitors: event?.value })
  t.equal(event?.value, 3)
})

t.test('an alert that cannot be evaluated is logged once and does not hold up the others', async (t) => {
  const world = await open(t)
  await world.commit({ events: visitors(1, 1) })
  const goal: Alert['filters'] = [{ dimension: 'goal', op: 'is', value: 'deleted since' }]
  const broken = await world.make({ metric, filters: goal })
  const { id } = await world.make({ metric })
  for (let i = 0; i < 3; i++) await world.tick(i)
  t.match(world.logged, [{ alert: broken.id }])
  t.equal(world.logged.length, 1)
  t.same(await world.events(id), ['fired 10:00'])
})

t.test('a new definition starts afresh, a new name does not', async (t) => {
  const world = await open(t)
  await world.commit({ events: visitors(3, 1) })
  const { id } = await world.make({ metric })
  await world.tick()
  await world.alerts.change(id, async (now) => ({ ...now, name: 'Renamed' }), deed)
  await world.tick(1)
  t.equal((await world.events(id)).length, 1)
  await world.alerts.change(id, async (now) => ({ ...now, value: 2 }), deed)
  await world.tick(2)
  t.same(await world.events(id), ['fired 10:00', 'fired 10:02'])
})

t.test('an alert that changes during its measurement sends nothing for the old definition', async (t) => {
  for (const [why, change] of [
    ['another value', { value: 4 }],
    ['disabled', { enabled: false }],
    ['deleted', undefined],
  ] as const) {
    const world = await open(t)
    await world.commit({ events: visitors(3, 1) })
    const { id } = await world.make({ metric })
    world.meanwhile(() =>
      change ? world.alerts.change(id, async (now) => ({ ...now, ...change }), deed) : world.alerts.delete(id, deed),
    )
    await world.tick()
    t.same(await world.events(id), [], why)
    if (change) await world.alerts.change(id, async (now) => ({ ...now, value: 3, enabled: true }), deed)
    await world.tick(1)
    t.same(await world.events(id), change ? ['fired 10:01'] : [], 'it is measured anew')
    t.same(world.logged, [])
  }
})

t.test('in an incomplete window only a verdict that more rows could not change counts', async (t) => {
  const many = { metric, op: 'gte', value: 3 } as const
  const few = { metric, op: 'lt', value: 4 } as const
  const enough = { metric, op: 'lt', value: 3 } as const
  const cases: [why: string, given: Partial<Alert>, lacking: number, fires: boolean][] = [
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
  const each = await open(t)
  await each.commit({ events: [...visitors(2, 90), ...visitors(3, 30)] })
  for (const [why, given, lacking, fires] of cases) {
    each.lacking(lacking)
    const { id } = await each.make(given)
    await each.tick()
    t.same(await each.events(id), fires ? ['fired 10:00'] : [], why)
  }

  const world = await open(t)
  await world.commit({ events: visitors(3, 59) })
  const [high, low] = [await world.make(many), await world.make({ ...few, value: 3 })]
  await world.tick()
  world.lacking(MINUTE)
  for (const i of [2, 3, 4]) await world.tick(i)
  t.same([await world.events(high.id), await world.events(low.id)], [['fired 10:00'], []], 'nothing ends or begins')
  world.lacking(0)
  for (const i of [5, 6]) await world.tick(i)
  t.same(
    [await world.events(high.id), await world.events(low.id)],
    [['fired 10:00', 'resolved 10:06'], ['fired 10:05']],
    'until it is known',
  )
  world.lacking(MINUTE)
  await world.commit({ events: visitors(3, -6) })
  for (const i of [7, 8]) await world.tick(i)
  t.match((await world.events(low.id)).at(-1), 'resolved 10:08', 'enough is enough')
})

t.test('hostile text cannot add a mail header or control a terminal', (t) => {
  const event = AlertEvent.parse({
    ...{ event: 'fired', at: '2026-11-21T10:00:00.000Z', site: { id: 1, name: 'Tides' } },
    alert: {
      ...{ id: 1, name: 'Bots', kind: 'policy_violation', audience: 'agent', filters: [], op: 'gte', value: 1 },
      window_minutes: 60,
    },
    window: { start: '2026-11-21T09:00:00.000Z', end: '2026-11-21T10:00:00.000Z' },
    value: 1_200,
    details: [{ pathname: `/a\r\n\u001b[31m\u202eb${'x'.repeat(500)}`, fetches: 3 }],
  })
  const { subject, text } = alertMail(event, 'a@example.com', 'k')
  t.equal(subject, 'Alert: Bots (Tides)')
  t.match(text, 'Condition: fetches that robots.txt disallowed: at least 1 in 60 minutes.\nValue: 1,200.\n')
  t.match(text, 'Window: 2026-11-21 09:00 to 2026-11-21 10:00 UTC.')
  t.match(text, '- pathname /a???[31m?bxxx')
  for (const odd of ['\u001b', '\u202e', '\r']) t.notOk(text.includes(odd))
  t.ok(text.length < 700)
  t.end()
})
