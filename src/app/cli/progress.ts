import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import { Failure, type Terminal } from './terminal.js'
import { cutToWidth } from './text-width.js'

/** A progress bar on standard error; prints nothing if that is not a terminal. */
interface Progress {
  show(done: number, total: number): void
  /** Removes the bar. */
  clear(): void
}

const CLEAR_LINE = '\r\u001b[2K'

/** Draws a share from 0 to 1 as a bar with its percentage. */
function bar(share: number, columns: number): string {
  const full = Math.round(share * columns)
  return `${'█'.repeat(full)}${'░'.repeat(columns - full)} ${Math.floor(share * 100)} %`
}

export function createProgress(terminal: Pick<Terminal, 'err' | 'errColumns'>, what: string): Progress {
  const { errColumns: columns } = terminal
  if (columns === undefined) return { show() {}, clear() {} }
  return {
    show(done, total) {
      const share = total === 0 ? 1 : Math.min(1, done / total)
      const line = `${what} ${bar(share, 30)} (${formatNumber(done)} of ${formatNumber(total)})`
      terminal.err(`${CLEAR_LINE}${cutToWidth(line, columns - 1)}`)
    },
    clear: () => terminal.err(CLEAR_LINE),
  }
}

const RehearsalLine = z.union([
  z.object({ done: z.int(), total: z.int() }),
  z.object({ data: z.unknown() }),
  z.object({ error: z.object({ message: z.string() }) }),
])

/** Shows how far a rehearsal is by the lines of its response, and returns its result. */
export async function showRehearsal(
  terminal: Pick<Terminal, 'err' | 'errColumns'>,
  lines: AsyncIterable<string>,
): Promise<unknown> {
  const progress = createProgress(terminal, 'Trying')
  try {
    for await (const text of lines) {
      const line = RehearsalLine.parse(JSON.parse(text))
      if ('done' in line) progress.show(line.done, line.total)
      else if ('error' in line) throw new Failure(line.error.message)
      else return line.data
    }
    throw new Failure('The service ended the rehearsal early; its log says why.')
  } finally {
    progress.clear()
  }
}

const REDRAW_MS = 100

/**
 * Shows how far log files are read: share, lines, lines a second and the time left. Shows nothing if standard error is not
 * a terminal. `total` is in bytes on disk; undefined for standard input. `clock` is in monotonic milliseconds.
 */
export function createLogProgress(
  terminal: Pick<Terminal, 'err' | 'errColumns'>,
  total: number | undefined,
  clock: () => number,
) {
  const { errColumns: columns } = terminal
  if (columns === undefined) return { show() {}, clear() {} }
  const started = clock()
  let drawn = started
  return {
    show(bytes: number, lines: number): void {
      const now = clock()
      if (now - drawn < REDRAW_MS) return
      drawn = now
      const seconds = (now - started) / 1000
      const share = total === undefined ? undefined : Math.min(1, bytes / Math.max(1, total))
      const left = share ? Math.ceil((seconds / share) * (1 - share)) : undefined
      const facts = [
        share === undefined ? 'reading' : bar(share, 24),
        `${formatNumber(lines)} lines`,
        `${formatNumber(Math.round(lines / seconds))} a second`,
        left === undefined ? '' : `${left} s left`,
      ]
      terminal.err(`${CLEAR_LINE}${cutToWidth(facts.filter(Boolean).join(' · '), columns - 1)}`)
    },
    clear: () => terminal.err(CLEAR_LINE),
  }
}

/**
 * Returns the result of `work`, and shows what it does and for how many seconds, from the first second on. Shows nothing
 * if standard error is not a terminal.
 */
export async function showElapsed<T>(
  terminal: Pick<Terminal, 'err' | 'errColumns'>,
  what: () => string,
  work: Promise<T>,
): Promise<T> {
  const { errColumns: columns } = terminal
  if (columns === undefined) return work
  const started = performance.now()
  let shown = false
  const timer = setInterval(() => {
    shown = true
    const line = `${what()} … ${Math.round((performance.now() - started) / 1000)} s`
    terminal.err(`${CLEAR_LINE}${cutToWidth(line, columns - 1)}`)
  }, 1000)
  try {
    return await work
  } finally {
    clearInterval(timer)
    if (shown) terminal.err(CLEAR_LINE)
  }
}
