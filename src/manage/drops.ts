import { z } from 'zod'
import { DAY_MS } from '../base/time-units.js'
import { DROP_REASONS, type DropReason, INGEST_ENDPOINTS, type IngestEndpoint } from '../storage/drops.js'
import { join, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'

/** How many hits of a site were dropped on one day, by ingest endpoint and reason. */
export const DailyDrops = z.object({
  day: z.iso.date().describe('A day in UTC.'),
  door: z.enum(INGEST_ENDPOINTS).describe('Ingest endpoint. `track`: hits of browsers, `edge`: rows of other servers.'),
  reason: z.enum(DROP_REASONS).describe('Why they were dropped. `same_view` and `nothing_measured` lose nothing.'),
  count: z.int().describe('Number of hits or rows.'),
})
export type DailyDrops = z.infer<typeof DailyDrops>

const StoredDrops = z.object({
  day: z.string(),
  site: z.number(),
  door: z.enum(INGEST_ENDPOINTS),
  reason: z.enum(DROP_REASONS),
  count: z.number(),
})
type StoredDrops = z.infer<typeof StoredDrops>

/** One count of one day. */
interface DropLine extends Omit<DailyDrops, 'count'> {
  site: number
  /** Counted since the process started, and how much of that is written. */
  added: number
  written: number
}
interface DropDay {
  readonly lines: Map<string, DropLine>
  /** The table's counts from before this process, by line; absent until they are read. */
  before?: ReadonlyMap<string, number>
}

/** Keeps a year and the days that a comparison with last year needs. */
const RETENTION_DAYS = 400
const lineKey = ({ site, door, reason }: Pick<DropLine, 'site' | 'door' | 'reason'>) => `${site} ${door} ${reason}`

export type Drops = ReturnType<typeof createDrops>

interface DropsDeps {
  records: Records
  now(): Date
  /** Whether this process writes; one that does not keeps its counts until it does. */
  isWriter?: () => boolean
}

/** Counts drops by site and day. Only the writer writes, and it writes totals, so writing twice does no harm. */
export function createDrops({ records, now, isWriter = () => true }: DropsDeps) {
  const days = new Map<string, DropDay>()
  const totals = new Map<string, { door: IngestEndpoint; reason: DropReason; count: number }>()
  const dayBefore = (days: number) => new Date(now().getTime() - days * DAY_MS).toISOString().slice(0, 10)
  let pruned = ''

  return {
    /** Counts in memory; never throws. Without a site it counts only towards `totals`. */
    add(site: number | undefined, door: IngestEndpoint, reason: DropReason, count = 1): void {
      const total = totals.get(`${door} ${reason}`)
      if (total) total.count += count
      else totals.set(`${door} ${reason}`, { door, reason, count })
      if (site === undefined) return
      const name = dayBefore(0)
      const day = days.get(name) ?? { lines: new Map<string, DropLine>() }
      days.set(name, day)
      const key = lineKey({ site, door, reason })
      const line = day.lines.get(key)
      if (line) line.added += count
      else day.lines.set(key, { day: name, site, door, reason, added: count, written: 0 })
    },

    /** Returns the last `count` days in UTC, today included, the latest first. */
    async list(site: number, count: number): Promise<DailyDrops[]> {
      const from = dayBefore(count - 1)
      const unsaved = isWriter() ? [...days] : []
      for (const [name, day] of unsaved) await readBefore(records, name, day)
      const rows = await readFrom(records, site, from)
      const inRange = unsaved.filter(([name]) => name >= from)
      return addUnsaved(rows, inRange, site)
    },

    /** Drops the counts of a deleted site that are not written yet. */
    forgetSite(site: number): void {
      for (const { lines } of days.values()) for (const [key, line] of lines) if (line.site === site) lines.delete(key)
    },

    /** Returns the counts since the process started, of all sites and of none. */
    totals: () => [...totals.values()],

    /** Call it when another process may write: its counts are the table's. What is not written counts beside them. */
    yield(): void {
      for (const [name, { lines }] of days) {
        for (const line of lines.values()) {
          line.added -= line.written
          line.written = 0
        }
        days.set(name, { lines })
      }
    },

    /** Writes what is only in memory. Whatever became of a failed write, the next one corrects it. */
    async flush(): Promise<void> {
      if (!isWriter()) return
      const today = dayBefore(0)
      const writing = await listUnwritten(records, days, today)
      if (writing.length === 0) return
      const rows = writing.map(({ line, count }) => ({ ...line, count }))
      const prune = pruned === today ? [] : [sql`delete from drops where day < ${dayBefore(RETENTION_DAYS)}`]
      await records.write(mergeStatement(rows), ...prune)
      pruned = today
      for (const { line, added } of writing) line.written = added
    },
  }
}

/** Returns the totals that are not written yet, and forgets days that are over and written. */
async function listUnwritten(records: Records, days: Map<string, DropDay>, today: string) {
  const writing: { line: DropLine; count: number; added: number }[] = []
  for (const [name, day] of days) {
    const lines = [...day.lines].filter(([, line]) => line.added > line.written)
    if (lines.length === 0) {
      if (name !== today) days.delete(name)
      continue
    }
    const before = await readBefore(records, name, day)
    for (const [key, line] of lines)
      writing.push({ line, count: (before.get(key) ?? 0) + line.added, added: line.added })
  }
  return writing
}

async function readFrom(records: Records, site: number | undefined, from: string): Promise<StoredDrops[]> {
  const rows = await records.query(sql`
    select day, site, door, reason, count from drops
    where day >= ${from} ${site === undefined ? sql`` : sql`and site = ${site}`}`)
  return z.array(StoredDrops).parse(rows)
}

/** Reads, once, a day's counts from before this process. */
async function readBefore(records: Records, name: string, day: DropDay): Promise<ReadonlyMap<string, number>> {
  if (day.before) return day.before
  const rows = (await readFrom(records, undefined, name)).filter((row) => row.day === name)
  day.before ??= new Map(rows.map((row) => [lineKey(row), row.count]))
  return day.before
}

/** Returns a site's stored counts with those of days that are only in memory, the latest first. */
function addUnsaved(rows: readonly StoredDrops[], unsaved: readonly [string, DropDay][], site: number): DailyDrops[] {
  const byKey = new Map<string, DailyDrops>()
  for (const { day, door, reason, count } of rows)
    byKey.set(`${day} ${lineKey({ site, door, reason })}`, { day, door, reason, count })
  for (const [name, { lines, before }] of unsaved)
    for (const [key, { site: ofSite, door, reason, added }] of lines) {
      if (ofSite !== site) continue
      // A day that began after the table was read has its counts from before in `rows`.
      const already = before ? before.get(key) : byKey.get(`${name} ${key}`)?.count
      byKey.set(`${name} ${key}`, { day: name, door, reason, count: (already ?? 0) + added })
    }
  return [...byKey.values()].sort(
    (a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0) || b.count - a.count || (a.reason < b.reason ? -1 : 1),
  )
}

function mergeStatement(rows: readonly StoredDrops[]): Sql {
  const values = rows.map(({ day, site, door, reason, count }) => sql`(${day}, ${site}, ${door}, ${reason}, ${count})`)
  return sql`merge into drops using (values ${join(values, ', ')}) as counted (day, site, door, reason, count)
    on drops.day = counted.day and drops.site = counted.site and drops.door = counted.door
      and drops.reason = counted.reason
    when matched then update set count = counted.count
    when not matched then insert values (counted.day, counted.site, counted.door, counted.reason, counted.count)`
}
