import { crc32 } from 'node:zlib'
import type { Item, List } from './item.js'

/** A row with its place in the order of all that this spool ever held, from 1. */
export interface Row extends Item {
  readonly number: number
}

const LETTERS: Readonly<Record<List, string>> = { agent_events: 'a', events: 'e', hits: 'h' }
const LISTS: Readonly<Record<string, List>> = { a: 'agent_events', e: 'events', h: 'hits' }
const LINE = /^([0-9a-f]{8}) (\d{1,16}) ([aeh])(\{.*)$/s

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** `<crc32> <number> <letter of its list><JSON>` and a line feed, which JSON never has: what is damaged ends at the next. */
export function lineOf({ number, list, json }: Row): string {
  const text = `${number} ${LETTERS[list]}${json}`
  return `${checksum(text)} ${text}\n`
}

/** Undefined where it is not, byte for byte, what was written. Without the line feed. */
export function parseLine(line: string): Row | undefined {
  const [, sum, digits, letter, json] = LINE.exec(line) ?? []
  if (sum === undefined || digits === undefined || letter === undefined || json === undefined) return undefined
  const list = LISTS[letter]
  if (list === undefined || checksum(line.slice(9)) !== sum) return undefined
  return { number: Number(digits), list, json }
}
