import { sql } from '../sql.js'
import type { Records } from '../store.js'

/** The organisations' ids; members and invitations come with accounts. */
export async function organisationIds(records: Records): Promise<number[]> {
  const rows = await records.query(sql`select id from organisations order by id`)
  return rows.map((row) => Number(row.id))
}

/**
 * The first start of an instance (contract 2): organisation 1 and its site 1, with the hostnames of `--domain`. Does
 * nothing when there is an organisation already. `timezone` is an IANA name.
 */
export async function bootstrap(
  records: Records,
  first: { domains: readonly string[]; timezone: string; now: Date },
): Promise<void> {
  if ((await organisationIds(records)).length > 0) return
  await records.write(
    sql`insert into organisations (id, name, created_at) values (1, 'My organisation', ${first.now})`,
    sql`insert into sites (id, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
        retention_days, citation_threshold, created_at)
      values (1, 1, ${first.domains[0] ?? 'My site'}, ${JSON.stringify(first.domains)}, ${first.timezone}, 'EUR', '[]',
        false, 'month', null, null, ${first.now})`,
  )
}
