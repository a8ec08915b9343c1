import { raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { joinComparison, splitComparison, withComparison, withoutNulls } from './comparison.js'
import type { Cursor } from './cursor.js'
import { keyMatches } from './key-match.js'
import { findLateMetrics, type LateMetrics } from './late-metrics.js'
import type { Plan } from './plan.js'

export interface ListOptions {
  /** The columns that identify a row. They match the rows of the two windows. */
  readonly key: string | readonly string[]
  /** Columns to sort by, best first; the key breaks ties. */
  readonly order: readonly string[]
  readonly metrics: readonly string[]
  /** Returns this many rows and no pages; absent: the requested page. */
  readonly limit?: number
  /** False: rows get no `comparison`, because they compare two windows already. */
  readonly compare?: boolean
  /** Reads every row of the other window: there are few, and DuckDB works long on a condition on such a key. */
  readonly comparesAll?: true
  /** Computes the `metrics` that `build` does not select. */
  readonly late?: LateMetrics | undefined
  /** Selects the number of rows on all pages as `n`, if that is cheaper than counting them with the page. */
  readonly totalQuery?: Sql
}

/** A window of a read: its plan, and whether anything of it was recorded. */
export interface ReadWindow {
  readonly plan: Plan
  readonly isRecorded: boolean
}

interface ListSource {
  readonly current: ReadWindow
  /** The window that the rows are compared with. */
  readonly compared: ReadWindow | undefined
  /** Selects all rows of a plan's window, unsorted. */
  build(plan: Plan): Sql
  query(statement: Sql): Promise<ResultRow[]>
}

/** Returns the metrics of the same row in the other window; `index` counts the rows that are completed. */
type FindOther = (row: ResultRow, index: number) => ResultRow | undefined

/** Reads the sorted rows of a list: a page of them, or the next rows of a cursor. */
export function createListReader(options: ListOptions, { current, compared, build, query }: ListSource) {
  const { key, order, metrics, late, totalQuery, comparesAll } = options
  const keys = typeof key === 'string' ? [key] : key
  const sorting = raw([...order, ...keys].map((column) => `${column} nulls last`).join(', '))
  const nameOf = (row: ResultRow) => JSON.stringify(keys.map((column) => row[column] ?? null))
  const findLate = (rows: readonly ResultRow[], { plan }: ReadWindow) =>
    findLateMetrics(late, rows, plan, { query, nameOf })

  /** Adds the late metrics, and those of the other window, which `findOthers` gets for these rows. */
  const complete = async (
    rows: readonly ResultRow[],
    findOthers: (compared: ReadWindow) => Promise<FindOther>,
  ): Promise<ResultRow[]> => {
    const lateNow = await findLate(rows, current)
    const shown = rows.map((row) => withoutNulls({ ...row, ...lateNow(row) }, metrics, current.isRecorded))
    if (compared === undefined || rows.length === 0) return shown
    const findOther = await findOthers(compared)
    const lateThen = await findLate(rows, compared)
    return shown.map((row, i) =>
      withComparison(row, { ...findOther(row, i), ...lateThen(row) }, metrics, compared.isRecorded),
    )
  }

  /** Counts the rows on all pages: with the page itself, unless that is empty or another statement is cheaper. */
  const countAll = async (page: readonly ResultRow[], offset: number): Promise<number> => {
    const isBeyondLastPage = page.length === 0 && offset > 0
    const counting =
      totalQuery ?? (isBeyondLastPage ? sql`select count(*) as n from (${build(current.plan)}) r` : undefined)
    const [counted] = counting ? await query(counting) : []
    return Number(counted?.n ?? page[0]?.total_rows ?? 0)
  }

  return {
    /** Returns the next rows of a cursor, both windows from one statement. `tagged` names the statement. */
    async next(cursor: Cursor, tagged: (statement: Sql) => Sql): Promise<ResultRow[]> {
      const early = metrics.filter((metric) => !late?.metrics.includes(metric))
      const all = compared
        ? joinComparison(build(current.plan), build(compared.plan), keys, early)
        : build(current.plan)
      const rows = await cursor.next(tagged(sql`select * from (${all}) r order by ${sorting}`))
      const pairs = compared ? rows.map((row) => splitComparison(row, early)) : []
      return complete(compared ? pairs.map(([row]) => row) : rows, async () => (_, i) => pairs[i]?.[1])
    },
    /** Returns a page, with the number of rows on all pages if it is to be counted. */
    async page({ limit, offset, isCounted }: { limit: number; offset: number; isCounted: boolean }) {
      const totalColumn = raw(totalQuery ? '' : ', count(*) over () as total_rows')
      const page = await query(sql`
        select *${totalColumn} from (${build(current.plan)}) r order by ${sorting} limit ${limit} offset ${offset}`)
      const total = isCounted ? await countAll(page, offset) : undefined
      const rows = await complete(
        page.map(({ total_rows, ...row }) => row),
        async ({ plan }) => {
          const others = await query(
            sql`select * from (${build(plan)}) r where ${comparesAll ? raw('true') : keyMatches(keys, page)}`,
          )
          const byName = new Map(others.map((row) => [nameOf(row), row]))
          return (row) => byName.get(nameOf(row))
        },
      )
      return { rows, total }
    },
  }
}
