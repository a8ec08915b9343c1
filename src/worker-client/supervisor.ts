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

/** The latest messages of one worker about itself. */
interface WorkerReport {
  usage?: WorkerUsage | undefined
  /** Why it cannot work. */
  failure?: { message: string; setting: boolean }
  /** Why it ends in good order, to be followed by one with another role. */
  handover?: string
  /** Why it stores no rows at present. */
  obstacle?: string | undefined
}

function noteMessage(report: WorkerReport, message: FromWorker): void {
  if (message.type === 'failed') report.failure = message
  if (message.type === 'role_changed') report.handover = message.reason
  if (message.type === 'usage') report.usage = message.usage
  // Also before it is ready: a worker that looks for the writer may have found none already.
  if (message.type === 'state') report.obstacle = message.reason
}

/** Starts the next worker after one has ended. */
function createRestarts(log: Log) {
  let restarts = 0
  let crashesInARow = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  return {
    count: () => restarts,
    noteEnd(uptime_ms: number): void {
      crashesInARow = uptime_ms > HEALTHY_UPTIME_MS ? 1 : crashesInARow + 1
    },
    /** Calls `launch` after a pause, or at once if the worker ended for a handover. Returns false after `stop`. */
    schedule(reason: string, handover: string | undefined, launch: () => void): boolean {
      if (stopped) return false
      if (handover === undefined) log.error({ reason }, 'the worker ended and is started again')
      else log.info({ reason: handover }, 'the worker is started again with another role')
      const start = () => {
        restarts += handover === undefined ? 1 : 0
        launch()
      }
      timer = setTimeout(start, handover === undefined ? restartDelay(crashesInARow) : 0)
      return true
    },
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** One worker process at a time, with its report. */
function createWorkerSlot({ fork, receive, log }: SupervisorDeps) {
  let worker: WorkerProcess | undefined
  let report: WorkerReport = {}
  return {
    report: () => report,
    post(message: ToWorker): void {
      if (!worker) throw storeReopening()
      worker.post(message)
    },
    postIfRunning: (message: ToWorker) => worker?.post(message),
    running: () => worker !== undefined,
    /** Forks a worker. `onReady` gets a function that reports whether that worker still runs. */
    launch(onReady: (isRunning: () => boolean) => void, onEnd: (end: WorkerEnd) => void): void {
      report = {}
      const launched = fork((message) => {
        noteMessage(report, message)
        if (message.type === 'state') {
          const { reason } = message
          log.warn({ reason }, reason ? 'rows are not stored and wait' : 'rows are stored again')
        }
        receive(message)
        if (message.type === 'ready') onReady(() => worker === launched)
      })
      worker = launched
      void launched.ended.then((end) => {
        worker = undefined
        report.usage = undefined
        onEnd(end)
      })
    },
    async close(timeout_ms: number): Promise<void> {
      worker?.post({ type: 'close' })
      // After the last commit only the log is left to be folded into the file, which the next start does too.
      const timer = setTimeout(() => worker?.kill(), timeout_ms)
      await worker?.ended
      clearTimeout(timer)
    },
  }
}

/** Keeps one worker process running: starts it, and starts the next one after a crash. */
export function createSupervisor(deps: SupervisorDeps) {
  const { report, post, postIfRunning, running, ...slot } = createWorkerSlot(deps)
  /** Undefined once a worker is ready: its state is what it reports then. */
  let phase: { state: 'starting' | 'degraded' | 'closed'; reason?: string } | undefined = { state: 'starting' }
  const restarts = createRestarts(deps.log)

  const serve = async (isRunning: () => boolean, onReady: () => void): Promise<void> => {
    try {
      await deps.prepare()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      report().failure ??= { message: `the records cannot be prepared: ${why}`, setting: false }
      if (isRunning()) post({ type: 'close' })
      return
    }
    if (!isRunning()) return
    phase = undefined
    deps.onReady()
    onReady()
  }
  const launch = (onReady: () => void, onEnd: (reason: string) => void): void => {
    const startedAt = performance.now()
    slot.launch(
      (isRunning) => void serve(isRunning, onReady),
      (end) => {
        deps.onEnd(end)
        restarts.noteEnd(performance.now() - startedAt)
        onEnd(report().failure?.message ?? end.reason)
      },
    )
  }
  const restart = (reason: string): void => {
    const { handover } = report()
    if (restarts.schedule(reason, handover, () => launch(deps.onRestart, restart)))
      phase = { state: 'degraded', reason: handover ?? reason }
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
            ready
              ? restart(reason)
              : reject(report().failure?.setting ? new UnusableSetting(reason) : new Error(reason)),
        )
      }),
    /** Sends a message. Throws `ApiError` if no worker runs, and `Error` if the message cannot be serialised. */
    post,
    /** Sends a message if a worker runs. */
    postIfRunning,
    running,
    status() {
      const { usage } = report()
      return { ...(phase ?? workingState(report())), restarts: restarts.count(), ...(usage && { worker: usage }) }
    },
    /** No worker is started after this call. */
    stopRestarting: restarts.stop,
    /** Asks the worker to close its files and kills it after `timeout_ms`; resolves when it has ended. */
    async close(timeout_ms: number): Promise<void> {
      await slot.close(timeout_ms)
      phase = { state: 'closed' }
    },
  }
}

const workingState = ({ obstacle }: WorkerReport) =>
  obstacle === undefined ? ({ state: 'ready' } as const) : ({ state: 'degraded', reason: obstacle } as const)

export const storeReopening = (): ApiError => new ApiError('database_error', 'The store is being opened again.')
