import { setTimeout } from 'node:timers/promises'
import { followLog } from '../../history/access-logs/follow.js'
import type { LogChunk } from '../../history/access-logs/read-lines.js'
import { drawOver, style, type Terminal } from './terminal.js'
import { cutToWidth } from './text-width.js'

/** Milliseconds between two reports, which grow with the time that making one takes. */
const INTERVAL_MS = 1000
/** A report takes at most a fifth of the time, so that a log that grows fast is still read. */
const PAUSES_PER_REPORT = 4

interface FollowDeps {
  readonly path: string
  readonly signal: AbortSignal
  add(chunk: LogChunk): void
  /** Shows or writes the report of everything that was added. */
  show(): Promise<void>
}

/** Reads a log from its start and goes on with what is appended, until the signal; shows what changed about once a second. */
export async function followReport({ path, signal, add, show }: FollowDeps): Promise<void> {
  const wait = (ms: number) => setTimeout(ms, undefined, { ref: false })
  const chunks = followLog(path, { signal })
  let isShown = false
  try {
    // The timer comes first: a log that grows without a pause would never be shown.
    for (let [timer, next] = [wait(INTERVAL_MS), chunks.next()]; ; ) {
      const first = await Promise.race([timer, next])
      if (first === undefined) {
        const started = performance.now()
        if (!isShown) await show()
        isShown = true
        timer = wait(Math.max(INTERVAL_MS, PAUSES_PER_REPORT * (performance.now() - started)))
        continue
      }
      if (first.done) return
      add(first.value)
      isShown = false
      next = chunks.next()
    }
  } finally {
    // Not awaited: after an error the generator waits for more of the log.
    void chunks.return(undefined)
  }
}

const [ENTER, LEAVE] = ['\u001b[?1049h', '\u001b[?1049l']

/** Shows one screen in place of the one before, on the terminal's second screen; the first one is as it was afterwards. */
export function createScreen(terminal: Terminal, hint: string) {
  let isOpen = false
  return {
    draw(text: string): void {
      const { rows = 24, columns = 80 } = terminal
      const lines = text
        .trimEnd()
        .split('\n')
        .slice(0, Math.max(1, rows - 1))
      const last = style(terminal, 'dim', cutToWidth(hint, columns - 1))
      terminal.out(`${isOpen ? '' : ENTER}${drawOver([...lines, last].join('\n'))}`)
      isOpen = true
    },
    close(): void {
      if (isOpen) terminal.out(LEAVE)
      isOpen = false
    },
  }
}
