import { raw, type Sql, sql } from '../sql.js'
import { numbered } from './numbered.js'

/** Tables whose rows are of a site alone. */
const OF_SITE = ['goals', 'funnels', 'segments', 'flags', 'shares', 'alerts', 'reports', 'ingest_keys'] as const

/**
 * The statements that take a site away with everything that is kept of it, for the transaction that does: its keys are
 * revoked, its event rows noted to go (`removals`), and its domains are free.
 */
export const removedSite = (site: number, at: Date): Sql[] => [
  ...OF_SITE.map((table) => sql`delete from ${raw(table)} where site = ${site}`),
  // What would still be sent about it.
  sql`delete from notices where site = ${site} and state = 'waiting'`,
  sql`update keys set revoked_at = ${at} where site = ${site} and revoked_at is null`,
  sql`delete from sites where id = ${site}`,
  ...numbered(
    'removals',
    sql`insert into removals (id, site, kind, visitor, before, requested_at, rows, done_at)`,
    sql`${site}, 'site', null, null, ${at}, null, null`,
  ),
]
