/** What a door answers; there are only these, whatever became of the hit (spec 4.7 rule 1). */
export interface TrackResponse {
  readonly status: 200 | 204 | 403 | 413
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer> | null
}

/** Any page may send, and none with a credential; nothing on the way keeps an answer. */
const COMMON_HEADERS = {
  'access-control-allow-origin': '*',
  // A page that isolates itself would not get the image else.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/** One transparent point. */
const PIXEL_BYTES = Uint8Array.from(
  Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64'),
)

export const ACCEPTED: TrackResponse = { status: 204, headers: COMMON_HEADERS, body: null }
export const REFUSED: TrackResponse = { status: 403, headers: { ...COMMON_HEADERS, 'content-length': '0' }, body: null }
export const TOO_LARGE: TrackResponse = {
  status: 413,
  headers: { ...COMMON_HEADERS, 'content-length': '0' },
  body: null,
}
export const PIXEL: TrackResponse = {
  status: 200,
  headers: { ...COMMON_HEADERS, 'content-type': 'image/gif', 'content-length': String(PIXEL_BYTES.length) },
  body: PIXEL_BYTES,
}

/** To a browser that asks first, since what a page sends is none of the types that it may send unasked. */
const preflight = (methods: string): TrackResponse => ({
  status: 204,
  headers: {
    ...COMMON_HEADERS,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': 'Content-Type',
    // Some remember for a day, most for two hours.
    'access-control-max-age': '86400',
  },
  body: null,
})
export const PREFLIGHT_POST = preflight('POST')
export const PREFLIGHT_GET = preflight('GET, HEAD')
