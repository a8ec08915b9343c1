import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import { RANGES } from '../../analytics/query/envelope.js'
import { runRead } from '../../analytics/query/prepare-read.js'
import { defineRead } from '../../analytics/query/read.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { ApiError } from '../../base/errors.js'
import { createFairShare } from '../../base/fair-share.js'
import { SiteId } from '../../manage/fields.js'
import type { Sql } from '../../storage/sql.js'
import type { ResultRow, Store } from '../../storage/store.js'
import { renderError } from '../error-response.js'
import { createReadDependencies, type RouteReadDependencies } from '../reads.js'
import { type Call, jsonResponse } from '../route.js'

/** Rehearsals at once. */
const MAX_REHEARSALS = 8
/** The process serves the site: it does nothing else for at most this long. */
const SLICE_MS = 2

const moment = (description: string, example: string) =>
  z.string().max(100).optional().describe(description).meta({ example })
/** The fields of a body that say which recorded fetches are tried. */
export const windowFields = {
  site: SiteId,
  range: z.enum(RANGES).optional().describe('The window, as of reads; default `30d`.'),
  start: moment('First instant or day of the window, as of reads.', '2026-11-14T00:00:00.000Z'),
  end: moment('End of the window, as of reads.', '2026-11-21T00:00:00.000Z'),
  progress: z
    .boolean()
    .optional()
    .describe(
      'True: the response is NDJSON: lines with the number of fetches tried so far, such as `{"done":420,"total":1000}`, and last the result, or `{"error":…}`.',
    ),
}
type RehearsedWindow = z.output<z.ZodObject<typeof windowFields>> & { tz?: string | undefined }
/** Returns what logs faults of a call: nothing is at fault when its client has gone. */
export const logOf =
  (log: (error: unknown) => void, { request }: Pick<Call, 'request'>) =>
  (error: unknown): void => {
    if (!request.signal.aborted) log(error)
  }

/** Tells how many of all fetches are tried. */
export type Report = (done: number, total: number) => void

export type RehearsalDeps = Omit<RouteReadDependencies, 'store'> & {
  readonly store: Pick<Store, 'query' | 'stream' | 'dialect'>
}
export type StreamRows = (statement: Sql) => AsyncIterable<ResultRow[]>
export type RunRehearsal = ReturnType<typeof createRehearsalRunner>

/**
 * Returns a function that rehearses on the recorded fetches of a window, and stops when the client has gone. `most` run at
 * once; one organisation alone has half.
 */
export function createRehearsalRunner(deps: RehearsalDeps, { most = MAX_REHEARSALS, name = 'rehearsals' } = {}) {
  const places = createFairShare(most)
  return async <T>(
    { site, progress: _, ...window }: RehearsedWindow,
    call: Call,
    rehearse: (context: ReadContext, stream: StreamRows) => Promise<T>,
  ) => {
    let result: { data: T } | undefined
    const read = defineRead({
      ...{ path: '/api/rehearsal', summary: '', params: {}, data: z.unknown() },
      audience: { only: 'agent' },
      compare: 'none',
      run: async (context) => {
        const leave = places.enter(context.site.org ?? 0)
        if (!leave) throw new ApiError('rate_limited', `Too many ${name} are running; wait for the end of one.`)
        try {
          const data = await rehearse(context, (statement) => deps.store.stream(statement, call.request.signal))
          result = { data }
          return { data, rows: 1 }
        } finally {
          leave()
        }
      },
    })
    const query = new URLSearchParams({ site: String(site) })
    for (const [name, value] of Object.entries(window)) if (value !== undefined) query.set(name, value)
    const { meta } = await runRead(read, query, createReadDependencies(deps, call))
    if (!result) throw new Error('a rehearsal ended without a result')
    return { data: result.data, meta }
  }
}

/** Milliseconds between two lines that tell how far a rehearsal is, and before the first. */
const REPORT_MS = 500

/** Responds with a result, with lines before it that tell how far it is if the client wants them. An error before the first line is thrown, and a later one is a line; `log` gets its fault. */
export async function respond(
  wantsLines: boolean | undefined,
  work: (report: Report) => Promise<{ data: unknown; meta: unknown }>,
  log: (error: unknown) => void,
  clock = () => performance.now(),
): Promise<Response> {
  if (!wantsLines) {
    const { data, meta } = await work(() => {})
    return jsonResponse(data, meta)
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const encoder = new TextEncoder()
  // A client that has gone is noticed by the rehearsal.
  const send = (line: unknown) => void writer.write(encoder.encode(`${JSON.stringify(line)}\n`)).catch(() => {})
  let last = clock()
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const answered = work((done, total) => {
    if (clock() - last < REPORT_MS) return
    last = clock()
    send({ done, total })
    begin()
  }).then(send)
  await Promise.race([begun, answered])
  void answered
    .catch(async (error) => send(await renderError(error, log).json()))
    .finally(() => writer.close().catch(() => {}))
  return new Response(readable, { headers: { 'content-type': 'application/x-ndjson' } })
}

/** Calls `use` for each row, and lets the process do other work between. */
export async function forEach<T>(chunks: AsyncIterable<Iterable<T>> | Iterable<Iterable<T>>, use: (row: T) => void) {
  let began = performance.now()
  for await (const rows of chunks)
    for (const row of rows) {
      use(row)
      if (performance.now() - began < SLICE_MS) continue
      await turn()
      began = performance.now()
    }
}
