import type { Terminal } from './terminal.js'
import { cutToWidth } from './text-width.js'

/** A progress bar on standard error; prints nothing if that is not a terminal. */
interface Progress {
  show(done: number, total: number): void
  /** Removes the bar. */
  clear(): void
}

const BAR_COLUMNS = 30
const CLEAR_LINE = '\r\u001b[2K'

export function createProgress(terminal: Pick<Terminal, 'err' | 'errColumns'>, what: string): Progress {
  const { errColumns: columns } = terminal
  if (columns === undefined) return { show() {}, clear() {} }
  return {
    show(done, total) {
      const share = total === 0 ? 1 : Math.min(1, done / total)
      const full = Math.round(share * BAR_COLUMNS)
      const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_COLUMNS - full)}`
      const line = `${what} ${bar} ${Math.floor(share * 100)} % (${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')})`
      terminal.err(`${CLEAR_LINE}${cutToWidth(line, columns - 1)}`)
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
