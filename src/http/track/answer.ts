/** What a door answers; there are only these, whatever became of the hit (spec 4.7 rule 1). */
export interface Answer {
  readonly status: 200 | 204 | 403 | 413
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer> | null
}

/** Any page may send, and none with a credential; nothing on the way keeps an answer. */
const OPEN = {
  'access-control-allow-origin': '*',
  // A page that isolates itself would not get the image else.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/** One transparent point. */
const POINT = Uint8Array.from(Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64'))

export const ACCEPTED: Answer = { status: 204, headers: OPEN, body: null }
export const REFUSED: Answer = { status: 403, headers: { ...OPEN, 'content-length': '0' }, body: null }
export const TOO_LARGE: Answer = { status: 413, headers: { ...OPEN, 'content-length': '0' }, body: null }
export const GIF: Answer = {
  status: 200,
  headers: { ...OPEN, 'content-type': 'image/gif', 'content-length': String(POINT.length) },
  body: POINT,
}

/** To a browser that asks first, since what a page sends is none of the types that it may send unasked. */
const preflight = (methods: string): Answer => ({
  status: 204,
  headers: {
    ...OPEN,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': 'Content-Type',
    // Some remember for a day, most for two hours.
    'access-control-max-age': '86400',
  },
  body: null,
})
export const MAY_POST = preflight('POST')
export const MAY_GET = preflight('GET, HEAD')
