import type { Test } from 'tap'
import type { LogEntry, LogFormat } from '../../src/access-logs/log-format.js'

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

export type Row = readonly [line: string, expected: Partial<LogEntry> | 'skip' | undefined, why: string]

/** Checks a table field by field, with one parser for all lines as in a file. */
export function checkTable(t: Test, format: LogFormat, base: LogEntry, rows: readonly Row[]): void {
  const parse = format.createParser()
  for (const [line, expected, why] of rows)
    t.strictSame(
      parse(line),
      typeof expected === 'object' ? { ...base, ...expected } : expected,
      `${format.name}: ${why}`,
    )
}
