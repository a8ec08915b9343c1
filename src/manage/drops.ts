import { z } from 'zod'
import { DROP_REASONS, type DropReason, INGEST_ENDPOINTS, type IngestEndpoint } from '../capture/drops.js'
import { join, sql } from '../sql.js'
import type { Records } from '../store.js'

/** How many of what came in for a site became no row on one day, by the door it came in at and why. */
export const DailyDrops = z.object({
  day: z.iso.date().describe('Of UTC.'),
  door: z.enum(INGEST_ENDPOINTS).describe('`track`: what browsers send, `edge`: what other servers send.'),
  reason: z.enum(DROP_REASONS).describe('Why. `same_view` and `nothing_measured` are no loss.'),
  count: z.int().describe('How many.'),
})
export type DailyDrops = z.infer<typeof DailyDrops>

export interface Drops {
  /** Counts in memory; never throws. Without a site it is seen in `totals` alone. */
  add(site: number | undefined, door: IngestEndpoint, reason: DropReason, count?: number): void
  /** Of the last `days` days of UTC, today included; the latest first. */
  list(site: number, days: number): Promise<DailyDrops[]>
  /** A site is no more: what is only in memory of it is not written. */
  forgetSite(site: number): void
  /** Since the process started, of all sites and of none. */
  totals(): { door: IngestEndpoint; reason: DropReason; count: number }[]
  /** Writes what is only in memory. After a failure, whatever became of the write, the next one makes it right. */
  flush(): Promise<void>
}

const StoredDrops = z.object({
  day: z.string(),
  site: z.number(),
  door: z.enum(INGEST_ENDPOINTS),
  reason: z.enum(DROP_REASONS),
  count: z.number(),
})

/** One line of one day. `added` is since the process started; `before` what the table had then. */
interface DropLine extends Omit<DailyDrops, 'count'> {
  site: number
  added: number
  written: number
}
interface DropDay {
  readonly lines: Map<string, DropLine>
  /** By line, what the table had before; absent until it was asked. */
  before?: ReadonlyMap<string, number>
}

const DAY_MS = 86_400_000
/** Days that are kept: a year, and what a year's look back needs. */
const RETENTION_DAYS = 400
const lineKey = ({ site, door, reason }: Pick<DropLine, 'site' | 'door' | 'reason'>) => `${site} ${door} ${reason}`

/** Drops over the records. This process is the only writer: what it writes are whole counts, so that twice is once. */
export function createDrops({ records, now }: { records: Records; now(): Date }): Drops {
  const days = new Map<string, DropDay>()
  const totals = new Map<string, { door: IngestEndpoint; reason: DropReason; count: number }>()
  const dayBefore = (days: number) => new Date(now().getTime() - days * DAY_MS).toISOString().slice(0, 10)
  let pruned = ''

  const ask = async (site: number | undefined, from: string) =>
    z.array(StoredDrops).parse(
      await records.query(sql`
        select day, site, door, reason, count from drops
        where day >= ${from} ${site === undefined ? sql`` : sql`and site = ${site}`}`),
    )
  /** Asks the table, once, for what it had of a day before this process. */
  const begun = async (name: string, day: DropDay): Promise<ReadonlyMap<string, number>> => {
    if (day.before) return day.before
    const rows = (await ask(undefined, name)).filter((row) => row.day === name)
    day.before ??= new Map(rows.map((row) => [lineKey(row), row.count]))
    return day.before
  }

  return {
    add(site, door, reason, count = 1) {
      const total = totals.get(`${door} ${reason}`)
      if (total) total.count += count
      else totals.set(`${door} ${reason}`, { door, reason, count })
      if (site === undefined) return
      const name = dayBefore(0)
      let day = days.get(name)
      if (!day) {
        day = { lines: new Map() }
        days.set(name, day)
      }
      const key = lineKey({ site, door, reason })
      const line = day.lines.get(key)
      if (line) line.added += count
      else day.lines.set(key, { day: name, site, door, reason, added: count, written: 0 })
    },

    async list(site, count) {
      const from = dayBefore(count - 1)
      const found = new Map<string, DailyDrops>()
      for (const [name, day] of days) await begun(name, day)
      for (const { day, door, reason, count } of await ask(site, from))
        found.set(`${day} ${lineKey({ site, door, reason })}`, { day, door, reason, count })
      for (const [name, { lines, before }] of days)
        for (const [key, line] of lines)
          if (line.site === site && name >= from) {
            const { door, reason, added } = line
            // A day that began since the table was asked is in it as it was.
            const already = before ? before.get(key) : found.get(`${name} ${key}`)?.count
            found.set(`${name} ${key}`, { day: name, door, reason, count: (already ?? 0) + added })
          }
      return [...found.values()].sort(
        (a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0) || b.count - a.count || (a.reason < b.reason ? -1 : 1),
      )
    },

    forgetSite(site) {
      for (const { lines } of days.values()) for (const [key, line] of lines) if (line.site === site) lines.delete(key)
    },

    totals: () => [...totals.values()],

    async flush() {
      const today = dayBefore(0)
      const writing: { line: DropLine; count: number; added: number }[] = []
      for (const [name, day] of days) {
        const lines = [...day.lines].filter(([, line]) => line.added > line.written)
        if (lines.length === 0) {
          if (name !== today) days.delete(name)
          continue
        }
        const before = await begun(name, day)
        for (const [key, line] of lines)
          writing.push({ line, count: (before.get(key) ?? 0) + line.added, added: line.added })
      }
      if (writing.length === 0) return
      const rows = writing.map(
        ({ line: { day, site, door, reason }, count }) => sql`(${day}, ${site}, ${door}, ${reason}, ${count})`,
      )
      await records.write(
        sql`merge into drops using (values ${join(rows, ', ')}) as counted (day, site, door, reason, count)
          on drops.day = counted.day and drops.site = counted.site and drops.door = counted.door
            and drops.reason = counted.reason
          when matched then update set count = counted.count
          when not matched then insert values (counted.day, counted.site, counted.door, counted.reason, counted.count)`,
        ...(pruned === today ? [] : [sql`delete from drops where day < ${dayBefore(RETENTION_DAYS)}`]),
      )
      pruned = today
      for (const { line, added } of writing) line.written = added
    },
  }
}
