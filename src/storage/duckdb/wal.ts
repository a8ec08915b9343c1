/** Facts about a write-ahead log that is not replayed. */
export interface WalReport {
  bytes: number
  /** The end of the last whole entry. */
  end: number
  /**
   * Whole entries follow a place that cannot be read: this is damage, not the torn end that a kill leaves. DuckDB takes a
   * damaged length for a torn end and a damaged header for another database's log, and opens silently in both cases.
   */
  damaged: boolean
  /** Rows committed since a run began, by run, from the last commit position in the log. */
  committed_rows: ReadonlyMap<string, number>
}

/** As `formatCommitPosition` writes it; the log contains a short text as it is. */
const COMMIT_POSITION = /\{"run":"([0-9a-f]{16})","sequence":\d+,"human":(\d+),"agent":(\d+)/g

/**
 * Walks the log of DuckDB 1.5: a header, then entries of 8 bytes length, 8 bytes checksum and the entry, which begins
 * with its first field's id (100, 0). The format was learned from files that DuckDB wrote; test/faults/store.test.ts checks
 * that it is still so.
 */
export function inspectWal(wal: Buffer): WalReport {
  const first = wal.length === 0 ? 0 : findHeaderEnd(wal)
  const end = first === undefined ? 0 : findChainEnd(wal, first).end
  const damaged = first === undefined || (end < wal.length && continuesAfter(wal, end))
  return { bytes: wal.length, end, damaged, committed_rows: findCommitPositions(wal) }
}

/** Fields 100 to 103: the kind of entry, the log's version, the database's 16 numbers, the checkpoint it follows. */
function findHeaderEnd(wal: Buffer): number | undefined {
  const start = [100, 0, 98, 101, 0, 2, 102, 0, 16]
  if (start.some((byte, at) => wal[at] !== byte)) return undefined
  let at = start.length
  const skipNumber = () => {
    while ((wal[at] ?? 0) >= 128) at += 1
    at += 1
  }
  for (let n = 0; n < 16; n++) skipNumber()
  if (wal[at] === 103 && wal[at + 1] === 0) {
    at += 2
    skipNumber()
  }
  return wal[at] === 255 && wal[at + 1] === 255 ? at + 2 : undefined
}

function findCommitPositions(wal: Buffer): Map<string, number> {
  const positions = new Map<string, number>()
  // Searches pieces that overlap by more than a position: the whole log may not fit into one string.
  const piece = 1 << 24
  for (let from = 0; from < wal.length; from += piece) {
    for (const [, run = '', human, agent] of wal
      .toString('latin1', from, from + piece + 256)
      .matchAll(COMMIT_POSITION)) {
      positions.set(run, Math.max(positions.get(run) ?? 0, Number(human) + Number(agent)))
    }
  }
  return positions
}

/** The length of the entry at `at`; undefined if there cannot be one. */
function readEntryLength(wal: Buffer, at: number): number | undefined {
  if (at + 20 > wal.length || wal[at + 16] !== 100 || wal[at + 17] !== 0) return undefined
  if (wal.readUInt32LE(at + 4) !== 0) return undefined
  const length = wal.readUInt32LE(at)
  return length >= 4 && at + 16 + length <= wal.length ? 16 + length : undefined
}

function findChainEnd(wal: Buffer, from: number): { end: number; entries: number } {
  let end = from
  let entries = 0
  for (let length = readEntryLength(wal, end); length !== undefined; length = readEntryLength(wal, end)) {
    end += length
    entries += 1
  }
  return { end, entries }
}

function findNextEntry(wal: Buffer, from: number, to: number): number | undefined {
  for (let at = from; at < Math.min(to, wal.length); at++) if (readEntryLength(wal, at) !== undefined) return at
  return undefined
}

/** Whether a chain of entries begins somewhere after `end`. */
function continuesAfter(wal: Buffer, end: number): boolean {
  let at = findNextEntry(wal, end + 1, wal.length)
  while (at !== undefined) {
    const chain = findChainEnd(wal, at)
    if (chain.entries >= 4 || chain.end === wal.length) return true
    at = findNextEntry(wal, at + 1, wal.length)
  }
  return false
}
