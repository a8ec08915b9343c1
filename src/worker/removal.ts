import { z } from 'zod'
import type { EventStore } from '../duckdb/event-store.js'
import { toHexId } from '../duckdb/query.js'
import type { SessionMemory } from '../ingest/session-memory.js'
import type { ViewMemory } from '../ingest/view-memory.js'
import type { Writer } from './writer.js'

const key = z.string().optional()
const RemovalArgument = z.union([
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
export const createRemovalStep =
  (deps: {
    store: Pick<EventStore, 'remove'>
    writer: Pick<Writer, 'between'>
    sessions: Pick<SessionMemory, 'forget'>
    browsing: Pick<ViewMemory, 'forget'>
  }) =>
  (argument: unknown): Promise<{ rows: number; more: boolean; visitor_ids: string[] }> => {
    const leaving = RemovalArgument.parse(argument)
    return deps.writer.between(async () => {
      const { rows, more, visitor_ids, session_ids } = await deps.store.remove(leaving)
      if (visitor_ids.length > 0)
        deps.browsing.forget(new Set(visitor_ids), [...deps.sessions.forget(visitor_ids), ...session_ids])
      return { rows, more, visitor_ids: visitor_ids.map(toHexId) }
    })
  }
