import { z } from 'zod'
import { hexOf } from '../duckdb/query.js'
import type { EventStore } from '../duckdb/store.js'
import type { Browsing } from '../ingest/browsing.js'
import type { Sessions } from '../ingest/session.js'
import type { Writer } from './writer.js'

const key = z.string().optional()
const Leaving = z.union([
  z.object({
    ...{ site: z.int(), key },
    visitor: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .transform((hex) => BigInt(`0x${hex}`)),
  }),
  z.object({ site: z.int(), before: z.date() }),
  z.object({ site: z.int(), key, hostnames: z.array(z.string()) }),
])

/**
 * One step of removing rows, behind the batches that came before it: a person's rows that wait are theirs too. What is
 * remembered of them is forgotten before the next batch, so that whoever comes again is somebody new.
 */
export const createRemove =
  (deps: {
    store: Pick<EventStore, 'remove'>
    writer: Pick<Writer, 'between'>
    sessions: Pick<Sessions, 'forget'>
    browsing: Pick<Browsing, 'forget'>
  }) =>
  (argument: unknown): Promise<{ rows: number; more: boolean; visitor_ids: string[] }> => {
    const leaving = Leaving.parse(argument)
    return deps.writer.between(async () => {
      const { rows, more, visitor_ids, session_ids } = await deps.store.remove(leaving)
      if (visitor_ids.length > 0)
        deps.browsing.forget(new Set(visitor_ids), [...deps.sessions.forget(visitor_ids), ...session_ids])
      return { rows, more, visitor_ids: visitor_ids.map(hexOf) }
    })
  }
