import { ApiError } from '../../errors.js'
import { createByteBuffer } from '../byte-buffer.js'
import type { ByteBudget } from './byte-budget.js'

/** A body that is not read to its end, by the status that no code of its own stands for (contract 6). */
export class BodyError extends Error {
  constructor(
    readonly status: 408 | 413,
    message: string,
  ) {
    super(message)
  }
}

const tooLarge = () => new BodyError(413, 'The body is larger than 2 MB.')
const incomplete = () => new BodyError(408, 'The body did not come in time, or not whole.')

/** Spec 8. */
const MAX_BODY_BYTES = 2 * 1024 * 1024

/**
 * The bytes of a body as sent. Throws `BodyFault` beyond 2 MB and where it is not whole within `patience` ms,
 * and `database_error` where `room` has none for it. What was taken of the room is the caller's to give back, and
 * given back where it throws.
 */
export async function readBody(
  request: Request,
  { room, address, patience }: { room: ByteBudget; address: string; patience: number },
): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const gathered = createByteBuffer()
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  let over = false
  // No race with a promise, which would keep what each of a million small reads waited with.
  const timer = setTimeout(() => {
    over = true
    reader.cancel().catch(() => {})
  }, patience)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (over) throw incomplete()
      if (done) break
      if (gathered.size + value.length > MAX_BODY_BYTES) throw tooLarge()
      if (!room.reserve(value.length, address))
        throw new ApiError('database_error', 'Too much waits to be stored; try again soon.')
      gathered.add(value)
    }
    return gathered.bytes()
  } catch (error) {
    room.release(gathered.size, address)
    reader.cancel().catch(() => {})
    throw error instanceof ApiError || error instanceof BodyError ? error : incomplete()
  } finally {
    clearTimeout(timer)
  }
}
