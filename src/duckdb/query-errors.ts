import { ApiError } from '../errors.js'

/** What a client is told of an error of the engine: what it can do about it, and never the engine's words. */
export function toApiError(cause: unknown, otherwise: string): ApiError {
  if (cause instanceof ApiError) return cause
  return new ApiError('database_error', isOutOfMemory(cause) ? OUT_OF_MEMORY_MESSAGE : otherwise, undefined, { cause })
}

const OUT_OF_MEMORY_MESSAGE =
  'The query needs more memory than the store may use: ask for a shorter window or fewer values, or raise --memory-limit.'

export const queryCancelled = (): ApiError => new ApiError('database_error', 'The query was cancelled.')

export const queryTimedOut = (ms: number): ApiError =>
  new ApiError(
    'database_error',
    `The query took longer than ${ms / 1_000} s: ask for a shorter window or fewer values.`,
  )

export const queueTimedOut = (ms: number): ApiError =>
  new ApiError('database_error', `Other queries took all of ${ms / 1_000} s: try again when they are done.`)

/** DuckDB's own word for an error behind which the instance answers nothing any more. */
export const isFatal = (error: unknown): boolean => says(error, /^FATAL Error|has been invalidated/)

/** A checkpoint that a read still open keeps from passing: of rows that were changed since, it has the old ones. */
export const isCheckpointBlocked = (error: unknown): boolean => says(error, /Cannot CHECKPOINT/)

/** The memory limit, or that of what is spilled to disk. */
const isOutOfMemory = (error: unknown): boolean => says(error, /^Out of Memory Error/)

const says = (error: unknown, words: RegExp): boolean => error instanceof Error && words.test(error.message)
