import { z } from 'zod'
import type { Plan } from '../../query/plan.js'
import type { Answered, Read } from '../../query/read.js'
import { type Column, type Layout, layoutOf, type Row, rowsOf, shownOf } from './layout.js'
import { METRIC_NAMES } from './report.js'
import type { Cell, Chart, Sheet, Table } from './sheet.js'
import { AUDIENCE, change, filterWords, formatOf, instant, isInstant, label, moment, span } from './words.js'

/** Rows of a table that are printed. */
export const PRINTED = 1_000
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
    tables: answers.flatMap(tablesOf),
    attribution: ATTRIBUTION,
    created: of.now,
  }
}

const Points = z.array(z.object({ t: z.string(), value: z.number().optional() }))
/** The course of one metric, and of several agents: what a chart is drawn of. */
const Course = z.object({ metric: z.string(), granularity: z.string(), buckets: Points, comparison: Points.optional() })
const Courses = z.object({
  granularity: z.string(),
  series: z.array(z.object({ name: z.string(), buckets: Points })),
})

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

function tablesOf({ title, read, plan, answered }: Answer): Table[] {
  const course = Course.safeParse(answered.data).data
  if (course) return [courseTable(course, plan)]
  const compared = plan.comparison !== undefined
  const layout = layoutOf(title, read.data, { metrics: answered.metrics, known: METRIC_NAMES, compared })
  const rows = new Map<Layout, Row[]>(shownOf(layout).map((table) => [table, []]))
  const counts = new Map<Layout, number>()
  for (const row of rowsOf(layout, answered.data)) {
    counts.set(row.table, (counts.get(row.table) ?? 0) + 1)
    const kept = rows.get(row.table)
    if (kept && kept.length < PRINTED) kept.push(row)
  }
  // A chart shows what these would fill pages with.
  const charted = Courses.safeParse(answered.data).success
  const single = !Array.isArray(answered.data)
  const tables = [...rows].flatMap(([table, kept]) => {
    if (charted && table.name.endsWith('buckets')) return []
    const counted = counts.get(table) ?? 0
    const total = table.path.length === 0 ? (answered.meta.total ?? counted) : counted
    // What the one row above says of all rows is said of none.
    const above = single && table !== layout ? layout.columns : []
    return [tableOf(table, kept, { total, above, figures: single && table === layout, tz: plan.tz })]
  })
  const filled = tables.filter(({ rows }) => rows.length > 0)
  return filled.length > 0 ? filled : tables.slice(0, 1)
}

interface Printed {
  readonly total: number
  readonly above: readonly Column[]
  readonly figures: boolean
  readonly tz: string
}

function tableOf(table: Layout, rows: readonly Row[], { total, above, figures, tz }: Printed): Table {
  const all = [...table.inherited, ...table.columns]
  const place = new Map(all.map((column, i) => [column.name, i]))
  const cellOf = (cells: readonly unknown[], column: Column): Cell => {
    const at = (group = '') => cells[place.get(`${group}${column.name}`) ?? -1]
    const text = textOf(at(), column, tz)
    const [moved, then] = [at('change.'), at('comparison.')]
    // What is compared stands below what it is compared with, not beside it.
    if (typeof moved === 'number') return { text, note: change(moved) }
    return typeof then === 'number' && then !== at() ? { text, note: `was ${formatOf(column)(then)}` } : text
  }
  const shown = all.filter((column) => !/^(comparison|change)\./.test(column.name) && !above.includes(column))
  const own = table.columns.filter((column) => shown.includes(column))
  const kept = figures ? own : shown
  const texts = rows.map(({ cells }) => kept.map((column) => cellOf(cells, column)))
  // A column with nothing in it is not worth its room.
  const filled = kept.flatMap((_, i) => (rows.length === 0 || texts.some((row) => row[i] !== '') ? [i] : []))
  const count = (n: number) => n.toLocaleString('en-US')
  const some = `the first ${count(rows.length)} of ${count(total)} rows; the CSV file has all`
  return {
    title: label(table.name),
    ...(figures
      ? { figures }
      : { remark: rows.length < total ? some : `${count(total)} ${total === 1 ? 'row' : 'rows'}` }),
    columns: filled.flatMap((i) => {
      const column = kept[i]
      return column ? [{ title: label(column.name), right: column.kind === 'number' || column.kind === 'share' }] : []
    }),
    rows: texts.map((row) => filled.map((i) => row[i] ?? '')),
  }
}

/** Of a cell's text more is never printed. */
const LONGEST = 400

const textOf = (value: unknown, column: Column, tz: string): string => {
  const text = worded(value, column, tz)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}\u2026` : text
}

function worded(value: unknown, column: Column, tz: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number') return column.kind === 'text' ? String(value) : formatOf(column)(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return isInstant(value) ? instant(new Date(value), tz) : value
  if (Array.isArray(value)) return value.join(', ')
  return JSON.stringify(value)
}

/** Both windows beside each other, bucket by bucket. */
function courseTable({ metric, granularity, buckets, comparison }: z.infer<typeof Course>, { tz }: Plan): Table {
  const format = formatOf({ path: [metric], kind: 'number' })
  const written = (value: number | undefined) => (value === undefined ? '' : format(value))
  const rows = buckets.slice(0, PRINTED)
  return {
    title: `${label(metric)} per ${granularity}`,
    remark:
      buckets.length > PRINTED
        ? `the first ${PRINTED} of ${buckets.length}; the CSV file has all`
        : `${buckets.length} buckets`,
    columns: [
      { title: label(granularity), right: false },
      { title: label(metric), right: true },
      ...(comparison ? [{ title: 'Before', right: true }] : []),
    ],
    rows: rows.map(({ t, value }, i) => [
      granularity === 'day' ? (instant(new Date(t), tz).split(',')[0] ?? '') : instant(new Date(t), tz),
      written(value),
      ...(comparison ? [written(comparison[i]?.value)] : []),
    ]),
  }
}
