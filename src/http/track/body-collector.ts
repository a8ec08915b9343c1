import { createByteBuffer } from '../byte-buffer.js'

/** A track body, or the reason that it was not read: over the limit, or compressed. */
export type TrackBody = Buffer | 'too_large' | 'encoded'

/** A larger body is refused, and nothing of it is kept. */
const MAX_BODY_BYTES = 64 * 1024

/**
 * Collects a body, whole or not at all. `length` and `encoding` are the request's headers. Compressed bodies are not read:
 * they could expand to any size.
 */
export function createBodyCollector(length: string | null | undefined, encoding: string | null | undefined) {
  const encoded = !!encoding && encoding.trim().toLowerCase() !== 'identity'
  let buffer = Number(length ?? 0) > MAX_BODY_BYTES ? undefined : createByteBuffer()
  return {
    /** Returns false once the body is over the limit; later chunks are discarded. */
    add(chunk: Uint8Array): boolean {
      if (buffer !== undefined && buffer.size + chunk.length > MAX_BODY_BYTES) buffer = undefined
      buffer?.add(chunk)
      return buffer !== undefined
    },
    body: (): TrackBody => (buffer === undefined ? 'too_large' : encoded ? 'encoded' : buffer.bytes()),
  }
}
