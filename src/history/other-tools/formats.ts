import { IMPORTED_METRICS } from '../../analytics/query/histories.js'
import type { Figures } from './day-figures.js'
import { parseCount, parseDecimal, parseSeconds, parseShare, parseTime } from './values.js'
import type { Countable, ExportedHit } from './visit-counter.js'

/** The tools whose exports are known, as `--from` names them. */
export const TOOLS = [
  'plausible',
  'umami',
  'matomo',
  'ga4',
  'goatcounter',
  'simple-analytics',
  'bing',
  'search-console',
] as const
export type Tool = (typeof TOOLS)[number]

export const TOOL_NAMES: Readonly<Record<Tool, string>> = {
  plausible: 'Plausible',
  umami: 'Umami',
  matomo: 'Matomo',
  ga4: 'Google Analytics',
  goatcounter: 'GoatCounter',
  'simple-analytics': 'Simple Analytics',
  bing: 'Bing Webmaster Tools',
  'search-console': 'Search Console',
}

/** Cells of a row by the names of the columns, in lower case. */
export type Cells = (column: string) => string

interface FormatInfo {
  readonly tool: Tool
  /** The kind of file, as the summary says it. */
  readonly title: string
  /** Columns that all have to be there. */
  readonly needs: readonly string[]
  /** Whether the names of the columns fit, in order; all do if absent. */
  fits?(columns: readonly string[]): boolean
}

/** A file with one row for each day. */
export interface DailyFormat extends FormatInfo {
  readonly kind: 'daily'
  /** The column of the day: a date, or its number from the start date that a comment above the table names. */
  readonly day: { readonly column: string; readonly isNumber?: true }
  readonly readers: Partial<Readonly<Record<CellName, Reader>>>
}

/** A file with one row for each hit. */
export interface HitFormat extends FormatInfo {
  readonly kind: 'hits'
  has(columns: readonly string[]): Countable
  /** Returns the hit of a row, `skip` for a row that is not counted; undefined if it cannot be read. */
  read(cells: Cells): ExportedHit | 'skip' | undefined
}
export type CsvFormat = DailyFormat | HitFormat

/** Numbers that a row may have of a day: figures, and means of which figures are made. */
const CELL_NAMES = [...IMPORTED_METRICS, 'engaged', 'bounceShare', 'meanSeconds'] as const
type CellName = (typeof CELL_NAMES)[number]
/** A number from the first of some columns that the file has. */
type Reader = readonly [columns: readonly string[], parse: (text: string) => number | undefined]

/** Reads the figures of a day; undefined if a cell cannot be read. An empty cell is not a figure. */
export function readFigures({ readers }: DailyFormat, cells: Cells): Figures | undefined {
  const columnOf: Partial<Record<CellName, number>> = {}
  for (const name of CELL_NAMES) {
    const [columns = [], parse] = readers[name] ?? []
    const text = columns.map(cells).find((cell) => cell.trim() !== '')
    if (text === undefined) continue
    const value = parse?.(text)
    if (value === undefined) return undefined
    columnOf[name] = value
  }
  const { engaged, bounceShare, meanSeconds, ...figures } = columnOf
  const { visits } = figures
  if (visits === undefined) return figures
  return {
    ...(bounceShare === undefined ? {} : { bounces: Math.round(bounceShare * visits) }),
    ...(engaged === undefined ? {} : { bounces: Math.max(0, visits - engaged) }),
    ...(meanSeconds === undefined ? {} : { seconds: Math.round(meanSeconds * visits) }),
    ...figures,
  }
}

const count = (...columns: string[]): Reader => [columns, parseCount]
const total = (...columns: string[]): Reader => [
  columns,
  (text) => parseCount(text) ?? roundDefined(parseSeconds(text)),
]
const roundDefined = (value: number | undefined) => (value === undefined ? undefined : Math.round(value))
const isOnly =
  (...known: string[]) =>
  (columns: readonly string[]) =>
    columns.every((column) => known.includes(column))

const DATE = { column: 'date' }
const PLAUSIBLE = ['date', 'visitors', 'pageviews', 'bounces', 'visits', 'visit_duration']
const PLAUSIBLE_STATS = ['date', 'visitors', 'pageviews', 'visits', 'views_per_visit', 'bounce_rate', 'visit_duration']
const GA4: DailyFormat['readers'] = {
  visitors: count('total users', 'totalusers', 'active users', 'activeusers', 'users'),
  visits: count('sessions'),
  pageviews: count('views', 'screenpageviews'),
  engaged: count('engaged sessions', 'engagedsessions'),
  bounceShare: [['bounce rate', 'bouncerate'], (text) => parseShare(text, 'fraction')],
  meanSeconds: [['average session duration', 'averagesessionduration', 'avg. session duration'], parseSeconds],
}
const GA4_COLUMNS = Object.values(GA4).flatMap(([columns]) => columns)
const GA4_COUNTS = [GA4.visitors, GA4.visits, GA4.pageviews, GA4.engaged].flatMap((reader) => reader?.[0] ?? [])

const ga4 = (day: DailyFormat['day']): DailyFormat => ({
  kind: 'daily',
  tool: 'ga4',
  title: 'Google Analytics 4, CSV of a report by day',
  day,
  needs: [day.column],
  // Tools share names of means, such as the bounce rate, so that these alone identify none.
  fits: (columns) =>
    columns.some((column) => GA4_COUNTS.includes(column)) ||
    (columns.length === 2 && GA4_COLUMNS.includes(columns[1] ?? '')),
  readers: GA4,
})

const YES = /^(true|t|1|yes)$/i

/** The formats in the order in which they are tried. */
const CSV_FORMATS: readonly CsvFormat[] = [
  {
    kind: 'daily',
    tool: 'plausible',
    title: 'Plausible export, imported_visitors',
    day: DATE,
    needs: PLAUSIBLE,
    fits: isOnly(...PLAUSIBLE),
    readers: {
      visitors: count('visitors'),
      visits: count('visits'),
      pageviews: count('pageviews'),
      bounces: count('bounces'),
      seconds: total('visit_duration'),
    },
  },
  {
    kind: 'daily',
    tool: 'plausible',
    title: 'Plausible, visitors.csv of the dashboard',
    day: DATE,
    needs: ['date', 'visitors', 'visits', 'bounce_rate'],
    fits: isOnly(...PLAUSIBLE_STATS),
    readers: {
      visitors: count('visitors'),
      visits: count('visits'),
      pageviews: count('pageviews'),
      bounceShare: [['bounce_rate'], (text) => parseShare(text, 'percent')],
      meanSeconds: [['visit_duration'], parseSeconds],
    },
  },
  {
    kind: 'daily',
    tool: 'matomo',
    title: 'Matomo, CSV of the Reporting API by day',
    day: DATE,
    needs: ['date'],
    // A label stands for a page, a country or a browser.
    fits: (columns) => !columns.includes('label') && ['nb_visits', 'nb_pageviews'].some((one) => columns.includes(one)),
    readers: {
      visitors: count('nb_uniq_visitors'),
      visits: count('nb_visits'),
      pageviews: count('nb_pageviews'),
      bounces: count('bounce_count'),
      seconds: total('sum_visit_length'),
    },
  },
  {
    kind: 'daily',
    tool: 'simple-analytics',
    title: 'Simple Analytics, pageviews and visitors by day',
    day: DATE,
    needs: ['date', 'pageviews', 'visitors'],
    fits: isOnly('date', 'pageviews', 'visitors'),
    readers: { visitors: count('visitors'), pageviews: count('pageviews') },
  },
  {
    kind: 'hits',
    tool: 'umami',
    title: 'Umami, rows of website_event',
    needs: ['session_id', 'created_at', 'event_type', 'url_path'],
    has: (columns) => ({ visitors: true, visits: columns.includes('visit_id'), bounces: 'one_pageview' }),
    read(cells) {
      const at = parseTime(cells('created_at'))
      const type = parseCount(cells('event_type'))
      if (at === undefined || type === undefined) return undefined
      // 1 is a pageview, 2 a custom event; other types measure a page and are not visits of their own.
      if (type > 2) return 'skip'
      const [visitor, visit, website] = ['session_id', 'visit_id', 'website_id'].map((id) => textOf(cells, id))
      return { at, isPageview: type === 1, visitor, visit, website }
    },
  },
  {
    kind: 'hits',
    tool: 'goatcounter',
    title: 'GoatCounter, CSV export',
    needs: ['event', 'bot', 'session', 'date'],
    fits: ([first = '']) => /^[12]path$/.test(first),
    has: () => ({ visitors: true, visits: false, bounces: 'one_pageview' }),
    read(cells) {
      const at = parseTime(cells('date'))
      if (at === undefined) return undefined
      if (YES.test(cells('event')) || parseDecimal(cells('bot')) !== 0) return 'skip'
      return { at, isPageview: true, visitor: textOf(cells, 'session') }
    },
  },
  {
    kind: 'hits',
    tool: 'simple-analytics',
    title: 'Simple Analytics, exported data points',
    needs: ['path'],
    fits: (columns) => columns.includes('added_iso') || columns.includes('added_unix'),
    has: (columns) => ({
      visitors: columns.includes('is_unique'),
      visits: columns.includes('session_id'),
      bounces: 'one_pageview',
    }),
    read(cells) {
      const unix = parseDecimal(cells('added_unix'))
      // Newer exports have milliseconds.
      const at = parseTime(cells('added_iso')) ?? (unix === undefined ? undefined : unix < 1e11 ? unix * 1000 : unix)
      if (at === undefined) return undefined
      if (YES.test(cells('is_robot')) || !/^(pageviews?)?$/.test(cells('datapoint').trim())) return 'skip'
      const visit = textOf(cells, 'session_id')
      return { at, isPageview: true, isFirst: YES.test(cells('is_unique')), visit, seconds: secondsOf(cells) }
    },
  },
  ga4(DATE),
  ga4({ column: 'nth day', isNumber: true }),
]

const textOf = (cells: Cells, column: string): string | undefined => cells(column).trim() || undefined
const secondsOf = (cells: Cells): number | undefined => parseDecimal(cells('duration_seconds'))

/** Returns the format whose columns these are; `tool` leaves out those of the others. */
export const findCsvFormat = (columns: readonly string[], tool?: Tool): CsvFormat | undefined =>
  CSV_FORMATS.find(
    (format) =>
      (tool === undefined || format.tool === tool) &&
      format.needs.every((column) => columns.includes(column)) &&
      (format.fits?.(columns) ?? true),
  )
