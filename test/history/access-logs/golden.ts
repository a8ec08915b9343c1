import type { Test } from 'tap'
import type { LogEntry, LogFormat } from '../../../src/history/access-logs/log-format.js'

/** The entry that the lines of a table have in common; a row names only the differences. */
export const BASE: LogEntry = {
  timestamp: Date.UTC(2026, 10, 6, 10, 11, 12),
  address: '203.0.113.9',
  method: 'GET',
  target: '/',
  status: 200,
  referrer: '',
  userAgent: 'Mozilla/5.0',
}

type Differences = { readonly [field in keyof LogEntry]?: LogEntry[field] | undefined }
/** An undefined field is absent. */
export type Row = readonly [line: string, expected: Differences | 'skip' | undefined, why: string]

/** Checks a table field by field, with one parser for all lines as in a file. */
export function checkTable(t: Test, format: LogFormat, base: LogEntry, rows: readonly Row[]): void {
  const parse = format.createParser()
  for (const [line, expected, why] of rows) {
    const fields = typeof expected === 'object' ? Object.entries({ ...base, ...expected }) : undefined
    const whole = fields ? Object.fromEntries(fields.filter(([, value]) => value !== undefined)) : expected
    const read = parse(line)
    // Whether a line has a field for the user agent is a table of `odd-logs`.
    if (typeof read === 'object') delete read.lacksUserAgent
    t.strictSame(read, whole, `${format.name}: ${why}`)
  }
}

/** Lines that are broken or skipped in every format of text. */
export const BROKEN_TEXT: readonly Row[] = [
  ['', 'skip', 'blank'],
  ['\0\0\0\0', undefined, 'NUL'],
  ['\u0016\u0003\u0001 [\ufffd] "" 400', undefined, 'binary'],
  [`203.0.113.9 ${'a '.repeat(40_000)}`, undefined, 'too long'],
  ['x'.repeat(65_536), undefined, 'one long word'],
  [' '.repeat(5_000), undefined, 'spaces'],
  ['"'.repeat(5_000), undefined, 'quotes'],
  ['[[[[ [06/Nov/2026:10:11:12 +0000] "', undefined, 'brackets'],
  ['{"status":200}', undefined, 'JSON'],
]

export const json = (value: unknown) => JSON.stringify(value)
/** A line of `object` with some keys replaced; undefined removes a key. */
export const change = (object: object) => (keys: object) => json({ ...object, ...keys })

/** Lines that are broken or skipped in every format of JSON. */
export const BROKEN_JSON: readonly Row[] = [
  ['', 'skip', 'blank'],
  ['{}', undefined, 'an empty object'],
  ['{"status":200', undefined, 'cut'],
  ['[{"status":200}]', undefined, 'a list'],
  ['null', undefined, 'null'],
  ['203.0.113.9 - - [06/Nov/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5', undefined, 'no JSON'],
  [`{"a":${'['.repeat(60_000)}`, undefined, 'deep and cut'],
  [json({ a: 'x'.repeat(70_000) }), undefined, 'too long'],
  ['{"__proto__":{"status":200},"constructor":1}', undefined, 'names of the prototype'],
]
