import type { Delivery } from './doors.js'

export type Body = Extract<Delivery, { body: unknown }>['body']

/** Bytes of a body (spec 8); at one more it is refused, and no more of it is kept. */
export const MAX_BODY = 64 * 1024

/** Collects a body, whole or not at all. */
export interface Collector {
  /** False from the byte on that is one too many; what comes then is forgotten. */
  add(chunk: Uint8Array): boolean
  body(): Body
}

/** `length` and `encoding` are the request's own words: a body that is compressed could be of any size once it is not. */
export function collect(length: string | null | undefined, encoding: string | null | undefined): Collector {
  const encoded = !!encoding && encoding.trim().toLowerCase() !== 'identity'
  let chunks: Uint8Array[] = []
  let size = Number(length ?? 0) > MAX_BODY ? Number.POSITIVE_INFINITY : 0
  return {
    add(chunk) {
      size += chunk.length
      if (size <= MAX_BODY) chunks.push(chunk)
      else chunks = []
      return size <= MAX_BODY
    },
    body: () => (size > MAX_BODY ? 'too_large' : encoded ? 'encoded' : Buffer.concat(chunks)),
  }
}
