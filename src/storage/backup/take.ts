import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ApiError } from '../../base/errors.js'
import { DAY_MS } from '../../base/time-units.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import type { EventStore } from '../event-store.js'
import { groupDays, isOfDays, listDays, listFingerprints, type ReadableEvents } from '../migrate/read-events.js'
import { RECORD_TABLES, readOrigin } from '../migrate/read-records.js'
import { COPIED_TABLES, type CopiedTable } from '../migrate/tables.js'
import { raw, sql } from '../sql.js'
import { BACKUP_DIRECTORY, type RecordStore, type Snapshot } from '../store.js'
import {
  type BackupProgress,
  EXPORTED_ROWS,
  KnownParts,
  RowsToExport,
  type TablePart,
  type TakenBackup,
} from './manifest.js'

/** A month with more rows is in parts of a day. */
const MAX_ROWS_PER_MONTH = 1_000_000
/** Parquet files took 0.4 to 0.6 of the store's size. */
const SHARE_OF_STORE = 0.6
/** A sign-in that was ended, or a link that was used, does not come back with a backup. */
const NOT_IN_BACKUPS = new Set(['sessions', 'tokens'])

interface BackupDeps {
  events: Pick<EventStore, 'snapshot'>
  records: Pick<RecordStore, 'snapshot' | 'pauseWrites'>
  /** The data directory. */
  data: string
  version: string
  /** Bytes that are left free on the disk of the data directory. */
  min_free_disk: number
  freeDisk(): number
  now(): Date
}

/**
 * Functions of the worker that write Parquet files to the directory for backups, where the caller fetches and deletes them:
 * all rows and records as they are at one moment, without the parts that the caller has, or rows of one site.
 */
export function createBackupApi(deps: BackupDeps) {
  let progress: BackupProgress | undefined
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    if (progress) throw new ApiError('conflict', 'Another backup is being taken.')
    progress = { done: 0, total: 0 }
    return work().finally(() => {
      progress = undefined
    })
  }
  return {
    take_backup: (argument: unknown): Promise<TakenBackup> =>
      alone(() => {
        const known = new Map(KnownParts.parse(argument).map((part) => [part.name, part]))
        return takeBackup(deps, known, (done, total) => {
          progress = { done, total }
        })
      }),
    export_rows: (argument: unknown) => alone(() => exportRows(deps, RowsToExport.parse(argument))),
    backup_progress: async (): Promise<BackupProgress> => progress ?? { done: 0, total: 0 },
    /** Deletes the files of the last backup. */
    async drop_backup(): Promise<void> {
      if (!progress) rmSync(join(deps.data, BACKUP_DIRECTORY), { recursive: true, force: true })
    },
  }
}

async function exportRows(deps: BackupDeps, { table, site, start, end }: RowsToExport) {
  const { snapshot } = deps.events
  if (!snapshot) throw new ApiError('conflict', 'Rows on a server are exported as csv or ndjson.')
  requireDisk(deps, 0)
  const directory = join(deps.data, BACKUP_DIRECTORY)
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { mode: 0o700 })
  const { columns } = COPIED_TABLES.find(({ name }) => name === table) ?? { columns: [] }
  // 64-bit ids are 16 hex digits, as in every result (src/storage/store.ts).
  const texts = columns.map(({ name, type }) => (type === 'ubigint' ? `format('{:016x}', ${name}) as ${name}` : name))
  const rows = sql`from ${raw(table)} where site_id = ${site} and timestamp >= ${new Date(start)} and timestamp < ${new Date(end)}`
  return snapshot(async ({ query, writeParquet }) => {
    await writeParquet(EXPORTED_ROWS, sql`select ${raw(texts.join(', '))} ${rows}`)
    const [found] = await query(sql`select count(*) as n ${rows}`)
    return { rows: Number(found?.n) }
  })
}

type Known = ReadonlyMap<string, KnownParts[number]>

async function takeBackup(
  deps: BackupDeps,
  base: Known,
  onProgress: (done: number, total: number) => void,
): Promise<TakenBackup> {
  const { events, records, data, version: readership, now } = deps
  const { snapshot: ofEvents } = events
  const { snapshot: ofRecords, pauseWrites } = records
  if (!ofEvents || !ofRecords || !pauseWrites)
    throw new ApiError('conflict', 'This readership keeps its data on servers, which have tools for backups.')
  const files = ['events', 'control'].map((name) => join(data, `${name}.duckdb`))
  const store_bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
  requireDisk(deps, store_bytes * SHARE_OF_STORE)
  const directory = join(data, BACKUP_DIRECTORY)
  rmSync(directory, { recursive: true, force: true })
  for (const name of ['events', 'control']) mkdirSync(join(directory, name), { recursive: true, mode: 0o700 })
  let resume = () => {}
  try {
    // No record is written between the two snapshots: a removal is done in both or in neither.
    const pause = async () => {
      resume = await pauseWrites()
    }
    return await ofEvents(
      (eventFile) =>
        ofRecords(async (recordFile) => {
          resume()
          const taken_at = now().toISOString()
          const records_born = await readOrigin(recordFile)
          const schema = { events: await readVersion(eventFile), control: await readVersion(recordFile) }
          const [engine] = await recordFile.query(sql`select version() as version`)
          const parts = [...(await planEvents(eventFile, taken_at)), ...(await planRecords(recordFile))]
          const total = parts.reduce((sum, { part }) => sum + part.rows, 0)
          let done = 0
          for (const { part, query, from } of parts) {
            if (!isKnown(part, base)) {
              requireDisk(deps, 0)
              await from.writeParquet(part.name, query)
            }
            done += part.rows
            onProgress(done, total)
          }
          return {
            taken_at,
            records_born,
            readership,
            duckdb: String(engine?.version),
            schema,
            store_bytes,
            parts: parts.map(({ part }) => ({ ...part, isNew: existsSync(join(directory, part.name)) })),
          }
        }),
      pause,
    )
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw error
  } finally {
    resume()
  }
}

const isKnown = ({ name, rows, fingerprint }: TablePart, known: Known): boolean => {
  const other = known.get(name)
  return fingerprint !== undefined && other?.fingerprint === fingerprint && other.rows === rows
}

function requireDisk({ freeDisk, min_free_disk }: BackupDeps, bytes: number): void {
  if (freeDisk() - bytes < min_free_disk)
    throw new ApiError('conflict', 'Too little disk is free for a backup in the data directory, where it is collected.')
}

const readVersion = async ({ query }: Snapshot): Promise<number> =>
  Number((await query(sql`select max(version) as version from schema_versions`))[0]?.version)

interface PlannedPart {
  part: TablePart
  query: ReturnType<typeof sql>
  from: Snapshot
}

/** Lists the parts of the tables of events: months that are over, and days of the present one and of large ones. */
async function planEvents(from: Snapshot, taken_at: string): Promise<PlannedPart[]> {
  const events: ReadableEvents = {
    query: from.query,
    dialect: duckdbDialect,
    async *stream(query) {
      yield await from.query(query)
    },
  }
  const planned: PlannedPart[] = []
  for (const table of COPIED_TABLES) {
    const days: Day[] = []
    for (const group of groupDays(await listDays(events, table)))
      days.push(...(await listFingerprints(events, table, group[0]?.day ?? 0, group.at(-1)?.day ?? 0)))
    const columns = raw(table.columns.map(({ name }) => name).join(', '))
    for (const part of table.byDay ? joinMonths(table, days, taken_at) : joinDays(table, days)) {
      const where = isOfDays(table, part.days?.first ?? 0, part.days?.last ?? 0)
      planned.push({ part, query: sql`select ${columns} from ${raw(table.name)} where ${where}`, from })
    }
  }
  return planned
}

type Day = Awaited<ReturnType<typeof listFingerprints>>[number]

const formatDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

function joinMonths(table: CopiedTable, days: readonly Day[], taken_at: string): TablePart[] {
  const months = new Map<string, Day[]>()
  for (const day of days) {
    const month = formatDay(day.day).slice(0, 7)
    months.set(month, [...(months.get(month) ?? []), day])
  }
  return [...months].flatMap(([month, of]) => {
    const rows = of.reduce((sum, day) => sum + day.rows, 0)
    if (month < taken_at.slice(0, 7) && rows <= MAX_ROWS_PER_MONTH) return joinDays(table, of, month)
    return of.flatMap((day) => joinDays(table, [day], formatDay(day.day)))
  })
}

/** Makes one part of days; none of a table without rows. */
function joinDays({ name: table, byDay }: CopiedTable, days: readonly Day[], period?: string): TablePart[] {
  const [first, last] = [days[0]?.day, days.at(-1)?.day]
  if (first === undefined || last === undefined) return []
  return [
    {
      name: `events/${table}${period === undefined ? '' : `-${period}`}.parquet`,
      file: 'events',
      table,
      ...(byDay && { days: { first, last } }),
      rows: days.reduce((sum, { rows }) => sum + rows, 0),
      // A day's is a sum of hashes (src/storage/migrate/read-events.ts).
      fingerprint: String(days.reduce((sum, { fingerprint }) => sum + BigInt(fingerprint), 0n)),
    },
  ]
}

/** Lists the parts of the records, also of empty tables: a new file has rows in some of them. */
async function planRecords(from: Snapshot): Promise<PlannedPart[]> {
  const planned: PlannedPart[] = []
  for (const table of RECORD_TABLES.filter((name) => !NOT_IN_BACKUPS.has(name))) {
    const [row] = await from.query(sql`select count(*) as rows from ${raw(table)}`)
    const part: TablePart = { name: `control/${table}.parquet`, file: 'control', table, rows: Number(row?.rows) }
    planned.push({ part, query: sql`select * from ${raw(table)}`, from })
  }
  return planned
}
