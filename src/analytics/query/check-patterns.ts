import { ApiError } from '../../base/errors.js'
import { join, raw, sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'

/**
 * Throws `validation_error` on `field` if a pattern is not RE2. Only the engine knows, so it compiles the patterns in a
 * query of their own: its refusal is then no other failure.
 */
export async function checkPatterns(
  patterns: readonly string[],
  store: Pick<Store, 'query' | 'dialect'>,
  field = 'filters',
): Promise<void> {
  if (patterns.length === 0) return
  const tests = patterns.map((pattern) => store.dialect.matches(sql`${''}`, pattern))
  try {
    await store.query(sql`select ${join(tests, ', ')}`)
  } catch (cause) {
    // An error without a cause from the engine: it was busy, or the client has gone.
    if (cause instanceof ApiError && cause.cause === undefined) throw cause
    await store.query(raw('select 1'))
    throw new ApiError('validation_error', 'Not a valid RE2 pattern.', field, { cause })
  }
}
