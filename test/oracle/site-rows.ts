import type { AgentEventRow, EventRow, Rows } from '../../src/rows.js'
import { allowsEntry, dimensionValue, type Goal, goalFilter, matches, type SiteRows } from './filter-match.js'

/** What is asked of a site, with everything resolved. */
export interface Question {
  site: number
  audience: 'human' | 'agent' | 'all'
  /** Milliseconds: from, up to and without. */
  window: readonly [number, number]
  tz: string
  /** Canonical, parsed. */
  filters: readonly Readonly<Record<string, unknown>>[]
  /** The site's. */
  goals?: readonly Goal[]
}
export type Row = EventRow | AgentEventRow
/** Where a row falls; undefined: among those without a value. */
export type Key = string | number | boolean | undefined

/** A session over its whole length, whatever the window. */
export interface Session {
  id: bigint
  /** In the order of their time; of the same millisecond by path, then kind. */
  rows: EventRow[]
  views: EventRow[]
  start: number
  seconds: number
  bounced: boolean
  entry: string | null
  exit: string | undefined
}
/** A session of the window, and those of its rows that pass the filters. */
export interface MatchingSession {
  session: Session
  matchingRows: EventRow[]
}

export interface SiteView {
  q: Question
  /** The site's, of all time. */
  events: readonly EventRow[]
  sessions: ReadonlyMap<bigint, Session>
  /** Of the window, and passing the filters. */
  hitsInWindow: readonly EventRow[]
  fetchesInWindow: readonly AgentEventRow[]
  sessionsInWindow: readonly MatchingSession[]
  within(at: Date): boolean
  passes(row: Row): boolean
  /** Whether the filters' paths allow a session's entry. */
  allowsEntry(visit: Session): boolean
  /** Where a row falls by a dimension: by `goal` it may be nowhere, or in several places. */
  keyOf(dimension: string): (row: Row) => Key | readonly Key[]
  /** Whether a row passes by more filters of this kind. */
  passesFilter(row: Row, filter: Readonly<Record<string, unknown>>): boolean
}

export const ACTS = ['custom', 'outbound', 'file_download', 'form']
export const isAct = (row: EventRow): boolean => ACTS.includes(row.kind)
export const isView = (row: EventRow): boolean => row.kind === 'pageview'

const views = new WeakMap<Question, SiteView>()
/** What a question is asked of: made once for each. */
export function siteView(all: Rows, q: Question): SiteView {
  const known = views.get(q) ?? buildSiteView(all, q)
  views.set(q, known)
  return known
}

function buildSiteView(all: Rows, q: Question): SiteView {
  const { events, sessions } = siteRows(all, q.site)
  const within = (at: Date) => at.getTime() >= q.window[0] && at.getTime() < q.window[1]
  const world: SiteRows = {
    ...{ events, window: q.window, goals: q.goals ?? [] },
    sessionExitPage: (id) => sessions.get(id)?.exit,
    sessionSeconds: (id) => sessions.get(id)?.seconds,
  }
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
    within,
    passes,
    hitsInWindow: events.filter((row) => within(row.timestamp) && passes(row)),
    fetchesInWindow: all.agent_events.filter((row) => row.site_id === q.site && within(row.timestamp) && passes(row)),
    sessionsInWindow: [...sessions.values()]
      .filter((visit) => within(new Date(visit.start)))
      .map((visit) => ({ session: visit, matchingRows: visit.rows.filter(passes) }))
      .filter(({ matchingRows }) => matchingRows.length > 0),
    allowsEntry: ({ entry }) => q.filters.every((filter) => allowsEntry(filter, entry) !== false),
    passesFilter: (row, filter) => matches(filter, row, world),
    keyOf: (dimension) => (row) => {
      if (dimension === 'goal')
        return (q.goals ?? []).flatMap((goal) => (matches(goalFilter(goal), row, world) ? [goal.name] : []))
      const found = dimensionValue(dimension, row, world)
      return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? found : undefined
    },
  }
}

const sites = new WeakMap<Rows, Map<number, { events: EventRow[]; sessions: Map<bigint, Session> }>>()
/** A site's rows of people, and its sessions over all time: the same for every question. */
function siteRows(all: Rows, site: number) {
  const known = sites.get(all) ?? new Map<number, { events: EventRow[]; sessions: Map<bigint, Session> }>()
  sites.set(all, known)
  const found = known.get(site)
  if (found) return found
  const events = all.events.filter((row) => row.site_id === site)
  const sessions = new Map(
    [...groupBy(events, (row) => row.session_id)].map(([id, rows]) => [id, buildSession(id, rows)]),
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
    exit: views.at(-1)?.pathname,
  }
}

/** Of two in the same millisecond the path that sorts first. */
export const byTime = (a: EventRow, b: EventRow): number =>
  a.timestamp.getTime() - b.timestamp.getTime() || compareBytes(a.pathname, b.pathname) || compareBytes(a.kind, b.kind)

/** Text by its bytes: of two that are all ASCII by its characters, which is the same. */
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
/** The same of rows that may fall into several groups at once, or into none. */
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
/** What cannot be computed is not there. */
export const withoutAbsent = <V>(row: Record<string, V | undefined | null>): Record<string, V> =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, v]) => (v === undefined || v === null ? [] : [[name, v] as const])),
  )
