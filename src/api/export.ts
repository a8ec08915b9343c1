import { z } from 'zod'
import { createCsvLines } from '../analytics/export/csv-lines.js'
import { contentDisposition } from '../analytics/export/filename.js'
import type { PdfRenderer } from '../analytics/export/pdf.js'
import {
  ExportQuery,
  findReport,
  listParameters,
  listReportReads,
  type NamedReport,
  ReportParameter,
  readTitle,
} from '../analytics/export/report-names.js'
import { createSheet } from '../analytics/export/report-sheet.js'
import { MAX_PRINTED_ROWS } from '../analytics/export/sheet-tables.js'
import { checkParameterNames, parseParameters } from '../analytics/query/envelope.js'
import type { Plan } from '../analytics/query/plan.js'
import { prepareRead, type ReadDependencies } from '../analytics/query/prepare-read.js'
import { ApiError } from '../base/errors.js'
import { createFairShare } from '../base/fair-share.js'
import type { Store } from '../storage/store.js'
import { createReadDependencies, type RouteReadDependencies } from './reads.js'
import { type Route, routeMaker } from './route.js'

type ExportDeps = Omit<RouteReadDependencies, 'store'> & {
  store: Pick<Store, 'query' | 'stream' | 'dialect'>
  pdf: PdfRenderer
  /** Called when a file fails after its first bytes. */
  log(error: unknown): void
  stall_timeout_ms?: number
}

const TableParameter = z
  .string()
  .max(200)
  .optional()
  .describe('One table of a report that has several. Default: all, with a column `table` in each line.')
const ReportQuery = z.object({ report: ReportParameter })
const CsvQuery = ReportQuery.extend({ table: TableParameter })

/** CSV exports at once; one organisation alone has half. A caller that reads slowly keeps one open for minutes. */
const MAX_EXPORTS = 8
/** CSV exports through share links at once, in places of their own: readers of a link take none from the members. */
const MAX_SHARED_EXPORTS = 4
/** A download may take hours, but in this time the client takes one of its pieces: a kilobyte a second, as of uploads. */
const STALL_TIMEOUT_MS = 60_000
const PIECE_BYTES = 65_536
/** The time is counted in so many ticks, so that a process that stood still itself does not take its clients for stalled. */
const STALL_TICKS = 4

const route = routeMaker('stats')

/** The reads as files: the same parameters, the same data. */
export function exportRoutes({ log, pdf, stall_timeout_ms = STALL_TIMEOUT_MS, ...deps }: ExportDeps): Route[] {
  const places = createFairShare(MAX_EXPORTS)
  const sharedPlaces = createFairShare(MAX_SHARED_EXPORTS)
  return [
    route('get', '/api/stats/export.csv', 'stats:read', {
      summary:
        "A whole report as CSV (RFC 4180, UTF-8) with a header row. Absent values are empty, lists are joined by `; `, lists of rows become tables of their own, other objects are JSON. A text that begins with = + - @ tab, a line break or ' gets a ' before it, so that no spreadsheet computes it",
      query: ExportQuery.extend({ table: TableParameter }),
      contentType: 'text/csv; charset=utf-8',
      run: async (call) => {
        const { report: asked, table } = parseParameters(CsvQuery, call.query)
        const report = findReport(asked)
        checkParameterNames(call.query, listParameters(report), ['report', 'table', 'share'])
        const stop = new AbortController()
        const of = createReadDependencies(deps, call)
        const { plan } = await prepareRead(report.read, call.query, of, report.words)
        const open = call.principal.kind === 'share' ? sharedPlaces : places
        const leave = open.enter(await tenantOf(deps, plan))
        if (!leave) throw new ApiError('rate_limited', 'Too many exports are running; wait for the end of one.')
        try {
          const lines = await createCsvLines(
            report,
            call.query,
            { ...of, store: deps.store },
            { table, signal: AbortSignal.any([stop.signal, call.request.signal]) },
          )
          return new Response(streamLines(lines, stop, { log, leave, stall_timeout_ms }), {
            headers: {
              'content-type': 'text/csv; charset=utf-8',
              'content-disposition': await dispositionFor(deps, report, lines.plan, 'csv'),
            },
          })
        } catch (error) {
          leave()
          throw error
        }
      },
    }),
    route('get', '/api/stats/export.pdf', 'stats:read', {
      summary: `A report as PDF: parameters, charts, and the first ${MAX_PRINTED_ROWS} rows of each table`,
      query: ExportQuery,
      contentType: 'application/pdf',
      run: async (call) => {
        const { report, plan, bytes } = await drawReport(
          call.query,
          { ...deps, pdf },
          createReadDependencies(deps, call),
        )
        return new Response(bytes, {
          headers: {
            'content-type': 'application/pdf',
            'content-disposition': await dispositionFor(deps, report, plan, 'pdf'),
          },
        })
      },
    }),
  ]
}

/** Returns the organisation of a plan's site. */
const tenantOf = async (
  { sites }: Pick<RouteReadDependencies, 'sites'>,
  { site }: Pick<Plan, 'site'>,
): Promise<number> => (await sites.get(site))?.org ?? 0

/** Returns a function that draws the PDF of any site's report, for mailed reports. */
export const createPdfDrawer =
  (
    deps: Omit<ExportDeps, 'log' | 'store'> & Pick<RouteReadDependencies, 'store'>,
    asks: (signal: AbortSignal) => ReadDependencies,
  ) =>
  async (query: URLSearchParams): Promise<Uint8Array> =>
    (await drawReport(query, deps, asks(AbortSignal.timeout(DRAW_TIMEOUT_MS)))).bytes

/** Bounds a PDF that no request waits for. */
const DRAW_TIMEOUT_MS = 60_000

async function drawReport(
  query: URLSearchParams,
  { pdf, sites, now }: Pick<ExportDeps, 'pdf' | 'sites' | 'now'>,
  of: ReadDependencies,
) {
  const report = findReport(parseParameters(ReportQuery, query).report)
  checkParameterNames(query, listParameters(report), ['report', 'share'])
  const { plan, segment, answers } = await answerReport(report, query, of)
  const { name = '', org = 0 } = (await sites.get(plan.site)) ?? {}
  const sheet = createSheet({ site: name, report: report.name, segment, now: now() }, answers)
  return { report, plan, bytes: await pdf.draw(sheet, org, of.signal) }
}

/** Runs a report's reads, lists bounded to the rows that are printed. */
async function answerReport(report: NamedReport, query: URLSearchParams, deps: ReadDependencies) {
  const bounded = new URLSearchParams(query)
  if (!query.has('limit')) bounded.set('limit', String(MAX_PRINTED_ROWS))
  const prepared = await prepareRead(report.read, report.read.list ? bounded : query, deps, report.words)
  const answers = await Promise.all(
    listReportReads(report).map(async ({ read, words }) => {
      const of = read === report.read ? prepared : await prepareRead(read, query, deps, words)
      return { title: readTitle(read), read, plan: of.plan, answered: await of.run() }
    }),
  )
  return { plan: prepared.plan, segment: prepared.segment, answers }
}

async function dispositionFor(
  { sites }: Pick<RouteReadDependencies, 'sites'>,
  { name }: NamedReport,
  { site, window, tz }: Plan,
  ending: 'csv' | 'pdf',
) {
  return contentDisposition(
    { site: { id: site, name: (await sites.get(site))?.name ?? '' }, report: name, window, tz },
    ending,
  )
}

type CsvSource = Pick<Awaited<ReturnType<typeof createCsvLines>>, 'lines' | 'close'>

/**
 * Streams lines as fast as the client reads them. A failure in the middle ends the connection, so a part never passes for the
 * whole file; so does a client that takes nothing.
 */
function streamLines(
  { lines, close }: CsvSource,
  stop: AbortController,
  { log, leave, stall_timeout_ms }: { log(error: unknown): void; leave(): void; stall_timeout_ms: number },
) {
  const encoder = new TextEncoder()
  let waiting = new Uint8Array()
  let ticks = 0
  let timer: NodeJS.Timeout | undefined
  const finish = () => {
    clearInterval(timer)
    leave()
  }
  const abort = async () => {
    finish()
    stop.abort()
    await lines.return(undefined).catch(() => {})
    await close().catch(() => {})
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const onTick = () => {
          if (++ticks < STALL_TICKS) return
          controller.error(new Error('the client took nothing'))
          void abort()
        }
        timer = setInterval(onTick, stall_timeout_ms / STALL_TICKS).unref()
      },
      async pull(controller) {
        try {
          if (waiting.length === 0) {
            ticks = Number.NEGATIVE_INFINITY
            const { value, done } = await lines.next()
            if (done) {
              finish()
              return controller.close()
            }
            waiting = encoder.encode(value)
          }
          ticks = 0
          controller.enqueue(waiting.subarray(0, PIECE_BYTES))
          waiting = waiting.subarray(PIECE_BYTES)
        } catch (error) {
          finish()
          if (!stop.signal.aborted) log(error)
          throw error
        }
      },
      cancel: abort,
    },
    { highWaterMark: 1 },
  )
}
