import { z } from 'zod'
import { DAY_MS } from '../../base/time-units.js'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { type Dialect, raw, type Sql, sql } from '../sql.js'
import type { Store } from '../store.js'
import type { Cells, CopiedTable, CopiedType, Unit } from './tables.js'

/** Days whose fingerprints are computed by one query have about so many rows: it must end within its timeout. */
const ROWS_PER_QUERY = 1_000_000

/** The store of events, as far as it is read from. */
export type ReadableEvents = Pick<Store, 'query' | 'stream' | 'dialect'>

export const DayCount = z.object({ day: z.int(), rows: z.int() })
export type DayCount = z.infer<typeof DayCount>
export const Fingerprint = DayCount.extend({ fingerprint: z.string() })
/** A day of a table, and a text that is another one when its rows are. Two engines have different texts for equal rows. */
export type Fingerprint = z.infer<typeof Fingerprint>

/** The SQL that differs between the two engines where rows are copied. */
interface Spelling {
  /** A column as text, the same on both engines but for doubles. */
  text(column: Sql, type: CopiedType): Sql
  /** A JSON array of texts. */
  list(texts: Sql): Sql
  /** A text made of all rows, in any order. */
  fingerprint(table: CopiedTable): Sql
}

const nameList = ({ columns }: CopiedTable): Sql => raw(columns.map(({ name }) => name).join(', '))

const DUCKDB: Spelling = {
  text: (column, type) =>
    type === 'timestamp' ? sql`strftime(${column}, '%Y-%m-%d %H:%M:%S.%g')` : sql`cast(${column} as varchar)`,
  list: (texts) => sql`cast(to_json([${texts}]) as varchar)`,
  fingerprint: (table) => sql`cast(sum(hash(${nameList(table)})) as varchar)`,
}
const CLICKHOUSE: Spelling = {
  text: (column) => sql`cast(${column} as Nullable(String))`,
  list: (texts) => sql`toJSONString([${texts}])`,
  // Each change of a row is a new version of it, so two columns stand for all.
  fingerprint: (table) =>
    sql`toString(sum(cityHash64(${table.byDay ? raw('row_id, ver') : textOf(CLICKHOUSE, table)})))`,
}
const spellingOf = (dialect: Dialect): Spelling => (dialect === clickhouseDialect ? CLICKHOUSE : DUCKDB)

/** A row as the text of a JSON array of texts and nulls. */
const textOf = (spelling: Spelling, { columns }: CopiedTable): Sql =>
  spelling.list(
    columns.map(({ name, type }) => spelling.text(raw(name), type)).reduce((all, column) => sql`${all}, ${column}`),
  )

const dayOf = (dialect: Dialect, { byDay }: CopiedTable): Sql =>
  byDay ? dialect.divideInteger(dialect.epochMs(raw('timestamp')), raw(String(DAY_MS))) : raw('0')

/** The condition that a row is of one of the days from `first` to `last`. */
export const isOfDays = ({ byDay }: CopiedTable, first: number, last: number): Sql =>
  byDay ? sql`timestamp >= ${new Date(first * DAY_MS)} and timestamp < ${new Date((last + 1) * DAY_MS)}` : raw('true')

/** Lists the days that have rows, ascending. */
export async function listDays({ stream, dialect }: ReadableEvents, table: CopiedTable): Promise<DayCount[]> {
  const days: DayCount[] = []
  // As a stream, which may take longer than a query: it reads the whole table.
  const query = sql`select day, count(*) as rows from (select ${dayOf(dialect, table)} as day from ${raw(table.name)}) d
    group by day order by day`
  for await (const rows of stream(query)) days.push(...z.array(DayCount).parse(rows))
  return days
}

/** Splits days into groups for `listFingerprints`. */
export function groupDays(days: readonly DayCount[]): DayCount[][] {
  const groups: DayCount[][] = []
  let rows = ROWS_PER_QUERY
  for (const day of days) {
    if (rows + day.rows > ROWS_PER_QUERY) {
      groups.push([])
      rows = 0
    }
    groups.at(-1)?.push(day)
    rows += day.rows
  }
  return groups
}

/** As `listDays`, from `first` to `last`, with fingerprints. */
export async function listFingerprints(
  { query, dialect }: ReadableEvents,
  table: CopiedTable,
  first: number,
  last: number,
): Promise<Fingerprint[]> {
  const { fingerprint } = spellingOf(dialect)
  const rows = await query(
    sql`select ${dayOf(dialect, table)} as day, count(*) as rows, ${fingerprint(table)} as fingerprint
      from ${raw(table.name)} where ${isOfDays(table, first, last)} group by 1 order by 1`,
  )
  return z.array(Fingerprint).parse(rows)
}

const Line = z.object({ line: z.string() })

/** Yields the rows of a unit, each as JSON text of `Cells`, in chunks. */
export async function* streamLines(
  { stream, dialect }: ReadableEvents,
  { table, day }: Unit,
  signal?: AbortSignal,
): AsyncGenerator<string[]> {
  const query = sql`select ${textOf(spellingOf(dialect), table)} as line from ${raw(table.name)}
    where ${isOfDays(table, day, day)}`
  for await (const rows of stream(query, signal)) yield rows.map((row) => Line.parse(row).line)
}

/** Parses a line of `streamLines`. It is not checked for its shape, because rows are verified by their checksum. */
export function parseLine(line: string): Cells {
  const cells: Cells = JSON.parse(line)
  return cells
}
