import { MAX_LIST_ROWS } from '../delivery-body.js'
import type { OutgoingRow } from '../outgoing-row.js'

/** Rows of one delivery with a sender id of their own, so that repeating it stores them once. */
export interface WebBatch {
  /** 16 hex digits. */
  readonly sender: string
  readonly rows: readonly OutgoingRow[]
}

/** Characters of a batch, of at most three bytes each: with the text around the rows it stays below 2 MB. */
const MAX_BATCH_CHARACTERS = 600_000

/** Buffers rows in memory within the bounds of `most`; above them the oldest are deleted and counted by `lost`. */
export function createRowBuffer(deps: {
  most: { rows: number; characters: number }
  /** Returns a new id of 16 hex digits. */
  id(): string
  lost(rows: number): void
}) {
  const { most, id, lost } = deps
  const back: WebBatch[] = []
  let fresh: OutgoingRow[] = []
  let rows = 0
  let characters = 0

  const count = (items: readonly OutgoingRow[], sign: 1 | -1) => {
    rows += sign * items.length
    for (const { json } of items) characters += sign * json.length
  }
  const shed = () => {
    while (rows > most.rows || characters > most.characters) {
      const oldest = back.shift()?.rows ?? fresh.splice(0, Math.min(fresh.length, 100))
      if (oldest.length === 0) return
      count(oldest, -1)
      lost(oldest.length)
    }
  }

  return {
    get rows() {
      return rows
    },
    add(item: OutgoingRow): void {
      fresh.push(item)
      count([item], 1)
      shed()
    },
    /** Removes and returns the next batch; batches that were given back come first. */
    take(): WebBatch | undefined {
      const again = back.shift()
      const batch = again ?? (fresh.length > 0 ? { sender: id(), rows: cut() } : undefined)
      if (batch !== undefined) count(batch.rows, -1)
      return batch
    },
    /** Returns a batch whose outcome is unknown, to be sent again unchanged. */
    giveBack(batch: WebBatch): void {
      back.unshift(batch)
      count(batch.rows, 1)
      shed()
    },
  }

  function cut(): OutgoingRow[] {
    let size = 0
    let end = 0
    for (const { json } of fresh) {
      size += json.length
      if (end > 0 && (end >= MAX_LIST_ROWS || size > MAX_BATCH_CHARACTERS)) break
      end += 1
    }
    const taken = fresh.slice(0, end)
    fresh = fresh.slice(end)
    return taken
  }
}
