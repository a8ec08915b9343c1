import { crc32 } from 'node:zlib'
import type { OutgoingRow } from './outgoing-row.js'
import type { RowList } from './row-list.js'

/** A row with its number in the order of all rows of this spool, from 1. */
export interface SpooledRow extends OutgoingRow {
  readonly number: number
}

const LETTERS: Readonly<Record<RowList, string>> = { agent_events: 'a', events: 'e', hits: 'h' }
const LISTS: Readonly<Record<string, RowList>> = { a: 'agent_events', e: 'events', h: 'hits' }
const LINE = /^([0-9a-f]{8}) (\d{1,16}) ([aeh])(\{.*)$/s

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/**
 * Formats `<crc32> <number> <letter of its list><JSON>` and a line feed. JSON has no line feed, so damage ends at the next
 * line.
 */
export function formatLine({ number, list, json }: SpooledRow): string {
  const text = `${number} ${LETTERS[list]}${json}`
  return `${checksum(text)} ${text}\n`
}

/** Parses a line without its line feed; returns undefined if it is not byte for byte what was written. */
export function parseLine(line: string): SpooledRow | undefined {
  const [, sum, digits, letter, json] = LINE.exec(line) ?? []
  if (sum === undefined || digits === undefined || letter === undefined || json === undefined) return undefined
  const list = LISTS[letter]
  if (list === undefined || checksum(line.slice(9)) !== sum) return undefined
  return { number: Number(digits), list, json }
}
