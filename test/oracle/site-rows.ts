import type { AgentEventRow, EventRow, Rows } from '../../src/storage/rows.js'
import {
  atEntry,
  dimensionValue,
  type Goal,
  goalFilter,
  matches,
  type SiteRows,
  sectionOfPath,
} from './filter-match.js'

/** A question about a site, with everything resolved. */
export interface Question {
  site: number
  audience: 'human' | 'agent' | 'all'
  /** Milliseconds: start, and end (exclusive). */
  window: readonly [number, number]
  tz: string
  /** Canonical, parsed. */
  filters: readonly Readonly<Record<string, unknown>>[]
  /** The site's goals. */
  goals?: readonly Goal[]
  /** The patterns of the sections that the site's owner wrote; further ones are found in its paths. */
  sections?: readonly string[]
  /** Milliseconds: the time of the question, on which the sections that are found depend. */
  sectionsAt?: number
  /** All rows of the site, if those to count lack some: sections are found in all of them, and recording began with the first. */
  allRows?: Rows
  /** Milliseconds: the site's first row, if the rows to count lack some of its rows. */
  first?: number
  /** Milliseconds: times that were not recorded, start and end. */
  gaps?: readonly (readonly [number, number])[]
  /** Milliseconds: the time of the question; absent: after the window. */
  now?: number
  /** When visitors get another id; absent: never. */
  salt?: 'day' | 'week' | 'month' | 'never'
}
export type Row = EventRow | AgentEventRow
/** The group of a row; undefined for rows without a value. */
export type Key = string | number | boolean | undefined

/** A session over its whole length, whatever the window. */
export interface Session {
  id: bigint
  /** Sorted by time; in the same millisecond by path, then by kind. */
  rows: EventRow[]
  views: EventRow[]
  start: number
  seconds: number
  bounced: boolean
  entry: string | null
  exit: string | undefined
}
/** A session of the window, with those of its rows that pass the filters. */
export interface MatchingSession {
  session: Session
  matchingRows: EventRow[]
}

export interface SiteView {
  q: Question
  /** All rows of the site's people. */
  events: readonly EventRow[]
  sessions: ReadonlyMap<bigint, Session>
  /** The patterns of the sections, in the order in which they are tried. */
  sections: readonly string[]
  /** Hits in the window that pass the filters. */
  hitsInWindow: readonly EventRow[]
  fetchesInWindow: readonly AgentEventRow[]
  /** All fetches of the site. */
  fetches: readonly AgentEventRow[]
  sessionsInWindow: readonly MatchingSession[]
  within(at: Date): boolean
  passes(row: Row): boolean
  /** Whether a session with these matching rows passes the filters where it entered. */
  allowsEntry(matchingRows: readonly EventRow[]): boolean
  /** The group of a row by a dimension; by `goal` there may be none, or several. */
  keyOf(dimension: string): (row: Row) => Key | readonly Key[]
  /** Whether a session began at a page with this value of the dimension, if that is a value of pages. */
  beganAt(dimension: string): (session: Session, key: Key) => boolean
  /** Whether a row passes a further filter. */
  passesFilter(row: Row, filter: Readonly<Record<string, unknown>>): boolean
}

/** The session of reports that have none, of which only vitals and errors are counted. */
export const NO_SESSION = 0n

const ACTS = ['custom', 'outbound', 'file_download', 'form']
export const isAct = (row: EventRow): boolean => ACTS.includes(row.kind)
export const isView = (row: EventRow): boolean => row.kind === 'pageview'

const views = new WeakMap<Question, SiteView>()
/** The site's rows as the question selects them, computed once per question. */
export function siteView(all: Rows, q: Question): SiteView {
  const known = views.get(q) ?? buildSiteView(all, q)
  views.set(q, known)
  return known
}

function buildSiteView(all: Rows, q: Question): SiteView {
  const { events, sessions } = siteRows(all, q.site)
  const within = (at: Date) => at.getTime() >= q.window[0] && at.getTime() < q.window[1]
  const world: SiteRows = {
    ...{ events, window: q.window, goals: q.goals ?? [], sections: sectionsOf(q.allRows ?? all, q) },
    sessionExitPage: (id) => sessions.get(id)?.exit,
    sessionSeconds: (id) => sessions.get(id)?.seconds,
  }
  const fetches = all.agent_events.filter((row) => row.site_id === q.site)
  const judged = new Map<Row, boolean>()
  const passes = (row: Row) => {
    if (q.filters.length === 0) return true
    const passed = judged.get(row) ?? q.filters.every((filter) => matches(filter, row, world))
    judged.set(row, passed)
    return passed
  }
  return {
    q,
    events,
    sessions,
    sections: world.sections ?? [],
    within,
    passes,
    hitsInWindow: events.filter((row) => within(row.timestamp) && passes(row)),
    fetches,
    fetchesInWindow: fetches.filter((row) => within(row.timestamp) && passes(row)),
    sessionsInWindow: [...sessions.values()]
      .filter((visit) => within(new Date(visit.start)))
      .map((visit) => ({ session: visit, matchingRows: visit.rows.filter(passes) }))
      .filter(({ matchingRows }) => matchingRows.length > 0),
    allowsEntry: (matchingRows) =>
      matchingRows.some((row) => q.filters.every((filter) => matches(atEntry(filter), row, world))),
    passesFilter: (row, filter) => matches(filter, row, world),
    beganAt: (dimension) => (session, key) => {
      if (dimension === 'pathname') return session.entry === key
      if (dimension !== 'section') return true
      return session.entry !== null && sectionOfPath(world.sections ?? [], session.entry) === key
    },
    keyOf: (dimension) => (row) => {
      if (dimension === 'goal')
        return (q.goals ?? []).flatMap((goal) => (matches(goalFilter(goal), row, world) ? [goal.name] : []))
      const found = dimensionValue(dimension, row, world)
      return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? found : undefined
    },
  }
}

/** The written sections, then folders below the root with three pages that were read in the 90 days before the question. */
function sectionsOf(all: Rows, { site, sections = [], sectionsAt = 0 }: Question): string[] {
  const end = Math.floor(sectionsAt / 600_000) * 600_000
  const start = Math.floor(end / 86_400_000) * 86_400_000 - 90 * 86_400_000
  const read = [...all.events.filter(isView), ...all.agent_events.filter((row) => row.is_pageview)]
    .filter((row) => row.site_id === site && row.timestamp.getTime() >= start && row.timestamp.getTime() < end)
    .map((row) => row.pathname)
  const folders = groupBy([...new Set(read)], (path) => path.split('/')[1] ?? '')
  const found = [...folders].filter(([folder, pages]) => folder !== '' && !folder.includes('*') && pages.length >= 3)
  return [...sections, ...found.map(([folder]) => `/${folder}/*`).toSorted()]
}

const sites = new WeakMap<Rows, Map<number, { events: EventRow[]; sessions: Map<bigint, Session> }>>()
/** A site's rows of people and its sessions over all time, the same for every question. */
function siteRows(all: Rows, site: number) {
  const known = sites.get(all) ?? new Map<number, { events: EventRow[]; sessions: Map<bigint, Session> }>()
  sites.set(all, known)
  const found = known.get(site)
  if (found) return found
  const events = all.events.filter((row) => row.site_id === site)
  const sessions = new Map(
    [...groupBy(events, (row) => row.session_id)].flatMap(([id, rows]) =>
      id === NO_SESSION ? [] : [[id, buildSession(id, rows)] as const],
    ),
  )
  known.set(site, { events, sessions })
  return { events, sessions }
}

function buildSession(id: bigint, unordered: EventRow[]): Session {
  const rows = unordered.toSorted(byTime)
  const times = rows.map((row) => row.timestamp.getTime())
  const views = rows.filter(isView)
  const engaged = sumOf(rows.map((row) => row.engaged_ms)) ?? 0
  return {
    id,
    rows,
    views,
    start: Math.min(...rows.map((row) => row.session_start.getTime())),
    seconds: (Math.max(...times) - Math.min(...times)) / 1000,
    bounced: views.length === 1 && engaged < 10_000 && !rows.some(isAct),
    entry: rows[0]?.entry_page ?? null,
    exit: (views.at(-1) ?? rows.filter(isAct).at(-1))?.pathname,
  }
}

/** Sorts by time; of two in the same millisecond the one with the smaller path is first. */
const byTime = (a: EventRow, b: EventRow): number =>
  a.timestamp.getTime() - b.timestamp.getTime() || compareBytes(a.pathname, b.pathname) || compareBytes(a.kind, b.kind)

/** Compares text by its bytes. ASCII text compares the same by its characters. */
export const compareBytes = (a: string, b: string): number =>
  ASCII.test(a) && ASCII.test(b) ? (a < b ? -1 : a > b ? 1 : 0) : Buffer.compare(Buffer.from(a), Buffer.from(b))
const ASCII = /^[\0-\x7f]*$/

export const groupBy = <R, K>(rows: readonly R[], by: (row: R) => K): Map<K, R[]> => {
  const groups = new Map<K, R[]>()
  for (const row of rows) {
    const key = by(row)
    const found = groups.get(key)
    if (found) found.push(row)
    else groups.set(key, [row])
  }
  return groups
}
/** The same for rows that belong to several groups, or to none. */
export const groupByMany = <R, K>(rows: readonly R[], by: (row: R) => K | readonly K[]): Map<K, R[]> => {
  const many = (key: K | readonly K[]): key is readonly K[] => Array.isArray(key)
  const placed = rows.flatMap((row) => {
    const key = by(row)
    return (many(key) ? key : [key]).map((key) => ({ key, row }))
  })
  return new Map([...groupBy(placed, ({ key }) => key)].map(([key, all]) => [key, all.map(({ row }) => row)]))
}
export const countDistinct = <R>(rows: readonly R[], by: (row: R) => unknown): number => new Set(rows.map(by)).size

export const sumOf = (numbers: readonly (number | null)[]): number | undefined =>
  numbers.reduce<number | undefined>((sum, n) => (n === null ? sum : (sum ?? 0) + n), undefined)
export const maxOf = (numbers: readonly (number | null)[]): number | undefined =>
  numbers.reduce<number | undefined>((most, n) => (n === null ? most : Math.max(most ?? 0, n)), undefined)
export const mean = (numbers: readonly number[]): number | undefined =>
  numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0) / numbers.length
/** Removes values that cannot be computed. */
export const withoutAbsent = <V>(row: Record<string, V | undefined | null>): Record<string, V> =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, v]) => (v === undefined || v === null ? [] : [[name, v] as const])),
  )
