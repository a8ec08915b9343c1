import type { EventRow } from '../../src/record/row.js'
import { type Named, ranked } from './beside.js'
import { label, timeline } from './calendar.js'
import { absent, group, isAct, isView, type Scene, type Visit } from './site.js'

const iso = (at: number) => new Date(at).toISOString()
const last = <V>(values: readonly (V | null)[]): V | undefined =>
  values.findLast((value) => value !== null) ?? undefined

/** `stats/sessions`: the window's, the newest first. */
export function sessions({ visits }: Scene): Named[] {
  const rows = visits.map(({ visit }) => session(visit))
  return ranked(
    rows,
    ({ start }) => [start],
    ({ row }) => [BigInt(String(row.id))],
  ).map(({ row }) => row)
}

export function session(visit: Visit): { start: number; row: Named } {
  const { rows, views, start } = visit
  const [first] = rows
  const ended = Math.max(...rows.map((row) => row.timestamp.getTime()))
  const visitors = rows.map((row) => row.visitor_id).toSorted((a, b) => (a < b ? -1 : 1))
  return {
    start,
    row: absent<unknown>({
      id: String(visit.id),
      visitor_id: String(visitors[0]),
      started_at: iso(start),
      ended_at: iso(ended),
      duration: visit.seconds,
      pageviews: views.length,
      events: rows.filter(isAct).length,
      entry_page: visit.entry,
      exit_page: visit.exit,
      channel: first?.channel,
      source: first?.source,
      country: first?.country,
      browser: first?.browser,
      os: first?.os,
      device_type: first?.device_type,
    }),
  }
}

/** `stats/sessions/{id}`: what happened in it, in its order. */
export const timelineOf = ({ rows }: Visit): Named[] =>
  rows.map((row) => {
    const props: unknown = row.props === null || /\\ud[89a-f]/i.test(row.props) ? undefined : JSON.parse(row.props)
    return absent<unknown>({
      timestamp: row.timestamp.toISOString(),
      kind: row.kind,
      name: row.event_name,
      pathname: row.pathname,
      props,
    })
  })

/** `stats/visitors`: who had a hit in the window, the newest first. */
export function visitors({ hits, visits, events }: Scene): Named[] {
  const started = new Map<bigint, number>()
  for (const { visit } of visits) {
    const row = session(visit).row
    const visitor = BigInt(String(row.visitor_id))
    started.set(visitor, (started.get(visitor) ?? 0) + 1)
  }
  const ever = group(events, (row) => row.visitor_id)
  const rows = [...group(hits, (row) => row.visitor_id)].map(([id, seen]) => {
    const rows = seen.toSorted((a, b) => a.timestamp.getTime() - b.timestamp.getTime())
    const all = (ever.get(id) ?? []).toSorted((a, b) => a.timestamp.getTime() - b.timestamp.getTime())
    const traits = last(all.map((row) => row.traits))
    return {
      at: rows.at(-1)?.timestamp.getTime() ?? 0,
      id,
      row: absent<unknown>({
        id: String(id),
        identified_id: last(all.map((row) => row.identified_id)),
        traits: traits === undefined ? {} : JSON.parse(traits),
        sessions: started.get(id) ?? 0,
        pageviews: rows.filter(isView).length,
        first_seen: rows[0]?.timestamp.toISOString(),
        last_seen: rows.at(-1)?.timestamp.toISOString(),
        country: last(rows.map((row) => row.country)),
        browser: last(rows.map((row) => row.browser)),
      }),
    }
  })
  return ranked(
    rows,
    ({ at }) => [at],
    ({ id }) => [id],
  ).map(({ row }) => row)
}

export interface Walk {
  nodes: { depth: number; pathname: string; sessions: number }[]
  links: { from: readonly [number, string]; to: readonly [number, string]; sessions: number }[]
}
/** `stats/journeys`: the first pages of each session, or those from `start` on, the less trodden at each step as one. */
export function journeys({ visits }: Scene, depth: number, start: string | undefined, most: number): Walk {
  const walks = visits.flatMap(({ visit }) => {
    const paths = visit.views.map((row) => row.pathname).filter((path, i, all) => path !== all[i - 1])
    const from = start === undefined ? 0 : paths.indexOf(start)
    return from < 0 || paths.length === 0 ? [] : [paths.slice(from, from + depth)]
  })
  const shown = Array.from({ length: depth }, (_, step) => {
    const at = walks.flatMap((walk) => walk[step] ?? [])
    const best = ranked(
      [...group(at, (path) => path)],
      ([, all]) => [all.length],
      ([path]) => [path],
    )
    return new Set(best.slice(0, most).map(([path]) => path))
  })
  const named = walks.map((walk) => walk.map((path, step) => (shown[step]?.has(path) ? path : OTHER)))
  const nodes = shown.flatMap((_, step) =>
    [
      ...group(
        named.flatMap((walk) => walk[step] ?? []),
        (path) => path,
      ),
    ].map(([pathname, all]) => ({
      depth: step,
      pathname,
      sessions: all.length,
    })),
  )
  const steps = named.flatMap((walk) =>
    walk.slice(1).map((path, i) => ({ from: [i, walk[i] ?? ''] as const, to: [i + 1, path] as const })),
  )
  const links = [...group(steps, (step) => JSON.stringify(step)).values()].flatMap((all) =>
    all[0] ? [{ ...all[0], sessions: all.length }] : [],
  )
  return { nodes, links }
}
export const OTHER = '\u0000other'

/** `stats/retention`: who came first in a period of the window, and who of them came in the periods after it. */
export function retention({ events, q, passes }: Scene, unit: string, until: number): Named[] {
  const [from, to] = q.window
  const came = group(
    events.filter((row) => row.timestamp.getTime() < to),
    (row) => row.visitor_id,
  )
  const periods = timeline(from, Math.min(to, until), q.tz, unit)
  const place = new Map(periods.map(({ label }, i) => [label, i]))
  const at = (row: EventRow) => place.get(label(row.timestamp.getTime(), q.tz, unit))
  return periods.map(({ t }, i) => {
    const cohort = [...came.values()].filter((rows) => {
      const first = rows.reduce((a, b) => (b.timestamp < a.timestamp ? b : a))
      return first.timestamp.getTime() >= from && at(first) === i
    })
    return {
      start: iso(t),
      size: cohort.length,
      periods: periods.slice(i).map((_, n) => {
        const visitors = cohort.filter((rows) => rows.some((row) => at(row) === i + n && passes(row))).length
        return { period: n, visitors, ...(cohort.length > 0 ? { rate: visitors / cohort.length } : {}) }
      }),
    }
  })
}
