import type { EventRow } from '../../src/storage/rows.js'
import { type AnswerRow, rank } from './compare.js'
import { compareBytes, groupBy, isAct, isView, type Session, type SiteView, withoutAbsent } from './site-rows.js'

const iso = (at: number | Date) => new Date(at).toISOString()
const hex = (id: bigint) => id.toString(16).padStart(16, '0')
const firstText = (rows: readonly EventRow[], of: (row: EventRow) => string | null): string | undefined =>
  textsInOrder(rows, of).at(0)
const lastText = (rows: readonly EventRow[], of: (row: EventRow) => string | null): string | undefined =>
  textsInOrder(rows, of).at(-1)
/** The values of the rows in order of time; in the same millisecond the smaller text is first. */
const textsInOrder = (rows: readonly EventRow[], of: (row: EventRow) => string | null): string[] =>
  rows
    .flatMap((row) => {
      const value = of(row)
      return value === null ? [] : [{ at: row.timestamp.getTime(), value }]
    })
    .toSorted((a, b) => a.at - b.at || compareBytes(a.value, b.value))
    .map(({ value }) => value)
const parseObject = (json: string | null | undefined): unknown => {
  const parsed: unknown = json ? JSON.parse(json) : undefined
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : undefined
}

/** `stats/sessions`: the sessions of the window, newest first. */
export const sessions = ({ sessionsInWindow: visits }: SiteView): AnswerRow[] =>
  rank(
    visits.map(({ session: visit }) => visit),
    ({ start }) => [start],
    ({ id }) => [id],
  ).map(session)

/** The visitor of the session's first hit; of a session without it, the one with the least id. */
export const visitorOf = ({ rows, start }: Session): bigint => {
  const first = rows.filter((row) => row.timestamp.getTime() === start)
  return (first.length > 0 ? first : rows).map((row) => row.visitor_id).toSorted((a, b) => (a < b ? -1 : 1))[0] ?? 0n
}

export function session(visit: Session): AnswerRow {
  const { id, rows, views, start, seconds, entry, exit } = visit
  return withoutAbsent<unknown>({
    id: hex(id),
    visitor_id: hex(visitorOf(visit)),
    started_at: iso(start),
    ended_at: iso(Math.max(...rows.map((row) => row.timestamp.getTime()))),
    duration: seconds,
    pageviews: views.length,
    events: rows.filter(isAct).length,
    entry_page: entry,
    exit_page: exit,
    channel: rows[0]?.channel,
    source: rows[0]?.source,
    utm_campaign: rows[0]?.utm_campaign,
    country: firstText(rows, (row) => row.country),
    browser: firstText(rows, (row) => row.browser),
    os: firstText(rows, (row) => row.os),
    device_type: firstText(rows, (row) => row.device_type),
    screen_class: firstText(rows, (row) => row.screen_class),
    language: firstText(rows, (row) => row.language),
    identified_id: lastText(rows, (row) => row.identified_id),
  })
}

/** `stats/sessions/{id}`: the session's hits in order; in one millisecond pageviews are first. */
export const sessionTimeline = ({ rows }: Session): AnswerRow[] => {
  const text = (row: EventRow) => row.event_name ?? row.error?.message ?? null
  return rank(
    rows,
    (row) => [-row.timestamp.getTime(), isView(row) ? 1 : 0],
    (row) => [
      ...[row.pathname, row.kind, text(row) ?? undefined, row.props ?? undefined],
      ...[row.engaged_ms ?? undefined, row.scroll ?? undefined],
    ],
  ).map((row) =>
    withoutAbsent<unknown>({
      timestamp: iso(row.timestamp),
      kind: row.kind,
      name: text(row),
      hostname: row.hostname,
      pathname: row.pathname,
      props: parseObject(row.props),
      engaged_ms: row.engaged_ms,
      scroll: row.scroll,
    }),
  )
}

/** Maps a visitor id to a person: the identified id given last before `until`, otherwise the visitor id itself. */
function personOfVisitor(events: readonly EventRow[], until: number): (visitor: bigint) => string {
  const known = new Map<bigint, string>()
  for (const [visitor, rows] of groupBy(
    events.filter((row) => row.timestamp.getTime() < until && row.identified_id !== null),
    (row) => row.visitor_id,
  )) {
    const id = lastText(rows, (row) => row.identified_id)
    if (id !== undefined) known.set(visitor, id)
  }
  return (visitor) => {
    const id = known.get(visitor)
    return id === undefined ? `v ${visitor}` : `p ${id}`
  }
}

/**
 * `stats/visitors`: visitors with a hit in the window, newest first; an identified person counts once, however many ids
 * they have.
 */
export function visitors({ hitsInWindow: hits, sessionsInWindow: visits, events, q }: SiteView): AnswerRow[] {
  const person = personOfVisitor(events, q.window[1])
  const started = groupBy(visits, ({ session: visit }) => person(visitorOf(visit)))
  const ever = groupBy(
    events.filter((row) => row.timestamp.getTime() < q.window[1]),
    (row) => person(row.visitor_id),
  )
  const rows = [...groupBy(hits, (row) => person(row.visitor_id))].map(([name, seen]) => {
    const at = (row: EventRow) => row.timestamp.getTime()
    const end = Math.max(...seen.map(at))
    // The id seen last; of two in the same millisecond the greater.
    const ids = seen.filter((row) => at(row) === end).map((row) => row.visitor_id)
    const id = ids.toSorted((a, b) => (a < b ? 1 : -1))[0] ?? 0n
    const all = ever.get(name) ?? []
    return {
      ...{ end, id },
      row: withoutAbsent<unknown>({
        id: hex(id),
        identified_id: name.startsWith('p ') ? name.slice(2) : undefined,
        traits: parseObject(lastText(all, (row) => row.traits)),
        sessions: started.get(name)?.length ?? 0,
        pageviews: seen.filter(isView).length,
        first_seen: iso(Math.min(...all.map(at))),
        last_seen: iso(end),
        country: lastText(seen, (row) => row.country),
        browser: lastText(seen, (row) => row.browser),
      }),
    }
  })
  return rank(
    rows,
    ({ end }) => [end],
    ({ id }) => [id],
  ).map(({ row }) => row)
}

/** Paths of a step that are named. */
const MAX_NAMED_PATHS = 20
/** `stats/journeys`: the pages of each session in order, or from the first view of `start` on. */
export function journeys({ sessionsInWindow: visits }: SiteView, depth: number, start: string | undefined): AnswerRow {
  const walks = visits.flatMap(({ session: visit }) => {
    const paths = visit.views.map((row) => row.pathname).filter((path, i, all) => path !== all[i - 1])
    const from = start === undefined ? 0 : paths.indexOf(start)
    return from < 0 ? [] : [paths.slice(from, from + depth)]
  })
  const named = Array.from({ length: depth }, (_, step) => {
    const best = rank(
      [
        ...groupBy(
          walks.flatMap((walk) => walk[step] ?? []),
          (path) => path,
        ),
      ],
      ([, all]) => [all.length],
      ([path]) => [path],
    )
    return new Set(best.slice(0, MAX_NAMED_PATHS).map(([path]) => path))
  })
  // Each session adds a node for each step, and an exit if it ended before the last step.
  const ways = walks.map((walk) => {
    const nodes = walk.map((path, i) => ({ depth: i + 1, ...(named[i]?.has(path) ? page(path) : OTHER) }))
    return walk.length < depth ? [...nodes, { depth: walk.length + 1, ...EXIT }] : nodes
  })
  const idOf = (at: { depth: number; kind: string; pathname: string }) =>
    at.kind === 'page' ? `${at.depth}:${at.pathname}` : `${at.kind}:${at.depth}`
  const nodes = rank(
    [...groupBy(ways.flat(), idOf)].flatMap(([id, all]) => (all[0] ? [{ id, ...all[0], sessions: all.length }] : [])),
    (at) => [-at.depth, -['page', 'other', 'exit'].indexOf(at.kind), at.sessions],
    (at) => [at.pathname],
  )
  const place = new Map(nodes.map(({ id }, i) => [id, i]))
  const steps = ways.flatMap((way) => way.slice(1).flatMap((to, i) => (way[i] ? [[idOf(way[i]), idOf(to)]] : [])))
  const links = [...groupBy(steps, (step) => step.join('\n'))].map(([name, all]) => {
    const [source = '', target = ''] = name.split('\n')
    return { source, target, sessions: all.length }
  })
  return {
    nodes,
    links: rank(
      links,
      (link) => [-(place.get(link.source) ?? 0), -(place.get(link.target) ?? 0)],
      () => [],
    ),
  }
}
const page = (pathname: string) => ({ kind: 'page', pathname })
const OTHER = { kind: 'other', pathname: 'other' }
const EXIT = { kind: 'exit', pathname: 'exit' }
