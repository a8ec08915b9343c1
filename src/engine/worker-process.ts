import { type ChildProcess, fork } from 'node:child_process'
import type { FromWorker, ToWorker, WorkerOptions } from './protocol.js'

/** The worker's process, seen from the one that serves the site: however it dies, only it dies. */
export interface WorkerProcess {
  /** Throws where the message is no data. To a process that is dying it goes nowhere: `ended` says so soon. */
  post(message: ToWorker): void
  /** Ends it whatever it is doing: what it had committed is in the log. */
  kill(): void
  /** Why it ended, once there is nothing more to be heard of it. Never rejects. */
  readonly ended: Promise<string>
}

/**
 * Three of these are the heap of the young. A batch of rows lives until it is committed: with 4 MB each collection copied
 * most of one, a fifth of the worker's CPU; its default, 16 MB, takes 15 to 20 MB more, and hardly any CPU off.
 */
const SEMI_SPACE_MB = 8
/** What a dead process said last is read in this time; one that was killed and is not dead then is left to the system. */
const OUTPUT_DRAIN_MS = 1_000
/** A process that nobody can talk to ends itself well before. */
const DISCONNECTED_GRACE_MS = 10_000

/** Starts the worker's process. One that cannot be started has ended at once. */
export function startWorkerProcess(given: {
  entry: URL
  heap_mb: number
  options: WorkerOptions
  receive: (message: FromWorker) => void
}): WorkerProcess {
  const child = forkWorker(given.entry, given.heap_mb)
  if (child instanceof Error) {
    const ended = Promise.resolve(`the worker cannot be started: ${child.message}`)
    return { post() {}, kill() {}, ended }
  }
  const timers = new Set<NodeJS.Timeout>()
  let resolve = (_reason: string) => {}
  let done = false
  const ended = new Promise<string>((given) => {
    resolve = given
  })
  const over = (reason: string) => {
    done = true
    for (const timer of timers) clearTimeout(timer)
    child.off('message', given.receive)
    resolve(reason)
  }
  const after = (ms: number, run: () => void) => {
    if (!done) timers.add(setTimeout(run, ms))
  }
  const kill = () => {
    child.kill('SIGKILL')
    after(OUTPUT_DRAIN_MS, () => {
      over('the worker was killed')
      if (child.connected) child.disconnect()
      child.unref()
    })
  }

  // Behind the end there may be messages to read: `close` comes when both are done.
  child.on('close', (code, signal) => over(formatExitReason(code, signal)))
  child.on('exit', (code, signal) => after(OUTPUT_DRAIN_MS, () => over(formatExitReason(code, signal))))
  child.on('error', (error) => {
    if (child.pid === undefined) over(`the worker cannot be started: ${error.message}`)
  })
  child.on('disconnect', () => after(DISCONNECTED_GRACE_MS, kill))
  child.on('message', given.receive)
  // With a callback an error is no event: one that cannot be reached is one that ended.
  const post = (message: ToWorker | WorkerOptions) => {
    if (child.connected) child.send(message, () => {})
  }
  post(given.options)
  return { post, kill, ended }
}

/**
 * The environment is its own whole, `NODE_OPTIONS` too: what an operator says there of certificates and names is meant
 * for every request of ours. What stands in `execArgv` comes behind it and wins; the flags of this process (a port to
 * debug it on, a loader) are not handed on.
 */
function forkWorker(entry: URL, heap_mb: number): ChildProcess | Error {
  try {
    return fork(entry, {
      execArgv: [`--max-old-space-size=${heap_mb}`, `--max-semi-space-size=${SEMI_SPACE_MB}`, '--inspect-port=0'],
      serialization: 'advanced',
      // What an engine says when it crashes is the operator's to see.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

const formatExitReason = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal ? `the worker was ended by ${signal}` : `the worker ended with ${code ?? 'no code'}`
