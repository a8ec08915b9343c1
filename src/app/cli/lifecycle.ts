import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import type { Log } from '../../base/log.js'
import { Failure, type Terminal } from './terminal.js'

const ErrorWithCode = z.object({ code: z.string() })
const errorCode = (error: unknown): string => ErrorWithCode.safeParse(error).data?.code ?? ''

/** Creates one level at a time: `recursive` of Node 20 never returns if a directory reports ENOENT, as in /proc. */
function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** Creates the data directory, readable by this user only. Throws `Failure` if it cannot be created or written. */
export function makeDataDirectory(data: string): void {
  try {
    makeDirectory(resolve(data))
  } catch (error) {
    throw new Failure(`The data directory ${data} cannot be created (${errorCode(error)}); choose another with --data.`)
  }
  try {
    accessSync(data, constants.W_OK)
  } catch (error) {
    throw new Failure(`The data directory ${data} cannot be written (${errorCode(error)}); choose another with --data.`)
  }
}

/** Explains in one line why a listener did not start; the line names the address. */
export function listenFailure(error: unknown, host: string, port: number, flag: string): Failure {
  const code = errorCode(error)
  if (code === 'EADDRINUSE') return new Failure(`Port ${port} on ${host} is in use; choose another with ${flag}.`)
  if (code === 'EACCES') return new Failure(`This user may not listen on port ${port} of ${host}.`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return new Failure(`${host} is not an address of this machine.`)
  return new Failure(`Cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}`)
}

/** After more uncaught errors than this in a minute, the process ends. */
const MAX_UNCAUGHT_ERRORS_PER_MINUTE = 20

/**
 * Logs uncaught errors and keeps the process running: the website comes first, and the fault is probably in readership.
 * Too many errors end the process, so that a supervisor starts a new one.
 */
export function logUncaughtErrors(terminal: Pick<Terminal, 'onUncaughtError' | 'exit'>, log: Log): void {
  let recent: number[] = []
  terminal.onUncaughtError((error) => {
    const now = Date.now()
    recent = [...recent.filter((at) => now - at < 60_000), now]
    log.error({ err: error }, 'uncaught error')
    if (recent.length <= MAX_UNCAUGHT_ERRORS_PER_MINUTE) return
    log.error({}, `more than ${MAX_UNCAUGHT_ERRORS_PER_MINUTE} uncaught errors within a minute; exiting`)
    terminal.exit(1)
  })
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 }

/** Resolves at the first SIGTERM or SIGINT. A second signal ends the process at once. */
export function stopSignal(terminal: Terminal, log: Log): Promise<void> {
  return new Promise((resolve) => {
    let stopping = false
    for (const name of ['SIGTERM', 'SIGINT'] as const)
      terminal.onSignal(name, () => {
        if (stopping) terminal.exit(128 + SIGNAL_NUMBERS[name])
        stopping = true
        log.info({ signal: name }, 'stopping; a second signal stops at once')
        resolve()
      })
  })
}

/** Registers how a part is closed, under a name for the log. */
export type AddClose = (name: string, close: () => Promise<void>) => void

/** Closes parts in the reverse order of opening; if closing one fails, the others are still closed. */
export function createCloseStack(log: Log): { add: AddClose; close(): Promise<void> } {
  const opened: { name: string; close: () => Promise<void> }[] = []
  return {
    add(name, close) {
      opened.unshift({ name, close })
    },
    async close() {
      for (const { name, close } of opened.splice(0))
        await close().catch((error) => log.error({ err: error }, `${name} did not close`))
    },
  }
}
