import { findMissingColumns } from './columns.js'
import { LOG_FORMATS } from './formats.js'
import type { LogEntry, LogFormat } from './log-format.js'

export interface Detection {
  readonly format: LogFormat
  /** A sentence for the operator. */
  readonly because: string
  /** The share of the lines that are not headers, comments or blank, from 0.5 to 1. */
  readonly share: number
}

/** Returns the format that most lines have; undefined if no format has half of them. */
export function detectFormat(lines: readonly string[]): Detection | undefined {
  let best: Detection | undefined
  for (const format of LOG_FORMATS) {
    const parse = format.createParser()
    const results = lines.map(parse).filter((result) => result !== 'skip')
    const fitting = results.filter((result) => result !== undefined).length
    const share = fitting / results.length
    if (share >= MIN_SHARE && share > (best?.share ?? 0))
      best = { format, share, because: `${fitting} of ${results.length} lines ${format.traits}` }
  }
  return best
}
const MIN_SHARE = 0.5

/** Formats that have all headers of a request: without a user agent the client sent none. */
const WITH_HEADERS = new Set(['caddy', 'caddy-console'])

/** Returns whether a log of this format, which begins with these entries, has no field for user agents. */
export const lacksUserAgents = ({ name }: LogFormat, entries: readonly LogEntry[]): boolean =>
  !WITH_HEADERS.has(name) && entries.length > 0 && entries.every(({ lacksUserAgent }) => lacksUserAgent)

/** Returns why no format fits, as the end of a sentence for the operator. */
export function explainUnknown(lines: readonly string[]): string {
  const missing = findMissingColumns(lines)
  if (missing.length > 0)
    return `its #Fields lack ${missing.join(' and ')}, without which a request cannot be counted; have the server log it`
  return 'no format fits half of its first lines'
}
