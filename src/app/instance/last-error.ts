import type { Log } from '../../base/log.js'

export interface LoggedError {
  at: Date
  message: string
}

/** Wraps a log, so that `last` returns the last error that was written to it. */
export function rememberLastError(log: Log, now: () => Date): { log: Log; last(): LoggedError | undefined } {
  let last: LoggedError | undefined
  return {
    log: {
      debug: (details, message) => log.debug?.(details, message),
      info: (details, message) => log.info(details, message),
      warn: (details, message) => log.warn(details, message),
      error(details, message) {
        last = { at: now(), message: `${message}${reasonOf(details)}` }
        log.error(details, message)
      },
    },
    last: () => last,
  }
}

/** Returns the first line of the logged error or reason. */
function reasonOf(details: object): string {
  const cause: unknown = 'err' in details ? details.err : 'reason' in details ? details.reason : undefined
  const text = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : ''
  return text === '' ? '' : `: ${text.split('\n', 1)[0]}`
}
