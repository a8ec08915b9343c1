import { z } from 'zod'

const Instant = z.iso.datetime()

/** What is held of one agent's published addresses. */
export const RangesStatus = z.object({
  agent_id: z.string(),
  /** Prefixes, over all its lists. */
  count: z.int().nonnegative(),
  /** When its oldest list was last found as it is held. */
  refreshed_at: Instant,
  /** The lists' URLs, or the operator's own file. */
  source: z.string(),
  /** A list is missing or older than a week: it refutes nothing. */
  stale: z.boolean(),
})
export type RangesStatus = z.infer<typeof RangesStatus>

/** How the refreshing of one list went. */
export const RefreshResult = z.object({
  of: z.enum(['addresses', 'keys']),
  agents: z.array(z.string()),
  /** The URL of the list or the directory, or the operator's own file. */
  source: z.string(),
  /** Prefixes, or keys, that are now held, from this time or a time before. */
  count: z.int().nonnegative(),
  refreshed_at: Instant.optional(),
  /** `file`: the operator's own copy, read again; `offline`: not asked for (`--offline`). */
  status: z.enum(['updated', 'unchanged', 'file', 'failed', 'offline']),
  /** Why it failed; what was held before is kept. */
  error: z.string().optional(),
})
export type RefreshResult = z.infer<typeof RefreshResult>
