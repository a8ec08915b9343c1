import type { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { expectation } from '../base/expectation.js'

/** Writes a path of keys as error bodies do: `rows[3].name`. */
const formatFieldPath = (path: readonly PropertyKey[]): string =>
  path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`)).join('')

/** A `validation_error` for one field of a body or a query. */
export const validationError = (message: string, path: readonly PropertyKey[]): ApiError =>
  new ApiError('validation_error', message, formatFieldPath(path) || undefined)

/**
 * Returns `value` as `schema` outputs it. Throws `validation_error` for the first field that is wrong; `at` is prepended
 * to its path. A schema's own message wins; otherwise the message names the field and what was expected.
 */
export function validate<T extends z.ZodType>(schema: T, value: unknown, at: readonly PropertyKey[] = []): z.output<T> {
  // The empty message marks issues for which the schema has no message of its own.
  const result = schema.safeParse(value, { error: () => '' })
  if (result.success) return result.data
  const [issue] = result.error.issues
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const path = [...at, ...(issue?.path ?? []), ...unknown]
  const field = formatFieldPath(path)
  const message = issue?.message || `${field ? `\`${field}\`` : 'The body'} ${expectation(issue, value)}.`
  throw validationError(message, path)
}
