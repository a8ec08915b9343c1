import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import type { Log } from '../instance/instance.js'
import { Failure, type Terminal } from './terminal.js'

const Fault = z.object({ code: z.string() })
const errorCode = (error: unknown): string => Fault.safeParse(error).data?.code ?? ''

/** One level after the other: `recursive` of Node 20 never returns where a directory says ENOENT, as those of /proc do. */
function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** Makes the data directory, for this user alone. Throws `Failure` naming it where it cannot be written. */
export function makeDataDirectory(data: string): void {
  try {
    makeDirectory(resolve(data))
  } catch (error) {
    throw new Failure(`The data directory ${data} cannot be made (${errorCode(error)}); choose another with --data.`)
  }
}

/** What a listener's failure to start means, in one line that names the address. */
export function listenFailure(error: unknown, host: string, port: number, flag: string): Failure {
  const code = errorCode(error)
  if (code === 'EADDRINUSE') return new Failure(`Port ${port} on ${host} is in use; choose another with ${flag}.`)
  if (code === 'EACCES') return new Failure(`Port ${port} on ${host} needs more rights than this user has.`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return new Failure(`${host} is no address of this machine.`)
  return new Failure(`Cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}`)
}

/** More uncaught errors than this in a minute, and the process is not one to keep. */
const MAX_UNCAUGHT_ERRORS_PER_MINUTE = 20

/**
 * Errors that nobody caught are logged, and the process goes on: the website comes first, and what is broken is more
 * likely to be ours than its. A storm of them ends it, so that a supervisor starts a fresh one.
 */
export function logUncaughtErrors(terminal: Terminal, log: Log): void {
  let recent: number[] = []
  terminal.onUncaughtError((error) => {
    const now = Date.now()
    recent = [...recent.filter((at) => now - at < 60_000), now]
    log.error({ err: error }, 'an error that nobody caught')
    if (recent.length <= MAX_UNCAUGHT_ERRORS_PER_MINUTE) return
    log.error({}, `more than ${MAX_UNCAUGHT_ERRORS_PER_MINUTE} such errors within a minute; giving up`)
    terminal.exit(1)
  })
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 }

/** Resolves at the first SIGTERM or SIGINT; the second ends the process at once. */
export function stopSignal(terminal: Terminal, log: Log): Promise<void> {
  return new Promise((resolve) => {
    let first = true
    for (const name of ['SIGTERM', 'SIGINT'] as const)
      terminal.onSignal(name, () => {
        if (!first) terminal.exit(128 + SIGNAL_NUMBERS[name])
        first = false
        log.info({ signal: name }, 'stopping; a second signal stops at once')
        resolve()
      })
  })
}

/** What has been opened, closed in the reverse order, each even when another fails. */
export function createCloseStack(log: Log) {
  const opened: { name: string; close: () => Promise<void> }[] = []
  return {
    add(name: string, close: () => Promise<void>) {
      opened.unshift({ name, close })
    },
    async close() {
      for (const { name, close } of opened.splice(0))
        await close().catch((error) => log.error({ err: error }, `${name} did not close`))
    },
  }
}
