import { z } from 'zod'
import { sheetOf } from '../export/compile.js'
import { disposition } from '../export/filename.js'
import { linesOf } from '../export/lines.js'
import type { Pdf } from '../export/pdf.js'
import { ExportQuery, partsOf, REPORT, type Report, reportOf, titleOf } from '../export/report.js'
import { PRINTED } from '../export/tables.js'
import { parseQuery } from '../query/envelope.js'
import type { Plan } from '../query/plan.js'
import { type Deps, understand } from '../query/read.js'
import type { Store } from '../store.js'
import { depsOf, type ReadDeps } from './reads.js'
import type { Route } from './route.js'

export type ExportDeps = Omit<ReadDeps, 'store'> & {
  store: Pick<Store, 'query' | 'stream' | 'dialect'>
  pdf: Pdf
  /** Hears why a file that was begun was not ended. */
  log(error: unknown): void
}

const TABLE = z
  .string()
  .max(200)
  .optional()
  .describe('One table alone, of a report that has several; default all, each line with the name of its `table`.')
const Asked = z.object({ report: REPORT })
const AskedOfCsv = Asked.extend({ table: TABLE })

/** The reads as files to take away (spec 4.6, contract 5): the same envelope, the same data. */
export const exportRoutes = ({ log, pdf, ...deps }: ExportDeps): Route[] => [
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
      const { report: asked, table } = parseQuery(AskedOfCsv, call.query)
      const report = reportOf(asked)
      const stop = new AbortController()
      const of = depsOf(deps, call)
      const found = await linesOf(
        report,
        call.query,
        { ...of, store: deps.store },
        { table, signal: AbortSignal.any([stop.signal, call.request.signal]) },
      )
      return new Response(bodyOf(found, stop, log), {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': await nameOf(deps, report, found.plan, 'csv'),
        },
      })
    },
  },
  {
    method: 'get',
    path: '/api/stats/export.pdf',
    access: 'stats:read',
    tag: 'stats',
    summary: `A report as PDF: what was asked, its charts, and of each table the first ${PRINTED} rows`,
    query: ExportQuery,
    type: 'application/pdf',
    run: async (call) => {
      const { report, plan, bytes } = await drawn(call.query, { ...deps, pdf }, depsOf(deps, call))
      return new Response(bytes, {
        headers: {
          'content-type': 'application/pdf',
          'content-disposition': await nameOf(deps, report, plan, 'pdf'),
        },
      })
    },
  },
]

/** A report as PDF, of whatever site its query names: for who has asked for it by mail. */
export const drawFor =
  (deps: Omit<ExportDeps, 'log' | 'store'> & Pick<ReadDeps, 'store'>, asks: (signal: AbortSignal) => Deps) =>
  async (query: URLSearchParams): Promise<Uint8Array> =>
    (await drawn(query, deps, asks(AbortSignal.timeout(DRAWING)))).bytes

/** Milliseconds that a PDF may take which no request waits for. */
const DRAWING = 60_000

async function drawn(query: URLSearchParams, { pdf, sites, now }: Pick<ExportDeps, 'pdf' | 'sites' | 'now'>, of: Deps) {
  const report = reportOf(parseQuery(Asked, query).report)
  const { plan, segment, answers } = await printed(report, query, of)
  const site = (await sites.get(plan.site))?.name ?? ''
  const sheet = sheetOf({ site, report: report.name, segment, now: now() }, answers)
  return { report, plan, bytes: await pdf.draw(sheet, of.signal) }
}

/** A report's answers, of lists as many rows as are printed. */
async function printed(report: Report, query: URLSearchParams, deps: Deps) {
  const bounded = new URLSearchParams(query)
  if (!query.has('limit')) bounded.set('limit', String(PRINTED))
  const own = await understand(report.read, report.read.list ? bounded : query, deps, report.words)
  const answers = await Promise.all(
    partsOf(report).map(async ({ read, words }) => {
      const of = read === report.read ? own : await understand(read, query, deps, words)
      return { title: titleOf(read), read, plan: of.plan, answered: await of.answer() }
    }),
  )
  return { plan: own.plan, segment: own.segment, answers }
}

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

type Lines = Pick<Awaited<ReturnType<typeof linesOf>>, 'lines' | 'close'>

/** As fast as it is read and no faster. What fails in the middle ends the connection, so that no part passes for the whole. */
function bodyOf({ lines, close }: Lines, stop: AbortController, log: (error: unknown) => void) {
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
        await close().catch(() => {})
      },
    },
    { highWaterMark: 1 },
  )
}
