import { createHash } from 'node:crypto'
import type { Cells, CopiedTable } from './tables.js'

/** A number of rows, and the sum of their hashes, in any order. */
export interface Checksum {
  readonly rows: number
  readonly sum: bigint
}

/**
 * Returns a counter of a table's rows. Equal checksums mean equal rows, whatever engine they come from: hashes of 64 bits
 * over all values, of which doubles alone have a text for each engine.
 */
export function createChecksum({ columns }: CopiedTable) {
  const doubles = columns.flatMap(({ type }, place) => (type === 'double' ? [place] : []))
  let [rows, sum] = [0, 0n]
  return {
    add(cells: Cells): void {
      let canonical = cells
      if (doubles.some((place) => cells[place] !== null)) {
        const copy = [...cells]
        for (const place of doubles) copy[place] = cells[place] == null ? null : String(Number(cells[place]))
        canonical = copy
      }
      rows++
      sum += createHash('md5').update(JSON.stringify(canonical)).digest().readBigUInt64LE()
    },
    get: (): Checksum => ({ rows, sum: BigInt.asUintN(64, sum) }),
  }
}

export const areEqual = (one: Checksum, other: Checksum): boolean => one.rows === other.rows && one.sum === other.sum
