import { z } from 'zod'

const Instant = z.iso.datetime()

/** The published addresses of one agent as readership has them. */
export const RangesStatus = z.object({
  agent_id: z.string(),
  /** Number of prefixes in all its lists. */
  count: z.int().nonnegative(),
  /** When its oldest list was last confirmed to be current. */
  refreshed_at: Instant,
  /** The lists' URLs or local files. */
  source: z.string(),
  /** True if a list is missing or older than a week; the agent's ranges then refute nothing. */
  stale: z.boolean(),
})
export type RangesStatus = z.infer<typeof RangesStatus>

/** The result of refreshing one list of addresses or one directory of keys. */
export const RefreshResult = z.object({
  of: z.enum(['addresses', 'keys']),
  agents: z.array(z.string()),
  /** The URL of the list or directory, or the local file. */
  source: z.string(),
  /** Number of prefixes or keys in use afterwards, whether new or old. */
  count: z.int().nonnegative(),
  refreshed_at: Instant.optional(),
  /** `file`: a local file was read again. `offline`: nothing was requested (`--offline`). */
  status: z.enum(['updated', 'unchanged', 'file', 'failed', 'offline']),
  /** Why it failed; the previous copy stays in use. */
  error: z.string().optional(),
})
export type RefreshResult = z.infer<typeof RefreshResult>
