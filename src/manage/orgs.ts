import { z } from 'zod'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { remember } from './remember.js'

/** An organisation as the API shows it. */
export const Org = z.object({
  id: z.int(),
  name: z.string(),
  require_totp: z.boolean().describe('Whether its members must sign in with two factors.'),
  delete_after: z.iso.datetime().optional().describe('It is to be deleted, with all its sites, from then on.'),
})
export type Org = z.infer<typeof Org>

const Stored = z
  .object({ id: z.number(), name: z.string(), require_totp: z.boolean(), delete_after: z.date().nullable() })
  .transform(
    ({ delete_after, ...org }): Org => ({
      ...org,
      ...(delete_after ? { delete_after: delete_after.toISOString() } : {}),
    }),
  )

export interface Orgs {
  list(): Promise<readonly Org[]>
  get(id: number): Promise<Org | undefined>
  /** After a write to the table that was not made here. */
  forget(): void
}

/** The organisations of this instance, over its records. */
export function createOrgs(records: Records): Orgs {
  const all = remember(async () => {
    const rows = await records.query(sql`
      select id, name, require_totp, delete_after from organisations order by id`)
    return rows.map((row) => Stored.parse(row))
  })
  return { list: all.get, get: async (id) => (await all.get()).find((org) => org.id === id), forget: all.forget }
}

/** The organisations' ids, as the table has them. */
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
    sql`insert into organisations (id, name, created_at, require_totp)
      values (1, 'My organisation', ${first.now}, false)`,
    sql`insert into sites (id, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
        retention_days, citation_threshold, created_at, version)
      values (1, 1, ${first.domains[0] ?? 'My site'}, ${JSON.stringify(first.domains)}, ${first.timezone}, 'EUR', '[]',
        false, 'month', null, null, ${first.now}, 1)`,
    sql`update last_ids set id = 1 where kind in ('organisations', 'sites')`,
  )
}
