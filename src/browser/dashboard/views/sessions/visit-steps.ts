/** A hit of a visit in the answer of `stats/sessions/{id}`. */
interface Hit {
  timestamp: string
  kind: string
  hostname: string
  pathname: string
  name?: string
  props?: Record<string, unknown>
  engaged_ms?: number
  scroll?: number
}

/** Something that happened in a visit: a page with what its reports measured, or an event. Times are in milliseconds from its first hit. */
export interface Step {
  at: number
  hit: Hit
  /** Counts the pages; absent for anything else. */
  page?: number
  engaged?: number
  scroll?: number
}

interface Span {
  from: number
  to: number
}

export interface VisitSteps {
  steps: readonly Step[]
  length: number
  /** The times in which a page was in use, in order and apart from each other. */
  inUse: readonly Span[]
  /** The sum of what pages reported; undefined if none did. */
  engaged?: number
}

/** Kinds of hits that belong to the step of their page. */
const REPORTS = ['engagement', 'web_vitals']

/**
 * Returns the steps of a visit. The script reports when a page is hidden or left, so the time in use ends at the report
 * and lies before it; it does not begin before the page was opened.
 */
export function visitSteps(timeline: readonly Hit[]): VisitSteps {
  const times = timeline.map(({ timestamp }) => Date.parse(timestamp))
  const start = times[0] ?? 0
  const steps: Step[] = []
  const spans: Span[] = []
  let pages = 0
  let engaged: number | undefined
  timeline.forEach((hit, i) => {
    const at = (times[i] ?? start) - start
    const isPage = hit.kind === 'pageview'
    if (isPage) pages += 1
    if (!REPORTS.includes(hit.kind)) steps.push({ at, hit, ...(isPage ? { page: pages } : {}) })
    const { engaged_ms, scroll } = hit
    if (engaged_ms === undefined && scroll === undefined) return
    const of = steps.findLast(
      (step) => step.page !== undefined && step.hit.pathname === hit.pathname && step.hit.hostname === hit.hostname,
    )
    if (engaged_ms !== undefined) {
      engaged = (engaged ?? 0) + engaged_ms
      spans.push({ from: Math.max(of?.at ?? 0, at - engaged_ms), to: at })
    }
    if (!of) return
    if (engaged_ms !== undefined) of.engaged = (of.engaged ?? 0) + engaged_ms
    if (scroll !== undefined) of.scroll = Math.max(of.scroll ?? 0, scroll)
  })
  const length = (times.at(-1) ?? start) - start
  return { steps, length, inUse: merge(spans), ...(engaged === undefined ? {} : { engaged }) }
}

/** Joins spans that overlap, such as those of two tabs. */
function merge(spans: readonly Span[]): Span[] {
  const joined: Span[] = []
  for (const { from, to } of spans.filter(({ from, to }) => to > from).toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else joined.push({ from, to })
  }
  return joined
}

/** The page that was in use for longest, if it was for more than half of the time in use and is not the only page. */
export function longestPage({ steps, engaged = 0 }: VisitSteps): { pathname: string; engaged: number } | undefined {
  const pages = steps.filter(({ page }) => page !== undefined)
  const [first] = pages.toSorted((a, b) => (b.engaged ?? 0) - (a.engaged ?? 0))
  if (pages.length < 2 || first?.engaged === undefined || first.engaged * 2 <= engaged) return undefined
  return { pathname: first.hit.pathname, engaged: first.engaged }
}

/** Milliseconds since the visit began, as `1:05` or `1:00:05`. */
export function clockOf(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const two = (n: number) => `${n}`.padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes}:${two(seconds % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`
}

/** Counts a visit among those of its visitor, from the first; undefined unless all of them are in the list. */
export function placeAmong(
  id: string,
  visits: readonly { id: string }[],
  total: number | undefined,
): { place: number; of: number } | undefined {
  const i = visits.findIndex((visit) => visit.id === id)
  return i < 0 || visits.length < 2 || total !== visits.length ? undefined : { place: visits.length - i, of: total }
}
