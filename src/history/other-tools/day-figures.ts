import { IMPORTED_METRICS, type ImportedMetric } from '../../analytics/query/histories.js'
import { UnusableSetting } from '../../base/errors.js'

/** The figures of one day that a file has. */
export type Figures = Partial<Record<ImportedMetric, number>>

/** Adds up what the files of one export say about each day. */
export function createDayFigures() {
  const days = new Map<string, Figures>()
  return {
    /** Adds figures of a day. Throws `UnusableSetting` if another file has other ones. */
    add(file: string, day: string, figures: Figures): void {
      const dayFigures = days.get(day) ?? {}
      for (const name of IMPORTED_METRICS) {
        const [before, now] = [dayFigures[name], figures[name]]
        if (before !== undefined && now !== undefined && before !== now)
          throw new UnusableSetting(
            `${file}: ${day} has ${now} ${name}, and another file has ${before}. Add the files of one site and one tool at a time.`,
          )
      }
      days.set(day, { ...dayFigures, ...figures })
    },
    get size() {
      return days.size
    },
    /** Returns the days in order; a figure that no file has is null. */
    list: () =>
      [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([day, figures]) => ({ day, ...completed(figures) })),
  }
}

/** Bounces are never more than visits: rounded shares may be. */
function completed(figures: Figures): Record<ImportedMetric, number | null> {
  const { visitors = null, visits = null, pageviews = null, bounces = null, seconds = null } = figures
  const most = visits ?? Number.POSITIVE_INFINITY
  return { visitors, visits, pageviews, bounces: bounces === null ? null : Math.min(bounces, most), seconds }
}
