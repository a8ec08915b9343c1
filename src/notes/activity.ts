import { z } from 'zod'

const ActivityMinute = z.object({ at: z.number(), responses: z.number(), statuses: z.record(z.string(), z.number()) })
export type ActivityMinute = z.infer<typeof ActivityMinute>

/** Responses and agents of each site since the last call, as the worker counts them (`src/ingest/site-activity.ts`). */
export const Activity = z.array(
  z.object({ site: z.number(), minutes: z.array(ActivityMinute), agents: z.array(z.string()) }),
)
export type Activity = z.infer<typeof Activity>
