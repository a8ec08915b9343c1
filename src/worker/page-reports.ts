import { withoutFragmentRoute } from '../capture/fragment-route.js'
import type { EventStore, Placement } from '../storage/event-store.js'
import type { EventRow } from '../storage/rows.js'
import { type PageReport, UNNAMED_PAGE, type UnplacedRow } from './ingest/late-rows.js'
import { MAX_OVERTAKING_MS } from './ingest/session-memory.js'
import { allVisitorIds, type VisitorIds } from './ingest/visitor-ids.js'
import {
  type FoundView,
  findReports,
  findViews,
  lastViewTime,
  type PageSearch,
  type StoredReport,
} from './stored-reports.js'

/** A report that a batch may place: one of its own rows, or a stored one. */
export interface BatchReport extends PageReport {
  visitors: readonly bigint[]
  visitor: VisitorIds
  row: EventRow | undefined
  stored: StoredReport | undefined
  /** The view of its page, under the visitor's id and the path that the page had there. */
  seen: FoundView | undefined
  /** Milliseconds: when it arrived. */
  reportedAt: number
  /** An act up to this time may give it another place; undefined if only its session's length decides. */
  openUntil: number | undefined
}

/**
 * Finds the reports that the late rows of a batch may place again, with the last view of each one's page until then, or the
 * first one after a report that overtook it.
 */
export async function findPageReports(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  rows: readonly EventRow[],
  unplaced: readonly UnplacedRow[],
): Promise<BatchReport[]> {
  const visitorOf = new Map(unplaced.flatMap(({ visitor }) => allVisitorIds(visitor).map((id) => [id, visitor])))
  const times = unplaced.map(({ row }) => row.timestamp.getTime())
  // A report covers its engaged time, in which others may lie.
  const starts = unplaced.map(({ row }) => row.timestamp.getTime() - (row.engaged_ms ?? 0))
  const [first, last] = [starts.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))]
  const stored = await findReports(store, [...visitorOf.keys()], first, last)
  const aside = rows.flatMap((row) => {
    const visitor = row.reported_at === null ? undefined : visitorOf.get(row.visitor_id)
    return visitor ? [{ row, visitor }] : []
  })
  const own = [...unplaced.filter(({ follows }) => follows === true), ...aside]
  const candidates = [
    ...own.map(({ row, visitor }) => ({
      ...pageOf(row),
      at: (row.reported_at ?? row.timestamp).getTime(),
      visitor,
      row,
      stored: undefined,
    })),
    ...stored.flatMap((one) => {
      const visitor = visitorOf.get(one.visitor_id)
      return visitor ? [{ ...pageOf(one), at: one.reported_at.getTime(), visitor, row: undefined, stored: one }] : []
    }),
  ].map((one) => ({ ...one, ids: allVisitorIds(one.visitor) }))
  const storedViews = await findViews(store, candidates)
  const batchViews = rows.filter(({ kind, visitor_id }) => kind === 'pageview' && visitorOf.has(visitor_id))
  return candidates.map(({ ids, at, visitor, row, stored: one, ...page }, n) => {
    const search = { ...page, ids, at }
    const views = [...(storedViews[n] ?? []), ...batchViews.flatMap((view) => matchView(view, search))]
    const pick = (choose: (of: readonly FoundView[]) => FoundView[], among: readonly FoundView[]) =>
      page.pathnames.flatMap((path) => choose(among.filter(({ pathname }) => isPath(pathname, path))))[0]
    const before = pick(
      latest,
      views.filter((view) => view.at <= at),
    )
    const seen = before ?? pick(earliest, views)
    const [{ visitor_id, engaged_ms } = { visitor_id: visitor.visitor_id, engaged_ms: 0 }] = [row ?? one]
    return {
      visitor_id,
      at: Math.max(at, seen?.at ?? at),
      engaged_ms: engaged_ms ?? 0,
      view: seen?.at,
      visitors: ids,
      visitor,
      row,
      stored: one,
      seen,
      reportedAt: at,
      openUntil: before ? undefined : (seen?.at ?? at + MAX_OVERTAKING_MS),
    }
  })
}

/** A page is known by its path, or by the path that its server was asked for; null stands for any page. */
const pageOf = ({ hostname, pathname }: Pick<EventRow, 'hostname' | 'pathname'>) => ({
  hostname,
  pathnames: pathname === UNNAMED_PAGE ? [null] : [...new Set([pathname, withoutFragmentRoute(pathname)])],
})

function matchView({ visitor_id, hostname, pathname, timestamp }: EventRow, search: PageSearch): FoundView[] {
  const at = timestamp.getTime()
  const isOf = search.ids.includes(visitor_id) && hostname === search.hostname
  const matches = search.pathnames.some((path) => isPath(pathname, path) && at <= lastViewTime(path, search.at))
  return isOf && matches ? [{ visitor_id, pathname, at }] : []
}

const isPath = (pathname: string, wanted: string | null): boolean => wanted === null || pathname === wanted

const latest = (views: readonly FoundView[]): FoundView[] =>
  views.length === 0 ? [] : [views.reduce((best, view) => (view.at > best.at ? view : best))]
const earliest = (views: readonly FoundView[]): FoundView[] =>
  views.length === 0 ? [] : [views.reduce((best, view) => (view.at < best.at ? view : best))]

/** A report that has its place for good: no act changes it, so it prolongs its session as a hit does. */
const isFinal = ({ place, openUntil }: BatchReport): boolean => place?.isTimely === true && openUntil === undefined

/** Returns whether the page of a report is known. If it names none, that is the page which its visitor saw last. */
export const isPageKnown = ({ row, stored, view }: BatchReport): boolean =>
  view !== undefined || (row ?? stored)?.pathname !== UNNAMED_PAGE

/** Writes the places of a batch's own reports into their rows. Returns the rows without a session. */
export function placeBatchReports(reports: readonly BatchReport[]): EventRow[] {
  const loose: EventRow[] = []
  for (const report of reports) {
    const { row, place, seen, reportedAt } = report
    if (row === undefined) continue
    row.reported_at = isFinal(report) ? null : new Date(reportedAt)
    if (place === undefined) {
      loose.push(row)
      continue
    }
    const { session_id, session_start, arrival } = place.session
    Object.assign(row, { session_id, session_start }, arrival)
    row.timestamp = new Date(place.at)
    row.visitor_id = seen?.visitor_id ?? row.visitor_id
    row.pathname = seen?.pathname ?? row.pathname
  }
  return loose
}

/** Returns the changes to stored reports whose place is another one now. */
export function findPlacements(reports: readonly BatchReport[]): Placement[] {
  const changed = new Map<string, Placement>()
  for (const report of reports) {
    const { stored, place, seen } = report
    if (stored === undefined || place === undefined) continue
    const { session_id, session_start, arrival } = place.session
    const isSame =
      stored.session_id === session_id &&
      stored.timestamp.getTime() === place.at &&
      !isFinal(report) &&
      !stored.is_loose
    if (isSame) continue
    const { is_loose, session_id: left, session_start: leftStart, timestamp, ...key } = stored
    const to = {
      session_id,
      session_start,
      arrival,
      timestamp: new Date(place.at),
      visitor_id: seen?.visitor_id ?? stored.visitor_id,
      pathname: seen?.pathname ?? stored.pathname,
      reported_at: isFinal(report) ? null : stored.reported_at,
    }
    const from = left === null || leftStart === null ? undefined : { session_id: left, session_start: leftStart }
    changed.set(Object.values({ ...key, at: key.reported_at.getTime() }).join('\n'), { key, from, to })
  }
  return [...changed.values()]
}

export const siteOfReport = ({ place, row, stored }: BatchReport): readonly [bigint, number] => [
  place?.session.session_id ?? 0n,
  (row ?? stored)?.site_id ?? 0,
]
