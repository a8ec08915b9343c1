import type { AgentEventRow, EventRow, Rows } from '../../src/storage/rows.js'
import { bucketLabel, timeline } from './calendar.js'
import { bucketParts } from './recorded.js'
import {
  compareBytes,
  groupBy,
  groupByMany,
  isAct,
  isView,
  type Key,
  type MatchingSession,
  maxOf,
  mean,
  type Question,
  type Row,
  siteView,
  sumOf,
  withoutAbsent,
} from './site-rows.js'

/** Recounts the reads row by row, with none of their code, SQL or calendar. */
export type { Question } from './site-rows.js'
export type Metrics = Record<string, number>
/** Grouped by goal, a row belongs to several groups or to none. */
type Keys = Key | readonly Key[]
type SessionTest = (visit: MatchingSession['session'], key: Key) => boolean
interface SessionRows {
  visit: MatchingSession['session']
  own: EventRow[]
}

/** Metrics of people that are not counts. */
const MEANS = ['bounce', 'duration', 'views_per_session']

export function recount(all: Rows, q: Question) {
  const {
    hitsInWindow: hits,
    fetchesInWindow: fetched,
    sessionsInWindow: visits,
    allowsEntry: letIn,
    keyOf: named,
    beganAt: began,
  } = siteView(all, q)

  /** The metrics of people, by key. */
  function people(
    keyOf: (row: EventRow) => Keys,
    keyOfVisit: (row: EventRow) => Keys,
    beganAt: SessionTest = () => true,
  ) {
    const byKey = groupByMany(hits, keyOf)
    const visitsByKey = new Map<Key, SessionRows[]>()
    for (const { session: visit, matchingRows: passed } of visits) {
      for (const [key, own] of groupByMany(passed, keyOfVisit)) {
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
        const entered = here.filter(({ visit, own }) => beganAt(visit, key) && letIn(own))
        const engaged = here.flatMap(({ own }) => sumOf(own.map((row) => row.engaged_ms)) ?? [])
        const scrolls = here.flatMap(({ own }) => maxOf(own.map((row) => row.scroll)) ?? [])
        const pageviews = rows.filter(isView).length
        const exits = here.filter(({ visit }) => visit.exit === key).length
        return [
          key,
          {
            metrics: withoutAbsent({
              visitors: new Set(rows.map((row) => row.visitor_id)).size,
              sessions: here.length,
              pageviews,
              bounce: mean(entered.map(({ visit }) => (visit.bounced ? 1 : 0))),
              duration: mean(here.map(({ visit }) => visit.seconds)),
              views_per_session: mean(here.map(({ visit }) => visit.views.length)),
              events: rows.filter(isAct).length,
            }),
            page: withoutAbsent({
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

  function agents(keyOf: (row: AgentEventRow) => Keys): Map<Key, Metrics> {
    return new Map(
      [...groupByMany(fetched, keyOf)].map(([key, rows]) => {
        const proven = rows.filter((row) => row.verified === true).length
        const spoofed = rows.filter((row) => row.verified === false).length
        return [
          key,
          withoutAbsent({
            fetches: rows.length,
            pageviews: rows.filter((row) => row.is_pageview).length,
            agents: new Set(rows.map((row) => row.agent_id)).size,
            verified: proven + spoofed > 0 ? proven / (proven + spoofed) : undefined,
            verified_fetches: proven,
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
    agent: {
      ...{ fetches: 0, pageviews: 0, agents: 0, bytes: 0 },
      ...{ verified_fetches: 0, spoofed: 0, indeterminate: 0, unverifiable: 0 },
    },
    all: { pageviews: 0 },
  }

  /** The audience's metrics by key. `moment` is the row's own time, or its session's start. */
  function metricsBy(keyOf: (row: Row, moment: Date) => Keys, beganAt?: SessionTest): Map<Key, Metrics> {
    const own = (row: Row) => keyOf(row, row.timestamp)
    const ofAgents = agents(own)
    if (q.audience === 'agent') return ofAgents
    const ofPeople = new Map(
      [...people(own, (row) => keyOf(row, row.session_start), beganAt)].map(([key, { metrics }]) => [key, metrics]),
    )
    if (q.audience === 'human') return ofPeople
    const counted = new Set([...groupByMany(hits, own).keys(), ...ofAgents.keys()])
    return new Map(
      [...counted].map((key) => [
        key,
        { pageviews: (ofPeople.get(key)?.pageviews ?? 0) + (ofAgents.get(key)?.pageviews ?? 0) },
      ]),
    )
  }

  const ranked = <R extends { key: Key }>(rows: R[], by: (row: R) => readonly number[]): R[] =>
    rows.sort((a, b) => {
      const better = by(a)
        .map((n, i) => (by(b)[i] ?? 0) - n)
        .find((n) => n !== 0)
      return better ?? compareKeys(a.key, b.key)
    })

  return {
    people,
    nothing: NOTHING[q.audience],
    overview: (): Metrics => metricsBy(() => 0).get(0) ?? NOTHING[q.audience],

    timeseries(unit: string) {
      const values = metricsBy((_, moment) => bucketLabel(moment.getTime(), q.tz, unit))
      const buckets = timeline(q.window[0], q.window[1], q.tz, unit)
      const parts = bucketParts(all, q, unit)
      return (metric: string) =>
        buckets.map(({ t: at, label: name }, i) => {
          const t = new Date(at).toISOString()
          const part = parts[i]
          const found = (values.get(name) ?? NOTHING[q.audience])[metric]
          const isCount = metric in NOTHING[q.audience]
          const isShare = metric === 'verified' && q.audience === 'agent'
          if (!isCount && !isShare && !(MEANS.includes(metric) && q.audience === 'human')) return { t }
          // Rows of a time that was not recorded count: other servers delivered them.
          if (part === 'none' && (isCount ? !found : isShare ? !values.has(name) : found === undefined)) return { t }
          const { verified_fetches, spoofed, indeterminate } = values.get(name) ?? NOTHING[q.audience]
          return {
            t,
            ...(found === undefined ? {} : { value: found }),
            ...(isShare ? { verified_fetches, spoofed, indeterminate } : {}),
            ...(part === 'all' ? {} : { partial: true }),
          }
        })
    },

    breakdown(dimension: string) {
      const rows = [...metricsBy(named(dimension), began(dimension))].map(([key, m]) => ({
        key,
        metrics: m,
      }))
      const order = { human: ['visitors', 'pageviews', 'sessions'], agent: ['fetches'], all: ['pageviews'] }[q.audience]
      return ranked(rows, ({ metrics }) => order.map((name) => metrics[name] ?? 0))
    },

    pages() {
      const rows = [...people(named('pathname'), named('pathname'), began('pathname'))].map(([key, found]) => {
        const { duration: _, views_per_session: __, events: ___, ...metrics } = found.metrics
        return { key, metrics: { ...metrics, ...found.page } }
      })
      return ranked(rows, ({ metrics }) => ['visitors', 'pageviews', 'sessions'].map((name) => metrics[name] ?? 0))
    },

    live() {
      const open = new Map(
        [...groupBy(hits, (row) => row.visitor_id)].map(([visitor, rows]) => [visitor, latest(rows)?.pathname]),
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
      const totals = groupBy(fetched, (row) => row.agent_id)
      const top = ranked(
        [...totals].filter(([id]) => id !== 'other').map(([key, rows]) => ({ key, rows })),
        ({ rows }) => [rows.length],
      ).slice(0, limit)
      const shown = new Set(top.map(({ key }) => key))
      const rest = fetched.filter((row) => !shown.has(row.agent_id))
      const shownSeries = [...top, ...(rest.length > 0 ? [{ key: 'other', rows: rest }] : [])]
      return shownSeries.map(({ key, rows }) => {
        const values = groupBy(rows, (row) => bucketLabel(row.timestamp.getTime(), q.tz, unit))
        const buckets = timeline(q.window[0], q.window[1], q.tz, unit)
        const parts = bucketParts(all, q, unit)
        return {
          agent_id: key,
          fetches: rows.length,
          spoofed: rows.filter((row) => row.verified === false).length,
          buckets: buckets.map((b, i) => {
            const t = new Date(b.t).toISOString()
            const value = values.get(b.label)?.length ?? 0
            if (parts[i] === 'none' && value === 0) return { t }
            return { t, value, ...(parts[i] === 'all' ? {} : { partial: true }) }
          }),
        }
      })
    },

    /** The last fetch of each value of a dimension. */
    lastFetches: (dimension: string): Map<Key, string> =>
      new Map(
        [...groupByMany(fetched, named(dimension))].map(([key, rows]) => [
          key,
          new Date(Math.max(...rows.map((row) => row.timestamp.getTime()))).toISOString(),
        ]),
      ),

    seen: () =>
      new Map(
        [...groupBy(fetched, (row) => row.agent_id)].map(([id, rows]) => [
          id,
          {
            fetches: rows.length,
            last_seen: new Date(Math.max(...rows.map((row) => row.timestamp.getTime()))).toISOString(),
          },
        ]),
      ),
  }
}

/** The latest row; of two in the same millisecond the one with the greater path. */
const latest = (rows: readonly EventRow[]): EventRow | undefined =>
  rows.reduce<EventRow | undefined>((best, row) => {
    if (!best || row.timestamp > best.timestamp) return row
    const same = row.timestamp.getTime() === best.timestamp.getTime()
    return same && compareBytes(row.pathname, best.pathname) > 0 ? row : best
  }, undefined)

/** Sorts text by its bytes, undefined last. */
function compareKeys(a: Key, b: Key): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(a, b)
  return Number(a) - Number(b)
}
