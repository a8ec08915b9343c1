import type { DropReason } from '../../storage/drops.js'

/** A response of a track endpoint. There are only these, so that a response does not tell why a hit was dropped. */
export interface TrackResponse {
  readonly status: 200 | 204 | 403 | 413 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer> | null
}

/** Pages of any origin may send, without credentials. */
const COMMON_HEADERS = {
  'access-control-allow-origin': '*',
  // Cross-origin isolated pages need it to load the image.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}
const EMPTY_BODY_HEADERS = { ...COMMON_HEADERS, 'content-length': '0' }

/** A transparent GIF of one pixel. */
const PIXEL_BYTES = Uint8Array.from(
  Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64'),
)

export const ACCEPTED: TrackResponse = { status: 204, headers: COMMON_HEADERS, body: null }
export const REFUSED: TrackResponse = { status: 403, headers: EMPTY_BODY_HEADERS, body: null }
export const TOO_LARGE: TrackResponse = { status: 413, headers: EMPTY_BODY_HEADERS, body: null }
/** Too many large batches at once; the sender may send this one again, or in smaller parts. */
export const BUSY: TrackResponse = { status: 503, headers: { ...EMPTY_BODY_HEADERS, 'retry-after': '1' }, body: null }
export const PIXEL: TrackResponse = {
  status: 200,
  headers: { ...COMMON_HEADERS, 'content-type': 'image/gif', 'content-length': String(PIXEL_BYTES.length) },
  body: PIXEL_BYTES,
}

/** Browsers send a preflight, because JSON is not a type that a page may send without asking. */
const preflight = (methods: string): TrackResponse => ({
  status: 204,
  headers: {
    ...COMMON_HEADERS,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': 'Content-Type',
    // Browsers cap the value at between two hours and a day.
    'access-control-max-age': '86400',
  },
  body: null,
})
export const PREFLIGHT_POST = preflight('POST')
export const PREFLIGHT_GET = preflight('GET, HEAD')

/** A payload of a batch that was refused for a reason of its own. */
export interface Refusal {
  /** Its place in the batch, from 0. */
  readonly index: number
  readonly reason: DropReason
}

const REFUSED_HEADER = 'readership-refused'

/** Names the refused payloads of a batch in a header, `3=malformed, 7=too_large`: a 204 has no body. 200 of them take 4 KB. */
export function withRefusals(response: TrackResponse, refusals: readonly Refusal[]): TrackResponse {
  if (refusals.length === 0) return response
  const named = refusals.map(({ index, reason }) => `${index}=${reason}`)
  return {
    ...response,
    headers: {
      ...response.headers,
      'access-control-expose-headers': REFUSED_HEADER,
      [REFUSED_HEADER]: named.join(', '),
    },
  }
}
