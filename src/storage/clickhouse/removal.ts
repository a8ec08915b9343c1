import { setTimeout as delay } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { z } from 'zod'
import type { Removal, RemovalStep, SiteRemoval } from '../event-store.js'
import { isIn, raw, type Sql, sql } from '../sql.js'
import { HexId, toHexId } from '../store.js'
import type { AggregateMarks } from './aggregate-marks.js'
import { insertDeletions, insertVersions } from './changes.js'
import type { ClickHouseAddress } from './client.js'
import { systemTableOfReplicas } from './cluster.js'
import { readRows } from './query.js'
import { ROW_TABLES } from './schema.js'
import { EVERY_VERSION } from './settings.js'
import { insertRows, isOneOf, runWrite } from './statements.js'

/** The parts of the store that removal works with. */
export interface RemovalDeps {
  client: ClickHouseClient
  address: Pick<ClickHouseAddress, 'database' | 'cluster'>
  marks: AggregateMarks
  /** The first of the two numbers of the step, the versions of what it writes. */
  number: bigint
}

/** Approximate: appends wait while a step runs. */
const ROWS_PER_STEP = 100_000
/** Later than any stored row. */
const END_OF_TIME = new Date('9999-01-01T00:00:00Z')
/**
 * A removal by time erases the keys of its rows too, but for those of its last day: with the key gone, a writer that was
 * taken over and continues could store the row again. Its rows are not older than that.
 */
const KEYS_KEPT_MS = 86_400_000

/** As `EventStore.remove`. Rows leave the reads first, in steps, and then the engine's disk; the last step waits for that. */
export function removeStep(deps: RemovalDeps, removal: Removal): Promise<RemovalStep> {
  if ('visitor' in removal) return removePerson(deps, removal)
  if ('before' in removal) return removeBefore(deps, removal.site, removal.before)
  return removeSite(deps, removal)
}

const Note = z.object({
  rows: z.number(),
  person: z.string().nullable(),
  visitor_ids: z.string().transform(splitIds),
  session_ids: z.string().transform(splitIds),
  done: z.boolean(),
})
type Note = z.output<typeof Note>

function splitIds(text: string): bigint[] {
  return text === '' ? [] : text.split(',').map((id) => HexId.parse(id))
}

/** Returns what earlier steps of this key wrote down. */
async function readNote({ client }: RemovalDeps, key: string | undefined): Promise<Note | undefined> {
  if (key === undefined) return undefined
  const [row] = await readRows(client, sql`select * from removed where key = ${key}`)
  return row && Note.parse(row)
}

async function writeNote(
  { client, number }: Pick<RemovalDeps, 'client' | 'number'>,
  key: string | undefined,
  note: Note,
): Promise<void> {
  if (key === undefined) return
  const { rows, person, done } = note
  const ids = [note.visitor_ids, note.session_ids].map((list) => list.map(toHexId).join())
  await insertRows(client, {
    table: 'removed',
    columns: ['key', 'rows', 'person', 'visitor_ids', 'session_ids', 'done', 'ver', 'is_deleted'],
    values: [[key, rows, person, ...ids, done, String(number), 0]],
  })
}

/** Deletes the notes of one removal, or of all, from the disk too: they name the person. */
export async function forgetRemovals(client: ClickHouseClient, key?: string): Promise<void> {
  const where = key === undefined ? sql`true` : sql`key = ${key}`
  const [row] = await readRows(client, sql`select count(*) as n from removed where ${where}`)
  if (Number(row?.n) > 0) await erase(client, 'removed', where)
}

/**
 * Removes a person as `/api/stats/visitors` shows them: all visitor ids that the site called by the same identified id
 * last, and ids that share a session with one of these (a visit over a change of salts), unless the site called them
 * otherwise. What they said about themselves under another id (on a shared device) is removed too.
 */
async function removePerson(
  deps: RemovalDeps,
  { site, visitor, key }: { site: number; visitor: bigint; key?: string | undefined },
): Promise<RemovalStep> {
  const { client, marks, number } = deps
  const before = await readNote(deps, key)
  // If the person came again since, they are a new visitor.
  if (before?.done) return { rows: before.rows, more: false, visitor_ids: before.visitor_ids, session_ids: [] }
  // A step that did not end has written down whom it removes: its rows may be gone in part.
  const note = before ?? (await describePerson(deps, site, visitor))
  await writeNote(deps, key, note)
  const where = ofPerson(site, note)
  const others = await selectIds(
    client,
    sql`select distinct visitor_id as id from events where site_id = ${site}
      and ${isOneOf(raw('session_id'), note.session_ids)} and not ${isOneOf(raw('visitor_id'), note.visitor_ids)}`,
  )
  const { session_ids: sessions, visitor_ids: visitors } = note
  await marks.removePerson(site, { visitors, sessions, others, where }, number)
  for (const table of ['events', 'loose_reports'] as const)
    await runWrite(client, insertDeletions(table, number, sql`${raw(table)} e where ${where}`))
  for (const table of ['events', 'loose_reports'] as const) await eraseDeleted(client, table, site)
  await marks.erase(site)
  const isErased = await waitForDisk(deps)
  if (isErased) await writeNote({ client, number: number + 1n }, key, { ...note, done: true })
  return { rows: note.rows, more: !isErased, visitor_ids: visitors, session_ids: sessions }
}

const ofPerson = (site: number, { visitor_ids, person }: Pick<Note, 'visitor_ids' | 'person'>): Sql => {
  const isPerson = person === null ? raw('') : sql`or identified_id = ${person}`
  return sql`site_id = ${site} and (${isOneOf(raw('visitor_id'), visitor_ids)} ${isPerson})`
}

async function describePerson(deps: RemovalDeps, site: number, visitor: bigint): Promise<Note> {
  const { client } = deps
  const { person, visitor_ids } = await findPerson(client, site, visitor)
  const where = ofPerson(site, { visitor_ids, person })
  const session_ids = await selectIds(client, sql`select distinct session_id as id from events where ${where}`)
  const [counted] = await readRows(
    client,
    sql`select (select count(*) from events where ${where}) + (select count(*) from loose_reports where ${where}) as n`,
  )
  return { rows: Number(counted?.n), person, visitor_ids, session_ids, done: false }
}

const Persons = z.array(z.object({ visitor_id: HexId, person: z.string().nullable() }))

/** The visitor ids of a person, ascending, and their identified id. */
async function findPerson(
  client: ClickHouseClient,
  site: number,
  visitor: bigint,
): Promise<{ person: string | null; visitor_ids: bigint[] }> {
  /** The identified id that the site gave each of these visitors last. */
  const selectPersons = async (where: Sql) =>
    Persons.parse(
      await readRows(
        client,
        sql`select visitor_id, argMax(identified_id, (timestamp, identified_id)) as person from events
          where site_id = ${site} and identified_id is not null and ${where} group by visitor_id`,
      ),
    )
  const person = (await selectPersons(sql`visitor_id = ${visitor}`))[0]?.person ?? null
  const leaving = new Set([visitor])
  if (person !== null) {
    const called = await selectPersons(
      sql`visitor_id in (select visitor_id from events where site_id = ${site} and identified_id = ${person})`,
    )
    for (const one of called) if (one.person === person) leaving.add(one.visitor_id)
  }
  for (let added = leaving.size; added > 0; ) {
    const linked = await selectIds(
      client,
      sql`select distinct visitor_id as id from events where site_id = ${site} and session_id in (
          select session_id from events where site_id = ${site} and ${isOneOf(raw('visitor_id'), leaving)})
        and not ${isOneOf(raw('visitor_id'), leaving)}`,
    )
    const called = await selectPersons(isOneOf(raw('visitor_id'), linked))
    const otherwise = new Set(called.flatMap((one) => (one.person === person ? [] : [one.visitor_id])))
    const more = linked.filter((id) => !otherwise.has(id))
    for (const id of more) leaving.add(id)
    added = more.length
  }
  return { person, visitor_ids: [...leaving].sort((a, b) => (a < b ? -1 : 1)) }
}

/** Removes whole sessions by when they began, up to a bounded number of rows. */
async function removeBefore(deps: RemovalDeps, site: number, limit: Date): Promise<RemovalStep> {
  const end = await findStepEnd(deps.client, site, limit)
  const rows = await deleteBefore(deps, site, end ?? limit)
  const rest = { rows, visitor_ids: [], session_ids: [] }
  if (end !== undefined) return { ...rest, more: true }
  await eraseSite(deps, site, limit)
  await erase(deps.client, 'page_samples', sql`site_id = ${site} and last_seen < ${limit}`)
  return { ...rest, more: !(await waitForDisk(deps)) }
}

async function removeSite(deps: RemovalDeps, { site, key, hostnames }: SiteRemoval): Promise<RemovalStep> {
  const { client, number } = deps
  const rest = { visitor_ids: [], session_ids: [] }
  const left = await countRows(client, site, END_OF_TIME)
  // The total is written down first: a step that is repeated cannot tell how many rows it has deleted before.
  const note = (await readNote(deps, key)) ?? { ...rest, rows: left, person: null, done: false }
  await writeNote(deps, key, note)
  const end = await findStepEnd(client, site, END_OF_TIME)
  const deleted = await deleteBefore(deps, site, end ?? END_OF_TIME)
  const step = { ...rest, rows: key === undefined ? deleted : note.rows - left + deleted }
  if (end !== undefined) return { ...step, more: true }
  await eraseSite(deps, site)
  await runWrite(
    client,
    sql`insert into deliveries (site_id, row_id, ver, is_deleted)
      select site_id, row_id, ${number}, 1 from deliveries where site_id = ${site}`,
  )
  await erase(client, 'deliveries', sql`site_id = ${site} and is_deleted = 0`)
  await erase(client, 'page_samples', sql`site_id = ${site}`)
  if (hostnames.length > 0) await erase(client, 'sitemap_urls', isIn(raw('hostname'), hostnames))
  return { ...step, more: !(await waitForDisk(deps)) }
}

/** Deletes from the reads what began before `end`, and returns how many rows. */
async function deleteBefore({ client, marks, number }: RemovalDeps, site: number, end: Date): Promise<number> {
  const rows = await countRows(client, site, end)
  await marks.removeBefore(site, end, number)
  for (const table of ROW_TABLES)
    await runWrite(client, insertDeletions(table, number, sql`${raw(table)} e where ${beganBefore(table, site, end)}`))
  return rows
}

const beganBefore = (table: (typeof ROW_TABLES)[number], site: number, end: Date): Sql =>
  sql`e.site_id = ${site} and ${raw(table === 'events' ? 'e.session_start' : 'e.timestamp')} < ${end}`

/**
 * Erases the deleted rows of a site from the disk, and of those that are much older than `limit` or the site's last row the
 * keys too.
 */
async function eraseSite({ client, marks }: RemovalDeps, site: number, limit?: Date): Promise<void> {
  for (const table of ROW_TABLES) {
    await eraseDeleted(client, table, site)
    const of = sql`select max(timestamp) as last from ${raw(table)} where site_id = ${site}`
    const [row] = limit ? [{ last: limit }] : await readRows(client, of, EVERY_VERSION)
    if (!(row?.last instanceof Date)) continue
    const until = new Date(row.last.getTime() - KEYS_KEPT_MS)
    await erase(client, table, sql`site_id = ${site} and is_deleted = 1 and timestamp < ${until}`)
  }
  await marks.erase(site)
}

/**
 * Erases every version of a site's deleted rows from the disk, but for that which says so: it has nothing but the key, and
 * a writer that was taken over cannot store the row again. The select finds the same rows while the parts are rewritten.
 */
export const eraseDeleted = (client: ClickHouseClient, table: string, site: number): Promise<void> => {
  const key = raw('timestamp, row_id')
  const of = sql`select ${key} from ${raw(table)} where site_id = ${site} and is_deleted = 1`
  const dead = sql`select ${key} from ${raw(table)} where site_id = ${site} and (${key}) in (${of})
    group by ${key} having argMax(is_deleted, ver) = 1`
  return erase(client, table, sql`site_id = ${site} and is_deleted = 0 and (${key}) in (${dead})`)
}

/** Rewrites those parts of a table that have rows, of any version, which `where` selects. */
export async function erase(client: ClickHouseClient, table: string, where: Sql): Promise<void> {
  const [counted] = await readRows(client, sql`select count(*) as n from ${raw(table)} where ${where}`, EVERY_VERSION)
  if (Number(counted?.n) > 0)
    await runWrite(client, sql`alter table ${raw(table)} delete where ${where}`, EVERY_VERSION)
}

/** Gives rows of a site to another in one step. No visitor or session of the two is the same, because their ids are made with the site's. */
export async function assignStep(
  { client, marks, number }: Omit<RemovalDeps, 'address'>,
  { from, to }: { from: number; to: number },
): Promise<{ rows: number; more: boolean }> {
  const end = await findStepEnd(client, from, END_OF_TIME)
  const rows = await countRows(client, from, end ?? END_OF_TIME, ['events', 'agent_events'])
  await marks.assign({ from, to }, end, number)
  for (const table of ROW_TABLES) {
    if (table === 'loose_reports' && end !== undefined) continue
    const of = sql`${raw(table)} e where ${beganBefore(table, from, end ?? END_OF_TIME)}`
    await runWrite(client, insertVersions(table, { site_id: sql`${to}` }, number, of))
    await runWrite(client, insertDeletions(table, number, of))
  }
  if (end === undefined) {
    const columns = raw('signature, sender, number, accepted_at, row_id')
    for (const [site, deleted] of [
      [to, 0],
      [from, 1],
    ] as const)
      await runWrite(
        client,
        sql`insert into deliveries (site_id, ${columns}, ver, is_deleted)
          select ${site}, ${columns}, ${number}, ${deleted} from deliveries where site_id = ${from}`,
      )
    // The other site has samples of the same pages, and a page has one present edition.
    await erase(client, 'page_samples', sql`site_id = ${from}`)
  }
  return { rows, more: end !== undefined }
}

async function countRows(
  client: ClickHouseClient,
  site: number,
  end: Date,
  tables: readonly (typeof ROW_TABLES)[number][] = ROW_TABLES,
): Promise<number> {
  let rows = 0
  for (const table of tables) {
    const [counted] = await readRows(
      client,
      sql`select count(*) as n from ${raw(table)} e where ${beganBefore(table, site, end)}`,
    )
    rows += Number(counted?.n)
  }
  return rows
}

/** Up to when there are at most `ROWS_PER_STEP` rows that began before `limit`; undefined without such rows. */
async function findStepEnd(client: ClickHouseClient, site: number, limit: Date): Promise<Date | undefined> {
  const [row] = await readRows(
    client,
    sql`select min(began) as first, max(began) as latest from (
      select session_start as began from events where site_id = ${site} and session_start < ${limit}
      union all select timestamp as began from agent_events where site_id = ${site} and timestamp < ${limit}) r`,
  )
  if (!(row?.first instanceof Date && row.latest instanceof Date)) return undefined
  const first = row.first.getTime()
  let end = Math.min(limit.getTime(), row.latest.getTime() + 1)
  const count = () => countRows(client, site, new Date(end), ['events', 'agent_events'])
  while (end - first > 1_000 && (await count()) > ROWS_PER_STEP) end = Math.ceil((first + end) / 2)
  return new Date(end)
}

const Ids = z.array(z.object({ id: HexId }))
const selectIds = async (client: ClickHouseClient, query: Sql): Promise<bigint[]> =>
  Ids.parse(await readRows(client, query)).map(({ id }) => id)

/** A step waits this long for the disk, while appends wait for the step; the caller repeats it. */
const MAX_DISK_WAIT_MS = 3_000
const DISK_POLL_MS = 200

/** Waits until the engine, on all replicas, has deleted the files of the parts that were replaced, and returns whether it has. */
export async function waitForDisk({ client, address }: Pick<RemovalDeps, 'client' | 'address'>): Promise<boolean> {
  const listReplaced = async () => {
    const rows = await readRows(
      client,
      sql`select table, name from ${raw(systemTableOfReplicas('system.parts', address.cluster))}
        where database = ${address.database} and not active`,
    )
    return new Map(rows.map(({ table, name }) => [`${table} ${name}`, String(table)]))
  }
  let left = await listReplaced()
  for (let waited = 0; left.size > 0 && waited < MAX_DISK_WAIT_MS; waited += DISK_POLL_MS) {
    await delay(DISK_POLL_MS)
    // An idle server takes half a minute. To drop a partition, one that no row has, deletes expired files at once.
    for (const table of new Set(left.values()))
      await runWrite(client, sql`alter table ${raw(table)} drop partition id '190000'`)
    const found = await listReplaced()
    left = new Map([...left].filter(([part]) => found.has(part)))
  }
  return left.size === 0
}
