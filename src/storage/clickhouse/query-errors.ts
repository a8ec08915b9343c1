import { z } from 'zod'
import { ApiError, StoreOpenError } from '../../base/errors.js'
import { queryCancelled } from '../store.js'
import { type ClickHouseAddress, ClickHouseOpenError } from './client.js'
import type { QueryLimits } from './settings.js'

/** A server's error has its code as text, `241`; an error of the network has a word, `ECONNREFUSED`. */
const Coded = z.object({ code: z.string() })
const codeOf = (cause: unknown): string | undefined => Coded.safeParse(cause).data?.code

/** Whether the request may not have arrived, or its response was lost: the server itself said nothing. */
export const isNetworkError = (cause: unknown): boolean => !/^\d+$/.test(codeOf(cause) ?? '')

const BEHIND = new Set(['286', '289', '319'])
/**
 * Whether replicas of a cluster need a moment more: this one does not have the last insert yet (289), or most of them do not
 * (286; 319 of the insert itself).
 */
export const isReplicaBehind = (cause: unknown): boolean => BEHIND.has(codeOf(cause) ?? '')

/** Turns a failure into an error for the client: what to do about it, and never ClickHouse's words. */
export function toApiError(cause: unknown, { timeout_ms }: QueryLimits, signal?: AbortSignal): ApiError {
  if (cause instanceof ApiError) return cause
  if (signal?.aborted) return queryCancelled()
  return new ApiError(
    'database_error',
    MESSAGES[codeOf(cause) ?? '']?.(timeout_ms / 1_000) ?? 'The query failed.',
    undefined,
    {
      cause,
    },
  )
}

const MESSAGES: Readonly<Record<string, (seconds: number) => string>> = {
  159: (seconds) => `The query took longer than ${seconds} s: ask for a shorter window or fewer values.`,
  241: () => 'The query needs more memory than one may use: ask for a shorter window or fewer values.',
}

/** The error of a server that does not let the store be opened, by what the operator can do. */
export function toOpenError(cause: unknown, { url, username, database }: ClickHouseAddress): Error {
  if (cause instanceof ClickHouseOpenError || cause instanceof StoreOpenError) return cause
  const code = codeOf(cause) ?? ''
  const said =
    REFUSALS[code] ?? (/^\d+$/.test(code) ? `it refused a statement (code ${code})` : `no connection (${code})`)
  return new ClickHouseOpenError(`ClickHouse at ${url}, database ${database}, user ${username}: ${said}.`, { cause })
}

const REFUSALS: Readonly<Record<string, string>> = {
  81: 'the database does not exist; create it first',
  497: 'the user may not create or read the tables; grant select, insert, alter, create table and drop table on the database',
  516: 'the user or the password is wrong',
}
