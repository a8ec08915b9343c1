import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import type { AgentEventRow, EventRow } from '../../../src/storage/rows.js'
import { raw, sql } from '../../../src/storage/sql.js'
import { openStore } from '../../fixtures/open-store.js'
import {
  arbitraryVisit,
  askRead,
  DAILY_FILTERS,
  DAILY_READS,
  DAY,
  FILTERS,
  fetchesOf,
  filterQuery,
  READS,
  roundNumbers,
  rowsOf,
} from '../../fixtures/random-visits.js'
import { agentRow, editionRow, eventRow } from '../../fixtures/rows.js'
import { findWrongDailyCounts } from '../../fixtures/wrong-daily-counts.js'

/** The ids of a person and their identified id, computed a second time without SQL. */
function personOf(rows: readonly EventRow[], visitor: bigint): { ids: Set<bigint>; name: string | null } {
  const nameOf = (id: bigint) =>
    rows
      .filter((row) => row.visitor_id === id && row.identified_id !== null)
      .sort((a, b) => +a.timestamp - +b.timestamp || (`${a.identified_id}` < `${b.identified_id}` ? -1 : 1))
      .at(-1)?.identified_id ?? null
  const all = [...new Set(rows.map((row) => row.visitor_id))]
  const name = nameOf(visitor)
  const ids = new Set(name === null ? [visitor] : all.filter((id) => nameOf(id) === name))
  for (let size = 0; size < ids.size; ) {
    size = ids.size
    const shared = new Set(rows.filter((row) => ids.has(row.visitor_id)).map((row) => row.session_id))
    for (const row of rows) {
      const other = nameOf(row.visitor_id)
      if (shared.has(row.session_id) && (other === null || other === name)) ids.add(row.visitor_id)
    }
  }
  return { ids, name }
}

type Act = { erase: number } | { before: number }
const act: fc.Arbitrary<Act> = fc.oneof(fc.record({ erase: fc.nat(3) }), fc.record({ before: fc.nat(5 * 24 * 2) }))

t.test('aggregates equal the remaining hits, in whichever order rows are removed and aggregated', async (t) => {
  const [plain, aggregated] = [await openStore(t), await openStore(t)]
  const base = Date.parse('2026-01-01T00:00:00Z')
  let sites = 0
  let erased = 0
  let expired = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbitraryVisit, { minLength: 5, maxLength: 14 }),
      fc.tuple(act, act),
      fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5)),
      fc.tuple(fc.nat(4 * 24), fc.nat(4 * 24)),
      fc.constantFrom(...FILTERS),
      fc.shuffledSubarray(READS, { minLength: 2, maxLength: 2 }),
      fc.tuple(fc.constantFrom(...DAILY_READS), fc.constantFrom(...DAILY_FILTERS)),
      async (visits, acts, targets, edges, filter, asked, [dailyRead, dailyFilter]) => {
        // Two sites have the same ids: rows of the first are removed.
        sites += 2
        const [site, beside] = [sites - 1, sites]
        const rows = rowsOf(visits, base).map(({ row, batch }) => ({
          row: { ...row, site_id: row.site_id === 1 ? site : beside },
          batch,
        }))
        const [from, to] = [Math.min(...edges), Math.max(...edges)].map((hour) => new Date(base + hour * 3_600_000))
        const queryOf = (each: number, own = '', filters: readonly object[] = filter) =>
          `site=${each}&start=${from?.toISOString()}&end=${to?.toISOString()}&${own}${filterQuery(filters)}`
        const fetches = fetchesOf(rows)
        const cases = [...asked.map((read) => [read, filter] as const), [dailyRead, dailyFilter] as const]
        let kept: EventRow[] = []
        let keptFetches: AgentEventRow[] = []
        for (const batch of [0, 1, 2]) {
          // Results that are shared until the next write: none may be the answer at the end.
          for (const [read, filters] of cases) {
            const [path = '', own] = read.split('?')
            await askRead(aggregated, base, path, queryOf(site, own, filters))
          }
          const events = rows.filter((each) => each.batch === batch).map((each) => each.row)
          const agent_events = fetches.filter((each) => each.batch === batch).map((each) => each.row)
          await aggregated.append({ events, agent_events })
          kept.push(...events)
          keptFetches.push(...agent_events)
          await aggregated.aggregate(new Date(base + (targets[batch] ?? 0) * DAY))
          const next = acts[batch]
          if (next === undefined) continue
          const own = kept.filter((row) => row.site_id === site)
          if ('erase' in next) {
            const visitor = BigInt(200 + next.erase)
            const { ids, name } = personOf(own, visitor)
            const gone = new Set(own.filter((row) => ids.has(row.visitor_id) || (name && row.identified_id === name)))
            const removed = await aggregated.remove({ site, visitor })
            if (removed.rows !== gone.size) throw new Error(`${removed.rows} rows were removed, not ${gone.size}`)
            const found = [...removed.visitor_ids].sort().join()
            if (found !== [...ids].sort().join()) throw new Error(`ids ${found}`)
            kept = kept.filter((row) => !gone.has(row))
            erased += gone.size
            const list = [...ids].map((id) => `${id}`).join(', ')
            for (const table of ['events', 'sessions', 'session_pages']) {
              const [left] = await aggregated.query(sql`select count(*) as n from query_table(${table})
                where site_id = ${site} and list_contains(string_split(${list}, ', '), visitor_id::varchar)`)
              if (left?.n !== 0) throw new Error(`${table} still has a person who was erased`)
            }
          } else {
            const before = new Date(base + next.before * 30 * 60_000)
            while ((await aggregated.remove({ site, before })).more);
            const left = kept.filter((row) => row.site_id !== site || row.session_start >= before)
            expired += kept.length - left.length
            kept = left
            keptFetches = keptFetches.filter((row) => row.site_id !== site || row.timestamp >= before)
          }
        }
        const wrong = await findWrongDailyCounts(aggregated)
        if (wrong.length > 0) throw new Error(`wrong counts by day: ${JSON.stringify(wrong)}`)
        await plain.append({ events: kept, agent_events: keptFetches })
        for (const each of [site, beside])
          for (const [read, filters] of cases) {
            const [path = '', own] = read.split('?')
            const query = queryOf(each, own, filters)
            const [expected, found] = [
              await askRead(plain, base, path, query),
              await askRead(aggregated, base, path, query),
            ]
            if (JSON.stringify(roundNumbers(found)) === JSON.stringify(roundNumbers(expected))) continue
            throw new Error(`${read} ${query}\n${JSON.stringify(found)}\n${JSON.stringify(expected)}`)
          }
      },
    ),
    {
      numRuns: Number(process.env.REMOVE_RUNS ?? 4),
      seed: Number(process.env.REMOVE_SEED ?? 20261121),
      endOnFailure: process.env.REMOVE_SHRINK === undefined,
    },
  )
  t.ok(erased > 5 && expired > 5, `${erased} rows were erased, ${expired} expired`)
})

const at = (text: string) => new Date(`2026-03-${text}:00Z`)
const row = (time: string, visitor: bigint, session: bigint, given: Partial<EventRow> = {}) =>
  eventRow({ timestamp: at(time), visitor_id: visitor, session_id: session, pathname: `/${visitor}`, ...given })

t.test('erasing a person removes exactly the ids that belong to them', async (t) => {
  // Ann and then Bob used the tablet of visitor 3. 4 and 5 are one visit over a change of salts; so are 6 (Ann) and 7 (Bob).
  const rows = [
    row('01T10:00', 1n, 1n, { identified_id: 'ann' }),
    row('02T10:00', 2n, 2n),
    row('02T10:05', 2n, 2n, { session_start: at('02T10:00'), identified_id: 'ann' }),
    row('03T10:00', 3n, 3n),
    row('03T10:05', 3n, 3n, { session_start: at('03T10:00'), identified_id: 'ann' }),
    row('04T10:00', 3n, 4n, { identified_id: 'bob' }),
    row('05T10:00', 4n, 5n),
    row('05T10:10', 5n, 5n, { session_start: at('05T10:00') }),
    row('06T10:00', 5n, 6n),
    row('07T10:00', 6n, 7n, { identified_id: 'ann' }),
    row('07T10:10', 7n, 7n, { session_start: at('07T10:00'), identified_id: 'bob' }),
    row('08T10:00', 1n, 8n, { site_id: 2 }),
  ]
  const table: [erased: bigint, ids: bigint[], rows: number, left: string, why: string][] = [
    [9n, [9n], 0, '1:1 2:2 3:3 4:1 5:2 6:1 7:1', 'nobody'],
    [
      2n,
      [1n, 2n, 6n],
      5,
      '3:2 4:1 5:2 7:1',
      'Ann: her devices, and what she said of herself on the tablet, which is Bob’s',
    ],
    [3n, [3n, 7n], 4, '1:1 2:2 4:1 5:2 6:1', 'Bob: his devices, whoever had them before'],
    [
      4n,
      [4n, 5n],
      3,
      '1:1 2:2 3:3 6:1 7:1',
      'one visit under two ids is one person’s, and so are the others of either',
    ],
    [6n, [1n, 2n, 6n], 5, '3:2 4:1 5:2 7:1', 'but not where the site calls the two otherwise'],
  ]
  for (const [visitor, ids, count, left, why] of table)
    for (const aggregated of [false, true]) {
      const store = await openStore(t)
      await store.append({ events: rows, agent_events: [] })
      if (aggregated) await store.aggregate(at('20T00:00'))
      const removed = await store.remove({ site: 1, visitor })
      t.match(removed, { rows: count, more: false, visitor_ids: ids }, why)
      t.equal(removed.visitor_ids.length, ids.length, why)
      const found =
        await store.query(sql`select string_agg(visitor_id::varchar || ':' || n, ' ' order by visitor_id) as left
        from (select visitor_id, count(*) as n from events where site_id = 1 group by visitor_id)`)
      t.equal(found[0]?.left, left, why)
      t.match(await store.query(sql`select count(*) as n from events where site_id = 2`), [{ n: 1 }], 'another site')
      t.match(await store.remove({ site: 1, visitor }), { rows: 0 }, 'once more')
    }
})

t.test('a site is removed completely, in steps, and the other site stays', async (t) => {
  const store = await openStore(t)
  const events = Array.from({ length: 30_000 }, (_, i) => {
    const timestamp = new Date(+at('01T00:00') + i * 10_000)
    return row('01T00:00', BigInt(i % 500), BigInt(i), { timestamp, session_start: timestamp, site_id: 1 + (i % 2) })
  })
  const agent_events = Array.from({ length: 190_000 }, (_, i) =>
    agentRow({ timestamp: new Date(+at('01T00:00') + i * 1_000), site_id: i < 180_000 ? 1 : 2 }),
  )
  await store.append({ events, agent_events }, undefined, {
    deliveries: [1, 2].map((site_id) => ({
      ...{ site_id, signature: 'x', sender: 'a', number: 1, accepted_at: Date.now() },
    })),
  })
  await store.writePageEditions({ put: [1, 2].map((site_id) => editionRow({ site_id })), remove: [] })
  for (const hostname of ['one.example', 'two.example'])
    await store.replaceSitemap(hostname, [{ pathname: '/', lastmod: null }])
  await store.aggregate(at('20T00:00'))
  let [steps, removed] = [0, 0]
  for (let more = true; more; steps++) {
    const done = await store.remove({ site: 1, hostnames: ['one.example'] })
    more = done.more
    removed += done.rows
  }
  t.equal(removed, 195_000)
  t.ok(steps > 2, `${steps} steps: no one of them holds appends back for long`)
  const left = ['sessions', 'session_pages', 'stale_sessions', 'deliveries', 'page_samples']
  for (const table of ['events', 'agent_events', ...left]) {
    const found = await store.query(sql`select count(*) filter (where site_id = 1) as gone,
      count(*) filter (where site_id = 2) as there from query_table(${table})`)
    const there = {
      events: 15_000,
      agent_events: 10_000,
      sessions: 15_000,
      session_pages: 15_000,
      deliveries: 1,
      page_samples: 1,
    }
    t.strictSame(found, [{ gone: 0, there: Reflect.get(there, table) ?? 0 }], table)
  }
  t.strictSame(await store.query(sql`select hostname from sitemap_urls`), [{ hostname: 'two.example' }])
})

t.test('rows that another site gets are counted there', async (t) => {
  const store = await openStore(t)
  const agent_events = Array.from({ length: 150_000 }, (_, i) =>
    agentRow({ timestamp: new Date(+at('01T00:00') + i * 1_000) }),
  )
  // Its session lasts beyond the first step.
  const events = [row('01T10:00', 1n, 1n), row('03T00:00', 1n, 1n, { session_start: at('01T10:00') })]
  await store.append({ events, agent_events })
  await store.writePageEditions({ put: [1, 2].map((site_id) => editionRow({ site_id })), remove: [] })
  await store.aggregate(at('20T00:00'))
  for (let more = true; more; ) {
    more = (await store.assign({ from: 1, to: 2 })).more
    t.strictSame(await findWrongDailyCounts(store), [], 'after each step')
  }
  t.strictSame(await store.query(sql`select sum(fetches)::integer as n from daily_urls where site_id = 2`), [
    { n: 150_000 },
  ])
  t.strictSame(
    await store.query(sql`select site_id from page_samples`),
    [{ site_id: 2 }],
    'a page has one edition still',
  )
})

t.test('retention removes whole sessions, and the remaining visitors are counted correctly', async (t) => {
  const store = await openStore(t)
  const events = [
    row('01T10:00', 1n, 1n),
    row('10T23:50', 2n, 2n),
    row('11T00:10', 2n, 2n, { session_start: at('10T23:50') }),
    row('11T12:00', 1n, 3n),
    row('12T12:00', 1n, 4n),
  ]
  const agent_events = [agentRow({ timestamp: at('10T23:59') }), agentRow({ timestamp: at('11T00:00') })]
  await store.append({ events, agent_events })
  await store.aggregate(at('20T00:00'))
  while ((await store.remove({ site: 1, before: at('11T00:00') })).more);
  const asked = async (start: string, end: string) =>
    (await askRead(store, +at('20T00:00'), 'overview', `site=1&start=2026-03-${start}:00Z&end=2026-03-${end}:00Z`)).data
  const table: [start: string, end: string, expected: object, why: string][] = [
    ['01T00:00', '20T00:00', { visitors: 1, sessions: 2, pageviews: 2 }, 'the first of what is left is a first'],
    ['11T00:00', '12T00:00', { visitors: 1, sessions: 1, pageviews: 1 }, 'a session leaves with its start'],
    [
      '01T00:00',
      '11T00:00',
      { visitors: undefined, sessions: undefined },
      'as if it had never been: absent before the first row',
    ],
  ]
  for (const [start, end, expected, why] of table) t.match(await asked(start, end), expected, why)
  t.match(await store.query(sql`select count(*) as n from agent_events`), [{ n: 1 }])
})

t.test('a read during a removal sees each step completely or not at all', async (t) => {
  const store = await openStore(t)
  // 70,000 visitors, each with one session of two views, one second apart.
  const began = +at('01T00:00')
  await store.updateRows(async () => [
    raw(`insert into events (site_id, timestamp, kind, visitor_id, session_id, session_start, hostname, pathname,
      entry_page, channel, recorded_by)
    select 1, make_timestamp((${began} + (i // 2 + i % 2) * 1000) * 1000), 'pageview', i // 2, i // 2,
      make_timestamp((${began} + i // 2 * 1000) * 1000), 'example.com', '/', '/', 'Direct', 'server' from range(140000) r (i)`),
  ])
  await store.aggregate(at('01T12:00'))
  const Counted = z.object({ visitors: z.int(), sessions: z.int(), pageviews: z.int() })
  const seen = new Set<number>()
  let over = false
  const readOnce = async () => {
    const { data } = await askRead(store, +at('20T00:00'), 'overview', 'site=1&start=2026-03-01T00:00:00Z')
    const { visitors, sessions, pageviews } = Counted.parse(data)
    if (visitors !== sessions || pageviews !== 2 * sessions) throw new Error(JSON.stringify(data))
    seen.add(sessions)
  }
  const reading = async () => {
    while (!over) {
      await readOnce()
      // A result that is kept comes at once, and the removal must go on.
      await setImmediate()
    }
  }
  // Once before and once after, however slow the machine is.
  await readOnce()
  const reads = reading()
  await store.remove({ site: 1, visitor: 5n })
  while ((await store.remove({ site: 1, before: new Date(began + 60_000_000) })).more);
  over = true
  await reads
  await readOnce()
  const [left] = await store.query(sql`select count(distinct session_id) as n from events`)
  t.equal(left?.n, 10_000)
  t.ok(seen.size > 1, `${[...seen].join(', ')} sessions were seen`)
})
