import type { ClickHouseClient } from '@clickhouse/client'
import { z } from 'zod'
import { StoreOpenError } from '../../base/errors.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'

const Text = z.object({ token: z.string() })
const Site = z.object({ last: z.coerce.number() })

/**
 * Returns the token of the records, undefined before the first writer, and whether the database has it too. Throws
 * `StoreOpenError` if the database has that of other records.
 */
export async function requireBinding(
  client: ClickHouseClient,
  records: Pick<Records, 'query'>,
): Promise<{ known: string | undefined; isBound: boolean }> {
  const [ours] = await records.query(sql`select token from openings where other_born = 'clickhouse' order by number`)
  const [theirs] = await select(client, 'select token from bindings order by bound_at limit 1')
  const boundToken = ours && Text.parse(ours).token
  if (theirs && Text.parse(theirs).token !== boundToken)
    throw new StoreOpenError(
      '--store and --control do not belong together: the database in ClickHouse has rows of other records. Use the PostgreSQL database that it was used with, or an empty one in ClickHouse.',
    )
  return { known: boundToken, isBound: theirs !== undefined }
}

/**
 * Binds a database to the records: rows name sites by their ids alone, so rows of other records would be shown to whom
 * they do not belong. The first writer gives both a random token. Also moves the records' last site id past every id that has
 * rows, so that an id is not given again where older records were restored. Throws `StoreOpenError`.
 */
export async function bindToRecords(
  client: ClickHouseClient,
  records: Pick<Records, 'query' | 'write'>,
  { token, now }: { token: string; now: Date },
): Promise<void> {
  const { known, isBound } = await requireBinding(client, records)
  const chosen = known ?? token
  // The records first: after a crash between the two, the next writer finds their token and gives it to the rows.
  if (known === undefined)
    await records.write(sql`insert into openings (number, token, opened_at, other_born, confirmed)
      select coalesce(max(number), 0) + 1, ${chosen}, ${now}, 'clickhouse', ${true} from openings`)
  if (!isBound)
    await client.insert({
      table: 'bindings',
      values: [{ token: chosen, bound_at: now.getTime() }],
      format: 'JSONEachRow',
    })
  const [row] = await select(
    client,
    'select greatest((select max(site_id) from events), (select max(site_id) from agent_events)) as last',
  )
  const { last } = Site.parse(row)
  await records.write(sql`update last_ids set id = ${last} where kind = 'sites' and id < ${last}`)
}

async function select(client: ClickHouseClient, query: string): Promise<Record<string, unknown>[]> {
  const result = await client.query({ query, format: 'JSONEachRow' })
  return result.json<Record<string, unknown>>()
}
