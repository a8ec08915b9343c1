import { DAY_MS } from '../../base/time-units.js'
import type { Granularity } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { type Bucket, bucketEnds } from './buckets.js'
import { localDate, startOfDay, type Window } from './calendar.js'
import type { Plan } from './plan.js'

/** The figures of a day that another tool counted; one that the tool does not have is null. */
export const IMPORTED_METRICS = ['visitors', 'visits', 'pageviews', 'bounces', 'seconds'] as const
export type ImportedMetric = (typeof IMPORTED_METRICS)[number]

/** A day of a site as another tool counted it. */
export type HistoryDay = Readonly<Record<ImportedMetric, number | null>> & {
  /** A calendar day, such as `2026-11-21`. */
  readonly day: string
  readonly tool: string
}

/** The days of a site that other tools counted. */
export interface SiteHistory {
  /** The first and the last of the days. */
  readonly first: string
  readonly last: string
  /** Returns the days from `first` until `end`, which is exclusive, in order. */
  list(first: string, end: string): Promise<readonly HistoryDay[]>
}

/** The figure that a count is the sum of. */
const COUNTS: Readonly<Record<string, ImportedMetric>> = {
  visitors: 'visitors',
  sessions: 'visits',
  pageviews: 'pageviews',
}
/** The figure whose mean over visits a metric is. */
const MEANS: Readonly<Record<string, ImportedMetric>> = {
  bounce: 'bounces',
  duration: 'seconds',
  views_per_session: 'pageviews',
}

/** Whether a metric is a mean, so that days can be added only with the number of sessions that it is the mean of. */
export const isMeanOverSessions = (metric: string): boolean => Object.hasOwn(MEANS, metric)

/**
 * Returns the first day that lies whole in the window, and the day after the last one. Days of a history end where the
 * site's own rows begin: that day is cut, and its rows are counted.
 */
function wholeDays({ start, end }: Window, tz: string, since: Date | undefined): { first: string; end: string } {
  const day = localDate(start, tz)
  const cut = startOfDay({ day }, tz) < start
  const until = localDate(since !== undefined && since < end ? since : end, tz)
  return { first: cut ? localDate(startOfDay({ day }, tz, 1), tz) : day, end: until }
}

/** Returns the days of a history that a window of whole days in the zone has, before the site's first row at `since`. */
async function listDays(
  history: SiteHistory,
  window: Window,
  tz: string,
  since: Date | undefined,
): Promise<readonly HistoryDay[]> {
  const { first, end } = wholeDays(window, tz, since)
  if (first >= end || first > history.last || end <= history.first) return []
  return history.list(first, end)
}

/** Whether a window touches a day of the history before the day of the site's first row. */
function touchesHistory(history: SiteHistory, window: Window, tz: string, since: Date | undefined): boolean {
  const begin = startOfDay({ day: history.first }, tz)
  const last = startOfDay({ day: history.last }, tz, 1)
  const own = since === undefined ? last : startOfDay({ day: localDate(since, tz) }, tz)
  const end = Math.min(own.getTime(), last.getTime())
  return window.start.getTime() < end && window.end > begin && begin.getTime() < end
}

/** Returns where all days of a site begin: with its first row, or with a history before that. */
export function startOfAll(firstRow: Date | undefined, history: SiteHistory | undefined, tz: string): Date | undefined {
  const start = history && startOfDay({ day: history.first }, tz)
  return start && (firstRow === undefined || start < firstRow) ? start : firstRow
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/**
 * Adds days of other tools to a row of metrics. Counts are sums. A mean is weighted by sessions: `row.sessions` is the
 * number of those that the row's own mean is of. Days without a figure are left out of the metrics that need it.
 */
export function addHistory(row: ResultRow, days: readonly HistoryDay[], metrics: readonly string[]): ResultRow {
  const added = { ...row }
  for (const metric of metrics) {
    const [count, mean] = [COUNTS[metric], MEANS[metric]]
    const daysWithValue = days.filter((day) => !lacks(day, metric))
    if (daysWithValue.length === 0) continue
    if (count !== undefined) added[metric] = (numberOf(row[metric]) ?? 0) + sum(daysWithValue, count)
    if (mean === undefined) continue
    const own = numberOf(row[metric])
    const weight = own === undefined ? 0 : (numberOf(row.sessions) ?? 0)
    const visits = sum(daysWithValue, 'visits')
    if (visits > 0) added[metric] = ((own ?? 0) * weight + sum(daysWithValue, mean)) / (weight + visits)
  }
  return added
}

const sum = (days: readonly HistoryDay[], figure: ImportedMetric): number =>
  days.reduce((total, day) => total + (day[figure] ?? 0), 0)

/** Whether a day of another tool lacks what a metric needs. */
function lacks(day: HistoryDay, metric: string): boolean {
  const [count, mean] = [COUNTS[metric], MEANS[metric]]
  if (mean !== undefined) return day[mean] === null || day.visits === null
  return count === undefined || day[count] === null
}

/** The days of other tools as one answer uses them. */
export type ReadHistory = ReturnType<typeof createReadHistory>

/** Finds the days of other tools for one answer, and remembers which of them it includes. */
export function createReadHistory(
  history: SiteHistory | undefined,
  { plan, since }: { plan: Plan; since: Date | undefined },
) {
  const { window, comparison, tz, audience, filters } = plan
  const included = new Map<string, HistoryDay>()
  const requested = new Set<string>()
  return {
    /** Returns the days that lie whole in a window and have one of the metrics; none for agents or under a filter. */
    async find(window: Window, metrics: readonly string[]): Promise<readonly HistoryDay[]> {
      if (!history || audience === 'agent' || filters.length > 0) return []
      const days = (await listDays(history, window, tz, since)).filter((day) => metrics.some((one) => !lacks(day, one)))
      for (const day of days) included.set(day.day, day)
      for (const metric of metrics) requested.add(metric)
      return days
    },
    isIncluded: () => included.size > 0,
    /** Returns the warning that the answer includes such days, or leaves out those that its windows touch. */
    note(): { code: string; message: string } | undefined {
      if (!history) return undefined
      if (included.size > 0)
        return { code: 'imported_history', message: describeHistory([...included.values()], [...requested]) }
      const isTouched = [window, ...(comparison ? [comparison] : [])].some((one) =>
        touchesHistory(history, one, tz, since),
      )
      return isTouched ? { code: 'history_left_out', message: LEFT_OUT } : undefined
    },
  }
}

/**
 * Sorts the days of a time line into its buckets. `addTo` adds a bucket's days to its row, and tells whether other tools
 * counted every day of it; undefined for a bucket without one.
 */
export function groupByBucket(days: readonly HistoryDay[], buckets: readonly Bucket[], tz: string, unit: Granularity) {
  if (days.length === 0) return []
  const ends = bucketEnds(buckets, tz, unit)
  let next = days.findIndex(({ day }) => buckets[0] === undefined || day >= localDate(buckets[0].t, tz))
  return buckets.map(({ t }, i) => {
    const [first, end] = [localDate(t, tz), localDate(ends[i] ?? t, tz)]
    const from = next
    while ((days[next]?.day ?? end) < end) next += 1
    const bucketDays = days.slice(from, next)
    if (bucketDays.length === 0) return undefined
    const isWhole = bucketDays.length === (Date.parse(end) - Date.parse(first)) / DAY_MS
    return {
      addTo: (row: ResultRow, metric: string) => ({
        value: numberOf(addHistory(row, bucketDays, [metric])[metric]),
        isWhole,
      }),
    }
  })
}

/** Says which days of other tools an answer includes, and which of its metrics they do not have. */
function describeHistory(days: readonly HistoryDay[], metrics: readonly string[]): string {
  const names = days.map(({ day }) => day).sort()
  const tools = [...new Set(days.map(({ tool }) => tool))].join(' and ')
  const partial = metrics.filter((metric) => days.some((day) => lacks(day, metric)))
  return [
    `Includes ${days.length === 1 ? 'a day' : `${days.length} days`} from ${names[0]} to ${names.at(-1)} as ${tools} counted them, by other definitions.`,
    ...(metrics.includes('visitors') ? ['A person who came on two of these days is counted twice.'] : []),
    ...(partial.length > 0 ? [`Left out where these days do not have it: ${partial.join(', ')}.`] : []),
  ].join(' ')
}

const LEFT_OUT =
  'The window has days that were imported from another tool, which this answer leaves out: totals and time lines of whole days include them, for people, without filters and with suspected sessions.'
