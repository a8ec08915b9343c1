import { createRecentCache } from '../base/cache.js'
import type { Observation } from './observation.js'
import {
  type DataPaths,
  isConventionalFile,
  isDataPath,
  isDelivered,
  kindOfExtension,
  kindOfPath,
  type PathKind,
} from './request-kind.js'
import { createTypeMemory, type TypeMemory } from './type-memory.js'

/** The parts of an exchange that say what its response was. */
export type Response = Pick<
  Observation,
  'method' | 'status' | 'hostname' | 'pathname' | 'query' | 'content_type' | 'headers'
>

/** The memories take 32 KB a site. */
const MAX_SITES = 1_024

/**
 * Creates the one function that decides what responses were, for everything that records, ships or imports. Give it each
 * response: a 304 has no type, so what it confirmed is what the same URL responded with before.
 */
export function createResponseReader(isData: DataPaths = isDataPath) {
  const memories = createRecentCache<number, TypeMemory>(MAX_SITES)
  const memoryOf = (site: number): TypeMemory => {
    let memory = memories.get(site)
    if (memory === undefined) {
      memory = createTypeMemory()
      memories.set(site, memory)
    }
    return memory
  }
  /** `untyped` says what a response without a type was, unless it is a 304. */
  const kindOf = (response: Response, site: number, untyped: (pathname: string) => PathKind): PathKind => {
    const { method, status, pathname } = response
    const type = mediaType(response.content_type)
    if (type !== null) {
      const kind = kindOfType(type, pathname)
      const isPage = kind === 'page'
      if (method === 'GET' && status >= 200 && status < 300) {
        const named = kindOfExtension(pathname)
        memoryOf(site).learn(response, isPage, named === undefined || (named === 'page') !== isPage)
      }
      return kind
    }
    if (status !== 304) return untyped(pathname)
    const wasPage = memoryOf(site).wasPage(response)
    return wasPage === undefined ? kindOfRequest(response, isData) : wasPage ? 'page' : 'file'
  }
  return {
    kindOf,
    /** Returns whether a response was a page: GET, 2xx or 304, HTML or XHTML, and no file such as `/favicon.ico`. */
    isPage: (response: Response, site = 0): boolean =>
      kindOf(response, site, isFile) === 'page' && response.method === 'GET' && isDelivered(response.status),
  }
}

const isFile = (): PathKind => 'file'

/** The parts of a line of an access log that say what its response was. */
interface LogLine {
  method: string
  target: string
  host?: string
  status: number
  contentType?: string
  requestHeaders?: Record<string, string>
}

/**
 * Creates the function that decides what the lines of a log are of. Give it each line. Most logs have no types: there, what
 * a path names decides.
 */
export function createLineReader(isData: DataPaths = isDataPath): (line: LogLine) => PathKind {
  const responses = createResponseReader(isData)
  const untyped = (pathname: string) => kindOfPath(pathname, isData)
  return ({ method, target, host = '', status, contentType = '', requestHeaders: headers }) => {
    const mark = target.indexOf('?')
    const pathname = mark < 0 ? target : target.slice(0, mark)
    const query = mark < 0 ? '' : target.slice(mark + 1)
    const response = { method, status, hostname: host, pathname, query, content_type: contentType }
    return responses.kindOf(headers === undefined ? response : { ...response, headers }, 0, untyped)
  }
}

/** Types of what a page loads. JSON and plain text are data. */
const ASSET_TYPE = /^(?:image|font|audio|video)\/|^(?:text\/css|(?:text|application)\/(?:x-)?(?:java|ecma)script)\b/

/** Returns whether a response is a part of a page that its browser loads, or confirms one that the browser has. */
export const isPagePart = ({ status, content_type }: Pick<Observation, 'status' | 'content_type'>): boolean =>
  status === 304 || ASSET_TYPE.test(content_type)

function kindOfType(type: string, pathname: string): PathKind {
  if (type === 'text/html' || type === 'application/xhtml+xml') return isConventionalFile(pathname) ? 'file' : 'page'
  return ASSET_TYPE.test(type) ? 'asset' : 'file'
}

/**
 * Returns what a 304 confirmed whose URL is not known: by its extension, else by `Sec-Fetch-Dest`, else by `Accept`, else
 * (agents accept anything) by its path.
 */
function kindOfRequest({ headers, pathname }: Response, isData: DataPaths): PathKind {
  if (isConventionalFile(pathname)) return 'file'
  const kind = kindOfExtension(pathname)
  if (kind !== undefined) return kind
  const destination = headers?.['sec-fetch-dest']
  if (destination) return destination === 'document' ? 'page' : 'file'
  const accept = headers?.accept
  if (accept?.includes('text/html')) return 'page'
  if (accept && !accept.includes('*/*')) return 'file'
  return kindOfPath(pathname, isData)
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
