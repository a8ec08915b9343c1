import { createHash } from 'node:crypto'
import type { EventRow } from '../../src/storage/rows.js'
import { eventRow } from '../fixtures/rows.js'
import { NO_SESSION } from './site-rows.js'

/** One fact about a visitor, as it happened: an act at a page, or a report of a page about itself. Times are milliseconds. */
export interface Fact {
  kind: string
  at: number
  pathname: string
  /** Engaged milliseconds of a report. */
  engaged: number
  row: Partial<EventRow>
}

/** The path of a report that names no page, by a visitor who had seen none. */
export const NO_PAGE = ''

const MINUTE = 60_000
const TIMEOUT = 30 * MINUTE
const DAY = 24 * 60 * MINUTE
const REPORTS = ['engagement', 'web_vitals', 'error']
const isReport = ({ kind }: Fact): boolean => REPORTS.includes(kind)

interface Presence {
  from: number
  to: number
}

/** The moments at which the visitor saw the report's page, in order. */
const viewsOf = (report: Fact, facts: readonly Fact[]): number[] =>
  facts
    .filter(({ kind, pathname }) => kind === 'pageview' && pathname === report.pathname)
    .map(({ at }) => at)
    .toSorted((a, b) => a - b)

/** The moment at which the visitor last saw the report's page, in the day before, or else first saw it, in the minute after. */
function findView(report: Fact, facts: readonly Fact[]): number | undefined {
  const views = viewsOf(report, facts)
  return (
    views.findLast((at) => at <= report.at && at > report.at - DAY) ??
    views.find((at) => at > report.at && at <= report.at + MINUTE)
  )
}

/** Joins whatever is less than half an hour apart. */
function visitsOf(presences: readonly Presence[]): Presence[] {
  const visits: Presence[] = []
  for (const { from, to } of presences.toSorted((a, b) => a.from - b.from)) {
    const last = visits.at(-1)
    if (last && from - last.to < TIMEOUT) last.to = Math.max(last.to, to)
    else visits.push({ from, to })
  }
  return visits
}

/**
 * Recounts the rows of one visitor's facts, in whatever order they arrived. Acts make visits. A report whose page was seen
 * in a visit prolongs it if the visit reaches the report, engaged time included, and this is repeated until no visit grows.
 * A report that came before the view of its page counts at that view.
 * Other reports of a seen page belong to the visit that saw it, dated after its end; reports of pages not seen, to the
 * visit that runs. The rest has no session, and neither has a report of no page. A row has the visitor's id of its fact's
 * time, a session is named by that of its start.
 */
export function recountRows(facts: readonly Fact[], visitorAt: (at: number) => bigint): EventRow[] {
  const acts = facts.filter((fact) => !isReport(fact)).map(({ at }) => ({ from: at, to: at }))
  const seen = facts.filter(isReport).flatMap((fact) => {
    const view = findView(fact, facts)
    if (view === undefined) return []
    return [{ fact, view, from: Math.max(view, fact.at - fact.engaged), to: Math.max(view, fact.at) }]
  })
  const prolonging = new Set<(typeof seen)[number]>()
  for (let before = -1; before < prolonging.size; ) {
    before = prolonging.size
    const visits = visitsOf([...acts, ...prolonging])
    for (const report of seen) {
      const visit = visits.find(({ from, to }) => from <= report.view && report.view <= to)
      if (visit && report.from - visit.to < TIMEOUT) prolonging.add(report)
    }
  }
  const visits = visitsOf([...acts, ...prolonging])
  const views = new Map(seen.map((one) => [one.fact, one]))
  return facts.map((fact) => {
    const report = views.get(fact)
    const moment = report?.view ?? fact.at
    const runsOn = isReport(fact) && report === undefined ? TIMEOUT : 1
    const running = visits.findLast(({ from, to }) => from <= moment && moment - to < runsOn)
    const visit = fact.pathname === NO_PAGE ? undefined : running
    const isAside = report !== undefined && !prolonging.has(report)
    const at = visit && isAside ? Math.min(fact.at, visit.to + fact.engaged) : (report?.to ?? fact.at)
    const entry = visit && facts.find((one) => one.at === visit.from && !isReport(one))?.pathname
    return eventRow({
      ...{
        kind: fact.kind,
        pathname: fact.pathname,
        visitor_id: visitorAt(fact.at),
        timestamp: new Date(at),
        ...fact.row,
      },
      ...{ entry_page: entry ?? null, session_start: new Date(visit?.from ?? 0) },
      session_id: visit === undefined ? NO_SESSION : sessionId(visitorAt(visit.from), visit.from),
    })
  })
}

/** A session's name: the README of src/worker/ingest has it. */
const sessionId = (visitor: bigint, start: number): bigint =>
  createHash('sha256').update(`${visitor} ${start}`).digest().readBigUInt64BE(0)
