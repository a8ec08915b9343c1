import type { Log } from '../../base/log.js'
import { openSegmentReader, type Segment, type SegmentReader } from './segment.js'
import type { SpooledRow } from './spool-line.js'

export type LostReason = 'spool_full' | 'damaged'

/**
 * Creates the reader of a spool: it goes through the rows of `segments` in order, also while the last one is written, and
 * calls `lose` for the rows above `from` up to `to` that it will never return.
 */
export function createSpoolReader(
  segments: readonly Segment[],
  { settled, sending, log }: { settled: number; sending: number; log: Pick<Log, 'warn'> },
  lose: (why: LostReason, from: number, to: number) => void,
) {
  /** Rows up to this number were read or are lost. */
  let readUpTo = settled
  /** Rows up to this number are not lost if their file is: they are in memory, or may have been delivered. */
  let safeUpTo = sending
  let reading: { segment: Segment; reader: SegmentReader } | undefined
  /** The byte of a segment at which the reader continues after `skipTo`. */
  let resumeAt: { segment: Segment; byte: number } | undefined

  const close = async () => {
    const left = reading
    reading = undefined
    await left?.reader.close()
  }
  /** Moves the reader to `number`; the rows up to `missed` that it did not meet are damaged. */
  const advance = (number: number, missed: number) => {
    lose('damaged', Math.max(readUpTo, safeUpTo), missed)
    readUpTo = Math.max(readUpTo, number)
  }
  const skip = (number: number) => {
    readUpTo = Math.max(readUpTo, number)
    safeUpTo = Math.max(safeUpTo, number)
  }
  /** Skips a file that cannot be read, so that later files are still read. */
  const skipUnreadable = (segment: Segment, error: unknown): undefined => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'EIO' && code !== 'ENOENT') throw error
    log.warn({ file: segment.path, err: error }, 'rows on disk cannot be read')
    advance(segment.last, segment.last)
  }

  return {
    /** Returns the next rows in order, or none at the end. */
    async read(): Promise<SpooledRow[]> {
      for (;;) {
        if (reading === undefined || !segments.includes(reading.segment)) {
          await close()
          const segment = segments.find((one) => one.last > readUpTo)
          if (segment === undefined) return []
          const from = resumeAt?.segment === segment ? resumeAt.byte : 0
          reading = await openSegmentReader(segment.path, from).then(
            (reader) => ({ segment, reader }),
            (error) => skipUnreadable(segment, error),
          )
          if (reading === undefined) continue
        }
        const { segment, reader } = reading
        const until = { row: segment.last, byte: segment.bytes }
        const read = await reader.next(until.byte).catch((error) => skipUnreadable(segment, error))
        const rows = read?.filter(({ number }) => number > readUpTo) ?? []
        for (const { number } of rows) advance(number, number - 1)
        skip(rows.at(-1)?.number ?? 0)
        if (rows.length > 0) return rows
        if (read !== undefined && reader.position < until.byte && segments.includes(segment)) continue
        advance(until.row, until.row)
        await close()
      }
    },
    /** Continues after the rows up to `number`, because they are in memory; `written` is the file that is written. */
    skipTo(number: number, written: Segment | undefined): void {
      skip(number)
      if (written?.last === number) resumeAt = { segment: written, byte: written.bytes }
    },
    /** Skips the rows of a file that is deleted because the spool is full. */
    drop({ first, last }: Segment): void {
      lose('spool_full', Math.max(first - 1, safeUpTo), last)
      skip(last)
    },
    /** Closes a file that will be emptied. */
    async leave(segment: Segment): Promise<void> {
      if (resumeAt?.segment === segment) resumeAt = undefined
      if (reading?.segment === segment) await close()
    },
    close,
  }
}
