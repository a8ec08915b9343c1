import type { AgentEventRow, EventRow, Rows } from '../../src/record/row.js'
import { label, timeline } from './calendar.js'
import { admits, judge, value, type World } from './judge.js'

/** The reads of contract 5 counted again, row by row, with none of the reads' code, SQL or calendar. */
export interface Question {
  site: number
  audience: 'human' | 'agent' | 'all'
  /** Milliseconds: from, up to and without. */
  window: readonly [number, number]
  tz: string
  /** Canonical, parsed. */
  filters: readonly Readonly<Record<string, unknown>>[]
}
export type Metrics = Record<string, number>
/** Where a row falls; undefined: among those without a value. */
type Key = string | number | boolean | undefined

const ACTS = ['custom', 'outbound', 'file_download', 'form']
const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
const group = <R, K>(rows: readonly R[], by: (row: R) => K): Map<K, R[]> => {
  const groups = new Map<K, R[]>()
  for (const row of rows) {
    const found = groups.get(by(row))
    if (found) found.push(row)
    else groups.set(by(row), [row])
  }
  return groups
}
const mean = (numbers: readonly number[]) =>
  numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0) / numbers.length
const absent = (row: Record<string, number | undefined>): Metrics =>
  Object.fromEntries(Object.entries(row).flatMap(([name, n]) => (n === undefined ? [] : [[name, n]])))

interface Session {
  rows: EventRow[]
  views: number
  seconds: number
  bounced: boolean
  entry: string | null
  exit: string | undefined
}

export function recount(all: Rows, q: Question) {
  const { events, sessions } = siteOf(all, q.site)
  const within = (at: Date) => at.getTime() >= q.window[0] && at.getTime() < q.window[1]
  const world: World = { events, window: q.window, exitPage: (id) => sessions.get(id)?.exit }
  const passes = (row: EventRow | AgentEventRow) => q.filters.every((filter) => judge(filter, row, world))

  const hits = events.filter((row) => within(row.timestamp) && passes(row))
  const fetched = all.agent_events.filter((row) => row.site_id === q.site && within(row.timestamp) && passes(row))
  const started = [...sessions.values()].filter(
    ({ rows: [first] }) => first !== undefined && within(first.session_start),
  )
  const visits = started
    .map((visit) => ({ visit, passed: visit.rows.filter(passes) }))
    .filter(({ passed }) => passed.length > 0)
  const letIn = ({ entry }: Session) => q.filters.every((filter) => admits(filter, entry) !== false)

  /** Of people: one row of metrics per key. */
  function people(keyOf: (row: EventRow) => Key, keyOfVisit: (row: EventRow) => Key, entryIsKey = false) {
    const byKey = group(hits, keyOf)
    const visitsByKey = new Map<Key, { visit: Session; own: EventRow[] }[]>()
    for (const { visit, passed } of visits) {
      for (const [key, own] of group(passed, keyOfVisit)) {
        const found = visitsByKey.get(key)
        if (found) found.push({ visit, own })
        else visitsByKey.set(key, [{ visit, own }])
      }
    }
    const keys = new Set([...byKey.keys(), ...visitsByKey.keys()])
    return new Map(
      [...keys].map((key) => {
        const rows = byKey.get(key) ?? []
        const here = visitsByKey.get(key) ?? []
        const entered = here.filter(({ visit }) => letIn(visit) && (!entryIsKey || visit.entry === key))
        const engaged = here.flatMap(({ own }) => sumOf(own.map((row) => row.engaged_ms)) ?? [])
        const scrolls = here.flatMap(({ own }) => maxOf(own.map((row) => row.scroll)) ?? [])
        const pageviews = rows.filter((row) => row.kind === 'pageview').length
        const exits = here.filter(({ visit }) => visit.exit === key).length
        return [
          key,
          {
            metrics: absent({
              visitors: new Set(rows.map((row) => row.visitor_id)).size,
              sessions: here.length,
              pageviews,
              bounce: mean(entered.map(({ visit }) => (visit.bounced ? 1 : 0))),
              duration: mean(here.map(({ visit }) => visit.seconds)),
              views_per_session: mean(here.map(({ visit }) => visit.views)),
              events: rows.filter((row) => ACTS.includes(row.kind)).length,
            }),
            page: absent({
              entries: entered.length,
              exits,
              exit_rate: pageviews > 0 ? Math.min(1, exits / pageviews) : undefined,
              time_on_page: mean(engaged.map((ms) => ms / 1000)),
              scroll_depth: mean(scrolls),
            }),
          },
        ] as const
      }),
    )
  }

  function agents(keyOf: (row: AgentEventRow) => Key): Map<Key, Metrics> {
    return new Map(
      [...group(fetched, keyOf)].map(([key, rows]) => {
        const proven = rows.filter((row) => row.verified === true).length
        const spoofed = rows.filter((row) => row.verified === false).length
        return [
          key,
          absent({
            fetches: rows.length,
            pageviews: rows.filter((row) => row.is_pageview).length,
            agents: new Set(rows.map((row) => row.agent_id)).size,
            verified: proven + spoofed > 0 ? proven / (proven + spoofed) : undefined,
            spoofed,
            indeterminate: rows.filter((row) => row.verification === 'indeterminate').length,
            unverifiable: rows.filter((row) => row.verification === 'unverifiable').length,
            bytes: rows.reduce((sum, row) => sum + row.bytes, 0),
          }),
        ] as const
      }),
    )
  }

  const NOTHING: Record<Question['audience'], Metrics> = {
    human: { visitors: 0, sessions: 0, pageviews: 0, events: 0 },
    agent: { fetches: 0, pageviews: 0, agents: 0, spoofed: 0, indeterminate: 0, unverifiable: 0, bytes: 0 },
    all: { pageviews: 0 },
  }

  /** The audience's metrics per key; `moment` is the row's own time, or its session's start. */
  function metricsBy(
    keyOf: (row: EventRow | AgentEventRow, moment: Date) => Key,
    entryIsKey = false,
  ): Map<Key, Metrics> {
    const own = (row: EventRow | AgentEventRow) => keyOf(row, row.timestamp)
    const ofAgents = agents(own)
    if (q.audience === 'agent') return ofAgents
    const ofPeople = new Map(
      [...people(own, (row) => keyOf(row, row.session_start), entryIsKey)].map(([key, { metrics }]) => [key, metrics]),
    )
    if (q.audience === 'human') return ofPeople
    const counted = new Set([...hits.map(own), ...ofAgents.keys()])
    return new Map(
      [...counted].map((key) => [
        key,
        { pageviews: (ofPeople.get(key)?.pageviews ?? 0) + (ofAgents.get(key)?.pageviews ?? 0) },
      ]),
    )
  }

  const dimensionOf =
    (dimension: string) =>
    (row: EventRow | AgentEventRow): Key => {
      const found = value(dimension, row, world)
      return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? found : undefined
    }
  const ranked = <R extends { key: Key }>(rows: R[], by: (row: R) => readonly number[]): R[] =>
    rows.sort((a, b) => {
      const better = by(a)
        .map((n, i) => (by(b)[i] ?? 0) - n)
        .find((n) => n !== 0)
      return better ?? compareKeys(a.key, b.key)
    })

  return {
    nothing: NOTHING[q.audience],
    overview: (): Metrics => metricsBy(() => 0).get(0) ?? NOTHING[q.audience],

    timeseries(unit: string) {
      const values = metricsBy((_, moment) => label(moment.getTime(), q.tz, unit))
      const buckets = timeline(q.window[0], q.window[1], q.tz, unit)
      return (metric: string) =>
        buckets.map(({ t, label: name }) => {
          const found = (values.get(name) ?? NOTHING[q.audience])[metric]
          return { t: new Date(t).toISOString(), ...(found === undefined ? {} : { value: found }) }
        })
    },

    breakdown(dimension: string) {
      const rows = [...metricsBy(dimensionOf(dimension), dimension === 'pathname')].map(([key, m]) => ({
        key,
        metrics: m,
      }))
      const order = { human: ['visitors', 'pageviews', 'sessions'], agent: ['fetches'], all: ['pageviews'] }[q.audience]
      return ranked(rows, ({ metrics }) => order.map((name) => metrics[name] ?? 0))
    },

    pages() {
      const rows = [...people(dimensionOf('pathname'), dimensionOf('pathname'), true)].map(([key, found]) => {
        const { duration: _, views_per_session: __, events: ___, ...metrics } = found.metrics
        return { key, metrics: { ...metrics, ...found.page } }
      })
      return ranked(rows, ({ metrics }) => ['visitors', 'pageviews', 'sessions'].map((name) => metrics[name] ?? 0))
    },

    live() {
      const open = new Map(
        [...group(hits, (row) => row.visitor_id)].map(([visitor, rows]) => [visitor, latest(rows)?.pathname]),
      )
      const minute = (at: Date) => Math.floor((at.getTime() - q.window[0]) / 60_000)
      return {
        people: open.size,
        agents: new Set(fetched.map((row) => row.agent_id)).size,
        peopleOn: (path: string) => [...open.values()].filter((on) => on === path).length,
        agentsOn: (path: string) =>
          new Set(fetched.filter((row) => row.pathname === path).map((row) => row.agent_id)).size,
        paths: new Set([...open.values(), ...fetched.map((row) => row.pathname)]),
        peopleIn: (i: number) =>
          new Set(hits.filter((row) => minute(row.timestamp) === i).map((row) => row.visitor_id)).size,
        agentsIn: (i: number) =>
          new Set(fetched.filter((row) => minute(row.timestamp) === i).map((row) => row.agent_id)).size,
      }
    },

    series(limit: number, unit: string) {
      const totals = group(fetched, (row) => row.agent_id)
      const top = ranked(
        [...totals].filter(([id]) => id !== 'other').map(([key, rows]) => ({ key, rows })),
        ({ rows }) => [rows.length],
      ).slice(0, limit)
      const shown = new Set(top.map(({ key }) => key))
      const rest = fetched.filter((row) => !shown.has(row.agent_id))
      const all = [...top, ...(rest.length > 0 ? [{ key: 'other', rows: rest }] : [])]
      return all.map(({ key, rows }) => {
        const values = group(rows, (row) => label(row.timestamp.getTime(), q.tz, unit))
        const buckets = timeline(q.window[0], q.window[1], q.tz, unit)
        return {
          agent_id: key,
          fetches: rows.length,
          spoofed: rows.filter((row) => row.verified === false).length,
          buckets: buckets.map((b) => ({ t: new Date(b.t).toISOString(), value: values.get(b.label)?.length ?? 0 })),
        }
      })
    },

    seen: () =>
      new Map(
        [...group(fetched, (row) => row.agent_id)].map(([id, rows]) => [
          id,
          {
            fetches: rows.length,
            last_seen: new Date(Math.max(...rows.map((row) => row.timestamp.getTime()))).toISOString(),
          },
        ]),
      ),
  }
}

const sites = new WeakMap<Rows, Map<number, { events: EventRow[]; sessions: Map<bigint, Session> }>>()
/** A site's rows of people, and its sessions over all time: the same for every question. */
function siteOf(all: Rows, site: number) {
  const known = sites.get(all) ?? new Map<number, { events: EventRow[]; sessions: Map<bigint, Session> }>()
  sites.set(all, known)
  const found = known.get(site)
  if (found) return found
  const events = all.events.filter((row) => row.site_id === site)
  const sessions = new Map([...group(events, (row) => row.session_id)].map(([id, rows]) => [id, session(rows)]))
  known.set(site, { events, sessions })
  return { events, sessions }
}

function session(rows: EventRow[]): Session {
  const times = rows.map((row) => row.timestamp.getTime())
  const views = rows.filter((row) => row.kind === 'pageview')
  const engaged = sumOf(rows.map((row) => row.engaged_ms)) ?? 0
  return {
    rows,
    views: views.length,
    seconds: (Math.max(...times) - Math.min(...times)) / 1000,
    bounced: views.length === 1 && engaged < 10_000 && !rows.some((row) => ACTS.includes(row.kind)),
    entry: rows[0]?.entry_page ?? null,
    exit: latest(views)?.pathname,
  }
}

/** Of two in the same millisecond the path that sorts last. */
const latest = (rows: readonly EventRow[]): EventRow | undefined =>
  rows.reduce<EventRow | undefined>((best, row) => {
    if (!best || row.timestamp > best.timestamp) return row
    const same = row.timestamp.getTime() === best.timestamp.getTime()
    return same && bytes(row.pathname, best.pathname) > 0 ? row : best
  }, undefined)

const sumOf = (numbers: readonly (number | null)[]): number | undefined =>
  numbers.reduce<number | undefined>((sum, n) => (n === null ? sum : (sum ?? 0) + n), undefined)
const maxOf = (numbers: readonly (number | null)[]): number | undefined =>
  numbers.reduce<number | undefined>((most, n) => (n === null ? most : Math.max(most ?? 0, n)), undefined)

/** Absent last; text by its bytes. */
function compareKeys(a: Key, b: Key): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  if (typeof a === 'string' && typeof b === 'string') return bytes(a, b)
  return Number(a) - Number(b)
}
