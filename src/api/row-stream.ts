import type { TailRow } from '../worker-client/protocol.js'
import type { WorkerClient } from '../worker-client/worker-client.js'

/**
 * Bounds the texts that wait for a slow reader, and the rows at once of one with a `pace`. Further rows are left out, and a
 * text says how many.
 */
const MAX_WAITING_TEXTS = 2_000

/** The worker client of a process that sees the rows while it writes them. */
export type TailSource = Pick<WorkerClient, 'tail' | 'onRestart' | 'isWriter'>

/** The rows of a stream, and how they are written. */
interface RowStream {
  workerClient: TailSource
  /** Returns the rows before the live ones, oldest first. */
  readRecent(): Promise<readonly Readonly<Record<string, unknown>>[]>
  matches(row: TailRow): boolean
  format(row: Readonly<Record<string, unknown>>): string
  /** Says how many rows were left out. */
  formatMissed(rows: number): string
  /** Whether live rows follow the recent ones. */
  follow: boolean
  /** Bounds the live rows of a longer time; `clock` is in monotonic milliseconds. */
  pace?: Pace
  /** The first text. */
  head?: string
  /** A text that is sent each `ms`, so that no proxy takes the connection for dead, while `goesOn` is true. */
  heartbeat?: { text: string; ms: number; goesOn(): Promise<boolean> }
  /** Called once when the stream is over. */
  onEnd?(): void
}

interface Pace {
  readonly perSecond: number
  clock(): number
}

/**
 * Returns a function that tells whether one more row may be sent: `perSecond` over a longer time, and `MAX_WAITING_TEXTS`
 * at once. After too many rows none is sent for a second, so that few texts say how many were left out.
 */
function createAllowance({ perSecond, clock }: Pace): () => boolean {
  let [left, at, isSpent] = [MAX_WAITING_TEXTS, clock(), false]
  return () => {
    const now = clock()
    left = Math.min(MAX_WAITING_TEXTS, left + ((now - at) / 1_000) * perSecond)
    at = now
    isSpent = isSpent ? left < perSecond : left < 1
    if (isSpent) return false
    left -= 1
    return true
  }
}

/**
 * Streams rows as text: the recent ones, then each row as it is committed, until the reader leaves, `signal` aborts, or another
 * process writes, which the reader finds by asking again.
 */
export function createRowStream(rows: RowStream, signal?: AbortSignal): ReadableStream<Uint8Array> {
  const { workerClient, readRecent, matches, format, formatMissed, follow, pace, head, heartbeat, onEnd } = rows
  const encoder = new TextEncoder()
  let stop = () => {}
  let isOver = false
  let missed = 0
  return new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        const send = (text: string) => controller.enqueue(encoder.encode(text))
        const isFull = () => (controller.desiredSize ?? 0) <= 0
        const mayTake = pace ? createAllowance(pace) : () => true
        const sendLive = (row: TailRow) => {
          if (!matches(row)) return
          if (isFull() || !mayTake()) {
            missed++
            return
          }
          if (missed > 0) send(formatMissed(missed))
          missed = 0
          send(format(row))
        }
        // Listens before it reads, so that no row falls between the recent and the live ones.
        let early: TailRow[] | undefined = []
        const leave = follow
          ? workerClient.tail((row) => {
              if (!early) sendLive(row)
              else if (early.length < MAX_WAITING_TEXTS) early.push(row)
              else missed++
            })
          : () => {}
        const close = () => {
          stop()
          controller.close()
        }
        const stopHearing = workerClient.onRestart(() => workerClient.isWriter() || close())
        const onBeat = async ({ text, goesOn }: NonNullable<typeof heartbeat>) => {
          const mayGoOn = await goesOn().catch(() => true)
          if (isOver) return
          if (!mayGoOn) close()
          else if (!isFull()) send(text)
        }
        const beat = heartbeat && setInterval(() => void onBeat(heartbeat), heartbeat.ms).unref()
        stop = () => {
          stop = () => {}
          isOver = true
          leave()
          stopHearing()
          clearInterval(beat)
          signal?.removeEventListener('abort', close)
          onEnd?.()
        }
        signal?.addEventListener('abort', close)
        try {
          if (head !== undefined) send(head)
          const recent = await readRecent()
          for (const row of recent) send(format(row))
          const sent = new Set(recent.map(rowKey))
          const waiting = early.filter((row) => !sent.has(rowKey(row)))
          early = undefined
          for (const row of waiting) sendLive(row)
        } catch (error) {
          stop()
          throw error
        }
        if (!follow || signal?.aborted) close()
      },
      cancel() {
        stop()
      },
    },
    { highWaterMark: MAX_WAITING_TEXTS },
  )
}

/** Unknown values are left out of the JSON, never null. */
export const omitNull = (_: string, value: unknown): unknown => value ?? undefined

/** Two rows with the same key are the same row, read from the store and live. */
const rowKey = (row: Readonly<Record<string, unknown>>): string =>
  JSON.stringify([
    row.timestamp,
    row.visitor_id,
    row.ip_hash,
    row.user_agent,
    row.pathname,
    row.status,
    row.duration_ms,
  ])
