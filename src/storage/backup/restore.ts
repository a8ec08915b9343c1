import { mkdir, open, readdir, rename, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { duckdbDialect } from '../dialects/duckdb.js'
import { EVENTS_SCHEMA } from '../duckdb/events-schema.js'
import { type FilePair, type FilePairOptions, openFilePair, openRecordsAlone } from '../duckdb/file-pair.js'
import { listFingerprints } from '../migrate/read-events.js'
import { RECORD_TABLES } from '../migrate/read-records.js'
import { COPIED_TABLES } from '../migrate/tables.js'
import { FROM_BACKUP } from '../records/copy-marker.js'
import { RECORDS_SCHEMA } from '../records/records-schema.js'
import { raw, sql } from '../sql.js'
import { BACKUP_DIRECTORY } from '../store.js'
import { type Archive, findDamaged, openArchive, readMember } from './archive.js'
import type { Manifest, Member } from './manifest.js'

interface RestoreOptions extends Omit<FilePairOptions, 'migrations'> {
  /** Called with what is done, and the bytes of all members. */
  onProgress(step: 'Checking' | 'Restoring', done: number, total: number): void
}

/**
 * Restores a backup into an empty directory, and returns its manifest. Checks every member before anything is written, and
 * every part after it was stored. Throws an error of one line, and deletes then what it wrote.
 */
export async function restoreBackup(path: string, data: string, options: RestoreOptions): Promise<Manifest> {
  const archive = await openArchive(path)
  try {
    const { manifest } = archive
    requireKnownTables(path, manifest)
    await requireRoom(manifest, data)
    const total = manifest.members.reduce((sum, { bytes }) => sum + bytes, 0)
    let checked = 0
    const damaged = await findDamaged(archive, (bytes) => {
      checked += bytes
      options.onProgress('Checking', checked, total)
    })
    if (damaged.length > 0) throw new Error(`${path} is damaged: ${listNames(damaged)}. Nothing was restored.`)
    try {
      await fill(archive, data, { ...options, total })
    } catch (error) {
      for (const name of await readdir(data)) await rm(join(data, name), { recursive: true, force: true })
      throw error
    }
    return manifest
  } finally {
    await archive.close()
  }
}

/** So many damaged files are named. */
const MAX_NAMES = 20

function listNames(members: readonly Member[]): string {
  const more = members.length > MAX_NAMES ? ` and ${members.length - MAX_NAMES} more` : ''
  const named = members.slice(0, MAX_NAMES).map(({ name }) => name)
  return named.join(', ') + more
}

const TABLES = { events: COPIED_TABLES.map(({ name }) => name), control: RECORD_TABLES }

/** Checks that each file of the backup is of a table of the store, and is named after it. */
function requireKnownTables(path: string, { members }: Manifest): void {
  const other = members.find(
    ({ name, file, table }) =>
      !TABLES[file].includes(table) || !new RegExp(`^${file}/${table}[-.\\d]*\\.parquet$`).test(name),
  )
  if (other) throw new Error(`${path} is not a backup: ${other.name} does not belong to a table of the store.`)
}

/** Checks that this program knows the schema, and that there is an empty directory with enough disk. */
async function requireRoom({ schema, readership, store_bytes }: Manifest, data: string): Promise<void> {
  if (schema.events > EVENTS_SCHEMA.length || schema.control > RECORDS_SCHEMA.length)
    throw new Error(`the backup is of a newer readership (${readership}): restore it with that version or a later one.`)
  await mkdir(data, { recursive: true, mode: 0o700 })
  if ((await readdir(data)).length > 0) throw new Error(`${data} is not empty: name an empty directory.`)
  const { bavail, bsize } = await statfs(data)
  if (bavail * bsize < store_bytes)
    throw new Error(`${data} has ${bavail * bsize} bytes free, and the store had ${store_bytes}.`)
}

/** Creates the files as the program that made the backup had them; the next start migrates them. */
async function fill(
  archive: Archive,
  data: string,
  { total, onProgress, ...options }: RestoreOptions & { total: number },
): Promise<void> {
  const { manifest } = archive
  const { events, control } = manifest.schema
  const migrations = { events: EVENTS_SCHEMA.slice(0, events), records: RECORDS_SCHEMA.slice(0, control) }
  const directory = join(data, BACKUP_DIRECTORY)
  // The first file that is there says that it is not complete: a start after a kill refuses it.
  const marked = await openRecordsAlone(directory, { ...options, migrations })
  await marked.write(sql`insert into copying values (${FROM_BACKUP}, false)`).finally(() => marked.close())
  await rename(join(directory, 'control.duckdb'), join(data, 'control.duckdb'))
  const pair = await openFilePair(data, { ...options, migrations })
  try {
    let done = 0
    for (const member of manifest.members) {
      const file = join(directory, member.name)
      await extract(archive, member, file)
      await load(pair, member, file)
      await rm(file)
      done += member.bytes
      onProgress('Restoring', done, total)
    }
    await rm(directory, { recursive: true, force: true })
    const [engine] = await pair.records.query(sql`select version() as version`)
    // Hashes are those of one version of DuckDB, over the columns that this program knows.
    if (events === EVENTS_SCHEMA.length && engine?.version === manifest.duckdb)
      await compareFingerprints(pair, manifest)
    await pair.bind()
    await pair.records.write(sql`update copying set is_complete = true`)
  } finally {
    await pair.close()
  }
}

async function extract(archive: Archive, member: Member, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'w', 0o600)
  try {
    for await (const chunk of readMember(archive, member)) await file.writeFile(chunk)
  } finally {
    await file.close()
  }
}

async function load({ events, records }: FilePair, { file, table, name, rows }: Member, path: string): Promise<void> {
  const fail = (cause: unknown): never => {
    const root = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
    const [why = ''] = (root instanceof Error ? root.message : String(root)).split('\n', 1)
    const isContent = /^(Binder|Catalog|Conversion|Invalid Input|Not implemented|Parser) Error/.test(why)
    throw new Error(isContent ? `${name} has no rows of the table ${table}.` : `${name} cannot be stored: ${why}`, {
      cause,
    })
  }
  const insert = sql`insert into ${raw(table)} by name select * from read_parquet(${path})`
  const count = sql`select count(*) as n from ${raw(table)}`
  const { query } = file === 'events' ? events : records
  // A new file has rows in some tables of records.
  const before = file === 'events' ? Number((await query(count).catch(fail))[0]?.n) : 0
  if (file === 'events') await events.updateRows(async () => [insert]).catch(fail)
  else await records.write(sql`delete from ${raw(table)}`, insert).catch(fail)
  const found = Number((await query(count))[0]?.n) - before
  if (found !== rows) throw new Error(`${name} has ${found} rows, and the manifest says ${rows}.`)
}

async function compareFingerprints({ events: { query } }: FilePair, { members }: Manifest): Promise<void> {
  const events = {
    query,
    dialect: duckdbDialect,
    async *stream(asked: Parameters<typeof query>[0]) {
      yield await query(asked)
    },
  }
  for (const { file, table: name, days = { first: 0, last: 0 }, fingerprint, name: member } of members) {
    const table = COPIED_TABLES.find((one) => one.name === name)
    if (file !== 'events' || !table) continue
    const found = await listFingerprints(events, table, days.first, days.last)
    if (String(found.reduce((sum, day) => sum + BigInt(day.fingerprint), 0n)) !== fingerprint)
      throw new Error(`${member}: the stored rows are not those of the backup.`)
  }
}
