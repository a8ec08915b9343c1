import fc from 'fast-check'
import type { Test } from 'tap'
import { DAILY_NAMES, dailyColumns } from '../../src/storage/aggregates/daily-counts.js'
import { SESSION_TABLES } from '../../src/storage/aggregates/session-aggregates.js'
import type { EventStore, Removal } from '../../src/storage/event-store.js'
import type { EventRow, Rows } from '../../src/storage/rows.js'
import { raw, sql } from '../../src/storage/sql.js'
import type { Store } from '../../src/storage/store.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { openStore } from '../fixtures/open-store.js'
import { type Random, seeded } from '../fixtures/random.js'
import {
  arbitraryVisit,
  askRead,
  DAILY_READS,
  DAY,
  fetchesOf,
  READS,
  roundNumbers,
  rowsOf,
} from '../fixtures/random-visits.js'
import { agentRow } from '../fixtures/rows.js'
import { appendInParts, compareReads, contractRows, whole } from './engine-reads.js'

const TABLES = [
  ...Object.entries(SESSION_TABLES).map(([table, columns]) => [table, Object.keys(columns)] as const),
  ...DAILY_NAMES.map((table) => [table, Object.keys(dailyColumns(table))] as const),
]

/** Every row of the tables of aggregates, as text in order. */
async function readAggregates(store: Store): Promise<Record<string, string[]>> {
  const tables = TABLES.map(async ([table, columns]) => {
    const rows = await store.query(sql`select ${raw(columns.join(', '))} from ${raw(table)}`)
    return [table, rows.map((row) => JSON.stringify(columns.map((column) => row[column]))).sort()] as const
  })
  return Object.fromEntries(await Promise.all(tables))
}

const countRows = (tables: Record<string, string[]>): Record<string, number> =>
  Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, rows.length]))

/** Compares the aggregates of two stores that have the same rows, and returns how many there are in each table. */
async function compareAggregates(t: Test, [duckdb, other]: readonly [Store, Store], why: string) {
  const [expected, found] = await Promise.all([readAggregates(duckdb), readAggregates(other)])
  for (const [table] of TABLES) assertEqual(t, found[table], expected[table], `${table}, ${why}`)
  return countRows(expected)
}

/** Divides the rows: each of the later parts has some rows of sessions and days that earlier ones have, too. */
function divide(rows: Rows, random: Random, parts: number): Rows[] {
  const divided: Rows[] = Array.from({ length: parts }, () => ({ events: [], agent_events: [] }))
  const partOf = () => divided[random() < 0.8 ? 0 : random.int(parts)]
  for (const row of rows.events) partOf()?.events.push(row)
  for (const row of rows.agent_events) partOf()?.agent_events.push(row)
  return divided
}

/** The sessions that a late hit joins: two of one site, and what they are then. */
function joinSessions({ events }: Rows, random: Random) {
  const of = (id: bigint, site: number) => events.filter((row) => row.session_id === id && row.site_id === site)
  const first = random.of(events as [EventRow, ...EventRow[]])
  const second = events.find((row) => row.site_id === first.site_id && row.session_start > first.session_start)
  const joined = second ? [first, second] : [first]
  const times = joined.flatMap((row) => of(row.session_id, row.site_id)).map(({ timestamp }) => timestamp.getTime())
  const session_start = new Date(first.session_start.getTime() - 60_000)
  const late: EventRow = {
    ...first,
    timestamp: session_start,
    session_start,
    session_id: first.session_id + (1n << 40n),
    kind: 'pageview',
  }
  const { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term } = late
  const arrival = { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term }
  const move = {
    ...{ site_id: first.site_id, session_ids: joined.map(({ session_id }) => session_id) },
    to: { session_id: late.session_id, session_start, arrival },
    ...{ first: new Date(Math.min(...times)), last: new Date(Math.max(...times)) },
  }
  return { late, move }
}

/** Changes rows as the worker does later: views get their other halves, fetches verdicts and names, a person is erased. */
async function changeRows(store: EventStore, { events, agent_events }: Rows): Promise<void> {
  const views = events.filter(({ kind }, n) => kind === 'pageview' && n % 50 === 7).slice(0, 200)
  const additions = views.map(({ site_id, visitor_id, timestamp, hostname, pathname }, n) => ({
    to: { site_id, visitor_id, timestamp, hostname, pathname },
    ...{
      screen_class: 'md',
      language: 'fr',
      timezone: 'Europe/Paris',
      identified_id: n % 9 === 0 ? `user-${n % 40}` : null,
    },
    ...{ props: '{"plan":"pro"}', traits: null, vitals: null, status: null, duration_ms: null },
  }))
  await store.append({ events: [], agent_events: [] }, undefined, { additions })
  // A fetch is known by its time, so equal ones have equal verdicts.
  const claims = agent_events.filter(
    ({ verification, timestamp }) => verification === 'indeterminate' && +timestamp % 3 > 0,
  )
  await store.updateVerdicts(
    claims.map((fetch) => {
      const verified = +fetch.timestamp % 3 === 1
      return { ...fetch, verified, verification: verified ? 'rdns' : 'spoofed' }
    }),
  )
  const [since, until] = [new Date('2026-10-10T00:00:00Z'), new Date('2027-01-01T00:00:00Z')]
  const selection = { hostnames: ['one.example'], since, until, limit: 1_000_000 }
  await store.judgeFetches(selection, async (fetches) =>
    fetches.map(({ pathname }) => ({
      ...{ robots_allowed: pathname < '/d', robots_rule: '/d', robots_line: 2, robots_grace: false, llms_listed: 1 },
    })),
  )
  const describe: Parameters<EventStore['reclassify']>[1] = async (groups) =>
    groups
      .filter(({ agent_id }) => agent_id === 'other')
      .map((group) => ({ ...group, to: 'newbot', operator: 'New', purpose: 'search', verification: 'unverifiable' }))
  while ((await store.reclassify('newer', describe)).remaining > 0);
  while ((await store.renameDevice({ os: 'Linux', device_type: null }, { os: 'Linux', device_type: 'tv' })) > 0);
  while ((await store.remove({ site: 1, visitor: events[37]?.visitor_id ?? 0n })).more);
}

/** Aggregation on another engine gives the rows that it gives on DuckDB, and reads with them the answers of rows. */
export function aggregatesContract(t: Test, open: (t: Test) => Promise<EventStore>): void {
  t.test('aggregates are the same rows, and reads the same answers, before and after late hits', async (t) => {
    const random = seeded(20261124)
    const rows = contractRows()
    const [plain, duckdb, other] = [await openStore(t), await openStore(t), await open(t)]
    const stores = [plain, duckdb, other]
    const [most, ...late] = divide(rows, random, 3)
    const times = rows.events.map(({ timestamp }) => timestamp.getTime())
    const end = Math.max(...times) + DAY
    const half = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
    const append = (part: Rows) => Promise.all(stores.map((store) => appendInParts(store, part)))
    const aggregate = (target: number) => Promise.all([duckdb, other].map((store) => store.aggregate(new Date(target))))
    const stages: [string, () => Promise<unknown>][] = [
      [
        'half is aggregated, and late hits have come',
        async () => {
          await append(most ?? rows)
          await aggregate(half)
          await compareAggregates(t, [duckdb, other], 'half')
          await append(late[0] ?? rows)
        },
      ],
      [
        'all is aggregated again, and late hits have joined sessions',
        async () => {
          await aggregate(end)
          await compareAggregates(t, [duckdb, other], 'all')
          for (let i = 0; i < 8; i++) {
            const { late, move } = joinSessions(rows, random)
            for (const store of stores)
              await store.append({ events: [late], agent_events: [] }, undefined, { moves: [move] })
          }
          await append(late[1] ?? rows)
        },
      ],
      ['these are aggregated too', () => aggregate(end)],
      [
        'views have got their halves, fetches verdicts and names, and a person is erased',
        async () => {
          for (const store of stores) await changeRows(store, rows)
        },
      ],
    ]
    for (const [i, [why, act]] of stages.entries()) {
      await t.test(why, async (t) => {
        await act()
        // An erasure counts changed days again on one engine, and marks them on the other.
        const isErased = i === stages.length - 1
        const counts = isErased
          ? countRows(await readAggregates(other))
          : await compareAggregates(t, [duckdb, other], why)
        t.ok(
          Object.values(counts).every((count) => count > 20),
          JSON.stringify(counts),
        )
        compareReads(t, rows, () => [plain, other], i + 1)
      })
    }
    await aggregate(end)
    await compareAggregates(t, [duckdb, other], 'after changes')
    t.match(await other.query(sql`select count(*) as n from stale_sessions`), [{ n: 0 }])
    t.match(await other.query(sql`select count(*) as n from daily_changed`), [{ n: 0 }])
  })

  t.test('a late judgement of a counted day is in the next reads', async (t) => {
    const [plain, duckdb, other] = [await openStore(t), await openStore(t), await open(t)]
    const midnight = Date.parse('2026-11-20T00:00:00Z')
    const agent_events = [-1, 1].map((hours) =>
      agentRow({ timestamp: new Date(midnight + hours * 3_600_000), pathname: hours < 0 ? '/old' : '/new' }),
    )
    const read = (store: EventStore) =>
      askRead(store, midnight + DAY, 'agents/coverage', 'site=1&start=2026-11-19T00:00:00Z&end=2026-11-21T00:00:00Z')
    const readDays = (store: EventStore) => store.query(sql`select day, agents from daily_urls order by day`)
    const readMarks = (store: EventStore) => store.query(sql`select distinct site_id, day from daily_changed`)
    const [yesterday, today] = [new Date(midnight - DAY), new Date(midnight)]
    for (const store of [plain, duckdb, other]) {
      await store.append({ events: [], agent_events })
      if (store !== plain) await store.aggregate(today)
      const selection = { hostnames: ['example.com'], since: yesterday, until: new Date(midnight + DAY), limit: 9 }
      const unknown = { robots_allowed: null, robots_rule: null, robots_line: null, robots_grace: null }
      await store.judgeFetches(selection, async (found) => found.map(() => ({ ...unknown, llms_listed: 1 })))
      t.same(await readMarks(store), [], 'no count knows llms.txt')
      const before = await read(store)
      await store.judgeFetches(selection, async (found) =>
        found.map(() => ({
          ...{ robots_allowed: false, robots_rule: '/', robots_line: 2, robots_grace: false, llms_listed: 1 },
        })),
      )
      const after = await read(store)
      t.notSame(after, before, 'robots.txt refuses the page')
      t.same(after, await read(plain), 'as from the rows')
      if (store === plain) continue
      t.same(await readMarks(store), [{ site_id: 1, day: yesterday }], 'a day that is not counted yet needs no mark')
      t.same(await readDays(store), [{ day: yesterday, agents: 'gptbot?' }], 'as it was counted')
      await store.aggregate(today)
      t.same(await readDays(store), [{ day: yesterday, agents: 'gptbot-' }], 'counted again')
    }
  })

  t.test('the same of random small sites', async (t) => {
    const [duckdb, other] = [await openStore(t), await open(t)]
    let base = Date.parse('2026-01-01T00:00:00Z')
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryVisit, { minLength: 1, maxLength: 10 }),
        fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5)),
        async (visits, targets) => {
          base += 6 * DAY
          const rows = rowsOf(visits, base)
          const fetches = fetchesOf(rows)
          for (const batch of [0, 1, 2]) {
            const events = rows.filter((each) => each.batch === batch).map((each) => each.row)
            const agent_events = fetches.filter((each) => each.batch === batch).map((each) => each.row)
            for (const store of [duckdb, other]) {
              await store.append({ events, agent_events })
              await store.aggregate(new Date(base + (targets[batch] ?? 0) * DAY))
            }
          }
          const [expected, found] = await Promise.all([readAggregates(duckdb), readAggregates(other)])
          if (JSON.stringify(found) !== JSON.stringify(expected))
            throw new Error(`${JSON.stringify(found)}\n${JSON.stringify(expected)}`)
        },
      ),
      { numRuns: whole ? 60 : 3, endOnFailure: true },
    )
    t.pass()
  })
}

/** Asks stores some reads, drawn at random, about the time until `now`; the answers must be equal. */
async function compareSome(
  t: Test,
  [plain, other]: readonly [Store, Store],
  { now, random, count }: SomeReads,
  why: string,
) {
  const questions = [...READS, ...DAILY_READS]
  for (let i = 0; i < count; i++) {
    const question = questions[random.int(questions.length)] ?? ''
    const [path = '', own = ''] = question.split('?')
    const query = `site=${1 + random.int(2)}&start=2025-11-01T05:00:00Z&end=${new Date(now).toISOString()}&${own}`
    const [expected, found] = await Promise.all([plain, other].map((store) => askRead(store, now, path, query)))
    assertEqual(t, roundNumbers(found), roundNumbers(expected), `${why}: ${question}`)
  }
}
interface SomeReads {
  now: number
  random: Random
  count: number
}

/** Rows leave, or become another site's, after they were aggregated and while late hits wait. */
export async function removedAggregates(t: Test, other: EventStore): Promise<void> {
  const random = seeded(20261126)
  const rows = contractRows()
  const now = Math.max(...rows.events.map(({ timestamp }) => timestamp.getTime())) + DAY
  const [plain, duckdb] = [await openStore(t), await openStore(t)]
  const stores = [plain, duckdb, other]
  const [most, late] = divide(rows, random, 2)
  for (const part of [most, late]) {
    for (const store of stores) await appendInParts(store, part ?? rows)
    for (const store of [duckdb, other]) if (part === most) await store.aggregate(new Date(now - 10 * DAY))
  }
  const remove = async (removal: Removal) => {
    for (const store of stores) for (let more = true; more; ) ({ more } = await store.remove(removal))
  }
  const steps: [string, () => Promise<void>][] = [
    ['a person', () => remove({ site: 1, visitor: rows.events[37]?.visitor_id ?? 0n })],
    ['what began before a time within a day', () => remove({ site: 1, before: new Date('2026-10-20T10:00:00Z') })],
    [
      'one site becomes another',
      async () => {
        for (const store of stores) for (let more = true; more; ) ({ more } = await store.assign({ from: 2, to: 3 }))
      },
    ],
    ['a whole site', () => remove({ site: 3, hostnames: [] })],
  ]
  for (const [why, act] of steps) {
    await act()
    await compareSome(t, [plain, other], { now, random, count: whole ? 20 : 3 }, why)
    for (const store of [duckdb, other]) await store.aggregate(new Date(now - 10 * DAY))
    await compareAggregates(t, [duckdb, other], why)
  }
}

/**
 * Aggregation fails at each of its statements once, and the program starts again: reads in between come from rows, and the
 * aggregates at last equal those of DuckDB. `reopen` opens the store; it calls `onWrite` before each statement that writes.
 */
export async function interruptedAggregation(
  t: Test,
  reopen: (onWrite: () => void) => Promise<EventStore>,
): Promise<void> {
  const random = seeded(20261125)
  const rows = contractRows()
  const now = Math.max(...rows.events.map(({ timestamp }) => timestamp.getTime())) + DAY
  const [plain, duckdb] = [await openStore(t), await openStore(t)]
  const parts = divide(rows, random, 12)
  let [writes, failAt] = [0, Number.POSITIVE_INFINITY]
  const onWrite = () => {
    if (++writes >= failAt) throw new Error('interrupted')
  }
  let other = await reopen(onWrite)
  const append = async (part: Rows | undefined) => {
    for (const store of [plain, duckdb, other]) await appendInParts(store, part ?? rows)
  }
  const check = (why: string) => compareSome(t, [plain, other], { now, random, count: 2 }, why)
  await append(parts[0])
  let interruptions = 0
  // A third, then with late hits the rest, then only late hits.
  for (const [stage, target] of [now - 300 * DAY, now, now].entries()) {
    // The normal run stops at some of the statements, in each stage at others.
    for (failAt = 1 + stage; ; failAt += whole ? 1 : 4) {
      writes = 0
      const failed = await other.aggregate(new Date(target)).then(
        () => false,
        () => true,
      )
      if (!failed) break
      interruptions++
      const reached = failAt
      failAt = Number.POSITIVE_INFINITY
      await other.close()
      other = await reopen(onWrite)
      await check(`interrupted at write ${reached}`)
      // Makes outdated what the interrupted step wrote.
      if (reached % 3 === 0)
        await append({ events: [random.of(rows.events as [EventRow, ...EventRow[]])], agent_events: [] })
      failAt = reached
    }
    await duckdb.aggregate(new Date(target))
    failAt = Number.POSITIVE_INFINITY
    await compareAggregates(t, [duckdb, other], `after ${interruptions} interruptions`)
    await append(parts[1 + random.int(parts.length - 1)])
    await check('late hits')
  }
  t.ok(interruptions > 12, `${interruptions} interruptions`)
  await other.close()
}
