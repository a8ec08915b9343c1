/** Responses may be cached permanently where the name of a file has the hash of its content. */
export const CACHE_IMMUTABLE = 'public, max-age=31536000, immutable'

/** Whether an `If-None-Match` header contains an entity tag, by weak comparison (RFC 9110 8.8.3.2). */
export const matchesEtag = (header: string | null, etag: string): boolean =>
  (header ?? '').split(',').some((one) => one.trim() === '*' || `W/${one.trim().replace(/^W\//, '')}` === etag)

/** Whether an `Accept-Encoding` header names a coding with a weight above 0. No browser asks for one by `*`. */
export const acceptsEncoding = (header: string | null, encoding: string): boolean =>
  (header ?? '').split(',').some((one) => {
    const [coding = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    return coding === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
