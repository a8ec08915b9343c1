import type { z } from 'zod'
import type { Plan } from '../query/plan.js'
import type { Answered, Read } from '../query/read.js'
import type { Chart, Sheet } from './sheet.js'
import { Course, Courses, type Points, tablesOf } from './tables.js'
import { AUDIENCE, filterWords, formatOf, label, moment, span } from './words.js'

/** Lines of a chart that can be told apart. */
const LINES = 5

/** A part of a report with its answer. */
export interface Answer {
  /** The last word of its name. */
  readonly title: string
  readonly read: Read
  readonly plan: Plan
  readonly answered: Answered
}

const ATTRIBUTION = { text: 'readership \u00b7 IP Geolocation by DB-IP', link: 'https://db-ip.com' }

/** A report's answers as a sheet: title, window, audience, filters and warnings, then charts and tables. */
export function sheetOf(
  of: { site: string; report: string; segment: string | undefined; now: Date },
  answers: readonly Answer[],
): Sheet {
  const [first] = answers
  const plan = first?.plan
  const warnings = answers.flatMap(({ answered }) => answered.meta.warnings ?? [])
  return {
    title: of.site,
    subtitle: label(of.report.replaceAll('/', ' ').replaceAll('-', ' ')),
    facts: plan
      ? [
          ['Window', `${span(plan.window, plan.tz)} (${plan.tz})`],
          ...(plan.comparison ? [['Compared with', span(plan.comparison, plan.tz)] as const] : []),
          ['Audience', AUDIENCE[plan.audience]],
          ...(plan.filters.length > 0 ? [['Filters', filterWords(plan.filters)] as const] : []),
          ...(of.segment === undefined ? [] : [['Segment', of.segment] as const]),
        ]
      : [],
    notes: [...new Set(warnings.map(({ metric, message }) => (metric ? `${label(metric)}: ${message}` : message)))],
    charts: answers.flatMap(chartsOf),
    tables: answers.flatMap(({ title, read, plan, answered: { data, metrics, meta } }) =>
      tablesOf({ title, read, tz: plan.tz, compared: plan.comparison !== undefined, data, metrics, total: meta.total }),
    ),
    attribution: ATTRIBUTION,
    created: of.now,
  }
}

function chartsOf({ answered, plan }: Answer): Chart[] {
  const one = Course.safeParse(answered.data).data
  const many = Courses.safeParse(answered.data).data
  const labelsOf = (points: z.infer<typeof Points>, granularity: string) =>
    points.map(({ t }) => moment(new Date(t), plan.tz, granularity))
  const valuesOf = (points: z.infer<typeof Points>) => points.map(({ value }) => value)
  if (one) {
    const { metric, granularity, buckets, comparison } = one
    const series = [
      { name: label(metric), values: valuesOf(buckets) },
      ...(comparison && plan.comparison
        ? [
            {
              name: 'Before',
              values: valuesOf(comparison).slice(0, buckets.length),
              before: true as const,
            },
          ]
        : []),
    ]
    const format = formatOf({ path: [metric], kind: 'number' })
    return [
      {
        title: `${label(metric)} per ${granularity}`,
        labels: labelsOf(buckets, granularity),
        series,
        axis: axisOf(series, format),
      },
    ]
  }
  if (!many || many.series.length === 0) return []
  const series = many.series.slice(0, LINES).map(({ name, buckets }) => ({ name, values: valuesOf(buckets) }))
  const labels = labelsOf(many.series[0]?.buckets ?? [], many.granularity)
  return [
    {
      title: `Fetches per ${many.granularity}`,
      labels,
      series,
      axis: axisOf(series, formatOf({ path: ['fetches'], kind: 'number' })),
    },
  ]
}

/** From 0 in at most five round steps to the largest value or above it. */
function axisOf(series: Chart['series'], format: (value: number) => string): Chart['axis'] {
  const most = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const rough = most / 5
  const power = 10 ** Math.floor(Math.log10(rough || 1))
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? 1
  // Half a visitor is none.
  const whole = series.every(({ values }) => values.every((value) => value === undefined || Number.isInteger(value)))
  const size = whole ? Math.max(1, Math.ceil(step)) : step || 1
  const steps = Math.max(1, Math.ceil(most / size - 1e-9))
  return Array.from({ length: steps + 1 }, (_, i) => ({
    value: i * size,
    text: format(Number((i * size).toPrecision(12))),
  }))
}
