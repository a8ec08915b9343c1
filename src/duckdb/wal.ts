/** What can be said of a write-ahead log without replaying it. */
export interface WalReport {
  bytes: number
  /** Where the last whole entry ends. */
  end: number
  /**
   * Whole entries lie behind a place that cannot be read: not the torn end of a kill, but damage. DuckDB takes a damaged
   * length for a torn end and a damaged header for another database's log, and opens without a word in both cases.
   */
  damaged: boolean
  /** Rows committed since the run began, by run, as the last mark in the log says. */
  committed_rows: ReadonlyMap<string, number>
}

/** As `markText` writes it into each commit; the text of a short string stands in the log as it is. */
const COMMIT_POSITION = /\{"run":"([0-9a-f]{16})","sequence":\d+,"human":(\d+),"agent":(\d+)/g

/**
 * Walks the log of DuckDB 1.5: a header, then entries of 8 bytes length, 8 bytes checksum and the entry, which begins
 * with its first field's id (100, 0). Found out from files that it wrote; test/faults/store.test.ts holds it to that.
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
  const marks = new Map<string, number>()
  // The text is searched in pieces that overlap by more than a mark: a string of the whole log may not fit in one.
  const piece = 1 << 24
  for (let from = 0; from < wal.length; from += piece) {
    for (const [, run = '', human, agent] of wal
      .toString('latin1', from, from + piece + 256)
      .matchAll(COMMIT_POSITION)) {
      marks.set(run, Math.max(marks.get(run) ?? 0, Number(human) + Number(agent)))
    }
  }
  return marks
}

/** The length of the entry at `at`, undefined where none can be. */
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

/** Whether a run of entries goes on somewhere behind `end`. */
function continuesAfter(wal: Buffer, end: number): boolean {
  let at = findNextEntry(wal, end + 1, wal.length)
  while (at !== undefined) {
    const chain = findChainEnd(wal, at)
    if (chain.entries >= 4 || chain.end === wal.length) return true
    at = findNextEntry(wal, at + 1, wal.length)
  }
  return false
}
