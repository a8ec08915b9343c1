import { z } from 'zod'
import { formatLine } from '../analytics/export/csv.js'
import type { Window } from '../analytics/query/calendar.js'
import { ENVELOPE_SHAPE } from '../analytics/query/envelope.js'
import { resolveWindow } from '../analytics/query/plan.js'
import { ApiError } from '../base/errors.js'
import { DAY_MS } from '../base/time-units.js'
import type { Sites } from '../manage/sites.js'
import type { Backups } from '../storage/backup/backups.js'
import { listColumnNames } from '../storage/columns.js'
import { raw, sql } from '../storage/sql.js'
import type { ResultRow } from '../storage/store.js'
import type { WorkerClient } from '../worker-client/worker-client.js'
import { streamWhileFilesAreThere } from './backup-control.js'
import { type Call, parseQuery, type Route, routeMaker } from './route.js'

const TABLES = { events: 'events', agents: 'agent_events' } as const
const { site, start, end, range, tz } = ENVELOPE_SHAPE
const FileQuery = z.object({ table: z.enum(['events', 'agents']), site, start, end, range, tz })
const RowsQuery = FileQuery.extend({ format: z.enum(['csv', 'ndjson']) })
type Table = (typeof TABLES)[keyof typeof TABLES]

interface RowExportDeps {
  events: WorkerClient['events']
  sites: Pick<Sites, 'get'>
  backups: Backups
}

/** `/control/export/*`, for the operator: stored rows of a site as they are, one line each or as a Parquet file. */
export function rowExportRoutes({ events, sites, backups }: RowExportDeps): Route[] {
  const route = routeMaker('control')
  const resolve = async (query: z.output<typeof FileQuery>, call: Call) => {
    const record = await sites.get(query.site)
    if (!record) throw new ApiError('not_found', `There is no site ${query.site}.`, 'site')
    const table = TABLES[query.table]
    const [first] = await events.query(
      sql`select min(timestamp) as at from ${raw(table)} where site_id = ${query.site} having count(*) > 0`,
    )
    const at = first?.at instanceof Date ? first.at : undefined
    return { table, window: resolveWindow(query, query.tz ?? record.timezone, call.at, at), first: at }
  }
  return [
    route('get', '/control/export/rows', 'operator', {
      summary: 'Read the rows of a site in a window, as CSV or NDJSON',
      query: RowsQuery,
      contentType: 'text/csv; charset=utf-8',
      async run(call) {
        const query = parseQuery(call, RowsQuery)
        const { table, window, first } = await resolve(query, call)
        const chunks = streamRows(events, table, query.site, { ...window, first }, call.request.signal)
        const encoder = new TextEncoder()
        const encode = async function* () {
          const names = listColumnNames(table)
          const format =
            query.format === 'csv' ? (row: ResultRow) => formatLine(names.map((name) => row[name])) : formatJson
          if (query.format === 'csv') yield encoder.encode(formatLine(names))
          for await (const rows of chunks) yield encoder.encode(rows.map(format).join(''))
        }
        const type = query.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
        return new Response(ReadableStream.from(encode()), { headers: { 'content-type': type } })
      },
    }),
    route('get', '/control/export/file', 'operator', {
      summary:
        'Write the rows of a site in a window to a Parquet file, and keep it until the client closes the response',
      query: FileQuery,
      contentType: 'application/x-ndjson',
      mayConflict: true,
      async run(call) {
        const query = parseQuery(call, FileQuery)
        const { table, window } = await resolve(query, call)
        const [start, end] = [window.start.toISOString(), window.end.toISOString()]
        return streamWhileFilesAreThere(backups.exportRows({ table, site: query.site, start, end }))
      },
    }),
  ]
}

const formatJson = (row: ResultRow): string => `${JSON.stringify(row)}\n`

/** Yields rows in the order of time, one day (UTC) after the other, so that no statement sorts or holds more than a day. */
async function* streamRows(
  { stream }: Pick<WorkerClient['events'], 'stream'>,
  table: Table,
  site: number,
  { start, end, first }: Window & { first: Date | undefined },
  signal: AbortSignal,
): AsyncGenerator<ResultRow[]> {
  const columns = raw(listColumnNames(table).join(', '))
  for (let from = Math.max(+start, +(first ?? end)); from < +end; ) {
    const to = Math.min((Math.floor(from / DAY_MS) + 1) * DAY_MS, +end)
    yield* stream(
      sql`select ${columns} from ${raw(table)} where site_id = ${site}
        and timestamp >= ${new Date(from)} and timestamp < ${new Date(to)} order by timestamp`,
      signal,
    )
    from = to
  }
}
