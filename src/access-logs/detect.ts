import { LOG_FORMATS } from './formats.js'
import type { LogFormat } from './log-format.js'

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
