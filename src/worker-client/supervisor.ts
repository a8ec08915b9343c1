import { ApiError, UnusableSetting } from '../base/errors.js'
import type { Log } from '../base/log.js'
import type { FromWorker, ToWorker, WorkerUsage } from './protocol.js'
import { HEALTHY_UPTIME_MS, restartDelay } from './restart-delay.js'
import type { WorkerEnd, WorkerProcess } from './worker-process.js'

interface SupervisorDeps {
  /** Forks a worker, which sends its messages to `receive`. */
  fork: (receive: (message: FromWorker) => void) => WorkerProcess
  /** Takes every message of a worker. */
  receive: (message: FromWorker) => void
  /** Runs once a worker has opened its files and before it gets batches; a rejection ends that worker. */
  prepare: () => Promise<void>
  /** A worker takes batches from now on. */
  onReady: () => void
  /** The worker has ended; it will answer nothing more. */
  onEnd: (end: WorkerEnd) => void
  /** A worker that follows a crashed one is ready. */
  onRestart: () => void
  log: Log
}

/**
 * Keeps one worker process running: starts it, and starts the next one after a crash. Long because its functions share the
 * state of one process.
 */
export function createSupervisor(deps: SupervisorDeps) {
  let worker: WorkerProcess | undefined
  let state: { state: 'starting' | 'ready' | 'degraded' | 'closed'; reason?: string } = { state: 'starting' }
  let usage: WorkerUsage | undefined
  /** Why the current worker says that it cannot work. */
  let failure: { message: string; setting: boolean } | undefined
  /** Why the worker ends in good order, to be followed by one with another role. */
  let handover: string | undefined
  /** Why the current worker stores no rows at present. */
  let obstacle: string | undefined
  let isReady = false
  let restarts = 0
  let crashesInARow = 0
  let restartTimer: NodeJS.Timeout | undefined
  let stopped = false

  const post = (message: ToWorker): void => {
    if (!worker) throw storeReopening()
    worker.post(message)
  }

  const workingState = (): typeof state =>
    obstacle === undefined ? { state: 'ready' } : { state: 'degraded', reason: obstacle }

  const receive = (message: FromWorker): void => {
    if (message.type === 'failed') failure = message
    if (message.type === 'role_changed') handover = message.reason
    if (message.type === 'usage') usage = message.usage
    if (message.type === 'state') {
      obstacle = message.reason
      // Until it is ready, a worker that looks for the writer may have found none already.
      if (isReady) state = workingState()
      deps.log.warn(
        { reason: message.reason },
        message.reason ? 'rows are not stored and wait' : 'rows are stored again',
      )
    }
    deps.receive(message)
  }

  const launch = (onReady: () => void, onEnd: (reason: string) => void): void => {
    const startedAt = performance.now()
    failure = undefined
    handover = undefined
    obstacle = undefined
    isReady = false
    const launched = deps.fork((message) => {
      receive(message)
      if (message.type === 'ready') void serve()
    })
    worker = launched
    const serve = async (): Promise<void> => {
      try {
        await deps.prepare()
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        failure ??= { message: `the records cannot be prepared: ${why}`, setting: false }
        if (worker === launched) post({ type: 'close' })
        return
      }
      if (worker !== launched) return
      isReady = true
      state = workingState()
      deps.onReady()
      onReady()
    }
    void launched.ended.then((end) => {
      worker = undefined
      usage = undefined
      deps.onEnd(end)
      crashesInARow = performance.now() - startedAt > HEALTHY_UPTIME_MS ? 1 : crashesInARow + 1
      onEnd(failure?.message ?? end.reason)
    })
  }

  const restart = (reason: string): void => {
    if (stopped) return
    if (handover === undefined) deps.log.error({ reason }, 'the worker ended and is started again')
    else deps.log.info({ reason: handover }, 'the worker is started again with another role')
    state = { state: 'degraded', reason: handover ?? reason }
    const delay = handover === undefined ? restartDelay(crashesInARow) : 0
    restartTimer = setTimeout(() => {
      restarts += handover === undefined ? 1 : 0
      launch(deps.onRestart, restart)
    }, delay)
  }

  return {
    /** Resolves when the first worker is ready; rejects with the reason, or `UnusableSetting`, if it ends before. */
    start: () =>
      new Promise<void>((resolve, reject) => {
        let ready = false
        launch(
          () => {
            ready = true
            resolve()
          },
          (reason) =>
            ready ? restart(reason) : reject(failure?.setting ? new UnusableSetting(reason) : new Error(reason)),
        )
      }),
    /** Sends a message. Throws `ApiError` if no worker runs, and `Error` if the message cannot be serialised. */
    post,
    /** Sends a message if a worker runs. */
    postIfRunning: (message: ToWorker) => worker?.post(message),
    running: () => worker !== undefined,
    status: () => ({ ...state, restarts, ...(usage && { worker: usage }) }),
    /** No worker is started after this call. */
    stopRestarting(): void {
      stopped = true
      clearTimeout(restartTimer)
    },
    /** Asks the worker to close its files and kills it after `timeout_ms`; resolves when it has ended. */
    async close(timeout_ms: number): Promise<void> {
      worker?.post({ type: 'close' })
      // After the last commit only the log is left to be folded into the file, which the next start does too.
      const timer = setTimeout(() => worker?.kill(), timeout_ms)
      await worker?.ended
      clearTimeout(timer)
      state = { state: 'closed' }
    },
  }
}

export const storeReopening = (): ApiError => new ApiError('database_error', 'The store is being opened again.')
