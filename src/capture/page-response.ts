import type { Observation } from './observation.js'

/** Files that programs ask for by convention. A site that answers them with HTML, such as an error page, shows no page. */
const CONVENTIONAL_FILE =
  /^\/(?:\.well-known\/.*|favicon[\w-]*\.(?:ico|png|svg|gif)|apple-touch-icon[\w-]*\.png|apple-app-site-association|(?:robots|ads|app-ads|humans|security|llms|llms-full)\.txt|sellers\.json|sitemap[\w.-]*\.(?:xml|xml\.gz|txt)|(?:browserconfig|crossdomain|clientaccesspolicy|opensearch)\.xml|manifest\.json|[\w-]+\.webmanifest|(?:sw|service-worker)\.js)$/

/** Returns whether programs ask for this path by convention. */
export const isConventionalFile = (pathname: string): boolean => CONVENTIONAL_FILE.test(pathname)

const PAGE_EXTENSION = /\.(?:html?|xhtml|php|aspx?|jsp)$/

/**
 * Returns whether a response was a page: GET, 2xx or 304, HTML or XHTML, and no file such as `/favicon.ico`. A 304
 * without a type was a page if the request asked for a document: by `Sec-Fetch-Dest`, else by `Accept`, else (agents
 * accept anything) by its path.
 */
export function isPage(observation: Observation): boolean {
  const { method, status } = observation
  if (method !== 'GET' || !((status >= 200 && status < 300) || status === 304)) return false
  if (isConventionalFile(observation.pathname)) return false
  const type = mediaType(observation.content_type)
  if (type !== null) return type === 'text/html' || type === 'application/xhtml+xml'
  return status === 304 && requestsPage(observation)
}

function requestsPage({ headers, pathname }: Observation): boolean {
  const destination = headers?.['sec-fetch-dest']
  if (destination) return destination === 'document'
  const accept = headers?.accept
  if (accept?.includes('text/html')) return true
  if (accept && !accept.includes('*/*')) return false
  const segment = pathname.slice(pathname.lastIndexOf('/') + 1).toLowerCase()
  return !segment.includes('.') || PAGE_EXTENSION.test(segment)
}

/** Returns `type/subtype` in lower case without parameters (RFC 9110 8.3.1); null without a type. */
export function mediaType(contentType: string): string | null {
  const end = contentType.indexOf(';')
  const type = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
  return type === '' ? null : type
}

/** Returns whether the browser showed the response in a window or tab: not in a frame, for a script or as an embedded object. */
export function isNavigation({ headers }: Observation): boolean {
  const destination = headers?.['sec-fetch-dest']
  return !destination || destination === 'document'
}

/** Returns whether the browser fetched or rendered the page ahead of time, before the visitor opened it (if ever). */
export function isPrefetch({ headers }: Observation): boolean {
  if (headers === undefined) return false
  const purpose = headers['sec-purpose'] ?? headers.purpose ?? headers['x-moz']
  return purpose !== undefined && /prefetch|prerender|preview/i.test(purpose)
}
