import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { DAILY_TABLES } from '../../../src/storage/aggregates/daily-counts.js'
import { PRIOR_COLUMNS } from '../../../src/storage/aggregates/session-aggregates.js'
import type { EventRow } from '../../../src/storage/rows.js'
import { raw, type Sql, sql } from '../../../src/storage/sql.js'
import { directory } from '../../fixtures/files.js'
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
import { eventRow } from '../../fixtures/rows.js'
import { openStoreAt } from '../../fixtures/store.js'

const MINUTE = 60_000

t.test('reads return the same from aggregates as from hits, whenever sessions were aggregated', async (t) => {
  const [plain, aggregated] = [await openStore(t), await openStore(t)]
  let base = Date.parse('2026-01-01T00:00:00Z')
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbitraryVisit, { minLength: 1, maxLength: 10 }),
      fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5)),
      fc.tuple(fc.nat(4 * 24), fc.nat(4 * 24)),
      fc.constantFrom(...FILTERS),
      fc.shuffledSubarray(READS, { minLength: 3, maxLength: 3 }),
      fc.constantFrom('', '&compare=previous'),
      fc.tuple(fc.constantFrom(...DAILY_READS), fc.constantFrom(...DAILY_FILTERS)),
      async (visits, targets, edges, filter, readCases, compare, [dailyRead, dailyFilter]) => {
        base += 6 * DAY
        const rows = rowsOf(visits, base)
        const fetches = fetchesOf(rows)
        for (const batch of [0, 1, 2]) {
          const events = rows.filter((each) => each.batch === batch).map((each) => each.row)
          const agent_events = fetches.filter((each) => each.batch === batch).map((each) => each.row)
          for (const store of [plain, aggregated]) await store.append({ events, agent_events })
          await aggregated.aggregate(new Date(base + (targets[batch] ?? 0) * DAY))
        }
        const [from, to] = [Math.min(...edges), Math.max(...edges)].map((hour) => new Date(base + hour * 3_600_000))
        const cases = [...readCases.map((read) => [read, filter] as const), [dailyRead, dailyFilter] as const]
        for (const [read, filters] of cases) {
          const [path = '', own = ''] = read.split('?')
          const query = `site=1&start=${from?.toISOString()}&end=${to?.toISOString()}&${own}${compare}${filterQuery(filters)}`
          const [expected, found] = [
            await askRead(plain, base, path, query),
            await askRead(aggregated, base, path, query),
          ]
          if (JSON.stringify(roundNumbers(found)) === JSON.stringify(roundNumbers(expected))) continue
          throw new Error(`${read} ${query}\n${JSON.stringify(found)}\n${JSON.stringify(expected)}`)
        }
      },
    ),
    { numRuns: Number(process.env.AGGREGATE_RUNS ?? 8), seed: 20261123 },
  )
  const [sum] = await aggregated.query(
    sql`select count(*) as n, max(visitor_ids) as visitor_ids, bool_or(traits_vary) as traits_vary from sessions`,
  )
  t.ok(Number(sum?.n) > 20 && sum?.visitor_ids === 2 && sum.traits_vary, 'sessions of every kind were aggregated')
  for (const table of Object.keys(DAILY_TABLES)) {
    const [found] = await aggregated.query(sql`select count(*) as n from ${raw(table)}`)
    t.ok(Number(found?.n) > 20, `${table} was filled`)
  }
})

t.test('visitors are counted by their previous session for every dimension with a prior column', async (t) => {
  const store = await openStore(t)
  const timestamp = new Date('2026-03-01T10:00:00Z')
  await store.append({ events: [eventRow({ timestamp })], agent_events: [] })
  await store.aggregate(new Date(timestamp.getTime() + DAY))
  const reads: [read: string, columns: readonly string[], own?: string][] = [
    ['overview', ['prior']],
    ['breakdown', ['prior_entry_page'], '&dimension=entry_page'],
    ['breakdown', ['prior_exit_page'], '&dimension=exit_page'],
    ['sources', ['prior_channel', 'prior_source', 'prior_campaign']],
    ['locations', ['prior_country', 'prior_region', 'prior_city']],
    ['devices', ['prior_browser', 'prior_os', 'prior_device_type', 'prior_screen_class']],
  ]
  for (const [read, columns, own = ''] of reads) {
    const statements: string[] = []
    const query = (statement: Sql) => {
      statements.push(statement.text.join('?'))
      return store.query(statement)
    }
    await askRead({ dialect: store.dialect, query }, timestamp.getTime() + DAY, read, `site=1${own}`)
    const words = new Set(statements.join('\n').match(/\bprior(_\w+)?\b/g))
    t.strictSame([...words].sort(), [...columns].sort(), read)
  }
  t.strictSame(reads.flatMap(([, columns]) => columns).sort(), [...PRIOR_COLUMNS].sort(), 'no column is unused')
})

t.test('a hit of an aggregated session is in the next result, and in results after a restart', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const at = (text: string) => new Date(`2026-03-01T${text}:00Z`)
  const row = (time: string, given: Partial<EventRow> = {}) =>
    eventRow({ timestamp: at(time), session_start: at('10:00'), session_id: 7n, ...given })
  let store = await openStoreAt(file)
  await store.append({ events: [row('10:00'), row('10:10', { pathname: '/b' })], agent_events: [] })
  await store.aggregate(at('12:00'))
  const overview = async () =>
    (await askRead(store, at('23:00').getTime(), 'overview', 'site=1&start=2026-03-01T00:00:00Z')).data
  const cases: [when: string, act: () => Promise<unknown>, pageviews: number, duration: number][] = [
    ['aggregated', async () => {}, 2, 600],
    ['a late hit', () => store.append({ events: [row('10:30')], agent_events: [] }), 3, 1800],
    [
      'a restart',
      async () => {
        await store.close()
        store = await openStoreAt(file)
      },
      3,
      1800,
    ],
    ['another late hit', () => store.append({ events: [row('10:50')], agent_events: [] }), 4, 3000],
    ['aggregated again', () => store.aggregate(at('13:00')), 4, 3000],
    ['one more', () => store.append({ events: [row('10:55', { kind: 'custom' })], agent_events: [] }), 4, 3300],
  ]
  for (const [when, act, pageviews, duration] of cases) {
    await act()
    t.match(await overview(), { visitors: 1, sessions: 1, pageviews, duration, views_per_session: pageviews }, when)
  }
  await store.close()
})

t.test(
  'a visitor with aggregated and other sessions counts once, and a session with two values of a trait counts in each',
  async (t) => {
    const store = await openStore(t)
    const at = (text: string) => new Date(`2026-03-01T${text}:00Z`)
    const regions: Record<string, string> = { DE: 'Sachsen', FR: 'Bretagne' }
    const row = (time: string, session: bigint, start: string, visitor: bigint, pathname: string, country: string) =>
      eventRow({
        ...{
          timestamp: at(time),
          session_start: at(start),
          session_id: session,
          visitor_id: visitor,
          pathname,
          country,
          region: regions[country] ?? null,
        },
        entry_page: '/a',
      })
    // Visitor 1 visits in the morning and in the evening, visitor 2 once, from two countries.
    const events = [
      row('10:00', 1n, '10:00', 1n, '/a', 'DE'),
      row('11:00', 2n, '11:00', 2n, '/a', 'DE'),
      row('11:10', 2n, '11:00', 2n, '/b', 'FR'),
      row('21:00', 3n, '21:00', 1n, '/a', 'DE'),
    ]
    await store.append({ events, agent_events: [] })
    await store.aggregate(at('20:00'))
    t.match(await store.query(sql`select cast(session_id as integer) as id, traits_vary from sessions order by id`), [
      { id: 1, traits_vary: false },
      { id: 2, traits_vary: true },
    ])
    const reads: [read: string, expected: object[]][] = [
      [
        'breakdown?dimension=country',
        [
          // Two of its sessions bounced, one had two views in 600 s; the other country has only that one.
          {
            value: 'DE',
            visitors: 2,
            sessions: 3,
            pageviews: 3,
            bounce: 0.666666667,
            duration: 200,
            views_per_session: 1.333333333,
          },
          { value: 'FR', visitors: 1, sessions: 1, pageviews: 1, bounce: 0, duration: 600, views_per_session: 2 },
        ],
      ],
      [
        'breakdown?dimension=channel',
        [{ value: 'Direct', visitors: 2, sessions: 3, pageviews: 4, bounce: 0.666666667, duration: 200 }],
      ],
      [
        'pages',
        [
          { pathname: '/a', visitors: 2, sessions: 3, pageviews: 3, entries: 3, exits: 2, exit_rate: 0.666666667 },
          { pathname: '/b', visitors: 1, sessions: 1, pageviews: 1, entries: 0, exits: 1, exit_rate: 1 },
        ],
      ],
      [
        'breakdown?dimension=pathname',
        [
          { value: '/a', visitors: 2, sessions: 3 },
          { value: '/b', visitors: 1 },
        ],
      ],
      ['overview', [{ visitors: 2, sessions: 3, pageviews: 4, bounce: 0.666666667, duration: 200 }]],
    ]
    for (const [read, expected] of reads) {
      const [path = '', own = ''] = read.split('?')
      const { data } = await askRead(store, at('23:00').getTime(), path, `site=1&start=2026-03-01T00:00:00Z&${own}`)
      t.match([data].flat().map(roundNumbers), expected, read)
    }
    const { data } = await askRead(store, at('23:00').getTime(), 'locations', 'site=1&start=2026-03-01T00:00:00Z')
    const { regions: found } = z
      .object({ regions: z.array(z.object({ country: z.string(), region: z.string() })) })
      .parse(data)
    t.strictSame(
      found.map(({ country, region }) => [country, region]),
      [
        ['DE', 'Sachsen'],
        ['FR', 'Bretagne'],
      ],
      'only pairs that a hit had',
    )
  },
)

t.test('a page viewed under another visitor id of the session counts for both visitors', async (t) => {
  const store = await openStore(t)
  const at = (text: string) => new Date(`2026-03-01T${text}:00Z`)
  const row = (time: string, session: bigint, start: string, visitor: bigint, pathname: string) =>
    eventRow({ timestamp: at(time), session_start: at(start), session_id: session, visitor_id: visitor, pathname })
  // The salt changed within the first session: `/a` was read by visitor 2, `/b` by visitor 1, who comes back to `/a`.
  const events = [
    row('10:00', 10n, '10:00', 2n, '/a'),
    row('10:10', 10n, '10:00', 1n, '/b'),
    row('15:00', 11n, '15:00', 1n, '/a'),
  ]
  await store.append({ events, agent_events: [] })
  await store.aggregate(at('20:00'))
  const { data } = await askRead(store, at('23:00').getTime(), 'pages', 'site=1&start=2026-03-01T00:00:00Z')
  t.match(data, [
    { pathname: '/a', visitors: 2 },
    { pathname: '/b', visitors: 1 },
  ])
})

t.test(
  'aggregated sessions that a late hit joins are one in the next result, and after the next aggregation',
  async (t) => {
    const store = await openStore(t)
    const at = (text: string) => new Date(`2026-03-01T${text}:00Z`)
    const arrival = {
      ...{ entry_page: '/z', referrer: null, source: null, channel: 'Email', utm_source: null, utm_medium: null },
      ...{ utm_campaign: null, utm_content: null, utm_term: null },
    }
    const row = (time: string, session: bigint, start: string, given: Partial<EventRow> = {}) =>
      eventRow({ timestamp: at(time), session_start: at(start), session_id: session, ...given })
    const results = async () => {
      const of = (path: string, own = '') =>
        askRead(store, at('23:00').getTime(), path, `site=1&start=2026-03-01T00:00:00Z${own}`)
      const channels = (await of('breakdown', '&dimension=channel')).data
      return { overview: (await of('overview')).data, channels }
    }
    const events = [row('10:00', 7n, '10:00'), row('10:50', 8n, '10:50'), row('15:00', 9n, '15:00')]
    await store.append({ events, agent_events: [] })
    await store.aggregate(at('20:00'))
    t.match(await results(), { overview: { sessions: 3, visitors: 1, pageviews: 3 } })
    // A hit at 10:25 is within half an hour of both sessions; one at 09:50 is before either.
    const late = [row('10:25', 6n, '09:50', arrival), row('09:50', 6n, '09:50', { ...arrival, pathname: '/z' })]
    const to = { session_id: 6n, session_start: at('09:50'), arrival }
    await store.append({ events: late, agent_events: [] }, undefined, {
      moves: [{ site_id: 1, session_ids: [7n, 8n], to, first: at('10:00'), last: at('10:50') }],
    })
    const merged = {
      overview: { sessions: 2, visitors: 1, pageviews: 5, duration: 1800, bounce: 0.5 },
      channels: [
        { value: 'Email', visitors: 1, sessions: 1, pageviews: 4 },
        { value: 'Direct', visitors: 1, sessions: 1, pageviews: 1 },
      ],
    }
    t.match(await results(), merged)
    await store.aggregate(at('20:00'))
    t.match(await results(), merged)
    t.match(await store.query(sql`select count(*) as n from sessions`), [{ n: 2 }])
    t.match(await store.query(sql`select count(*) as n from stale_sessions`), [{ n: 0 }])
  },
)

t.test('aggregation runs by itself in bounded steps and leaves out sessions that may go on', async (t) => {
  let now = Date.parse('2026-03-10T00:00:00Z')
  let clock = 0
  const store = await openStoreAt(join(directory(t), 'events.duckdb'), {
    now: () => new Date(now),
    clock: () => clock,
    settled_ms: 3_600_000,
    aggregate_ms: 60_000,
  })
  t.teardown(() => store.close())
  const events = Array.from({ length: 2_000 }, (_, i) => {
    const timestamp = new Date(now - 2 * DAY + i * MINUTE)
    return eventRow({ timestamp, session_id: BigInt(i), visitor_id: BigInt(i % 50) })
  })
  await store.append({ events, agent_events: [] })
  const aggregated = async () => Number((await store.query(sql`select count(*) as n from sessions`))[0]?.n)
  await store.maintain({ aggregate: true })
  t.equal(await aggregated(), 0, 'not at the start')
  clock += 61_000
  await store.maintain({ aggregate: true })
  t.equal(await aggregated(), 2_000, 'all of them began an hour ago or earlier')
  now += 10 * MINUTE
  await store.append({ events: [eventRow({ timestamp: new Date(now), session_id: 9_999n })], agent_events: [] })
  await store.maintain({ aggregate: true })
  clock += 61_000
  await store.maintain({ aggregate: true })
  t.equal(await aggregated(), 2_000, 'one that began just now is not aggregated')
  now += 2 * 3_600_000
  clock += 61_000
  await store.maintain({ aggregate: true })
  t.equal(await aggregated(), 2_001, 'and is when it is over')
  const again = await store.query(sql`select session_id, count(*) as n from sessions group by session_id having n > 1`)
  t.strictSame(again, [], 'none twice')
})
