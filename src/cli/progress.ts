import type { Terminal } from './terminal.js'

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
      terminal.err(`${CLEAR_LINE}${line.slice(0, Math.max(0, columns - 1))}`)
    },
    clear: () => terminal.err(CLEAR_LINE),
  }
}
