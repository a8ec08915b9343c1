import { raw, type Sql, sql } from '../sql.js'
import { siteRemovalStatements } from './removals.js'
import type { Site } from './sites.js'

/** Tables whose rows are of a site alone. */
const SITE_TABLES = ['goals', 'funnels', 'segments', 'flags', 'shares', 'alerts', 'reports', 'ingest_keys'] as const

/**
 * The statements that take a site away with everything that is kept of it, for the transaction that does: its keys are
 * revoked, its event rows noted to go (`removals`), and its domains are free.
 */
export const siteDeletionStatements = (site: Pick<Site, 'id' | 'domains'>, at: Date): Sql[] => [
  ...SITE_TABLES.map((table) => sql`delete from ${raw(table)} where site = ${site.id}`),
  // What would still be sent about it.
  sql`delete from notices where site = ${site.id} and state = 'waiting'`,
  sql`update keys set revoked_at = ${at} where site = ${site.id} and revoked_at is null`,
  sql`delete from sites where id = ${site.id}`,
  ...siteRemovalStatements(site, at),
]
