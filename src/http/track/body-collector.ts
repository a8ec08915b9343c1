import { type ByteBuffer, createByteBuffer } from '../byte-buffer.js'
import type { TrackRequest } from './endpoints.js'

export type TrackBody = Extract<TrackRequest, { body: unknown }>['body']

/** Bytes of a body (spec 8); at one more it is refused, and no more of it is kept. */
export const MAX_BODY_BYTES = 64 * 1024

/** Collects a body, whole or not at all. */
export interface BodyCollector {
  /** False from the byte on that is one too many; what comes then is forgotten. */
  add(chunk: Uint8Array): boolean
  body(): TrackBody
}

/** `length` and `encoding` are the request's own words: a body that is compressed could be of any size once it is not. */
export function createBodyCollector(
  length: string | null | undefined,
  encoding: string | null | undefined,
): BodyCollector {
  const encoded = !!encoding && encoding.trim().toLowerCase() !== 'identity'
  let gathered: ByteBuffer | undefined = Number(length ?? 0) > MAX_BODY_BYTES ? undefined : createByteBuffer()
  return {
    add(chunk) {
      if (gathered !== undefined && gathered.size + chunk.length > MAX_BODY_BYTES) gathered = undefined
      gathered?.add(chunk)
      return gathered !== undefined
    },
    body: () => (gathered === undefined ? 'too_large' : encoded ? 'encoded' : gathered.bytes()),
  }
}
