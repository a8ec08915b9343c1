import type { Delivery } from './doors.js'

export type Body = Extract<Delivery, { body: unknown }>['body']

/** Bytes of a body (spec 8); at one more it is refused, and no more of it is kept. */
export const MAX_BODY = 64 * 1024

/**
 * Why a body is not even begun to be read, as its headers say: it says that it is too large, or it is compressed, and
 * could be of any size once it is not (issue 5).
 */
export function unread(encoding: string | null | undefined, length: string | null | undefined): Body | undefined {
  if (encoding && encoding.trim().toLowerCase() !== 'identity') return 'encoded'
  return Number(length ?? 0) > MAX_BODY ? 'too_large' : undefined
}
