import { type DestinationStream, pino } from 'pino'
import type { Log } from '../../base/log.js'
import type { Config } from '../config.js'
import { escapeText } from './escape.js'
import { style, type Terminal } from './terminal.js'

/** The parts of a terminal that a log needs. */
type LogTerminal = Pick<Terminal, 'out' | 'columns' | 'colour'>

/** Logs one JSON object a line; on a terminal, one readable line with time, level and message. */
export function createLog(terminal: LogTerminal, level: Config['log_level'] | 'silent'): Log {
  const lines: DestinationStream = {
    write: (line) => terminal.out(terminal.columns === undefined ? line : formatForPerson(terminal, line)),
  }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines)
}

function formatForPerson(terminal: LogTerminal, line: string): string {
  const { level, time, msg, err, ...details }: Record<string, unknown> = JSON.parse(line)
  const name = pino.levels.labels[Number(level)] ?? ''
  const cause = err && typeof err === 'object' && 'message' in err ? [String(err.message)] : []
  const rest = Object.entries(details).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const words = escapeText([String(msg ?? ''), ...cause, ...rest].join('  '))
  const colour = Number(level) >= 50 ? 'red' : Number(level) >= 40 ? 'yellow' : 'dim'
  return `${style(terminal, 'dim', String(time).slice(11, 19))} ${style(terminal, colour, name.padEnd(5))} ${words}\n`
}
