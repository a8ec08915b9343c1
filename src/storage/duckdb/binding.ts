import { z } from 'zod'
import { join, raw, type Sql, sql } from '../sql.js'
import type { RecordStore, ResultRow } from '../store.js'
import type { EventFile } from './event-file.js'

/**
 * A loss that the operator decides about; the names are stored.
 * - `records_lost`: control.duckdb is new, and events.duckdb has rows of sites that it does not know.
 * - `records_older`: control.duckdb is an older copy, or lost its last writes.
 * - `events_lost`: events.duckdb is new, and control.duckdb is not.
 * - `events_older`: events.duckdb is an older copy.
 * - `events_foreign`: the two files are of different instances, or of copies that ran apart.
 */
export type Loss = 'records_lost' | 'records_older' | 'events_lost' | 'events_older' | 'events_foreign'

/** A loss that was detected when the store opened. `backup`: path of the file that was set aside, if there is one. */
export interface FoundLoss {
  kind: Loss
  backup: string | null
}

/** How the two files stand to each other when they are opened. */
export interface Comparison {
  /** Undefined: they belong together. */
  loss: Loss | undefined
  /** When the older of the two was opened last, if that is known: its copy is not older than that. */
  since: Date | null
  /** The last site id that each file knows: no higher one was given to a site. */
  recordsLastSite: number
  eventsLastSite: number
  recordsBorn: string
  eventsBorn: string
  /** The number of this opening. */
  number: number
}

/** An opening, in the order of `number`. */
const Opening = z.object({ number: z.int(), token: z.string(), opened_at: z.date() })
type Opening = z.infer<typeof Opening>
const RecordsSide = z.object({
  born: z.string(),
  organisations: z.int(),
  last_site: z.int(),
  number: z.int().nullable(),
  token: z.string().nullable(),
  opened_at: z.date().nullable(),
  confirmed: z.boolean().nullable(),
})
const EventsSide = RecordsSide.omit({ organisations: true, confirmed: true }).extend({
  last_site: z.int().nullable(),
  has_rows: z.boolean(),
})
type Query = (query: Sql) => Promise<ResultRow[]>

/** Tables of events.duckdb, of every version that is opened, whose rows belong to a site. A page that is sampled has rows too. */
const SITE_TABLES = [
  'events',
  'agent_events',
  'sessions',
  'session_pages',
  'stale_sessions',
  'deliveries',
  'loose_reports',
] as const
/** When the file was created, to the microsecond: known of files from before openings were stored, too. */
const BORN = sql`(select cast(min(applied_at) as varchar) from schema_versions)`
const LAST_OPENING = sql`(select * from openings order by number desc limit 1) o`

/** Compares the two files by their openings, before this opening is added to them (`bindFiles`). */
export async function compareFiles(
  records: Pick<RecordStore, 'query'>,
  events: Pick<EventFile, 'query'>,
): Promise<Comparison> {
  const [recordsRow] = await records.query(sql`select ${BORN} as born, number, token, opened_at, confirmed,
      (select id from last_ids where kind = 'organisations') as organisations,
      (select id from last_ids where kind = 'sites') as last_site
    from (select 1) left join ${LAST_OPENING} on true`)
  const [eventsRow] = await events.query(sql`select ${BORN} as born, number, token, opened_at,
      (select max(last) from site_ids) as last_site,
      exists (select 1 from events) or exists (select 1 from agent_events) as has_rows
    from (select 1) left join ${LAST_OPENING} on true`)
  const ofRecords = RecordsSide.parse(recordsRow)
  const ofEvents = EventsSide.parse(eventsRow)
  const confirmed = await findConfirmed(records.query, ofRecords, ofEvents.token)
  const last = ofEvents.token === null ? undefined : Opening.parse(eventsRow)
  const findLoss = async (): Promise<Loss | undefined> => {
    if (confirmed && confirmed.token === last?.token) return undefined
    // Organisation 1 is created at the first start, after the files were bound.
    if (ofRecords.organisations === 0) return last || ofEvents.has_rows ? 'records_lost' : undefined
    // Both files are of a version that stored no openings.
    if (!confirmed && !last) return undefined
    if (!last && !ofEvents.has_rows) return 'events_lost'
    const ofTheseRecords = confirmed ? sql`token = ${confirmed.token}` : sql`other_born = ${ofRecords.born}`
    if (await findOpening(events.query, ofTheseRecords)) return 'records_older'
    const ofTheseEvents = last ? sql`token = ${last.token}` : sql`other_born = ${ofEvents.born}`
    if (await findOpening(records.query, ofTheseEvents)) return 'events_older'
    return 'events_foreign'
  }
  const loss = await findLoss()
  const eventsLastSite = loss || !last ? await findLastSite(events.query) : (ofEvents.last_site ?? 0)
  const older = loss === 'events_older' ? last : loss === 'records_older' ? confirmed : undefined
  return {
    // The files belong together, but the last writes of the records were lost with their log.
    loss: loss ?? (eventsLastSite > ofRecords.last_site ? 'records_older' : undefined),
    since: older?.opened_at ?? null,
    recordsLastSite: ofRecords.last_site,
    eventsLastSite,
    recordsBorn: ofRecords.born,
    eventsBorn: ofEvents.born,
    number: Math.max(ofRecords.number ?? 0, ofEvents.number ?? 0) + 1,
  }
}

/** The last opening of the records that reached the events too: the process may have died before it did. */
async function findConfirmed(
  query: Query,
  last: z.infer<typeof RecordsSide>,
  eventsToken: string | null,
): Promise<Opening | undefined> {
  if (last.token === null) return undefined
  return last.confirmed || last.token === eventsToken ? Opening.parse(last) : findOpening(query, sql`confirmed`)
}

async function findOpening(query: Query, condition: Sql): Promise<Opening | undefined> {
  const [row] = await query(
    sql`select number, token, opened_at from openings where ${condition} order by number desc limit 1`,
  )
  return row && Opening.parse(row)
}

/** The highest site id of which the file has rows, or may have had some. */
async function findLastSite(query: Query): Promise<number> {
  const ofTables = SITE_TABLES.map((table) => sql`union all select max(site_id) from ${raw(table)}`)
  const [row] = await query(
    sql`select max(id) as last from (select max(last) as id from site_ids ${join(ofTables, ' ')})`,
  )
  return Number(row?.last ?? 0)
}

/**
 * Binds the two files to each other: adds one opening with the same random token to both, and moves the last site id of
 * each to the higher of the two, so that no id is given again. Writes losses down for the operator in the same
 * transaction. A crash between the steps does no harm: an opening of the records counts once the events have it too.
 */
export async function bindFiles(
  records: Pick<RecordStore, 'query' | 'write'>,
  events: Pick<EventFile, 'updateRows'>,
  found: Omit<Comparison, 'loss'> & { losses: readonly FoundLoss[] },
  { token, now }: { token: string; now: Date },
): Promise<void> {
  const { losses, since, recordsLastSite, eventsLastSite, recordsBorn, eventsBorn, number } = found
  await records.write(
    ...losses.flatMap(({ kind, backup }) => [
      // An earlier start wrote the same loss down and did not get further.
      sql`delete from losses where token in (select token from openings where not confirmed) and kind = ${kind}`,
      sql`insert into losses values (${token}, ${now}, ${kind}, ${backup}, ${since}, null)`,
    ]),
    ...(eventsLastSite > recordsLastSite ? [sql`update last_ids set id = ${eventsLastSite} where kind = 'sites'`] : []),
    sql`insert into openings values (${number}, ${token}, ${now}, ${eventsBorn}, false)`,
  )
  await events.updateRows(async () => [
    sql`insert into openings values (${number}, ${token}, ${now}, ${recordsBorn})`,
    sql`insert into site_ids values (${Math.max(recordsLastSite, eventsLastSite)})`,
    // Stored by hostname, which another tenant may register next; they are crawled again.
    ...(losses.some(({ kind }) => kind.startsWith('records_')) ? [sql`delete from sitemap_urls`] : []),
  ])
  await records.write(sql`update openings set confirmed = true where token = ${token}`)
}

/**
 * Returns `write` of the records with one addition: before it resolves, and so before a row of a new site can be stored,
 * the events have the id of the site. A copy of the records from before the site was created then cannot give the id again.
 */
export function createRegisteringWrite(
  records: Pick<RecordStore, 'query' | 'write'>,
  events: Pick<EventFile, 'updateRows'>,
  lastSite: number,
): RecordStore['write'] {
  let registered = lastSite
  return async (...statements) => {
    await records.write(...statements)
    const [row] = await records.query(sql`select id from last_ids where kind = 'sites'`)
    const last = Number(row?.id)
    if (!(last > registered)) return
    await events.updateRows(async () => [sql`insert into site_ids values (${last})`])
    registered = last
  }
}
