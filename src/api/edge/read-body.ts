import { ApiError } from '../../base/errors.js'
import type { ByteBudget } from '../byte-budget.js'
import { createByteBuffer } from '../byte-buffer.js'

/** A body that was not read to its end; its status is 408 or 413 with the code `bad_request`. */
export class BodyError extends Error {
  constructor(
    readonly status: 408 | 413,
    message: string,
  ) {
    super(message)
  }
}

const tooLarge = () => new BodyError(413, 'The body is larger than 2 MB.')
const incomplete = () => new BodyError(408, 'The body was incomplete, or took longer than 30 seconds.')

const MAX_BODY_BYTES = 2 * 1024 * 1024

/**
 * Reads the bytes of a body as sent. Throws `BodyError` beyond 2 MB and if the body is not complete within `timeoutMs`,
 * and `database_error` if `budget` is used up. The caller releases the bytes from the budget; after an error they are
 * released already.
 */
export async function readBody(
  request: Request,
  { budget, address, timeoutMs }: { budget: ByteBudget; address: string; timeoutMs: number },
): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const buffer = createByteBuffer()
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  let timedOut = false
  // A timer rather than a race of promises, which would keep what each of a million small reads waited with.
  const timer = setTimeout(() => {
    timedOut = true
    reader.cancel().catch(() => {})
  }, timeoutMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (timedOut) throw incomplete()
      if (done) break
      if (buffer.size + value.length > MAX_BODY_BYTES) throw tooLarge()
      if (!budget.reserve(value.length, address))
        throw new ApiError('database_error', 'Too many rows wait to be stored; try again soon.')
      buffer.add(value)
    }
    return buffer.bytes()
  } catch (error) {
    budget.release(buffer.size, address)
    reader.cancel().catch(() => {})
    throw error instanceof ApiError || error instanceof BodyError ? error : incomplete()
  } finally {
    clearTimeout(timer)
  }
}
