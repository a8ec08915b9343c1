import type { Test } from 'tap'
import type { ReadDependencies } from '../../src/analytics/query/prepare-read.js'
import type { EventStore } from '../../src/storage/event-store.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { generateRows } from '../fixtures/generated-sessions.js'
import { midnight } from './calendar.js'
import { checkRead, type ReadCase } from './check-read.js'
import { EXPECTED_READS } from './expected-reads.js'
import { FUNNELS, GOALS, storedGoals } from './goals-and-funnels.js'
import type { Question } from './site-rows.js'

/**
 * Asks every read of people about a generated site and recounts it. Each read meets a third of the filter sets, its
 * neighbours the others, and each meets each zone and each comparison; `ORACLE=all` asks all combinations.
 */
const NOW = Date.parse('2026-11-01T12:34:56.789Z')
/** Windows that run until now end with the ten seconds in which it is. */
const END = Date.parse('2026-11-01T12:35:00.000Z')
const ZONES = ['Europe/Berlin', 'Australia/Lord_Howe', 'America/Los_Angeles', 'Asia/Kolkata'] as const
const COMPARES = ['none', 'previous', 'year'] as const
const rows = generateRows({ seed: 20261102, sessions: 700, agents: 700 })
const SECTIONS = ['/docs/*/b', '/pricing', '/d*']
/** The goals, funnels and settings of the site. */
export const dependencies: Omit<ReadDependencies, 'store'> = {
  now: () => new Date(NOW),
  ...storedGoals(GOALS, FUNNELS),
  site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'month', owns: () => true, sections: SECTIONS }),
  segment: async () => undefined,
  catalog: [],
  assistants: [],
}

const at = (iso: string) => Date.parse(iso)
const FIRST = [1, 2].map((site) =>
  Math.min(
    ...[...rows.events, ...rows.agent_events]
      .filter(({ site_id }) => site_id === site)
      .map(({ timestamp }) => timestamp.getTime()),
  ),
)
const between = (start: string, end: string): [string, Question['window']] => [
  `start=${start}&end=${end}`,
  [at(start), at(end)],
]
type Unit = ReadCase['more']['unit']
type WindowFor = (tz: string, site: number) => readonly [query: string, window: Question['window'], unit: Unit]
/** The query's window, and its bounds by the oracle's own calendar. */
const WINDOWS: readonly [WindowFor, ...WindowFor[]] = [
  (tz) => ['range=30d', [midnight(NOW, tz, -29), END], 'day'],
  (tz) => ['range=7d', [midnight(NOW, tz, -6), END], 'hour'],
  () => [...between('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'), 'hour'],
  () => [...between('2026-10-25T00:10:00Z', '2026-10-25T02:20:00Z'), 'minute'],
  () => [...between('2026-03-20T05:00:00Z', '2026-03-31T07:30:00Z'), 'week'],
  (tz) => ['range=yesterday', [midnight(NOW, tz, -1), midnight(NOW, tz)], 'hour'],
  (tz) => ['range=today', [midnight(NOW, tz), END], 'minute'],
  () => ['range=24h', [END - 86_400_000, END], 'hour'],
  (tz) => ['range=90d', [midnight(NOW, tz, -89), END], 'week'],
  (_, site) => ['range=all', [FIRST[site - 1] ?? 0, END], 'month'],
  () => [...between('2026-10-05T00:00:00Z', '2026-10-31T23:30:00+05:30'), 'day'],
]

const is = (dimension: string, value: unknown, op = 'is') => ({ dimension, op, value })
const not = (dimension: string) => ({ dimension, op: 'is_not_set' })
const set = (dimension: string) => ({ dimension, op: 'is_set' })
const BOTH = [
  [],
  [is('pathname', '/docs', 'starts_with')],
  [is('pathname', ['/', '/docs'], 'is_not'), is('hostname', 'one.example')],
  [{ or: [is('pathname', '_', 'contains'), not('country')] }],
  [{ not: { and: [is('country', ['DE', 'US']), is('pathname', '/docs/*', 'matches_wildcard')] } }],
  [is('asn', [64_501, 20_000_000], 'between')],
  [{ dimension: 'pathname', op: 'is', value: '/DOCS', case_sensitive: false }],
  [is('pathname', ['^/[a-c]', '\\\\'], 'matches')],
  [is('pathname', ["/it's", '/a"b', '/🦆', '/100%25', '/other'])],
  [is('pathname', '/')],
  [is('section', ['/docs/*', '/unlisted/*'])],
  [{ or: [not('section'), is('section', '/d', 'starts_with_not')] }, set('section')],
]
const PEOPLE = [
  ...BOTH,
  [is('channel', 'AI Assistants')],
  [is('exit_page', '/'), is('entry_page', '/', 'is_not')],
  [{ has_done: is('event_name', "drop'; --") }],
  [{ has_not_done: is('prop:plan', 'pro') }, is('browser', 'Chrome')],
  [is('prop:price', 50, 'gt')],
  [is('kind', 'pageview')],
  [{ or: [is('pathname', '/pricing'), is('event_name', 'SIGN', 'contains')] }],
  [{ ...is('event_name', 'SIGN', 'contains'), case_sensitive: false }, is('pathname', '/', 'is_not')],
  [{ or: [is('exit_page', '/docs', 'starts_with'), { has_done: is('exit_page', '/pricing') }] }],
  [set('identified_id')],
  [is('country', 'nowhere')],
  [is('goal', ['pro', 'bought', '3'])],
  [{ or: [is('goal', '7', 'is_not'), is('country', 'DE')] }, { not: { or: [is('goal', 'deep'), is('os', 'Linux')] } }],
  [is('duration', 120, 'gte'), is('scroll', 90, 'lt')],
  [is('suspected', false), set('source'), is('utm_campaign', 'may', 'is_not')],
]
const AGENTS = [
  ...BOTH,
  [is('verified', true)],
  [is('verified', false, 'is_not'), is('purpose', ['search', 'training'])],
  [is('status', '4', 'starts_with')],
  [is('status', 400, 'gte'), is('conditional', 0)],
  [is('robots_allowed', true, 'is_not'), is('llms_listed', 1)],
  [not('user_agent')],
  [is('agent_id', 'other', 'is_not'), is('method', 'HEAD')],
  [is('operator', ['OpenAI', 'Google'])],
  [is('verification', 'ranges', 'is_not')],
  [{ not: { or: [is('status', 200), is('pathname', '/')] } }],
]
/** Filters for both audiences: each alone, then two at a time. */
const ALL = [...BOTH, ...BOTH.map((filters, i) => [...filters, ...(BOTH[(i * 3 + 4) % BOTH.length] ?? [])])]
/** Sets of filters for each audience. */
export const FILTERS: Record<Question['audience'], readonly Question['filters'][]> = {
  human: PEOPLE,
  agent: AGENTS,
  all: ALL,
}

const whole = process.env.ORACLE === 'all'
const pickFrom = <V>(list: readonly [V, ...V[]], i: number): V => list[i % list.length] ?? list[0]
const only = process.env.ORACLE_READS?.split(',')

/**
 * Opens three stores: one with no aggregates; one that aggregated everything and then got late hits; one that
 * aggregated up to the middle of a window.
 */
async function openStores(open: () => Promise<EventStore>): Promise<readonly [EventStore, EventStore, EventStore]> {
  const [plain, sealed, half] = [await open(), await open(), await open()]
  const isLate = (_: unknown, i: number) => i % 11 === 5
  await plain.append(rows)
  await sealed.append({ ...rows, events: rows.events.filter((row, i) => !isLate(row, i)) })
  await sealed.aggregate(new Date(at('2027-01-01T00:00Z')))
  await sealed.append({ events: rows.events.filter(isLate), agent_events: [] })
  await half.append(rows)
  await half.aggregate(new Date(at('2026-10-25T00:30Z')))
  return [plain, sealed, half]
}

export async function checkGeneratedSite(t: Test, open: () => Promise<EventStore>): Promise<void> {
  const stores = await openStores(open)
  for (const [j, judged] of EXPECTED_READS.entries()) {
    if (only && !only.includes(judged.path)) continue
    for (const audience of judged.audiences) {
      t.test(`${judged.path}, ${audience}`, async (t) => {
        for (const [i, filters] of FILTERS[audience].entries()) {
          if (!whole && (Math.floor(i / 2) + j) % 3 > 0) continue
          for (let n = 0; n < (whole ? 12 : 1); n++) {
            const tz = pickFrom(ZONES, i + j + n)
            const compare = pickFrom(COMPARES, Math.floor(i / 3) + n + Math.floor(n / 4))
            const site = 1 + ((i + n) % 2)
            const window = pickFrom(WINDOWS, 5 * i + 3 * n + j)
            const [asked, span, unit] = window(tz, site)
            const q: Question = {
              site,
              audience,
              window: span,
              tz,
              filters,
              goals: GOALS,
              salt: 'month',
              sections: SECTIONS,
              sectionsAt: NOW,
            }
            const more = { now: NOW, funnels: FUNNELS, unit, pick: i + n * FILTERS[audience].length }
            // Every second question leaves out suspected sessions.
            const suspected = (i + j + n) % 2 === 0 ? { suspected: 'exclude' as const } : {}
            const put = { q, window: asked, compare, more, ...suspected }
            for (const store of whole ? stores : [pickFrom(stores, i + j + n + Math.floor(i / 6))]) {
              const { url, found, wanted, meta, total } = await checkRead(judged, rows, put, { ...dependencies, store })
              assertEqual(t, found, wanted, `${stores.indexOf(store)}: ${decodeURIComponent(url)}`)
              if (total !== undefined) t.equal(meta.total, total)
            }
          }
        }
      })
    }
  }
}
