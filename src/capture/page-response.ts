import type { Observation } from './observation.js'

const PAGE_EXTENSION = /\.(?:html?|xhtml|php|aspx?|jsp)$/

/**
 * Whether a response was a page (contract 3 and 4): GET, 2xx or 304, HTML or XHTML. A 304 without a type was one if the
 * request asked for a document: by `Sec-Fetch-Dest`, else by `Accept`, else (agents take anything) by its path.
 */
export function isPage(seen: Observation): boolean {
  if (seen.method !== 'GET' || !(isSuccess(seen.status) || seen.status === 304)) return false
  const type = mediaType(seen.content_type)
  if (type !== null) return type === 'text/html' || type === 'application/xhtml+xml'
  return seen.status === 304 && requestsPage(seen)
}

const isSuccess = (status: number) => status >= 200 && status < 300

function requestsPage({ headers, pathname }: Observation): boolean {
  const destination = headers?.['sec-fetch-dest']
  if (destination) return destination === 'document'
  const accept = headers?.accept
  if (accept?.includes('text/html')) return true
  if (accept && !accept.includes('*/*')) return false
  const segment = pathname.slice(pathname.lastIndexOf('/') + 1).toLowerCase()
  return !segment.includes('.') || PAGE_EXTENSION.test(segment)
}

/** `type/subtype` in lower case without parameters (RFC 9110 8.3.1), null when there is none. */
export function mediaType(contentType: string): string | null {
  const end = contentType.indexOf(';')
  const type = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
  return type === '' ? null : type
}

/** Whether a browser put the response into a window or tab: not a frame, a script's fetch or an embedded object. */
export function isNavigation({ headers }: Observation): boolean {
  const destination = headers?.['sec-fetch-dest']
  return !destination || destination === 'document'
}

/** Fetched or rendered ahead of time, perhaps for nobody. */
export function isPrefetch({ headers }: Observation): boolean {
  if (headers === undefined) return false
  const purpose = headers['sec-purpose'] ?? headers.purpose ?? headers['x-moz']
  return purpose !== undefined && /prefetch|prerender|preview/i.test(purpose)
}
