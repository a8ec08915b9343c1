import { ApiError } from '../../base/errors.js'
import { isDamage } from './damage.js'

/** Turns an error of DuckDB into one for the client: what to do about it, and never DuckDB's words. */
export function toApiError(cause: unknown, message: string): ApiError {
  if (cause instanceof ApiError) return cause
  const known = isOutOfMemory(cause) ? OUT_OF_MEMORY_MESSAGE : isDamage(cause) ? DAMAGED_MESSAGE : message
  return new ApiError('database_error', known, undefined, { cause })
}

/** Runs `work`; what it throws becomes an `ApiError`, with `message` unless it is one already. */
export async function asApiError<T>(message: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw toApiError(cause, message)
  }
}

const OUT_OF_MEMORY_MESSAGE =
  'The query needs more memory than the store may use: ask for a shorter window or fewer values, or raise --memory-limit.'

const DAMAGED_MESSAGE =
  'Stored rows cannot be read, because the store is damaged: its log says what the operator can do.'

export const queryTimedOut = (ms: number): ApiError =>
  new ApiError(
    'database_error',
    `The query took longer than ${ms / 1_000} s: ask for a shorter window or fewer values.`,
  )

export const queueTimedOut = (ms: number): ApiError =>
  new ApiError('database_error', `No query slot became free within ${ms / 1_000} s: try again later.`)

/** After such an error the instance answers nothing any more. */
export const isFatal = (error: unknown): boolean => matches(error, /^FATAL Error|has been invalidated/)

/** An open read blocks the checkpoint, because it needs older versions of rows that were changed since. */
export const isCheckpointBlocked = (error: unknown): boolean => matches(error, /Cannot CHECKPOINT/)

/** The limit of memory, or of disk for spilled data. */
const isOutOfMemory = (error: unknown): boolean => matches(error, /^Out of Memory Error/)

const matches = (error: unknown, pattern: RegExp): boolean => error instanceof Error && pattern.test(error.message)
