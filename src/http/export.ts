import { z } from 'zod'
import { parseQuery } from '../query/envelope.js'
import type { Plan } from '../query/plan.js'
import type { Store } from '../store.js'
import { disposition } from './export/filename.js'
import { linesOf } from './export/lines.js'
import { ExportQuery, REPORT, type Report, reportOf } from './export/report.js'
import { depsOf, type ReadDeps } from './reads.js'
import type { Route } from './route.js'

export type ExportDeps = Omit<ReadDeps, 'store'> & {
  store: Pick<Store, 'query' | 'stream' | 'dialect'>
  /** Hears why a file that was begun was not ended. */
  log(error: unknown): void
}

const TABLE = z
  .string()
  .max(200)
  .optional()
  .describe('One table alone, of a report that has several; default all, each line with the name of its `table`.')

/** The reads as files to take away (spec 4.6, contract 5): the same envelope, the same data. */
export const exportRoutes = ({ log, ...deps }: ExportDeps): Route[] => [
  {
    method: 'get',
    path: '/api/stats/export.csv',
    access: 'stats:read',
    tag: 'stats',
    summary:
      "A report as CSV, whole: a header row, RFC 4180, UTF-8. What is absent is empty; lists are joined by `; `, lists of rows are tables of their own, other objects JSON. A text that begins with = + - @ tab, an end of line or ' has one ' put before it, so that no spreadsheet computes it",
    query: ExportQuery.extend({ table: TABLE }),
    type: 'text/csv; charset=utf-8',
    run: async (call) => {
      const { report: asked, table } = parseQuery({ report: REPORT, table: TABLE }, call.query)
      const report = reportOf(asked)
      const stop = new AbortController()
      const of = depsOf(deps, call.principal)
      const found = await linesOf(report, call.query, { ...of, store: deps.store }, { table, signal: stop.signal })
      return new Response(bodyOf(found.lines, stop, log), {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': await nameOf(deps, report, found.plan, 'csv'),
        },
      })
    },
  },
]

async function nameOf(
  { sites }: Pick<ReadDeps, 'sites'>,
  { name }: Report,
  { site, window, tz }: Plan,
  ending: 'csv' | 'pdf',
) {
  return disposition(
    { site: { id: site, name: (await sites.get(site))?.name ?? '' }, report: name, window, tz },
    ending,
  )
}

/** As fast as it is read and no faster. What fails in the middle ends the connection, so that no part passes for the whole. */
function bodyOf(lines: AsyncGenerator<string>, stop: AbortController, log: (error: unknown) => void) {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await lines.next()
          if (done) controller.close()
          else controller.enqueue(encoder.encode(value))
        } catch (error) {
          if (!stop.signal.aborted) log(error)
          throw error
        }
      },
      async cancel() {
        stop.abort()
        await lines.return(undefined).catch(() => {})
      },
    },
    { highWaterMark: 1 },
  )
}
