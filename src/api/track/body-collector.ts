import { createByteBuffer } from '../byte-buffer.js'

/** A track body, or the reason that it was not read: over the limit, compressed, or too many large bodies at once. */
export type TrackBody = Buffer | 'too_large' | 'encoded' | 'busy'

/** One payload has at most this size; a larger one is refused, and nothing of it is kept. */
export const MAX_PAYLOAD_BYTES = 64 * 1024

/** Bounds one body, and through a budget all large bodies that are in memory. */
export interface BodyLimits {
  readonly maxBytes: number
  /** Returns false if these bytes must not be kept now. */
  reserve(bytes: number): boolean
  release(bytes: number): void
}

/** A body of one payload is small enough to need no budget. */
export const ONE_PAYLOAD: BodyLimits = { maxBytes: MAX_PAYLOAD_BYTES, reserve: () => true, release() {} }

/**
 * Collects a body, whole or not at all. `length` and `encoding` are the request's headers. Compressed bodies are not read:
 * they could expand to any size. Call `release` when the body is no longer needed.
 */
export function createBodyCollector(
  length: string | null | undefined,
  encoding: string | null | undefined,
  { maxBytes, reserve, release } = ONE_PAYLOAD,
) {
  const encoded = !!encoding && encoding.trim().toLowerCase() !== 'identity'
  let buffer = createByteBuffer()
  let refused: 'too_large' | 'busy' | undefined = Number(length ?? 0) > maxBytes ? 'too_large' : undefined
  let reserved = 0
  const refuse = (reason: 'too_large' | 'busy') => {
    refused = reason
    buffer = createByteBuffer()
    release(reserved)
    reserved = 0
  }
  return {
    /** Returns false once the body is refused; later chunks are discarded. */
    add(chunk: Uint8Array): boolean {
      if (refused !== undefined) return false
      const size = buffer.size + chunk.length
      const more = size > MAX_PAYLOAD_BYTES ? size - reserved : 0
      if (size > maxBytes) refuse('too_large')
      else if (more > 0 && !reserve(more)) refuse('busy')
      else {
        reserved += more
        buffer.add(chunk)
      }
      return refused === undefined
    },
    body: (): TrackBody => refused ?? (encoded ? 'encoded' : buffer.bytes()),
    release(): void {
      release(reserved)
      reserved = 0
    },
  }
}
