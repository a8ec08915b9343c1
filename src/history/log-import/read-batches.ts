import { setTimeout } from 'node:timers/promises'
import type { Catalog } from '../../agents/catalog.js'
import { createIdentify } from '../../agents/identify.js'
import { createRecentCache } from '../../base/cache.js'
import { detachedCopy, MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import { OBSERVED_HEADERS } from '../../capture/observation.js'
import { type DataPaths, isDelivered } from '../../capture/request-kind.js'
import { createLineReader } from '../../capture/response-type.js'
import { createBatch, type ImportedLine, type LineBatch } from '../../worker-client/log-batch.js'
import type { LogEntry, LogParser } from '../access-logs/log-format.js'
import { type ParsedLog, readInOrder } from '../access-logs/merge.js'
import type { LogChunk } from '../access-logs/read-lines.js'

export interface ReadCounts {
  lines: number
  broken: number
  /** Requests of people for anything but a page, and what was not a request: nothing is stored of them. */
  not_pages: number
  /** Requests of `not_pages` that are not pages because of the paths of data alone. */
  data_lines: number
  /** Bytes of the logs on disk that were read. */
  bytes: number
}

interface ReadDeps {
  catalog: Pick<Catalog, 'agents'>
  /** The paths of data of the site; absent: the default ones. */
  isData?: DataPaths | undefined
  /** Lines that are later are broken, in milliseconds since 1970: a wrong clock would stretch the time of the import. */
  latest: number
  /** Gets one batch after the other; the next is read meanwhile. */
  send(batch: LineBatch, counts: Readonly<ReadCounts>): Promise<void>
  /** Gets each line that is not of its log's format. */
  onBroken(line: string): void
  /** Gets what is wrong with a log whose text ends early. */
  onFault(path: string, fault: string): void
  /** Reading waits for it, so that it can wait until the broken lines before are written. */
  onRead(counts: Readonly<ReadCounts>): void | Promise<void>
}

/** Returns the latest time of lines that are not broken: a day ahead of the clock. */
export const latestTime = (now: number): number => now + 86_400_000

/** Larger ones keep a worker that also serves a site busy for longer; of smaller ones each commit costs too much. */
const LINES_PER_BATCH = 4_000
const CHARACTERS_PER_BATCH = 4 << 20
/** After so many lines a batch is sent also if it is empty: the record says how far the import is, and that it runs. */
const MAX_UNSENT_LINES = 200_000
/** Longer than any text that rows keep, tags of a campaign included. */
const MAX_TEXT_CHARACTERS = 8_192
const MAX_CACHED_USER_AGENTS = 20_000

/**
 * Reads logs as one, in the order of their times, and sends what may become rows: each request of an agent, and people's
 * for pages. Resolves when the last batch is stored. Throws what `send` throws.
 */
export async function readBatches(logs: readonly ParsedLog[], deps: ReadDeps): Promise<ReadCounts> {
  const batches = createBatches(deps)
  const bytesOf = new Map<ParsedLog, number>()
  const numberOf = new Map(logs.map((log, n) => [log, n]))
  await readInOrder(logs, {
    async chunk(log, { lines, bytesRead, fault }) {
      if (fault !== undefined) deps.onFault(log.log.path, fault)
      await batches.note(lines.length, bytesRead - (bytesOf.get(log) ?? 0))
      bytesOf.set(log, bytesRead)
      await batches.sendIfFull()
    },
    line: (log, result, text) => batches.add(result, text, numberOf.get(log) ?? 0),
  })
  await batches.end()
  return batches.counts
}

/**
 * Reads a log from its start, and goes on with what is appended until the chunks end. What was appended is sent within about
 * a second, also if nothing follows it. Throws what `send` throws.
 */
export async function followBatches(
  { parse }: Pick<ParsedLog, 'parse'>,
  chunks: AsyncGenerator<LogChunk>,
  { interval_ms = FOLLOW_INTERVAL_MS, ...deps }: Omit<ReadDeps, 'onFault'> & { interval_ms?: number },
): Promise<ReadCounts> {
  const batches = createBatches(deps)
  const startTimer = () => setTimeout(interval_ms, undefined, { ref: false })
  let [read, intervals] = [0, 0]
  try {
    for (let [next, timer] = [chunks.next(), startTimer()]; ; ) {
      const first = await Promise.race([timer, next])
      if (first === undefined) {
        await batches.send(++intervals % INTERVALS_PER_SIGN === 0)
        timer = startTimer()
        continue
      }
      if (first.done) break
      const { lines, bytesRead } = first.value
      // After a rotation the next file begins at 0.
      await batches.note(lines.length, bytesRead > read ? bytesRead - read : bytesRead)
      read = bytesRead
      for (const line of lines) batches.add(parse(line), line, 0)
      await batches.sendIfFull()
      next = chunks.next()
    }
    await batches.end()
  } finally {
    // Not awaited: after an error the generator waits for more of the log.
    void chunks.return(undefined)
  }
  return batches.counts
}

/** Collects lines to batches, and sends one while the next is collected. */
function createBatches({ catalog, isData, latest, send, onBroken, onRead }: Omit<ReadDeps, 'onFault'>) {
  const counts: ReadCounts = { lines: 0, broken: 0, not_pages: 0, data_lines: 0, bytes: 0 }
  const isAgent = createAgentTest(catalog)
  const kindOf = createLineReader(isData)
  let next = createBatch()
  let characters = 0
  let unsentLines = 0
  let sending: Promise<void> = Promise.resolve()
  const sendBatch = async (evenIfEmpty = false) => {
    await sending
    if (next.batch.time.length === 0 && !evenIfEmpty) return
    sending = send(next.batch, { ...counts })
    // The error of a batch that nothing awaits yet is thrown by the next one.
    sending.catch(() => {})
    next = createBatch()
    characters = 0
    unsentLines = 0
  }
  return {
    counts,
    async note(lines: number, bytes: number): Promise<void> {
      counts.lines += lines
      unsentLines += lines
      counts.bytes += bytes
      await onRead(counts)
    },
    /** Adds what a parser returned for a line of a log. */
    add(result: ReturnType<LogParser>, text: string, log: number): void {
      if (result === 'skip') return
      if (result === undefined || result.timestamp > latest) {
        counts.broken++
        onBroken(text)
        return
      }
      // Asked of every line, because what a 304 confirmed is what the lines before it say.
      const kind = kindOf(result)
      const isDeliveredGet = result.method === 'GET' && isDelivered(result.status)
      const isPage = kind === 'page' && isDeliveredGet
      // Servers log TLS bytes and empty requests too: no one asked for anything.
      if (result.method !== '' && (isPage || isAgent(result.userAgent))) {
        next.add(toLine(result, log, isPage))
        characters += text.length
        return
      }
      counts.not_pages++
      if (kind === 'data' && isDeliveredGet) counts.data_lines++
    },
    async sendIfFull(): Promise<void> {
      const isFull = next.batch.time.length >= LINES_PER_BATCH || characters >= CHARACTERS_PER_BATCH
      if (isFull || unsentLines >= MAX_UNSENT_LINES) await sendBatch(true)
    },
    send: sendBatch,
    /** Sends the last lines, and resolves when all are stored. */
    async end(): Promise<void> {
      await sendBatch()
      await sending
    },
  }
}
/** Until then, a commit gets what was appended meanwhile. */
const FOLLOW_INTERVAL_MS = 1_000
/** After so many intervals an empty batch is sent too: an import whose command is silent for a minute ends. */
const INTERVALS_PER_SIGN = 20

function createAgentTest(catalog: Pick<Catalog, 'agents'>): (userAgent: string) => boolean {
  const identify = createIdentify(catalog)
  const userAgents = createRecentCache<string, boolean>(MAX_CACHED_USER_AGENTS)
  return (text) => {
    const userAgent = truncate(text, MAX_CHARACTERS.user_agent)
    let isAgent = userAgents.get(userAgent)
    if (isAgent === undefined) {
      isAgent = identify(userAgent) !== undefined
      userAgents.set(detachedCopy(userAgent), isAgent)
    }
    return isAgent
  }
}

const toLine = (entry: LogEntry, log: number, page: boolean): ImportedLine => ({
  time: entry.timestamp,
  address: entry.address,
  host: entry.host ?? '',
  method: entry.method,
  target: shorten(entry.target),
  status: entry.status,
  bytes: entry.bytes ?? null,
  duration_ms: entry.durationMs ?? null,
  referrer: shorten(entry.referrer),
  user_agent: shorten(entry.userAgent),
  type: entry.contentType ?? '',
  page,
  headers: entry.requestHeaders === undefined ? null : selectHeaders(entry.requestHeaders),
  log,
})

const shorten = (text: string): string =>
  text.length > MAX_TEXT_CHARACTERS ? text.slice(0, MAX_TEXT_CHARACTERS) : text

function selectHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const selected: Record<string, string> = {}
  for (const name of OBSERVED_HEADERS) if (headers[name] !== undefined) selected[name] = headers[name]
  return selected
}
