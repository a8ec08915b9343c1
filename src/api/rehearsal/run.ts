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
import { createReadDependencies, type RouteReadDependencies } from '../reads.js'
import type { Call } from '../route.js'

/** Rehearsals at once; one organisation alone has half. */
const MAX_REHEARSALS = 8
/** The process serves the site: it does nothing else for at most this long. */
const SLICE_MS = 2

/** The fields of a body that say which recorded fetches are tried. */
export const windowFields = {
  site: SiteId,
  range: z.enum(RANGES).optional().describe('The window, as of reads; default `30d`.'),
  start: z.string().max(100).optional().describe('First instant or day of the window, as of reads.'),
  end: z.string().max(100).optional().describe('End of the window, as of reads.'),
}
type RehearsedWindow = z.output<z.ZodObject<typeof windowFields>> & { tz?: string | undefined }

export type RehearsalDeps = Omit<RouteReadDependencies, 'store'> & {
  readonly store: Pick<Store, 'query' | 'stream' | 'dialect'>
}
export type StreamRows = (statement: Sql) => AsyncIterable<ResultRow[]>
export type RunRehearsal = ReturnType<typeof createRehearsalRunner>

/** Returns a function that rehearses on the recorded fetches of a window, and stops when the client has gone. */
export function createRehearsalRunner(deps: RehearsalDeps) {
  const places = createFairShare(MAX_REHEARSALS)
  return async <T>(
    { site, ...window }: RehearsedWindow,
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
        if (!leave) throw new ApiError('rate_limited', 'Too many rehearsals are running; wait for the end of one.')
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
