import { z } from 'zod'
import { isCount, VERIFICATION_COUNTS } from '../query/metrics.js'
import type { Read } from '../query/read.js'
import { columnFormat, formatChange, formatInstant, formatLabel, formatNumber, isInstant } from './format.js'
import {
  createLayout,
  type LayoutColumn,
  type LayoutRow,
  layoutRows,
  type TableLayout,
  visibleTables,
} from './layout.js'
import { METRIC_NAMES } from './report-names.js'
import type { Cell, Table } from './sheet.js'

/** Bounds the printed rows of a table. */
export const MAX_PRINTED_ROWS = 1_000
const count = z.number().optional()
export const Points = z.array(
  z.object({
    t: z.string(),
    value: count,
    verified_fetches: count,
    spoofed: count,
    indeterminate: count,
    partial: z.boolean().optional(),
  }),
)
/** The time series of one metric and of several agents: the data of a chart. */
export const TimeSeries = z.object({
  metric: z.string(),
  granularity: z.string(),
  buckets: Points,
  comparison: Points.optional(),
})
export const AgentTimeSeries = z.object({
  granularity: z.string(),
  series: z.array(z.object({ name: z.string(), buckets: Points })),
})

/** A response with what is known of its query. */
interface TableInput {
  /** The name of the first table. */
  readonly title: string
  readonly read: Pick<Read, 'data'>
  readonly tz: string
  readonly compared: boolean
  readonly data: unknown
  readonly metrics: ReadonlySet<string>
  /** Number of rows in all, if `data` is a page of them. */
  readonly total: number | undefined
  /** Rows that are printed of each table. */
  readonly limit?: number | undefined
}

/** Turns a response into printed tables of at most `limit` rows; empty ones are left out. */
export function createTables({ title, read, tz, compared, data, metrics, total: all, limit }: TableInput): Table[] {
  const course = TimeSeries.safeParse(data).data
  if (course) return [createTimeSeriesTable(course, tz)]
  const layout = createLayout(title, read.data, { metrics: metrics, known: METRIC_NAMES, compared, data })
  const rows = new Map<TableLayout, LayoutRow[]>(visibleTables(layout).map((table) => [table, []]))
  const counts = new Map<TableLayout, number>()
  for (const row of layoutRows(layout, data)) {
    counts.set(row.table, (counts.get(row.table) ?? 0) + 1)
    const kept = rows.get(row.table)
    if (kept && kept.length < Math.min(limit ?? MAX_PRINTED_ROWS, MAX_PRINTED_ROWS)) kept.push(row)
  }
  // The chart already shows the buckets.
  const charted = AgentTimeSeries.safeParse(data).success
  const single = !Array.isArray(data)
  const tables = [...rows].flatMap(([table, kept]) => {
    if (charted && table.name.endsWith('buckets')) return []
    const counted = counts.get(table) ?? 0
    const total = table.path.length === 0 ? (all ?? counted) : counted
    // The columns of a single outer row are not repeated in inner rows.
    const above = single && table !== layout ? layout.columns : []
    return [createTable(table, kept, { total, above, figures: single && table === layout, tz })]
  })
  const filled = tables.filter(({ rows }) => rows.length > 0)
  return filled.length > 0 ? filled : tables.slice(0, 1)
}

interface PrintOptions {
  readonly total: number
  readonly above: readonly LayoutColumn[]
  readonly figures: boolean
  readonly tz: string
}

function createTable(
  table: TableLayout,
  rows: readonly LayoutRow[],
  { total, above, figures, tz }: PrintOptions,
): Table {
  const all = [...table.inherited, ...table.columns]
  const place = new Map(all.map((column, i) => [column.name, i]))
  const cellOf = (cells: readonly unknown[], column: LayoutColumn): Cell => {
    const at = (group = '') => cells[place.get(`${group}${column.name}`) ?? -1]
    const text = cellText(at(), column, tz)
    const [moved, then] = [at('change.'), at('comparison.')]
    // The comparison stands below the value, not beside it.
    if (typeof moved === 'number') return { text, note: formatChange(moved) }
    return typeof then === 'number' && then !== at() ? { text, note: `was ${columnFormat(column)(then)}` } : text
  }
  const shown = all.filter(
    (column) => !/^(comparison|change)\./.test(column.name) && !above.includes(column) && !column.describes,
  )
  const own = table.columns.filter((column) => shown.includes(column))
  const kept = figures ? own : shown
  const texts = rows.map(({ cells }) => kept.map((column) => cellOf(cells, column)))
  // Empty columns are left out.
  const filled = kept.flatMap((_, i) => (rows.length === 0 || texts.some((row) => row[i] !== '') ? [i] : []))
  const numbers = kept.filter((column, i) => isRightAligned(column) && filled.includes(i))
  const ranked = RANKING.flatMap((name) => numbers.find((column) => column.name === name) ?? [])[0]
  const count = (n: number) => n.toLocaleString('en-US')
  const some = `the first ${count(rows.length)} of ${count(total)} rows; the CSV file has all`
  return {
    title: formatLabel(table.name),
    ...(figures
      ? { figures }
      : { remark: rows.length < total ? some : `${count(total)} ${total === 1 ? 'row' : 'rows'}` }),
    columns: filled.map((i) => ({ title: formatLabel(kept[i]?.name ?? ''), right: isRightAligned(kept[i]) })),
    rows: texts.map((row) => filled.map((i) => row[i] ?? '')),
    ...(ranked === undefined
      ? {}
      : {
          measured: {
            column: filled.indexOf(kept.indexOf(ranked)),
            values: rows.map(({ cells }) => Number(cells[all.indexOf(ranked)] ?? 0)),
          },
        }),
  }
}

/** Metrics that rows may be ranked by; the first that a table has counts. */
const RANKING = ['visitors', 'fetches', 'conversions', 'count', 'sessions', 'pageviews', 'events', 'size']

const isRightAligned = (column: LayoutColumn | undefined): boolean =>
  column?.kind === 'number' || column?.kind === 'share'

/** Bounds a cell's text. */
const MAX_CELL_CHARACTERS = 400

const cellText = (value: unknown, column: LayoutColumn, tz: string): string => {
  const text = valueText(value, column, tz)
  return text.length > MAX_CELL_CHARACTERS ? `${text.slice(0, MAX_CELL_CHARACTERS)}\u2026` : text
}

function valueText(value: unknown, column: LayoutColumn, tz: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number') return column.kind === 'text' ? String(value) : columnFormat(column)(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return isInstant(value) ? formatInstant(new Date(value), tz) : value
  if (Array.isArray(value)) return value.map((one) => valueText(one, column, tz)).join(', ')
  return JSON.stringify(value)
}

/** Puts both windows side by side, bucket by bucket. */
function createTimeSeriesTable(
  { metric, granularity, buckets, comparison }: z.infer<typeof TimeSeries>,
  tz: string,
): Table {
  const format = columnFormat({ path: [metric], kind: 'number' })
  const written = (value: number | undefined) => (value === undefined ? '' : format(value))
  const counts = VERIFICATION_COUNTS.filter((name) => buckets.some((bucket) => bucket[name] !== undefined))
  const label = (t: string) =>
    granularity === 'day' ? (formatInstant(new Date(t), tz).split(',')[0] ?? '') : formatInstant(new Date(t), tz)
  const valuesOf = (i: number) => [buckets[i]?.value, ...(comparison ? [comparison[i]?.value] : [])]
  /** Says why a bucket is empty; undefined if it is not. Zero is a value of a share or a mean. */
  const emptiness = (i: number) => {
    if (i >= buckets.length || counts.some((name) => (buckets[i]?.[name] ?? 0) !== 0)) return undefined
    const values = valuesOf(i)
    if (values.every((value) => value === undefined)) return 'no data'
    return isCount(metric) && values.every((value) => value === 0)
      ? `no ${formatLabel(metric).toLowerCase()}`
      : undefined
  }
  const rows: string[][] = []
  for (let i = 0; i < buckets.length; i++) {
    const from = i
    const none = emptiness(from)
    while (none !== undefined && emptiness(i + 1) === none) i++
    const [first, last, next] = [buckets[from]?.t ?? '', buckets[i]?.t ?? '', buckets[i + 1]?.t]
    if (none === undefined || i === from) {
      const counted = counts.map((name) => buckets[i]?.[name])
      const when = `${label(first)}${buckets[i]?.partial ? ' (in part)' : ''}`
      rows.push([when, ...valuesOf(i).map(written), ...counted.map((n) => (n === undefined ? '' : formatNumber(n)))])
    } else {
      // A run of empty buckets is one line.
      const when =
        from > 0 ? `${label(first)} to ${label(last)}: ${none}` : next ? `${none} until ${label(next)}` : none
      rows.push([when, '', ...(comparison ? [''] : []), ...counts.map(() => '')])
    }
  }
  return {
    title: `${formatLabel(metric)} per ${granularity}`,
    remark:
      rows.length > MAX_PRINTED_ROWS
        ? `the first ${MAX_PRINTED_ROWS} of ${rows.length} lines; the CSV file has all`
        : `${buckets.length} buckets`,
    columns: [
      { title: formatLabel(granularity), right: false },
      { title: formatLabel(metric), right: true },
      ...(comparison ? [{ title: 'Before', right: true }] : []),
      ...counts.map((name) => ({ title: formatLabel(name), right: true })),
    ],
    rows: rows.slice(0, MAX_PRINTED_ROWS),
  }
}
