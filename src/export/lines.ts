import { setImmediate as breath } from 'node:timers/promises'
import { ApiError } from '../errors.js'
import { quoted } from '../query/dimensions.js'
import { type Answered, type Deps, understand } from '../query/read.js'
import type { Store } from '../store.js'
import { csvOf } from './csv.js'
import { type Layout, layoutOf, rowsOf, shownOf } from './layout.js'
import { METRIC_NAMES, partsOf, type Report, titleOf } from './report.js'

/** Rows of a list that are held at once, and lines that are made before others have their turn. */
const CHUNK = 1_000
const LINES = 250

interface Part {
  readonly layout: Layout
  readonly first: Answered
  readonly rest: AsyncGenerator<Answered>
}

/**
 * A report's lines as CSV, a few hundred at a time: lists whole, unless a page is asked for. Resolves with the first
 * answer at hand, so that what is wrong with the question is known before a line goes out; throws `ApiError`. `close`
 * ends the statement, also where no line was ever taken.
 */
export async function linesOf(
  report: Report,
  query: URLSearchParams,
  deps: Deps & { readonly store: Pick<Store, 'query' | 'stream' | 'dialect'> },
  { table, signal }: { table?: string | undefined; signal?: AbortSignal },
) {
  const paged = query.has('limit') || query.has('page')
  const own = await understand(report.read, query, deps, report.words)
  const asked = await Promise.all(
    partsOf(report).map(async (part) => ({
      part,
      of: part === report ? own : await understand(part.read, query, deps, part.words),
    })),
  )
  const parts: Part[] = []
  try {
    for (const { part, of } of asked) {
      const rest = part.read.list && !paged ? of.answers(deps.store, CHUNK, signal) : once(() => of.answer())
      const { value: first } = await rest.next()
      if (!first) continue
      const layout = layoutOf(titleOf(part.read), part.read.data, {
        metrics: first.metrics,
        known: METRIC_NAMES,
        compared: of.plan.comparison !== undefined,
        data: first.data,
      })
      parts.push({ layout, first, rest })
    }
    const all = parts.flatMap(({ layout }) => shownOf(layout))
    const tables = table === undefined ? all : all.filter(({ name }) => name === table)
    if (tables.length === 0) {
      const names = all.map(({ name }) => name).join(', ')
      throw new ApiError(
        'validation_error',
        `There is no table ${quoted(table ?? '')} in this report, but ${names}.`,
        'table',
      )
    }
    return { plan: own.plan, lines: written(parts, tables), close: () => ended(parts) }
  } catch (error) {
    await ended(parts)
    throw error
  }
}

const ended = (parts: readonly Part[]) => Promise.all(parts.map(({ rest }) => rest.return(undefined)))

async function* once(answer: () => Promise<Answered>): AsyncGenerator<Answered> {
  yield await answer()
}

async function* written(parts: readonly Part[], tables: readonly Layout[]): AsyncGenerator<string> {
  try {
    const wanted = new Set(tables)
    const { header, line } = csvOf(tables)
    let text = header
    let lines = 0
    for (const { layout, first, rest } of parts) {
      for (let part: Answered | undefined = first; part; part = (await rest.next()).value) {
        for (const row of rowsOf(layout, part.data)) {
          if (!wanted.has(row.table)) continue
          text += line(row)
          if (++lines % LINES > 0) continue
          yield text
          text = ''
          await breath()
        }
      }
    }
    if (text !== '') yield text
  } finally {
    await ended(parts)
  }
}
