import type { LogEntry, LogParser } from './log-format.js'
import { type LogChunk, type LogFile, readLogLines } from './read-lines.js'

/** An opened log with its parser. */
export interface ParsedLog {
  readonly log: LogFile
  readonly parse: LogParser
}

interface Handlers<L> {
  /** Gets what the parser returned for each line, and the line. */
  line(log: L, result: ReturnType<LogParser>, text: string): void
  /** Gets each chunk before its lines, which are read when the promise resolves. */
  chunk(log: L, chunk: LogChunk): void | Promise<void>
}

/**
 * Reads several logs as one, in the order of their times: servers that share a site's visitors write one each, and a visitor's
 * session is in all of them. The lines of one log keep their order. Only logs whose times overlap are open together. `logs`
 * are in the order in which `openLogs` returns them.
 */
export async function readInOrder<L extends ParsedLog>(logs: readonly L[], handlers: Handlers<L>): Promise<void> {
  const waiting = [...logs]
  let open: Cursor<L>[] = []
  try {
    while (waiting.length > 0 || open.length > 0) {
      let [earliest, second] = earliestTwo(open)
      while (waiting[0] && (earliest === undefined || firstTime(waiting[0]) <= earliest.time)) {
        open.push(await openCursor(waiting[0], handlers))
        waiting.shift()
        open = open.filter((cursor) => cursor.entry !== undefined)
        ;[earliest, second] = earliestTwo(open)
      }
      if (earliest === undefined) continue
      await earliest.readUntil(Math.min(second?.time ?? Infinity, waiting[0] ? firstTime(waiting[0]) : Infinity))
      if (earliest.entry === undefined) open = open.filter((cursor) => cursor !== earliest)
    }
  } finally {
    for (const cursor of open) await cursor.close()
  }
}

const firstTime = ({ log }: ParsedLog): number => log.firstTime ?? Number.POSITIVE_INFINITY

function earliestTwo<L>(open: readonly Cursor<L>[]): [Cursor<L> | undefined, Cursor<L> | undefined] {
  let [first, second]: (Cursor<L> | undefined)[] = []
  for (const cursor of open)
    if (first === undefined || cursor.time < first.time) [first, second] = [cursor, first]
    else if (second === undefined || cursor.time < second.time) second = cursor
  return [first, second]
}

type Cursor<L> = Awaited<ReturnType<typeof openCursor<L & ParsedLog>>>

/** Opens a log and reads it up to its first entry; `entry` is undefined at its end. */
async function openCursor<L extends ParsedLog>(log: L, handlers: Handlers<L>) {
  const chunks = readLogLines([log.log])
  let lines: readonly string[] = []
  let next = 0
  let entry: LogEntry | undefined
  let text = ''
  /** Moves on to the next entry among the lines that are read; false if none is left. */
  const advance = (): boolean => {
    while (next < lines.length) {
      text = lines[next++] ?? ''
      const result = log.parse(text)
      if (result !== undefined && result !== 'skip') {
        entry = result
        return true
      }
      handlers.line(log, result, text)
    }
    return false
  }
  const readOn = async (): Promise<void> => {
    while (!advance()) {
      const { value, done } = await chunks.next()
      entry = undefined
      if (done) return
      await handlers.chunk(log, value)
      lines = value.lines
      next = 0
    }
  }
  await readOn()
  return {
    get entry() {
      return entry
    },
    get time() {
      return entry?.timestamp ?? Number.POSITIVE_INFINITY
    },
    /** Handles entries up to one that is later than `time`. */
    async readUntil(time: number): Promise<void> {
      while (entry !== undefined && entry.timestamp <= time) {
        handlers.line(log, entry, text)
        if (!advance()) await readOn()
      }
    },
    close: () => chunks.return(undefined),
  }
}
