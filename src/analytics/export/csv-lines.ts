import { setImmediate as breath } from 'node:timers/promises'
import { ApiError } from '../../base/errors.js'
import type { Store } from '../../storage/store.js'
import { quote } from '../query/dimensions.js'
import { prepareRead, type ReadDependencies, type ReadResponse } from '../query/prepare-read.js'
import { createCsvWriter } from './csv.js'
import { createLayout, layoutRows, type TableLayout, visibleTables } from './layout.js'
import { listReportReads, METRIC_NAMES, type NamedReport, readTitle } from './report-names.js'

/** Bounds the rows of a list in memory, and the lines written before other work gets its turn. */
const CHUNK_ROWS = 1_000
const LINES_PER_BLOCK = 250

interface CsvPart {
  readonly layout: TableLayout
  readonly first: ReadResponse
  readonly rest: AsyncGenerator<ReadResponse>
}

/**
 * Streams a report's lines as CSV, a few hundred at a time: whole lists, unless the query asks for a page. Resolves
 * once the first response is there, so an invalid query fails before any line is sent; throws `ApiError`. `close` ends
 * the statement, even if no line was read.
 */
export async function createCsvLines(
  report: NamedReport,
  query: URLSearchParams,
  deps: ReadDependencies & { readonly store: Pick<Store, 'query' | 'stream' | 'dialect'> },
  { table, signal }: { table?: string | undefined; signal?: AbortSignal },
) {
  const paged = query.has('limit') || query.has('page')
  const prepared = await prepareRead(report.read, query, deps, report.words)
  const asked = await Promise.all(
    listReportReads(report).map(async (part) => ({
      part,
      of: part === report ? prepared : await prepareRead(part.read, query, deps, part.words),
    })),
  )
  const parts: CsvPart[] = []
  try {
    for (const { part, of } of asked) {
      const rest = part.read.list && !paged ? of.stream(deps.store, CHUNK_ROWS, signal) : once(() => of.run())
      const { value: first } = await rest.next()
      if (!first) continue
      const layout = createLayout(readTitle(part.read), part.read.data, {
        metrics: first.metrics,
        known: METRIC_NAMES,
        compared: of.plan.comparison !== undefined,
        data: first.data,
      })
      parts.push({ layout, first, rest })
    }
    const all = parts.flatMap(({ layout }) => visibleTables(layout))
    const tables = table === undefined ? all : all.filter(({ name }) => name === table)
    if (tables.length === 0) {
      const names = all.map(({ name }) => name).join(', ')
      throw new ApiError(
        'validation_error',
        `This report has no table ${quote(table ?? '')}; its tables are ${names}.`,
        'table',
      )
    }
    return { plan: prepared.plan, lines: writeLines(parts, tables), close: () => closeParts(parts) }
  } catch (error) {
    await closeParts(parts)
    throw error
  }
}

const closeParts = (parts: readonly CsvPart[]) => Promise.all(parts.map(({ rest }) => rest.return(undefined)))

async function* once(answer: () => Promise<ReadResponse>): AsyncGenerator<ReadResponse> {
  yield await answer()
}

async function* writeLines(parts: readonly CsvPart[], tables: readonly TableLayout[]): AsyncGenerator<string> {
  try {
    const wanted = new Set(tables)
    const { header, line } = createCsvWriter(tables)
    let text = header
    let lines = 0
    for (const { layout, first, rest } of parts) {
      for (let part: ReadResponse | undefined = first; part; part = (await rest.next()).value) {
        for (const row of layoutRows(layout, part.data)) {
          if (!wanted.has(row.table)) continue
          text += line(row)
          if (++lines % LINES_PER_BLOCK > 0) continue
          yield text
          text = ''
          await breath()
        }
      }
    }
    if (text !== '') yield text
  } finally {
    await closeParts(parts)
  }
}
