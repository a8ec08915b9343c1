import { ApiError } from '../../errors.js'
import type { Room } from './room.js'

/** A body that is not read to its end, by the status that no code of its own stands for (contract 6). */
export class BodyFault extends Error {
  constructor(
    readonly status: 408 | 413,
    message: string,
  ) {
    super(message)
  }
}

const tooLarge = () => new BodyFault(413, 'The body is larger than 2 MB.')
const late = () => new BodyFault(408, 'The body did not come in time, or not whole.')

/** Spec 8. */
const MOST_BYTES = 2 * 1024 * 1024

/**
 * The bytes of a body as sent. Throws `BodyFault` beyond 2 MB and where it is not whole within `patience` ms,
 * and `database_error` where `room` has none for it. What was taken of the room is the caller's to give back, and
 * given back where it throws.
 */
export async function readBody(
  request: Request,
  { room, address, patience }: { room: Room; address: string; patience: number },
): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > MOST_BYTES) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), patience)
  })
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), over])
      if (done) break
      if (size + value.length > MOST_BYTES) throw tooLarge()
      if (!room.take(value.length, address))
        throw new ApiError('database_error', 'Too much waits to be stored; try again soon.')
      size += value.length
      chunks.push(value)
    }
    return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
  } catch (error) {
    room.give(size, address)
    reader.cancel().catch(() => {})
    throw error instanceof ApiError || error instanceof BodyFault ? error : late()
  } finally {
    clearTimeout(timer)
  }
}
