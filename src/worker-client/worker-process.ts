import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FromWorker, ToWorker, WorkerOptions } from './protocol.js'

/** One process of the worker. However it dies, the site's process lives on. */
export interface WorkerProcess {
  /** Throws if the message cannot be serialised. A message to a dying process is lost; `ended` resolves soon after. */
  post(message: ToWorker): void
  /** Ends the process at once; what it committed is in the log. */
  kill(): void
  /** Resolves when the process has ended and its last messages are read. Never rejects. */
  readonly ended: Promise<WorkerEnd>
}

/** Why a worker ended, and whether of itself and not in order: neither by a signal of another process nor by its own will. */
export interface WorkerEnd {
  reason: string
  isCrash: boolean
}

/** Signals that a process gets for what it does itself. The kernel ends one with SIGKILL for what all do together. */
const CRASH_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set([
  ...(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGSYS', 'SIGTRAP'] as const),
])

/**
 * A third of the young generation. A batch of rows lives until it is committed: with 4 MB each collection copied most of
 * one, a fifth of the worker's CPU; Node's default, 16 MB, takes 15 to 20 MB more and saves hardly any CPU.
 */
const SEMI_SPACE_MB = 8
/** More arenas of glibc's allocator keep memory that the engine's threads have freed: 10 MB at rest. */
const MALLOC_ARENA_MAX = '2'
/** Gives the threads that run statements a low priority. */
const LOW_PRIORITY = new URL('../worker/low-priority.cjs', import.meta.url)
/** The last messages of a dead process are read for this long; a killed one that does not die is abandoned after it. */
const OUTPUT_DRAIN_MS = 1_000
/** A disconnected process ends itself well before this. */
const DISCONNECTED_GRACE_MS = 10_000

/** Forks the worker and sends `options` as the first message. If it cannot be forked, `ended` resolves at once. */
export function startWorkerProcess(deps: {
  entry: URL
  heap_mb: number
  options: WorkerOptions
  receive: (message: FromWorker) => void
}): WorkerProcess {
  const child = forkWorker(deps.entry, deps.heap_mb)
  if (child instanceof Error) {
    const ended = Promise.resolve({ reason: `the worker cannot be started: ${child.message}`, isCrash: false })
    return { post() {}, kill() {}, ended }
  }
  const timers = new Set<NodeJS.Timeout>()
  let resolve = (_: WorkerEnd) => {}
  let done = false
  const ended = new Promise<WorkerEnd>((resolveEnded) => {
    resolve = resolveEnded
  })
  const end = (reason: string, isCrash = false): void => {
    done = true
    for (const timer of timers) clearTimeout(timer)
    child.off('message', deps.receive)
    resolve({ reason, isCrash })
  }
  const runAfter = (ms: number, run: () => void): void => {
    if (!done) timers.add(setTimeout(run, ms))
  }
  const kill = (): void => {
    child.kill('SIGKILL')
    runAfter(OUTPUT_DRAIN_MS, () => {
      end('the worker was killed')
      if (child.connected) child.disconnect()
      child.unref()
    })
  }

  // Messages may still be unread when the process exits; `close` comes when both are done.
  const onExit = (code: number | null, signal: NodeJS.Signals | null) =>
    end(formatExitReason(code, signal), signal === null ? code !== 0 : CRASH_SIGNALS.has(signal))
  child.on('close', onExit)
  child.on('exit', (code, signal) => runAfter(OUTPUT_DRAIN_MS, () => onExit(code, signal)))
  child.on('error', (error) => {
    if (child.pid === undefined) end(`the worker cannot be started: ${error.message}`)
  })
  child.on('disconnect', () => runAfter(DISCONNECTED_GRACE_MS, kill))
  child.on('message', deps.receive)
  // With a callback, a failed send emits no `error` event: a process that cannot be reached has ended.
  const post = (message: ToWorker | WorkerOptions): void => {
    if (child.connected) child.send(message, () => {})
  }
  post(deps.options)
  return { post, kill, ended }
}

/**
 * Passes on the whole environment, with `NODE_OPTIONS`: what an operator sets there about certificates and DNS is meant
 * for all of our requests. `execArgv` comes after `NODE_OPTIONS` and wins. Flags of this process (a debugger's port, a
 * loader) are not passed on.
 */
function forkWorker(entry: URL, heap_mb: number): ChildProcess | Error {
  try {
    return fork(entry, {
      execArgv: [
        `--max-old-space-size=${heap_mb}`,
        `--max-semi-space-size=${SEMI_SPACE_MB}`,
        '--inspect-port=0',
        '--require',
        fileURLToPath(LOW_PRIORITY),
      ],
      serialization: 'advanced',
      env: { MALLOC_ARENA_MAX, ...process.env },
      // The operator sees what an engine prints when it crashes.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

const formatExitReason = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal ? `the worker was ended by ${signal}` : `the worker ended with ${code ?? 'no code'}`
