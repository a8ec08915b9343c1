import type { z } from 'zod'
import type { Plan } from '../query/plan.js'
import type { ReadResponse } from '../query/prepare-read.js'
import type { Read } from '../query/read.js'
import {
  AUDIENCE_NAMES,
  columnFormat,
  describeFilters,
  formatBucket,
  formatLabel,
  formatWarnings,
  formatWindow,
} from './format.js'
import { createPictures } from './pictures.js'
import type { Chart, Sheet } from './sheet.js'
import { AgentTimeSeries, createTables, type Points, TimeSeries } from './sheet-tables.js'

/** More lines cannot be told apart. */
const MAX_CHART_LINES = 5

/** One read of a report with its response. */
interface SheetPart {
  /** The last word of the read's path. */
  readonly title: string
  readonly read: Read
  readonly plan: Plan
  readonly answered: ReadResponse
}

const ATTRIBUTION = { text: 'readership \u00b7 IP Geolocation by DB-IP', link: 'https://db-ip.com' }

/** Turns a report's responses into a sheet: title, window, audience, filters and warnings, then charts and tables. */
export function createSheet(
  of: { site: string; report: string; segment: string | undefined; now: Date },
  answers: readonly SheetPart[],
): Sheet {
  const [first] = answers
  const plan = first?.plan
  const pictures = answers.map(({ read, plan, answered }) => createPictures(read, answered, plan.tz))
  const warnings = answers.flatMap(({ answered }) => answered.meta.warnings ?? [])
  return {
    title: of.site,
    subtitle: formatLabel(of.report.replaceAll('/', ' ').replaceAll('-', ' ')),
    facts: plan
      ? [
          ['Window', `${formatWindow(plan.window, plan.tz)} (${plan.tz})`],
          ...(plan.comparison ? [['Compared with', formatWindow(plan.comparison, plan.tz)] as const] : []),
          ['Audience', AUDIENCE_NAMES[plan.audience]],
          ...(plan.filters.length > 0 ? [['Filters', describeFilters(plan.filters)] as const] : []),
          ...(of.segment === undefined ? [] : [['Segment', of.segment] as const]),
        ]
      : [],
    notes: formatWarnings(warnings),
    charts: answers.flatMap(createCharts),
    flows: pictures.flatMap(({ flows }) => flows),
    grids: pictures.flatMap(({ grids }) => grids),
    tables: answers.flatMap(({ title, read, plan, answered: { data, metrics, meta } }, i) =>
      isDrawn(pictures[i])
        ? []
        : createTables({
            title,
            read,
            tz: plan.tz,
            compared: plan.comparison !== undefined,
            data,
            metrics,
            total: meta.total,
          }),
    ),
    attribution: ATTRIBUTION,
    created: of.now,
  }
}

const isDrawn = (pictures: ReturnType<typeof createPictures> | undefined): boolean =>
  pictures !== undefined && pictures.flows.length + pictures.grids.length > 0

function createCharts({ answered, plan }: SheetPart): Chart[] {
  const one = TimeSeries.safeParse(answered.data).data
  const many = AgentTimeSeries.safeParse(answered.data).data
  const labelsOf = (points: z.infer<typeof Points>, granularity: string) =>
    points.map(({ t }) => formatBucket(new Date(t), plan.tz, granularity))
  const valuesOf = (points: z.infer<typeof Points>) => points.map(({ value }) => value)
  if (one) {
    const { metric, granularity, buckets, comparison } = one
    const series = [
      { name: formatLabel(metric), values: valuesOf(buckets) },
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
    const format = columnFormat({ path: [metric], kind: 'number' })
    return [
      {
        title: `${formatLabel(metric)} per ${granularity}`,
        labels: labelsOf(buckets, granularity),
        series,
        axis: createAxis(series, format),
      },
    ]
  }
  if (!many || many.series.length === 0) return []
  const series = many.series.slice(0, MAX_CHART_LINES).map(({ name, buckets }) => ({ name, values: valuesOf(buckets) }))
  const labels = labelsOf(many.series[0]?.buckets ?? [], many.granularity)
  return [
    {
      title: `Fetches per ${many.granularity}`,
      labels,
      series,
      axis: createAxis(series, columnFormat({ path: ['fetches'], kind: 'number' })),
    },
  ]
}

/** Returns an axis from 0 to the largest value or above it, in at most five round steps. */
function createAxis(series: Chart['series'], format: (value: number) => string): Chart['axis'] {
  const most = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const rough = most / 5
  const power = 10 ** Math.floor(Math.log10(rough || 1))
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? 1
  // Counts get whole steps.
  const whole = series.every(({ values }) => values.every((value) => value === undefined || Number.isInteger(value)))
  const size = whole ? Math.max(1, Math.ceil(step)) : step || 1
  const steps = Math.max(1, Math.ceil(most / size - 1e-9))
  return Array.from({ length: steps + 1 }, (_, i) => ({
    value: i * size,
    text: format(Number((i * size).toPrecision(12))),
  }))
}
