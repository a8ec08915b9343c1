import { join, type Sql, sql } from '../sql.js'

/** A verdict that came after its row was stored, with what tells the row. */
export interface LateVerdict {
  site_id: number
  timestamp: Date
  agent_id: string
  ip_hash: bigint
  verified: boolean | null
  verification: string
}

/**
 * Gives rows that are open still their verdicts. Told twice it changes nothing more; fetches of one agent from one
 * address in the same millisecond are the same claim.
 */
export function buildVerdictUpdate(all: readonly LateVerdict[]): Sql {
  const times = all.map(({ timestamp }) => timestamp.getTime())
  // Not by `min(...times)`: a statement may carry more than a call takes arguments. The bounds let old blocks be skipped.
  const first = new Date(times.reduce((a, b) => Math.min(a, b)))
  const last = new Date(times.reduce((a, b) => Math.max(a, b)))
  const rows = all.map(
    (one) =>
      sql`(${one.site_id}::integer, ${one.timestamp}::timestamp, ${one.agent_id}::varchar,
        ${one.ip_hash.toString()}::ubigint, ${one.verified}::boolean, ${one.verification}::varchar)`,
  )
  return sql`update agent_events set verified = late.verified, verification = late.verification
    from (values ${join(rows, ', ')}) late(site_id, timestamp, agent_id, ip_hash, verified, verification)
    where agent_events.verification = 'indeterminate' and agent_events.timestamp between ${first} and ${last}
      and agent_events.site_id = late.site_id and agent_events.timestamp = late.timestamp
      and agent_events.agent_id = late.agent_id and agent_events.ip_hash = late.ip_hash`
}
