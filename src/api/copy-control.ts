import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import type { StoreLosses } from '../manage/store-losses.js'
import { listDays, listFingerprints, streamLines } from '../storage/migrate/read-events.js'
import { copyFormat, formatRecord, RECORD_TABLES, readOrigin, readRecords } from '../storage/migrate/read-records.js'
import { COPIED_TABLES, type CopiedTable } from '../storage/migrate/tables.js'
import type { WorkerClient } from '../worker-client/worker-client.js'
import { parseQuery, type Route, routeMaker } from './route.js'

const EventTable = z.enum(COPIED_TABLES.map(({ name }) => name))
const Day = z.coerce.number().int()
const DaysQuery = z.object({ table: EventTable })
const FingerprintsQuery = z.object({ table: EventTable, first: Day, last: Day })
const RowsQuery = z.object({ table: EventTable, day: Day })
const RecordsQuery = z.object({ table: z.enum(RECORD_TABLES) })
const LINES = 'application/x-ndjson'

function findTable(name: string): CopiedTable {
  const table = COPIED_TABLES.find((one) => one.name === name)
  if (!table) throw new ApiError('not_found', 'Not found.')
  return table
}

/** Streams lines as fast as the client reads them. An error ends the connection. */
function streamText(chunks: AsyncIterable<readonly string[]>): Response {
  const encoder = new TextEncoder()
  const encode = async function* () {
    for await (const lines of chunks) if (lines.length > 0) yield encoder.encode(`${lines.join('\n')}\n`)
  }
  return new Response(ReadableStream.from(encode()), { headers: { 'content-type': LINES } })
}

/**
 * Refuses to copy what is not the whole of an instance: rows that a lost file had would be deleted from the copy too, and
 * servers are copied without the instance that uses them.
 */
function requireWhole(isShared: boolean, losses: Pick<StoreLosses, 'list'>): void {
  if (isShared)
    throw new ApiError('conflict', 'This readership keeps its data on servers: name them with --store and --control.')
  if (losses.list().length > 0)
    throw new ApiError('conflict', 'Stored data was lost here: see readership store status, and decide about it first.')
}

/** `/control/copy/*`: everything that `readership migrate` copies, secrets included. */
export function copyControlRoutes(
  { events, records, isShared }: Pick<WorkerClient, 'events' | 'records' | 'isShared'>,
  losses: Pick<StoreLosses, 'list'>,
): Route[] {
  const route = routeMaker('control')
  return [
    route('get', '/control/copy', 'operator', {
      summary: 'Name the records, and the version of what can be copied',
      mayConflict: true,
      async run() {
        requireWhole(isShared, losses)
        return { format: copyFormat(), origin: await readOrigin(records) }
      },
    }),
    route('get', '/control/copy/days', 'operator', {
      summary: 'List the days that have rows in a table of events',
      query: DaysQuery,
      run: async (call) => listDays(events, findTable(parseQuery(call, DaysQuery).table)),
    }),
    route('get', '/control/copy/fingerprints', 'operator', {
      summary: 'List days of a table of events with their fingerprints',
      query: FingerprintsQuery,
      async run(call) {
        const { table, first, last } = parseQuery(call, FingerprintsQuery)
        return listFingerprints(events, findTable(table), first, last)
      },
    }),
    route('get', '/control/copy/rows', 'operator', {
      summary: 'Read the rows of a day of a table of events, each as a JSON array of texts',
      query: RowsQuery,
      contentType: LINES,
      async run(call) {
        const { table, day } = parseQuery(call, RowsQuery)
        return streamText(streamLines(events, { table: findTable(table), day }, call.request.signal))
      },
    }),
    route('get', '/control/copy/records', 'operator', {
      summary: 'Read the rows of a table of records',
      query: RecordsQuery,
      contentType: LINES,
      async run(call) {
        const rows = await readRecords(records, parseQuery(call, RecordsQuery).table)
        return streamText(
          (async function* () {
            for (const row of rows) yield [formatRecord(row)]
          })(),
        )
      },
    }),
  ]
}
