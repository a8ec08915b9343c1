import { ApiError } from '../../errors.js'
import type { Room } from './room.js'

/** The body does not come in time, or at most its sender left: nobody reads the answer. */
const late = () => new ApiError('bad_request', 'The body did not come in time, or not whole.')

/**
 * The bytes of a body as sent. Throws `BodyTooLarge` beyond `limit`, `database_error` where `room` has none for it, and
 * `bad_request` where it is not whole within `patience` ms. What was taken of the room is the caller's to give back, and
 * given back where it throws.
 */
export async function readBody(
  request: Request,
  { limit, room, address, patience }: { limit: number; room: Room; address: string; patience: number },
): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw new BodyTooLarge()
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
      if (size + value.length > limit) throw new BodyTooLarge()
      if (!room.take(value.length, address))
        throw new ApiError('database_error', 'Too much waits to be stored; try again soon.')
      size += value.length
      chunks.push(value)
    }
    return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
  } catch (error) {
    room.give(size, address)
    reader.cancel().catch(() => {})
    throw error instanceof ApiError || error instanceof BodyTooLarge ? error : late()
  } finally {
    clearTimeout(timer)
  }
}

/** 413, which no code of its own stands for (contract 6). */
export class BodyTooLarge extends Error {}
