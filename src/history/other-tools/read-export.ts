import { localDate, parseDay, startOfDay } from '../../analytics/query/calendar.js'
import { UnusableSetting } from '../../base/errors.js'
import { createCsvReader } from './csv.js'
import type { createDayFigures } from './day-figures.js'
import { decodeText, type ExportFile } from './files.js'
import { type Cells, type CsvFormat, type DailyFormat, findCsvFormat, readFigures, type Tool } from './formats.js'
import { GA4_EVENTS, readGa4Event } from './ga4-events.js'
import { isHitStats, readHitStats } from './goatcounter.js'
import { type ReadFile, startFile } from './read-file.js'
import { createDumpReader, isPgArchive, isSqlDump } from './sql-dump.js'
import { parseCount, parseDate } from './values.js'
import { createVisitCounter, type ExportedHit } from './visit-counter.js'

interface ReadOptions {
  readonly days: ReturnType<typeof createDayFigures>
  /** The site's time zone, in which rows of hits are counted by day. */
  readonly tz: string
  readonly tool?: Tool | undefined
  /** The website whose rows are read, by the tool's id. */
  readonly website?: string | undefined
  /** The ids of GoatCounter's paths that are events. */
  readonly eventPaths?: ReadonlySet<number>
  /** Called with each piece of text. */
  onText?(): void
}

/** Reads a file into the days; undefined if it is not a known export, or has no totals of days. */
export async function readExport(file: ExportFile, options: ReadOptions): Promise<ReadFile | undefined> {
  if (isHitStats(file)) {
    const events = options.eventPaths ?? new Set()
    return options.tool === undefined || options.tool === 'goatcounter'
      ? readHitStats(file, { ...options, events })
      : undefined
  }
  const text = await file.head()
  if (/^\s*\{/.test(text))
    return options.tool === undefined || options.tool === 'ga4' ? readEvents(file, options) : undefined
  if (isPgArchive(text))
    throw new UnusableSetting(`${file.name} is an archive of pg_dump: write one with --format=plain.`)
  if (isSqlDump(text))
    return options.tool === undefined || options.tool === 'umami'
      ? readTables(file, createDumpReader(UMAMI_TABLE, text), options)
      : undefined
  const separator = [',', ';', '\t'].find((one) => findTable(text, one, options.tool) !== undefined)
  if (separator === undefined) return undefined
  const read = await readTables(file, createCsvReader(separator), options)
  if (!read) throw new UnusableSetting(`${file.name}: it changed while it was read.`)
  return read
}

const UMAMI_TABLE = 'website_event'

/** Rows above the first table: comments of a report, and its title. */
const MAX_ROWS_BEFORE_TABLE = 50

const columnsOf = (cells: readonly string[]) => cells.map((cell) => cell.trim().toLowerCase())

/** Finds the first table of a known format in the beginning of a file. */
function findTable(text: string, separator: string, tool: Tool | undefined): CsvFormat | undefined {
  const rows = createCsvReader(separator).push(text, true).slice(0, MAX_ROWS_BEFORE_TABLE)
  for (const cells of rows) {
    const format = findCsvFormat(columnsOf(cells), tool)
    if (format) return format
  }
  return undefined
}

/** A table of a file while it is read. */
interface Table {
  readonly format: CsvFormat
  readonly cells: (row: readonly string[]) => Cells
  /** Days that the table had: a second row for a day is of a part of it only. */
  readonly seen: Set<string>
}

/** Reads the tables of one format; undefined if the file has none. */
async function readTables(
  file: ExportFile,
  reader: RowReader,
  { days, tz, tool, website, onText }: ReadOptions,
): Promise<ReadFile | undefined> {
  const ofWebsite = createHitFilter(file, website)
  let table: Table | undefined
  let read: ReadFile | undefined
  let startDate: string | undefined
  let counter: ReturnType<typeof createVisitCounter> | undefined
  const readRow = (row: readonly string[]) => {
    const [first = ''] = row
    if (row.length === 1 && first.trim() === '') return
    const isComment = first.startsWith('#') && table?.format.kind !== 'hits'
    if (isComment) {
      const [, date] = /^#\s*start date:\s*(\d{8})/i.exec(first) ?? []
      startDate = date === undefined ? startDate : parseDate(date)
      // A report has several tables, with comments between them.
      table = undefined
      return
    }
    if (!table) {
      const columns = columnsOf(row)
      const format = findCsvFormat(columns, tool)
      if (!format || (read && read.title !== format.title)) return
      table = { format, seen: new Set(), cells: createCells(columns) }
      const some = `${columns.slice(0, 6).join(', ')}${columns.length > 6 ? ', …' : ''}`
      read ??= startFile(file, format, `columns ${some}`)
      if (format.kind === 'hits') counter ??= createVisitCounter(tz, format.has(columns))
      return
    }
    if (!read) return
    read.rows += 1
    const { format } = table
    if (format.kind === 'daily') readDay(file, { format, table, row, days, startDate, read })
    else count(read, counter, ofWebsite(format.read(table.cells(row))))
  }
  for await (const piece of decodeText(file)) {
    for (const row of pushRows(file, reader, piece)) readRow(row)
    onText?.()
  }
  for (const row of pushRows(file, reader, '', true)) readRow(row)
  addCounted(file, days, counter)
  return read
}

type RowReader = ReturnType<typeof createCsvReader>

/**
 * Creates a function that skips the hits of other websites than the named one. Without a name it throws at the hit of a
 * second one: the sum of several websites is the history of none.
 */
function createHitFilter(file: ExportFile, named: string | undefined) {
  let website = named
  return (hit: ExportedHit | 'skip' | undefined): typeof hit => {
    if (hit === undefined || hit === 'skip' || hit.website === undefined) return hit
    website ??= hit.website
    if (hit.website === website) return hit
    if (named !== undefined) return 'skip'
    throw new UnusableSetting(
      `${file.name} has rows of several websites, ${website} and ${hit.website}: choose one with --website.`,
    )
  }
}

function pushRows(file: ExportFile, reader: RowReader, piece: string, isLast = false) {
  try {
    return reader.push(piece, isLast)
  } catch (error) {
    throw new UnusableSetting(`${file.name}: ${error instanceof Error ? error.message : String(error)}.`)
  }
}

function createCells(columns: readonly string[]) {
  const places = new Map(columns.map((column, place) => [column, place]))
  return (row: readonly string[]): Cells =>
    (column) =>
      row[places.get(column) ?? -1] ?? ''
}

interface DayRow {
  readonly format: DailyFormat
  readonly table: Table
  readonly row: readonly string[]
  readonly days: ReadOptions['days']
  readonly startDate: string | undefined
  readonly read: ReadFile
}

/** Reads the row of a day. Rows without a date, such as a grand total, are skipped. */
function readDay(file: ExportFile, { format, table, row, days, startDate, read }: DayRow): void {
  const cells = table.cells(row)
  const text = cells(format.day.column)
  const day = format.day.isNumber ? addDays(startDate, parseCount(text)) : parseDate(text)
  if (day === undefined) {
    read.skipped += 1
    return
  }
  const figures = readFigures(format, cells)
  if (figures === undefined) {
    read.broken += 1
    return
  }
  if (table.seen.has(day))
    throw new UnusableSetting(`${file.name}: ${day} has several rows. Export days without another dimension.`)
  table.seen.add(day)
  days.add(file.name, day, figures)
}

const addDays = (start: string | undefined, later: number | undefined): string | undefined => {
  const first = start === undefined ? undefined : parseDay(start)
  return first === undefined || later === undefined ? undefined : localDate(startOfDay(first, 'UTC', later), 'UTC')
}

function count(
  read: ReadFile,
  counter: ReturnType<typeof createVisitCounter> | undefined,
  hit: ExportedHit | 'skip' | undefined,
): void {
  if (hit === undefined) read.broken += 1
  else if (hit === 'skip') read.skipped += 1
  else counter?.add(hit)
}

function addCounted(
  file: ExportFile,
  days: ReadOptions['days'],
  counter: ReturnType<typeof createVisitCounter> | undefined,
): void {
  for (const [day, figures] of counter?.finish() ?? []) days.add(file.name, day, figures)
}

const MAX_LINE_CHARS = 1_000_000

async function readEvents(file: ExportFile, { days, tz, onText }: ReadOptions): Promise<ReadFile | undefined> {
  const read = startFile(file, GA4_EVENTS, 'JSON with event_timestamp')
  const counter = createVisitCounter(tz, GA4_EVENTS.has)
  let rest = ''
  let isCut = false
  const readLines = (lines: readonly string[]) => {
    for (const line of lines) {
      if (line.trim() === '') continue
      read.rows += 1
      count(read, counter, readGa4Event(line))
    }
  }
  for await (const piece of decodeText(file)) {
    const lines = (rest + piece).split('\n')
    if (isCut && lines.length > 1) lines[0] = ''
    isCut &&= lines.length === 1
    rest = lines.pop() ?? ''
    // No event is longer: its rest is skipped, and the line is broken.
    if (rest.length > MAX_LINE_CHARS) {
      if (!isCut) readLines([rest.slice(0, 100)])
      isCut = true
      rest = ''
    }
    readLines(lines)
    onText?.()
  }
  if (!isCut) readLines([rest])
  addCounted(file, days, counter)
  return read.broken < read.rows ? read : undefined
}
