import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { z } from 'zod'
import type { ReadDependencies } from '../../src/analytics/query/prepare-read.js'
import type { Evidence } from '../../src/capture/hit.js'
import type { SiteSettings } from '../../src/capture/site.js'
import type { CommitPosition } from '../../src/storage/commit-position.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { EventRow } from '../../src/storage/rows.js'
import { raw, sql } from '../../src/storage/sql.js'
import { HexId } from '../../src/storage/store.js'
import type { SaltStore } from '../../src/worker/ingest/salts.js'
import { browserHit } from '../fixtures/hits.js'
import type { Recording } from '../fixtures/importer.js'
import { observation } from '../fixtures/observations.js'
import { type Random, seeded } from '../fixtures/random.js'
import { createTestSalts, startWritePath } from '../fixtures/write-path.js'
import { checkRead, type ReadCase } from './check-read.js'
import { type Fact, NO_PAGE, recountRows } from './delivered-facts.js'
import { addFetch, countFetches, drawFiles, NO_FETCHES } from './delivered-files.js'
import { drawLog, importAndUndo } from './delivered-logs.js'
import { EXPECTED_READS } from './expected-reads.js'
import { FUNNELS, GOALS, storedGoals } from './goals-and-funnels.js'
import { NO_SESSION, type Question } from './site-rows.js'

/** `DELIVERY_SITES`, `DELIVERY_FIRST` and `ORACLE_SEED` select more sites, and other ones. */
const SITES = Number(process.env.DELIVERY_SITES ?? 4)
const FIRST_SITE = Number(process.env.DELIVERY_FIRST ?? 1)
const SEED = Number(process.env.ORACLE_SEED ?? 20261122)
/** Deliveries of these many sites are mixed. A group is drawn by itself, so that it can be repeated alone. */
const SITES_AT_ONCE = 4

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
/** The evening before the night of 23 hours in Berlin. Visits begin until an hour after midnight in UTC, when salts change. */
const FIRST_DAY = Date.UTC(2026, 2, 28, 19)
const GAPS = [
  1,
  1_000,
  MINUTE,
  MINUTE,
  5 * MINUTE,
  20 * MINUTE,
  30 * MINUTE - 1,
  30 * MINUTE,
  45 * MINUTE,
  3 * HOUR,
] as const
/** How long after it happened a message arrives. */
const DELAYS = [0, 0, 0, 2_000, 10 * MINUTE, 2 * HOUR, 11 * HOUR, 23 * HOUR] as const
const ENGAGED = [500, 9_000, 20_000, 4 * MINUTE, 26 * MINUTE, 50 * MINUTE, 4 * HOUR] as const

/** A page is reported by its server or by its browser, never by both: which halves are one view is tested elsewhere. */
const SERVED = ['/', '/docs', '/docs/a.html'] as const
const BROWSED = ['/pricing', '/app', '/app/b'] as const
const LANGUAGES = ['de', 'en', 'fr'] as const

/** One message, which brings one or two facts. */
interface Message {
  at: number
  arrives: number
  site: number
  evidence: Evidence
}
interface Person {
  site: number
  language: string
  ip: string
  facts: Fact[]
  served: { at: number; pathname: string; status: number }[]
}

const ACTS = ['served', 'served', 'browsed', 'next', 'next', 'event'] as const
const REPORTS = ['engagement', 'engagement', 'vitals', 'error'] as const

type DrawnEvent = readonly [
  kind: 'custom' | 'outbound' | 'file_download' | 'form',
  name: string | undefined,
  props: object,
]
const EVENTS: readonly [DrawnEvent, ...DrawnEvent[]] = [
  ['custom', 'signup', { plan: 'pro' }],
  ['custom', 'purchase', { value: '19.99', currency: 'EUR' }],
  ['outbound', undefined, { url: 'https://a.example/x' }],
  ['file_download', undefined, { url: 'https://a.example/f.pdf' }],
  ['form', undefined, { form: 'letter' }],
]

/** Kinds of sites, in turn: half of them have daily salts, half of them an import too. */
const hasDailySalt = (site: number): boolean => site % 4 >= 2
const saltOf = (site: number) => (hasDailySalt(site) ? 'day' : 'never')
/** An import leaves reports of pages where they are, so the people of these sites only act. */
const hasImport = (site: number): boolean => site % 4 === 1 || site % 4 === 2
const dayOf = (at: number): number => Math.floor(at / DAY)

/**
 * Draws what one person does in a day or two, and the messages that tell it. With daily salts pages report on the day on
 * which they were seen: after midnight, they are another visitor's. Long because it lists what a person may do.
 */
function drawPerson(random: Random, site: number, n: number, from: number): { person: Person; messages: Message[] } {
  const language = LANGUAGES[n] ?? 'de'
  const facts: Fact[] = []
  const messages: Message[] = []
  const served: Person['served'] = []
  const ip = `10.${site >> 8}.${site & 255}.${n + 1}`
  const hostname = `s${site}.example`
  let at = from + random.int(6 * HOUR)
  let before: string | undefined
  const tell = (evidence: Evidence) => messages.push({ at, arrives: at + random.of(DELAYS), site, evidence })
  const message = { hostname, ip }
  const hit = (pathname: string, more: object) =>
    tell(browserHit({ ...message, site, language, timestamp: new Date(at).toISOString(), pathname, ...more }))
  const fact = (kind: string, pathname: string, row: Partial<EventRow> = {}, engaged = 0, when = at) =>
    facts.push({ kind, at: when, pathname, engaged, row: { language, ...row } })
  /** At most the time since the page was seen last: a browser measures no more. */
  const measure = (pathname: string, until: number) => {
    const seen = facts.findLast((one) => one.kind === 'pageview' && one.pathname === pathname && one.at <= until)
    return Math.min(random.of(ENGAGED), seen ? until - seen.at : DAY)
  }
  /** Whether the page was seen today, or never. */
  const mayReport = (pathname: string): boolean => {
    const seen = facts.findLast((one) => one.kind === 'pageview' && one.pathname === pathname)
    return !hasDailySalt(site) || seen === undefined || dayOf(seen.at) === dayOf(at)
  }
  for (let left = 1 + random.int(14); left > 0; left--) {
    const pathname = random.of([...SERVED, ...BROWSED])
    const kind = random.of(hasImport(site) ? ACTS : mayReport(pathname) ? [...ACTS, ...REPORTS] : ACTS)
    if (kind === 'served') {
      const [page, status] = [random.of(SERVED), random.of([200, 304])]
      tell(
        observation({
          ...{ ...message, pathname: page, status, timestamp: new Date(at).toISOString() },
          ...(status === 304 && { conditional: 1, content_type: '' }),
          headers: { 'accept-language': language, 'sec-fetch-dest': 'document' },
        }),
      )
      served.push({ at, pathname: page, status })
      fact('pageview', page)
      for (const one of drawFiles(random, { at, page, hostname, ip })) tell(one)
      before = page
    } else if (kind === 'browsed') {
      const page = random.of(BROWSED)
      hit(page, {})
      fact('pageview', page)
      before = page
    } else if (kind === 'next') {
      const measures = !hasImport(site) && (before === undefined || mayReport(before))
      const engaged_ms = before === undefined || !measures ? 0 : measure(before, at - 1)
      const scroll = measures ? random.of([0, 30, 100]) : 0
      if (engaged_ms + scroll > 0) fact('engagement', before ?? NO_PAGE, { engaged_ms, scroll }, engaged_ms, at - 1)
      hit(pathname, { engaged_ms, scroll, ...(before && { referrer: `https://${hostname}${before}` }) })
      fact('pageview', pathname)
      before = pathname
    } else if (kind === 'event') {
      const [event, name, props] = random.of(EVENTS)
      hit(pathname, { kind: event, props, ...(name && { name }) })
      fact(event, pathname, { event_name: name ?? null, props: JSON.stringify(props) })
    } else if (kind === 'engagement') {
      const [engaged_ms, scroll] = [measure(pathname, at), 50]
      hit(pathname, { kind, engaged_ms, scroll })
      fact(kind, pathname, { engaged_ms, scroll }, engaged_ms)
    } else if (kind === 'vitals') {
      const lcp = 100 + random.int(5_000)
      hit(pathname, { kind: 'web_vitals', vitals: { lcp } })
      fact('web_vitals', pathname, { vitals: { lcp, cls: null, inp: null, fcp: null, ttfb: null } })
    } else {
      hit(pathname, { kind, props: { type: 'TypeError', message: 'x is undefined', frame: 'a.js:1:2' } })
      fact(kind, pathname, {
        error: { type: 'TypeError', message: 'x is undefined', frame: 'a.js:1:2', fingerprint: '' },
      })
    }
    at += random.of(GAPS)
  }
  return { person: { site, language, ip, facts, served }, messages }
}

const numberedSite = (id: number): SiteSettings => ({
  ...{ id, domains: [`s${id}.example`], timezone: 'UTC', respect_gpc: false },
  ...{ visitor_salt: saltOf(id), excluded_paths: [] },
})

interface Delivery {
  random: Random
  sites: readonly SiteSettings[]
  half(): Promise<void>
  /** Called when everything is delivered, while the write path runs. */
  end(writing: Recording, salts: SaltStore, now: () => number): Promise<void>
}

/** Delivers messages in the order of their arrival, in requests of any size, with restarts and aggregation between. */
async function deliver(store: EventStore, messages: readonly Message[], { random, sites, half, end }: Delivery) {
  let now = messages[0]?.arrives ?? 0
  const salts = createTestSalts(() => now)
  const start = (from: CommitPosition) =>
    startWritePath({ store, now: () => now, salts, from, limit: random.of([16, 1_000]), sites })
  let writing = await start({ run: '00000000000000aa', sequence: 0, human: 0, agent: 0, drops: {} })
  for (let n = 0; n < messages.length; ) {
    const first = messages[n]?.arrives ?? now
    // A longer wait may end more than a day after the message was sent, when its salt is destroyed.
    const batch = messages
      .slice(n, n + 1 + random.int(random.of([1, 4, 30])))
      .filter(({ arrives }) => arrives - first < 29 * MINUTE)
    n += batch.length
    now = batch.at(-1)?.arrives ?? now
    if (random() < 0.1) {
      await writing.stop()
      writing = await start(writing.position())
    }
    await writing.record(batch.map(({ evidence }) => evidence))
    if (n >= messages.length / 2 && n - batch.length < messages.length / 2) await half()
    if (random() < 0.1) await store.aggregate(new Date(now - random.of([0, 2 * HOUR, 12 * HOUR])))
  }
  await end(writing, salts, () => now)
  await writing.stop()
}

const Visitor = z.object({
  site_id: z.int(),
  day: z.int(),
  language: z.string(),
  visitor_id: HexId,
  browser: z.string(),
  os: z.string(),
})
const Fingerprint = z.object({
  error: z.string().transform((text) => z.object({ fingerprint: z.string() }).parse(JSON.parse(text))),
})

/** Names that only the product gives: of visitors, of their devices, and of the error. Counts are never taken from it. */
async function readNames(store: EventStore) {
  const all = sql`(select * from events union all select * from loose_reports)`
  const visitors = (
    await store.query(sql`select distinct site_id, language, visitor_id, browser, os,
      ${store.dialect.divideInteger(store.dialect.epochMs(raw('timestamp')), raw(String(DAY)))} as day
      from ${all} a where language is not null and coalesce(reported_at, timestamp) = timestamp`)
  ).map((row) => Visitor.parse(row))
  const [error] = await store.query(sql`select error from ${all} a where error is not null limit 1`)
  return { visitors, fingerprint: error ? Fingerprint.parse(error).error.fingerprint : '' }
}

/** The rows of people's facts. Their names are the store's. */
async function expectRows(store: EventStore, site: number, people: readonly Person[]): Promise<EventRow[]> {
  const { visitors, fingerprint } = await readNames(store)
  return people.flatMap(({ language, facts }) => {
    const names = visitors.filter((one) => one.site_id === site && one.language === language)
    const [name] = names
    const isOf = (at: number) => (one: { day: number }) => !hasDailySalt(site) || one.day === dayOf(at)
    return recountRows(facts, (at) => names.find(isOf(at))?.visitor_id ?? 0n).map((row) => ({
      ...{ ...row, site_id: site, hostname: `s${site}.example`, browser: name?.browser ?? null, os: name?.os ?? null },
      ...{ device_type: 'desktop', error: row.error && { ...row.error, fingerprint } },
    }))
  })
}

const is = (dimension: string, value: unknown, op = 'is') => ({ dimension, op, value })
const FILTERS: readonly [Question['filters'], ...Question['filters'][]] = [
  [],
  [],
  [is('pathname', '/docs', 'starts_with')],
  [is('exit_page', ['/', '/app'])],
  [{ not: { and: [is('entry_page', '/'), is('kind', 'pageview')] } }],
]

/**
 * Draws sites, delivers what happened there late, shuffled and split, and asks every read about each. The recount knows
 * what happened, and nothing of the order in which it arrived.
 */
export async function checkDeliveries(t: Test, open: () => Promise<EventStore>): Promise<void> {
  let [sites, asked] = [0, 0]
  const seen = { loose: 0, sessions: 0, logged: 0 }
  for (
    let first = FIRST_SITE - ((FIRST_SITE - 1) % SITES_AT_ONCE);
    first < FIRST_SITE + SITES;
    first += SITES_AT_ONCE
  ) {
    const numbers = Array.from({ length: SITES_AT_ONCE }, (_, i) => first + i)
    const random = seeded(SEED + first * 1_000_003)
    const store = await open()
    const drawn = numbers.flatMap((site) =>
      Array.from({ length: 1 + random.int(3) }, (_, n) => drawPerson(random, site, n, FIRST_DAY)),
    )
    const messages = drawn.flatMap((one) => one.messages).toSorted((a, b) => a.arrives - b.arrives)
    // Results of half of it, which are shared until the next write: none may be an answer at the end.
    const half = async () => {
      for (const site of numbers) await askAboutHalf(store, site)
    }
    const peopleOf = (site: number) => drawn.map(({ person }) => person).filter((person) => person.site === site)
    // Results while a log is imported, which leaves again.
    const end: Delivery['end'] = async (recording, salts, now) => {
      for (const site of numbers.filter(hasImport)) {
        // A line soon after midnight may continue a visit of the day before, whose salt it needs.
        const isHeld = (at: number) => !hasDailySalt(site) || dayOf(at - 30 * MINUTE) >= dayOf(now()) - 1
        const log = drawLog(random, peopleOf(site), isHeld)
        seen.logged += log.human
        const given = { store, site: numberedSite(site), recording, salts, now }
        await importAndUndo(t, given, log, async () => {
          asked += await checkSite(t, { store, site, rows: await expectRows(store, site, log.people), random })
        })
      }
    }
    await deliver(store, messages, { random, sites: numbers.map(numberedSite), half, end })
    for (const site of numbers) {
      const rows = await expectRows(store, site, peopleOf(site))
      t.same(
        await countFetches(store, site),
        drawn
          .filter(({ person }) => person.site === site)
          .flatMap((one) => one.messages)
          .reduce(addFetch, NO_FETCHES),
        `site ${site}: what agents fetched`,
      )
      sites++
      asked += await checkSite(t, { store, site, rows, random })
      seen.loose += rows.filter((row) => row.session_id === NO_SESSION).length
      seen.sessions += new Set(rows.map((row) => row.session_id)).size
    }
  }
  t.ok(asked >= sites * 15, `${sites} sites, ${asked} answers`)
  t.ok(
    seen.sessions > sites * 3 && seen.loose > sites / 8 && seen.logged > sites / 2,
    `${seen.sessions} sessions, ${seen.loose} reports without one, ${seen.logged} views that only a log had`,
  )
}

const NOW = FIRST_DAY + 4 * DAY
const ZONES = ['UTC', 'Europe/Berlin'] as const
const WINDOWS = [
  [FIRST_DAY - DAY, NOW],
  [FIRST_DAY, NOW],
  [FIRST_DAY + 3 * HOUR, FIRST_DAY + 10 * HOUR],
] as const

const readDependencies = (store: EventStore): ReadDependencies => ({
  ...{ store, catalog: [], assistants: [], now: () => new Date(NOW), segment: async () => undefined },
  ...storedGoals(GOALS, FUNNELS),
  site: async (id) => ({ id, timezone: 'UTC', visitor_salt: saltOf(id), owns: () => true }),
})

async function askAboutHalf(store: EventStore, site: number): Promise<void> {
  for (const judged of EXPECTED_READS.filter(({ audiences }) => audiences.includes('human')))
    for (const window of WINDOWS) {
      const q: Question = {
        ...{ site, audience: 'human', window, tz: 'UTC', filters: [], goals: GOALS, first: window[0] },
      }
      const [start, end] = window.map((each) => new Date(each).toISOString())
      const put: ReadCase = {
        ...{ q, compare: 'none', window: `start=${start}&end=${end}` },
        more: { now: NOW, funnels: FUNNELS, unit: 'day', pick: 0 },
      }
      await checkRead(judged, { events: [], agent_events: [] }, put, readDependencies(store))
    }
}

async function checkSite(
  t: Test,
  { store, site, rows, random }: { store: EventStore; site: number; rows: EventRow[]; random: Random },
): Promise<number> {
  const now = NOW
  const deps = readDependencies(store)
  const all = { events: rows, agent_events: [] }
  const withSession = { events: rows.filter((row) => row.session_id !== NO_SESSION), agent_events: [] }
  // A report without a session is a row like any other: it says since when the site is recorded.
  const first = Math.min(...rows.map(({ timestamp }) => timestamp.getTime()))
  let asked = 0
  for (const judged of EXPECTED_READS) {
    if (!judged.audiences.includes('human')) continue
    const window = random.of(WINDOWS)
    const q: Question = {
      ...{ site, audience: 'human', window, tz: random.of(ZONES), filters: random.of(FILTERS), goals: GOALS, first },
      salt: saltOf(site),
    }
    const [start, end] = window.map((each) => new Date(each).toISOString())
    const put: ReadCase = {
      ...{ q, compare: random.of(['none', 'previous'] as const), window: `start=${start}&end=${end}` },
      more: { now, funnels: FUNNELS, unit: random.of(['day', 'hour'] as const), pick: random.int(60) },
    }
    // Signals against a person depend on the order of arrival; they are not part of a session.
    const counted = judged.path === 'performance' || judged.path === 'errors' ? all : withSession
    const { url, found, wanted, total, meta } = await checkRead(judged, counted, put, deps)
    if (/dimension=(suspected|country|asn|recorded|device|browser|os)/.test(url)) continue
    asked++
    if (!isDeepStrictEqual(found, wanted) || (total !== undefined && meta.total !== total))
      t.fail(decodeURIComponent(url), { found, wanted, facts: rows.length })
  }
  return asked
}
