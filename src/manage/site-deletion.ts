import { join, raw, type Sql, sql } from '../storage/sql.js'
import { insertWithNextId } from './ids.js'
import { DELETE_UNUSED_SECRET } from './imports.js'

/** Tables whose rows belong to one site each. */
const SITE_TABLES = [
  ...['goals', 'funnels', 'segments', 'flags', 'shares', 'alerts', 'reports', 'annotations', 'annotation_causes'],
  ...['ingest_keys', 'asset_names', 'imports', 'import_sessions', 'histories', 'history_days'],
]

/**
 * Returns the statements that delete a site, for one transaction: its records and policies go at once, its API keys are
 * revoked, its waiting notices are dropped and its domains become free. Its rows go in the background: wake
 * `Removals` after the transaction.
 */
export const siteDeletionStatements = (
  { id, domains }: { readonly id: number; readonly domains: readonly string[] },
  at: Date,
): Sql[] => [
  ...SITE_TABLES.map((table) => sql`delete from ${raw(table)} where site = ${id}`),
  DELETE_UNUSED_SECRET,
  sql`delete from notices where site = ${id} and state = 'waiting'`,
  sql`update keys set revoked_at = ${at} where site = ${id} and revoked_at is null`,
  sql`delete from sites where id = ${id}`,
  ...insertWithNextId(
    'removals',
    sql`insert into removals (id, site, kind, hostnames, requested_at)`,
    sql`${id}, 'site', ${JSON.stringify(domains)}, ${at}`,
  ),
  sql`delete from drops where site = ${id}`,
  ...(domains.length === 0
    ? []
    : [
        sql`delete from policies where hostname in (${join(
          domains.map((domain) => sql`${domain}`),
          ', ',
        )})`,
      ]),
]
