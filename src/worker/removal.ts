import { z } from 'zod'
import type { Imports } from '../manage/imports.js'
import type { EventStore } from '../storage/event-store.js'
import { toHexId } from '../storage/store.js'
import { hashSessionId, type SessionMemory } from './ingest/session-memory.js'
import type { ViewMemory } from './ingest/view-memory.js'
import type { Writer } from './writer.js'

const key = z.string().optional()
const visitor = z
  .string()
  .regex(/^[0-9a-f]{16}$/)
  .transform((hex) => BigInt(`0x${hex}`))
const RemovalArgument = z.union([
  z.object({ site: z.int(), key, visitor }),
  z.object({ site: z.int(), before: z.date() }),
  z.object({ site: z.int(), key, hostnames: z.array(z.string()) }),
])

/**
 * Returns a function that removes rows, one step per call, after the batches that are waiting: a person's waiting rows are
 * removed too. Memory forgets the person before the next batch, so that they are a new visitor if they return, and imports
 * what they noted about the sessions.
 */
export const createRemovalStep =
  (deps: {
    store: Pick<EventStore, 'remove'>
    writer: Pick<Writer, 'runExclusive'>
    sessions: Pick<SessionMemory, 'forget'>
    views: Pick<ViewMemory, 'forget'>
    imports: Pick<Imports, 'forgetSessions'>
  }) =>
  (argument: unknown): Promise<{ rows: number; more: boolean; visitor_ids: string[] }> => {
    const removal = RemovalArgument.parse(argument)
    return deps.writer.runExclusive(async () => {
      const { rows, more, visitor_ids, session_ids } = await deps.store.remove(removal)
      if (visitor_ids.length > 0)
        deps.views.forget(new Set(visitor_ids), [...deps.sessions.forget(visitor_ids), ...session_ids])
      await deps.imports.forgetSessions(removal.site, ({ session_id, session_start }) =>
        'before' in removal
          ? session_start < removal.before
          : visitor_ids.some((visitor) => hashSessionId(visitor, session_start.getTime()) === session_id),
      )
      return { rows, more, visitor_ids: visitor_ids.map(toHexId) }
    })
  }
