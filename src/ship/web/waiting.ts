import { MOST_ROWS } from '../batch.js'
import type { Item } from '../item.js'

/** Rows that go together under a name of their own: as often as it takes, and stored once. */
export interface Batch {
  /** 16 hex digits. */
  readonly sender: string
  readonly rows: readonly Item[]
}

/** Characters of a batch, of which each is three bytes at most: with what stands around the rows below 2 MB (spec 8). */
const MOST_CHARACTERS = 600_000

/**
 * Rows that wait in memory, at most `most.rows` of them and `most.characters`: over it the oldest go, and `lost` is told
 * how many.
 */
export function createWaiting(deps: {
  most: { rows: number; characters: number }
  /** 16 hex digits, others each time. */
  id(): string
  lost(rows: number): void
}) {
  const { most, id, lost } = deps
  const back: Batch[] = []
  let fresh: Item[] = []
  let rows = 0
  let characters = 0

  const count = (items: readonly Item[], sign: 1 | -1) => {
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
    add(item: Item): void {
      fresh.push(item)
      count([item], 1)
      shed()
    },
    /** What goes next, which is the caller's from here on: first what was given back. */
    take(): Batch | undefined {
      const again = back.shift()
      const batch = again ?? (fresh.length > 0 ? { sender: id(), rows: cut() } : undefined)
      if (batch !== undefined) count(batch.rows, -1)
      return batch
    },
    /** A batch of which nobody knows whether it was stored: it goes again as it is. */
    giveBack(batch: Batch): void {
      back.unshift(batch)
      count(batch.rows, 1)
      shed()
    },
  }

  function cut(): Item[] {
    let size = 0
    let end = 0
    for (const { json } of fresh) {
      size += json.length
      if (end > 0 && (end >= MOST_ROWS || size > MOST_CHARACTERS)) break
      end += 1
    }
    const taken = fresh.slice(0, end)
    fresh = fresh.slice(end)
    return taken
  }
}
