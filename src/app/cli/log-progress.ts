import { formatNumber } from '../../analytics/export/format.js'
import type { Terminal } from './terminal.js'
import { cutToWidth } from './text-width.js'

const BAR_COLUMNS = 24
const REDRAW_MS = 100
const CLEAR_LINE = '\r\u001b[2K'

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
        share === undefined ? 'reading' : `${bar(share)} ${Math.floor(share * 100)} %`,
        `${formatNumber(lines)} lines`,
        `${formatNumber(Math.round(lines / seconds))} a second`,
        left === undefined ? '' : `${left} s left`,
      ]
      terminal.err(`${CLEAR_LINE}${cutToWidth(facts.filter(Boolean).join(' · '), columns - 1)}`)
    },
    clear: () => terminal.err(CLEAR_LINE),
  }
}

function bar(share: number): string {
  const full = Math.round(share * BAR_COLUMNS)
  return `${'█'.repeat(full)}${'░'.repeat(BAR_COLUMNS - full)}`
}
