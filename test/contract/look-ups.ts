import type { Test } from 'tap'
import { createTailStream } from '../../src/api/tail.js'
import { openStoreLosses } from '../../src/manage/store-losses.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { AgentEventRow, EventRow, Rows } from '../../src/storage/rows.js'
import type { UnmatchedView } from '../../src/worker/ingest/classified-batch.js'
import { findReports, findViews, readReportingVisitors } from '../../src/worker/stored-reports.js'
import { findSessionEnds, findSessionsNear, readActiveSessions } from '../../src/worker/stored-sessions.js'
import { matchStoredViews, readRecentViews } from '../../src/worker/stored-views.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** A store for the look-ups of the worker and of the site's process. */
type LookUpStore = Pick<EventStore, 'dialect' | 'query' | 'lookUp'>

const MINUTE = 60_000
const NOON = Date.parse('2026-12-10T12:00:00Z')
const DAY_BEFORE = NOON - 1_440 * MINUTE
/** Above the largest signed number of 64 bits. */
const IDS = 0xf000000000000000n
const VISITORS = Array.from({ length: 12 }, (_, n) => IDS + BigInt(n))
const PATHS = ['/', '/a', '/a#/x', '/a#!y', '/ä😀', "/it's", ''] as const
const SITES = [7, 8] as const
const RECORDERS = ['server', 'browser', 'edge'] as const

/**
 * Rows of few visitors and pages between 10 and 13 o'clock, so that sessions, halves of views and reports meet, and on the
 * day before sessions whose texts are too long to be kept in memory. `loose` are reports without a session.
 */
export function lookUpRows(): { rows: Rows; loose: EventRow[] } {
  const random = seeded(17)
  const some = <V>(value: V): V | null => (random() < 0.5 ? value : null)
  const events = Array.from({ length: 600 }, (_, n): EventRow => {
    const timestamp = new Date(NOON + (n / 600) * 180 * MINUTE - 120 * MINUTE)
    const visitor_id = random.of([IDS, ...VISITORS])
    const kind = random.of(['pageview', 'pageview', 'engagement'])
    const recorded_by = kind === 'pageview' ? random.of(RECORDERS) : 'browser'
    const isWhole = recorded_by !== 'browser' || random() < 0.3
    return eventRow({
      ...{ site_id: random.of(SITES), timestamp, visitor_id, kind, recorded_by, hostname: `${n % 2}.example` },
      session_id: 2n * visitor_id - IDS - BigInt(random.int(3)),
      session_start: new Date(timestamp.getTime() - random.int(30 * MINUTE)),
      pathname: random.of(PATHS),
      ...(isWhole ? {} : { status: null, duration_ms: null }),
      engaged_ms: some(random.int(90 * MINUTE)),
      reported_at: kind === 'pageview' ? null : some(new Date(timestamp.getTime() - random.int(90 * MINUTE))),
      referrer: some('https://x.example/é'),
      source: some(random.of(['a', 'b'])),
      channel: random.of(['Direct', 'Referral']),
      screen_class: some('desktop'),
      language: some('de'),
      timezone: some('Europe/Berlin'),
      identified_id: some(`p${n % 5}`),
    })
  })
  const flood = [0, 1, 2].map((n) =>
    eventRow({
      ...{ site_id: 9, visitor_id: BigInt(n), session_id: BigInt(n), timestamp: new Date(DAY_BEFORE - n) },
      referrer: 'x'.repeat(7 << 20),
    }),
  )
  const agent_events = Array.from(
    { length: 40 },
    (_, n): AgentEventRow =>
      agentRow({
        ...{ site_id: 7, timestamp: new Date(NOON + n), operator: random.of(['ÄÖ', 'Acme']), pathname: `/${n}` },
        robots_allowed: random.of([true, false]),
      }),
  )
  const loose = events
    .filter(({ reported_at }) => reported_at !== null)
    .map((row, n) => ({ ...row, timestamp: new Date(row.timestamp.getTime() - n * MINUTE), pathname: '/loose' }))
  return { rows: { events: [...events, ...flood], agent_events }, loose }
}

const windows = VISITORS.map((visitor_id, n) => ({
  visitor_id,
  from: NOON - (90 - n) * MINUTE,
  to: NOON - (60 - 4 * n) * MINUTE,
}))
const searches = VISITORS.map((id, n) => ({
  ids: [id, VISITORS[n + 1] ?? 1n],
  at: NOON - 10 * n * MINUTE,
  hostname: `${n % 2}.example`,
  pathnames: n % 3 === 0 ? [null] : ['/a', PATHS[n % PATHS.length] ?? '/'],
}))
const unmatched = VISITORS.flatMap((visitor_id, n) =>
  (['server', 'browser'] as const).map((reportedBy): UnmatchedView => {
    const row = eventRow({
      ...{
        site_id: SITES[n % 2] ?? 7,
        visitor_id,
        timestamp: new Date(NOON - 3 * n * MINUTE),
        hostname: `${n % 2}.example`,
      },
      ...{ pathname: PATHS[n % PATHS.length] ?? '/', screen_class: 'phone' },
    })
    const { pathname, session_id: session } = row
    const view = { at: row.timestamp.getTime(), visitor_id, pathname, session, row, isMatched: false }
    return { row, visitor: { visitor_id, previous: VISITORS[n + 1], next: undefined }, reportedBy, view }
  }),
)

const readTail = async (events: LookUpStore, query: { agent?: string; violations: '0' | '1' }): Promise<string[]> => {
  const engine = {
    events: { ...events, stream: neverCalled, append: neverCalled, close: neverCalled },
    ...{ tail: neverCalled, onRestart: () => () => {}, isWriter: () => true },
  }
  const stream = createTailStream(engine, { n: 10_000, audience: 'all', follow: '0', ...query }, SITES)
  return (await new Response(stream).text()).trim().split('\n').sort()
}
const neverCalled = (): never => {
  throw new Error('this is not called')
}

const LOOK_UPS: readonly (readonly [name: string, ask: (store: LookUpStore) => Promise<unknown>])[] = [
  ['active sessions', (store) => readActiveSessions(store, new Date(NOON))],
  ['active sessions with long texts', (store) => readActiveSessions(store, new Date(DAY_BEFORE))],
  ['sessions near windows', async (store) => sorted(await findSessionsNear(store, windows))],
  [
    'ends of sessions',
    async (store) => {
      const ids = VISITORS.map((id) => 2n * id - IDS)
      const ends = await findSessionEnds(store, ids, new Date(NOON - 60 * MINUTE))
      return sorted([...ends].map(([id, ofSession]) => [id, sorted(ofSession)]))
    },
  ],
  ['recent views', (store) => readRecentViews(store, new Date(NOON))],
  ['halves of views', async (store) => (await matchStoredViews(store, unmatched, [])).additions],
  ['reports', async (store) => sorted(await findReports(store, VISITORS, NOON - 60 * MINUTE, NOON))],
  ['reporting visitors', (store) => readReportingVisitors(store, new Date(NOON))],
  ['views of pages', async (store) => (await findViews(store, searches)).map(sorted)],
  ['the tail', (store) => readTail(store, { violations: '0' })],
  ['the tail of an operator', (store) => readTail(store, { agent: 'äö', violations: '1' })],
  [
    'rows of old sites',
    async (events) => {
      const [records, sites] = [{ query: async () => [], write: neverCalled }, { list: async () => [] }]
      const deps = { records, events, sites, assignStep: neverCalled, wakeRemovals: neverCalled }
      return (await openStoreLosses(deps)).oldSites()
    },
  ],
]

/** Looks everything up in both stores, which have the same rows, `lookUpRows` among them; the answers must be equal. */
export async function compareLookUps(t: Test, stores: readonly [LookUpStore, LookUpStore]): Promise<void> {
  for (const [name, ask] of LOOK_UPS) {
    const [expected, found] = await Promise.all(stores.map(ask))
    assertEqual(t, found, expected, name)
    const text = toText(expected)
    t.ok(text.length > 200, `${name}: ${text.slice(0, 200)}`)
  }
}

const toText = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? String(one) : one))
/** Rows whose order among equal times engines choose. */
const sorted = <Row>(rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => (toText(a) < toText(b) ? -1 : toText(a) > toText(b) ? 1 : 0))
