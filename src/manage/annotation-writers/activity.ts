import { z } from 'zod'

const ActivityMinute = z.object({ at: z.number(), responses: z.number(), statuses: z.record(z.string(), z.number()) })
export type ActivityMinute = z.infer<typeof ActivityMinute>

const AssetActivity = z.object({
  pathname: z.string(),
  stem: z.string(),
  hash: z.string(),
  at: z.number(),
  count: z.number(),
})
export type AssetActivity = z.infer<typeof AssetActivity>

/** Responses and agents of each site since the last call, as the worker counts them (`src/worker/ingest/site-activity.ts`). */
export const Activity = z.array(
  z.object({
    site: z.number(),
    minutes: z.array(ActivityMinute),
    agents: z.array(z.string()),
    assets: z.array(AssetActivity),
  }),
)
export type Activity = z.infer<typeof Activity>
