import type { AgentEventRow, EventRow, Rows } from '../../src/rows.js'
import { admits, deed, type Goal, judge, value, type World } from './judge.js'

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
export interface Visit {
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
export interface Matched {
  visit: Visit
  passed: EventRow[]
}

export interface Scene {
  q: Question
  /** The site's, of all time. */
  events: readonly EventRow[]
  sessions: ReadonlyMap<bigint, Visit>
  /** Of the window, and passing the filters. */
  hits: readonly EventRow[]
  fetched: readonly AgentEventRow[]
  visits: readonly Matched[]
  within(at: Date): boolean
  passes(row: Row): boolean
  /** Whether the filters' paths allow a session's entry. */
  letIn(visit: Visit): boolean
  /** Where a row falls by a dimension: by `goal` it may be nowhere, or in several places. */
  keyOf(dimension: string): (row: Row) => Key | readonly Key[]
  /** Whether a row passes by more filters of this kind. */
  fits(row: Row, filter: Readonly<Record<string, unknown>>): boolean
}

export const ACTS = ['custom', 'outbound', 'file_download', 'form']
export const isAct = (row: EventRow): boolean => ACTS.includes(row.kind)
export const isView = (row: EventRow): boolean => row.kind === 'pageview'

const scenes = new WeakMap<Question, Scene>()
/** What a question is asked of: made once for each. */
export function scene(all: Rows, q: Question): Scene {
  const known = scenes.get(q) ?? sceneOf(all, q)
  scenes.set(q, known)
  return known
}

function sceneOf(all: Rows, q: Question): Scene {
  const { events, sessions } = siteOf(all, q.site)
  const within = (at: Date) => at.getTime() >= q.window[0] && at.getTime() < q.window[1]
  const world: World = {
    ...{ events, window: q.window, goals: q.goals ?? [] },
    exitPage: (id) => sessions.get(id)?.exit,
    seconds: (id) => sessions.get(id)?.seconds,
  }
  const judged = new Map<Row, boolean>()
  const passes = (row: Row) => {
    if (q.filters.length === 0) return true
    const passed = judged.get(row) ?? q.filters.every((filter) => judge(filter, row, world))
    judged.set(row, passed)
    return passed
  }
  return {
    q,
    events,
    sessions,
    within,
    passes,
    hits: events.filter((row) => within(row.timestamp) && passes(row)),
    fetched: all.agent_events.filter((row) => row.site_id === q.site && within(row.timestamp) && passes(row)),
    visits: [...sessions.values()]
      .filter((visit) => within(new Date(visit.start)))
      .map((visit) => ({ visit, passed: visit.rows.filter(passes) }))
      .filter(({ passed }) => passed.length > 0),
    letIn: ({ entry }) => q.filters.every((filter) => admits(filter, entry) !== false),
    fits: (row, filter) => judge(filter, row, world),
    keyOf: (dimension) => (row) => {
      if (dimension === 'goal')
        return (q.goals ?? []).flatMap((goal) => (judge(deed(goal), row, world) ? [goal.name] : []))
      const found = value(dimension, row, world)
      return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? found : undefined
    },
  }
}

const sites = new WeakMap<Rows, Map<number, { events: EventRow[]; sessions: Map<bigint, Visit> }>>()
/** A site's rows of people, and its sessions over all time: the same for every question. */
function siteOf(all: Rows, site: number) {
  const known = sites.get(all) ?? new Map<number, { events: EventRow[]; sessions: Map<bigint, Visit> }>()
  sites.set(all, known)
  const found = known.get(site)
  if (found) return found
  const events = all.events.filter((row) => row.site_id === site)
  const sessions = new Map([...group(events, (row) => row.session_id)].map(([id, rows]) => [id, visitOf(id, rows)]))
  known.set(site, { events, sessions })
  return { events, sessions }
}

function visitOf(id: bigint, unordered: EventRow[]): Visit {
  const rows = unordered.toSorted(inTime)
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
export const inTime = (a: EventRow, b: EventRow): number =>
  a.timestamp.getTime() - b.timestamp.getTime() || bytes(a.pathname, b.pathname) || bytes(a.kind, b.kind)

/** Text by its bytes: of two that are all ASCII by its characters, which is the same. */
export const bytes = (a: string, b: string): number =>
  ASCII.test(a) && ASCII.test(b) ? (a < b ? -1 : a > b ? 1 : 0) : Buffer.compare(Buffer.from(a), Buffer.from(b))
const ASCII = /^[\0-\x7f]*$/

export const group = <R, K>(rows: readonly R[], by: (row: R) => K): Map<K, R[]> => {
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
export const groups = <R, K>(rows: readonly R[], by: (row: R) => K | readonly K[]): Map<K, R[]> => {
  const many = (key: K | readonly K[]): key is readonly K[] => Array.isArray(key)
  const placed = rows.flatMap((row) => {
    const key = by(row)
    return (many(key) ? key : [key]).map((key) => ({ key, row }))
  })
  return new Map([...group(placed, ({ key }) => key)].map(([key, all]) => [key, all.map(({ row }) => row)]))
}
export const distinct = <R>(rows: readonly R[], by: (row: R) => unknown): number => new Set(rows.map(by)).size

export const sumOf = (numbers: readonly (number | null)[]): number | undefined =>
  numbers.reduce<number | undefined>((sum, n) => (n === null ? sum : (sum ?? 0) + n), undefined)
export const maxOf = (numbers: readonly (number | null)[]): number | undefined =>
  numbers.reduce<number | undefined>((most, n) => (n === null ? most : Math.max(most ?? 0, n)), undefined)
export const mean = (numbers: readonly number[]): number | undefined =>
  numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0) / numbers.length
/** What cannot be computed is not there. */
export const absent = <V>(row: Record<string, V | undefined | null>): Record<string, V> =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, v]) => (v === undefined || v === null ? [] : [[name, v] as const])),
  )
