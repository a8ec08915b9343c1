import { StoreOpenError } from '../../base/errors.js'
import { raw, sql } from '../sql.js'
import { areEqual, createChecksum } from './checksum.js'
import { copyRecords } from './copy-records.js'
import { type DayCount, groupDays, listDays, parseLine, streamLines } from './read-events.js'
import type { Source } from './source.js'
import { COPIED_TABLES, type CopiedTable, formatUnit, type Unit } from './tables.js'
import type { Target } from './target.js'

/** Rows of an insert. */
const ROWS_PER_INSERT = 10_000
/** Passes over a source that no other process uses: what it still changes by itself, such as retention, ends soon. */
const MAX_PASSES = 3

export interface CopyResult {
  /** Units that were copied in this run, and their rows. */
  readonly copied: { readonly units: number; readonly rows: number }
  /** Units that the source has changed since they were copied. */
  readonly changed: number
  /** Nothing can have changed since: source and target are equal. */
  readonly isComplete: boolean
  /** Another process may still write to the source. */
  readonly isInUse: boolean
  /** Rows of events in the source. */
  readonly rows: number
}

export interface CopyOptions {
  /** Called with the rows that are copied or need no copying, and those of the source. */
  onProgress(done: number, total: number): void
}

/**
 * Copies what differs from source to target. May be ended at any time and run again. Throws an error of one line if the target has other data,
 * or a copy does not have the rows of its original.
 */
export async function copyStore(source: Source, target: Target, { onProgress }: CopyOptions): Promise<CopyResult> {
  await begin(source, target)
  const copied = { units: 0, rows: 0 }
  for (let pass = 1; ; pass++) {
    const { rows } = await comparePass(source, target, {
      onProgress,
      async onDifference(unit, fingerprint, isThere) {
        copied.units++
        if (isThere) await clearUnit(target, unit)
        if (fingerprint !== undefined) copied.rows += await copyUnit(source, target, unit, fingerprint)
      },
    })
    await copyRecords(source, target)
    // After the records: the rows that a finished removal deleted must have left the copy too.
    const rest = (await comparePass(source, target, {})).changed
    if (rest > 0 && !source.isInUse() && pass < MAX_PASSES) continue
    const isComplete = rest === 0 && !source.isInUse()
    if (isComplete) {
      await target.bind()
      await target.records.write(sql`update copying set is_complete = ${true}`)
    }
    return { copied, changed: rest, isComplete, isInUse: source.isInUse(), rows }
  }
}

/** Begins copying into an empty target, or continues. */
async function begin(source: Source, target: Target): Promise<void> {
  const { records } = target
  const [row] = await records.query(sql`select source from copying`)
  if (row && row.source !== source.origin)
    throw new StoreOpenError('the target has data that was copied from elsewhere: name an empty one.')
  if (row) return records.write(sql`update copying set is_complete = ${false}`)
  if (await hasContent(target))
    throw new StoreOpenError(
      'the target has data that was not copied, or that readership has used since: name an empty one.',
    )
  await records.write(sql`insert into copying values (${source.origin}, ${false})`)
}

async function hasContent({ events, records }: Target): Promise<boolean> {
  const [organisation] = await records.query(sql`select id from organisations limit 1`)
  if (organisation) return true
  for (const { name } of COPIED_TABLES)
    if ((await events.query(sql`select 1 as found from ${raw(name)} limit 1`)).length > 0) return true
  return false
}

interface PassOptions {
  onProgress?(done: number, total: number): void
  /**
   * Called with each unit that the target lacks or has otherwise than the source; without a fingerprint if the source has no
   * rows of it. `isThere` says whether the target has something of it.
   */
  onDifference?(unit: Unit, fingerprint: string | undefined, isThere: boolean): Promise<void>
}

/** Compares the units of both sides, and returns how many differ and the rows of the source. */
async function comparePass(source: Source, target: Target, { onProgress, onDifference }: PassOptions) {
  const days = new Map<CopiedTable, DayCount[]>()
  for (const table of COPIED_TABLES) days.set(table, await source.listDays(table))
  const total = [...days.values()].flat().reduce((sum, { rows }) => sum + rows, 0)
  let [changed, done] = [0, 0]
  for (const [table, present] of days) {
    const copied = await readCopied(target, table)
    const existing = new Set(present.map(({ day }) => day))
    const gone = [...copied.keys()].filter((day) => !existing.has(day))
    for (const day of gone) await onDifference?.({ table, day }, undefined, true)
    changed += gone.length
    for (const group of groupDays(present)) {
      const [first, last] = [group[0]?.day ?? 0, group.at(-1)?.day ?? 0]
      for (const { day, rows, fingerprint } of await source.listFingerprints(table, first, last)) {
        const copy = copied.get(day)
        if (copy?.fingerprint !== fingerprint || copy.rows !== rows) {
          changed++
          await onDifference?.({ table, day }, fingerprint, copy !== undefined)
        }
        done += rows
        onProgress?.(done, Math.max(done, total))
      }
    }
  }
  return { changed, rows: total }
}

/** Lists the units of a table that the target has, with their rows, and their fingerprint if they were verified. */
async function readCopied({ events, records }: Target, table: CopiedTable) {
  const copiedDays = new Map<number, { rows: number; fingerprint: unknown }>()
  for (const { day, rows } of await listDays(events, table)) copiedDays.set(day, { rows, fingerprint: undefined })
  for (const { day, fingerprint } of await records.query(
    sql`select day, fingerprint from copied where name = ${table.name}`,
  ))
    copiedDays.set(Number(day), { rows: copiedDays.get(Number(day))?.rows ?? 0, fingerprint })
  return copiedDays
}

async function clearUnit(target: Target, unit: Unit): Promise<void> {
  await target.records.write(sql`delete from copied where name = ${unit.table.name} and day = ${unit.day}`)
  await target.clear(unit)
}

/**
 * Copies a unit of which the target has nothing, reads it back and compares, and returns its rows. The fingerprint is older
 * than the rows that are read, so a change in between is found by the next run.
 */
async function copyUnit(source: Source, target: Target, unit: Unit, fingerprint: string): Promise<number> {
  const { table, day } = unit
  const [sent, stored] = [createChecksum(table), createChecksum(table)]
  let waiting: (readonly (string | null)[])[] = []
  for await (const rows of source.streamRows(unit)) {
    for (const cells of rows) sent.add(cells)
    waiting.push(...rows)
    if (waiting.length < ROWS_PER_INSERT) continue
    await target.insert(unit, waiting)
    waiting = []
  }
  if (waiting.length > 0) await target.insert(unit, waiting)
  for await (const lines of streamLines(target.events, unit)) for (const line of lines) stored.add(parseLine(line))
  const [expected, found] = [sent.get(), stored.get()]
  if (!areEqual(expected, found))
    throw new Error(
      `${formatUnit(unit)}: ${expected.rows} rows were copied, and the ${found.rows} rows in the target are not equal to them.`,
    )
  await target.records.write(sql`insert into copied values (${table.name}, ${day}, ${fingerprint})`)
  return expected.rows
}
