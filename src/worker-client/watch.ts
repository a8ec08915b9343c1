import type { FromWorker, ToWorker } from './protocol.js'
import type { WorkerClientStatus } from './status.js'

/** Milliseconds between two beats. */
export const BEAT_MS = 2_000

/** A worker that has left a ping unanswered for so many beats is silent: found at most 8 s after its last response. */
const SILENT_BEATS = 3
/** A commit or a change of records that has not ended after so many beats hangs: on a busy machine one takes seconds. */
const STALLED_BEATS = 4

/** The worker as a beat finds it. */
export interface Pulse {
  isReady: boolean
  isSilent: boolean
}

/**
 * Finds a worker that does not respond and a store that does not finish its work, which no error reports: a stopped process,
 * a disk that hangs. Counts beats of this process and not time, because a machine that slept finds no answer overdue.
 */
export function createWatch(deps: {
  ping: (message: ToWorker) => void
  /** Names the oldest commit and change in work; the same value at two beats is not progress. */
  work: () => { commit: number | undefined; change: number | undefined }
  onBeat: (pulse: Pulse) => void
  log: { warn(details: object, message: string): void }
  beat_ms: number
}) {
  const { beat_ms, log } = deps
  let isReady = false
  let isAnswered = true
  let unanswered = 0
  let last: ReturnType<typeof deps.work> = { commit: undefined, change: undefined }
  const stalled = { commit: 0, change: 0 }
  let reported: string | undefined

  const isSilent = () => unanswered >= SILENT_BEATS
  const describe = (): string | undefined => {
    const seconds = (beats: number) => `${Math.floor((beats * beat_ms) / 1_000)} s`
    if (isSilent()) return `the worker's process has not responded for ${seconds(unanswered)}`
    if (stalled.commit >= STALLED_BEATS)
      return `the store has not finished a commit for ${seconds(stalled.commit)}; rows wait`
    if (stalled.change >= STALLED_BEATS)
      return `the store has not finished a change of the records for ${seconds(stalled.change)}`
    return undefined
  }
  const report = (): void => {
    const reason = describe()
    if ((reason === undefined) !== (reported === undefined))
      log.warn({ reason: reason ?? reported }, reason === undefined ? 'the store responds again' : 'the store hangs')
    reported = reason
  }
  const forget = (): void => {
    isAnswered = true
    unanswered = stalled.commit = stalled.change = 0
    report()
  }

  const timer = setInterval(() => {
    if (isReady && isAnswered) {
      isAnswered = false
      deps.ping({ type: 'ping' })
    } else if (isReady) unanswered += 1
    const work = deps.work()
    for (const kind of ['commit', 'change'] as const)
      stalled[kind] = isReady && work[kind] !== undefined && work[kind] === last[kind] ? stalled[kind] + 1 : 0
    last = work
    report()
    deps.onBeat({ isReady, isSilent: isSilent() })
  }, beat_ms).unref()

  return {
    isSilent,
    receive(message: FromWorker): void {
      if (message.type === 'ready') isReady = true
      if (message.type === 'committed') stalled.commit = 0
      if (message.type === 'pong') {
        isAnswered = true
        unanswered = 0
      }
      if (reported !== undefined) report()
    },
    /** The worker has ended. */
    ended(): void {
      isReady = false
      forget()
    },
    /** The state with what hangs. A worker that reports why it stores nothing knows better, while it responds. */
    judge<S extends Pick<WorkerClientStatus, 'state' | 'reason'>>(status: S): S {
      const reason = describe()
      if (reason === undefined || (status.state !== 'ready' && !isSilent())) return status
      return { ...status, state: 'degraded', reason }
    },
    stop: () => clearInterval(timer),
  }
}
