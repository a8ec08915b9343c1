import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { ReadDependencies } from '../../src/analytics/query/prepare-read.js'
import { createRecordingLookup } from '../../src/analytics/query/recording.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { EventRow, Rows } from '../../src/storage/rows.js'
import { type SessionSketch, sessionRows } from '../fixtures/generated-sessions.js'
import { agentRow } from '../fixtures/rows.js'
import { checkRead, type ReadCase } from './check-read.js'
import { EXPECTED_READS } from './expected-reads.js'
import { FUNNELS, GOALS, storedGoals } from './goals-and-funnels.js'
import type { Question } from './site-rows.js'

/** `ORACLE_SEED` and `ORACLE_RUNS` select other sites, and more of them. */
const SEED = Number(process.env.ORACLE_SEED ?? 20261121)
const RUNS = Number(process.env.ORACLE_RUNS ?? 120)

const at = (iso: string) => Date.parse(iso)
const HOUR = 3_600_000
/**
 * Windows around a night of 25 hours, a change of salts, two milliseconds, two weeks, and the five minutes before now.
 */
const NOW = at('2026-11-01T12:00Z')
const WINDOWS: readonly Question['window'][] = [
  [at('2026-10-24T22:00Z'), at('2026-10-25T23:00Z')],
  [at('2026-10-31T23:30Z'), at('2026-11-01T00:30Z')],
  [at('2026-10-25T00:59:59.999Z'), at('2026-10-25T01:00:00.001Z')],
  [at('2026-10-19T00:00Z'), at('2026-11-02T00:00Z')],
  [NOW - 300_000, NOW],
]
const ZONES = ['Europe/Berlin', 'Australia/Lord_Howe', 'America/Los_Angeles', 'Asia/Kolkata'] as const

/** Kinds of rows, the simplest first, because a failure shrinks to it. */
const ROW_KINDS: readonly (readonly [kind: string, more: Partial<EventRow>])[] = [
  ['pageview', {}],
  ['pageview', { engaged_ms: 9_999, scroll: 100 }],
  ['engagement', { engaged_ms: 10_000, scroll: 75 }],
  ['engagement', { engaged_ms: 0, suspected: true }],
  ['custom', { event_name: 'signup', props: '{"plan":"pro","price":51}' }],
  ['custom', { event_name: 'signup', identified_id: 'ann', traits: '{"plan":"free"}' }],
  ['custom', { event_name: 'purchase', props: '{"value":"19.99","currency":"eur"}', identified_id: 'bob' }],
  ['custom', { event_name: 'purchase', props: '{"value":5,"currency":null}' }],
  ['outbound', { props: '{"url":"https://a.example/x"}' }],
  ['form', { props: '{"form":"letter"}', country: 'FR' }],
  ['form', {}],
  ['file_download', {}],
  ['web_vitals', { vitals: { lcp: 2500, cls: 0.1, inp: null, fcp: 1801, ttfb: 0 } }],
  ['web_vitals', { vitals: { lcp: 100, cls: null, inp: 201, fcp: null, ttfb: null } }],
  ['error', { error: { type: 'TypeError', message: 'x', frame: 'a.js:1', fingerprint: 'f' } }],
  ['error', { error: { type: 'TypeError', message: 'y', frame: null, fingerprint: 'f' } }],
]
const SESSION_TRAITS: readonly Partial<EventRow>[] = [
  {},
  { country: 'DE', browser: 'Chrome', os: 'Linux', device_type: 'desktop' },
  { source: 'Google', channel: 'Organic Search', utm_campaign: 'may', country: 'US', suspected: true },
  { source: 'ChatGPT', channel: 'AI Assistants', utm_medium: 'email', browser: 'Chrome', hostname: 'www.one.example' },
]
const hit = fc.record({
  gap: fc.constantFrom(0, 1, 60_000, 300_000, 1_799_999, 1_800_000, 1_800_001, -1, 24 * HOUR),
  pathname: fc.constantFrom('/', '/docs', '/docs/a', '/🦆'),
  row: fc.constantFrom(...ROW_KINDS),
})
const visit = fc.record({
  visitor: fc.integer({ min: 1, max: 4 }),
  /** The edge of the window that the visit is near, and its distance. */
  late: fc.boolean(),
  off: fc.constantFrom(0, -1, 1, -1_800_000, 1_800_000, -24 * HOUR, 30 * HOUR, -365 * 24 * HOUR),
  of: fc.constantFrom(...SESSION_TRAITS),
  hits: fc.array(hit, { minLength: 1, maxLength: 6 }),
})
const fetch = fc.record({
  off: fc.constantFrom(0, -1, 1, HOUR),
  pathname: fc.constantFrom('/', '/docs'),
  agent_id: fc.constantFrom('gptbot', 'other'),
  verified: fc.constantFrom(null, true, false),
  action: fc.constantFrom(null, null, 'allow', 'gone'),
  accepts: fc.constantFrom(null, 'any', 'markdown'),
})

const is = (dimension: string, value: unknown, op = 'is') => ({ dimension, op, value })
const SECTIONS = ['/*a', '/docs/*']
const OF_BOTH = [
  is('section', '/docs/*'),
  is('section', 'docs', 'contains_not'),
  is('section', '^/[*]a$', 'matches'),
  { dimension: 'section', op: 'is_not_set' },
  is('pathname', '/docs', 'starts_with'),
  is('pathname', '/', 'is_not'),
  is('country', 'DE'),
  { dimension: 'country', op: 'is_not_set' },
]
const OF_PEOPLE = [
  ...OF_BOTH,
  is('kind', 'pageview'),
  is('event_name', 'signup'),
  is('exit_page', '/'),
  is('entry_page', '/', 'is_not'),
  is('goal', ['bought', 'deep']),
  is('goal', '12', 'is_not'),
  is('duration', 300, 'gte'),
  is('prop:price', 50, 'gt'),
  { has_done: is('event_name', 'purchase') },
  { has_not_done: is('exit_page', '/docs') },
  { dimension: 'source', op: 'is_set' },
]
type Node = Readonly<Record<string, unknown>>
const tree = (leaves: readonly Node[]): fc.Arbitrary<Node> => {
  const leaf = fc.constantFrom(...leaves)
  const two = fc.tuple(leaf, leaf)
  return fc.oneof(
    { arbitrary: leaf, weight: 4 },
    two.map((or): Node => ({ or })),
    two.map((and): Node => ({ not: { and } })),
    leaf.map((not): Node => ({ not })),
  )
}
const question = fc.nat({ max: EXPECTED_READS.length - 1 }).chain((j) =>
  fc.record({
    judged: fc.constant(j),
    audience: fc.constantFrom(...(EXPECTED_READS[j]?.audiences ?? ['human' as const])),
    trees: fc.array(tree(OF_PEOPLE), { maxLength: 2 }),
    plain: fc.array(tree(OF_BOTH), { maxLength: 2 }),
    tz: fc.constantFrom(...ZONES),
    compare: fc.constantFrom<ReadCase['compare'][]>('none', 'previous', 'year'),
    unit: fc.constantFrom<ReadCase['more']['unit'][]>('day', 'hour', 'minute', 'week', 'month'),
    pick: fc.nat({ max: 60 }),
  }),
)
const world = fc.record({
  window: fc.constantFrom(...WINDOWS),
  visits: fc.array(visit, { maxLength: 7 }),
  fetches: fc.array(fetch, { maxLength: 4 }),
  /** The rows that are aggregated when the read runs: nothing, everything, or everything but late hits. */
  sealed: fc.oneof({ arbitrary: fc.constant('nothing'), weight: 4 }, fc.constantFrom('all', 'before late hits')),
  questions: fc.array(question, { minLength: 1, maxLength: 2 }),
  /** Times that were not recorded: whether near the window's end, the distance, and the length. */
  gaps: fc.array(
    fc.tuple(
      fc.boolean(),
      fc.constantFrom(-86_400_000 * 3, -3_600_000, -60_000, 0, 1),
      fc.constantFrom(60_000, 3_600_000, 86_400_000 * 2),
    ),
    { maxLength: 1 },
  ),
})
type RandomSite = typeof world extends fc.Arbitrary<infer W> ? W : never

function siteRows(site_id: number, { window: [from, to], visits, fetches }: RandomSite): Rows {
  const people = visits.map(
    ({ visitor, late, off, of, hits }, i): SessionSketch => ({
      ...{ site_id, of, session_id: BigInt(i + 1), visitor_id: BigInt(visitor), after: BigInt(10 - visitor) },
      start: (late ? to : from) + off,
      hits: hits.map(({ gap, pathname, row: [kind, more] }) => ({ gap, pathname, kind, more })),
    }),
  )
  return {
    events: people.flatMap(sessionRows),
    agent_events: fetches.map(({ off, verified, action, ...row }) =>
      agentRow({
        ...{ ...row, site_id, verified, action, timestamp: new Date(from + off) },
        ...(action === null ? {} : { rule: 3 }),
        ...(action === 'gone' ? { status: 410, is_pageview: false, content_type: 'text/plain' } : {}),
        verification: verified === null ? 'unverifiable' : verified ? 'ranges' : 'spoofed',
      }),
    ),
  }
}

/** Selects the hits that arrive after aggregation. */
const lateHit = ({ sealed }: RandomSite) => {
  const some = sealed === 'before late hits'
  return (_: unknown, i: number) => some && i % 3 === 1
}
type PlacedSite = readonly [site: number, world: RandomSite, rows: Rows]
const place = (world: RandomSite, site: number): PlacedSite => [site, world, siteRows(site, world)]

/** Stores many sites at once, because each aggregation costs time. */
async function storeSites(worlds: readonly PlacedSite[], plain: EventStore, sealing: EventStore): Promise<void> {
  const all = (of: readonly (readonly [RandomSite, Rows])[], late: boolean): Rows => ({
    events: of.flatMap(([world, { events }]) => events.filter((row, i) => lateHit(world)(row, i) === late)),
    agent_events: late ? [] : of.flatMap(([, { agent_events }]) => agent_events),
  })
  const of = (sealed: boolean) =>
    worlds.flatMap(([, world, rows]) => ((world.sealed !== 'nothing') === sealed ? [[world, rows] as const] : []))
  await plain.append(all(of(false), false))
  if (of(true).length === 0) return
  await sealing.append(all(of(true), false))
  await sealing.aggregate(new Date(at('2027-01-01T00:00Z')))
  await sealing.append(all(of(true), true))
}

/**
 * Generates small sites around the edges of a window, in one store, and asks a few questions about each. A failing site
 * is generated again alone and shrinks to the fewest rows and the simplest question that still fail.
 */
export async function checkRandomSites(t: Test, open: () => Promise<EventStore>): Promise<void> {
  const [plain, sealing] = [await open(), await open()]
  const deps: Omit<ReadDependencies, 'store'> = {
    ...{ catalog: [], assistants: [], now: () => new Date(NOW), segment: async () => undefined },
    ...storedGoals(GOALS, FUNNELS),
    site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'month', owns: () => true, sections: SECTIONS }),
  }
  const asked = new Set<string>()
  const agrees = async ([site, drawn, rows]: PlacedSite) => {
    const store = drawn.sealed === 'nothing' ? plain : sealing
    const long = drawn.window[1] - drawn.window[0] > 6 * 24 * HOUR
    const [start, end] = drawn.window.map((each) => new Date(each).toISOString())
    for (const { judged: j, audience, trees, plain, tz, compare, unit, pick } of drawn.questions) {
      const judged = EXPECTED_READS[j]
      if (!judged) continue
      const filters = audience === 'human' ? trees : plain
      const gaps = drawn.gaps.map(([late, off, ms]): [number, number] => {
        const from = drawn.window[late ? 1 : 0] + off
        return [from, from + ms]
      })
      const q: Question = {
        site,
        audience,
        window: drawn.window,
        tz,
        filters,
        goals: GOALS,
        gaps,
        now: NOW,
        salt: 'month',
        sections: SECTIONS,
        sectionsAt: NOW,
      }
      const recording = createRecordingLookup({
        query: (statement) => store.query(statement),
        gaps: async () =>
          gaps.map(([start, end]) => ({ start: new Date(start), end: new Date(end), reason: 'not_running' })),
        clock: () => 0,
      })
      const put: ReadCase = {
        ...{ q, compare, window: `start=${start}&end=${end}`, ...(pick % 2 === 1 ? { suspected: 'exclude' } : {}) },
        // Two weeks have more minutes than a read returns.
        more: { now: NOW, funnels: FUNNELS, unit: long && unit === 'minute' ? 'hour' : unit, pick },
      }
      const { url, found, wanted, meta, total } = await checkRead(judged, rows, put, { ...deps, store, recording })
      asked.add(`${judged.path} ${audience}`)
      if (!isDeepStrictEqual(found, wanted))
        throw new Error(`${decodeURIComponent(url)}\nfound  ${JSON.stringify(found)}\nwanted ${JSON.stringify(wanted)}`)
      if (total !== undefined && meta.total !== total)
        throw new Error(`${decodeURIComponent(url)}\ntotal ${meta.total}, wanted ${total}`)
    }
  }
  const drawn = { seed: SEED, numRuns: RUNS }
  const worlds = fc.sample(world, drawn).map((each, i) => place(each, i + 1))
  await storeSites(worlds, plain, sealing)
  try {
    for (const each of worlds) await agrees(each)
    t.pass(`${worlds.length} sites`)
  } catch (error) {
    let site = worlds.length
    const alone = async (each: RandomSite) => {
      const one = place(each, ++site)
      await storeSites([one], plain, sealing)
      await agrees(one)
    }
    const result = await fc.check(fc.asyncProperty(world, alone), { ...drawn, includeErrorInReport: true })
    t.fail((result.failed && fc.defaultReportMessage(result)) || `only beside the others: ${error}`)
  }
  const all = EXPECTED_READS.flatMap(({ audiences }) => audiences).length
  // A few sites do not draw each read; hundreds do.
  t.ok(asked.size >= (RUNS >= 500 ? all : all / 2), `${asked.size} of ${all} reads were asked`)
}
