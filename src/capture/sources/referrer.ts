import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import { withoutWww } from '../site.js'

export interface Referrer {
  /** Without credentials, port, query and fragment. */
  url: string
  /** Lower case, without `www.`; the package name of an Android app. */
  host: string
  /** The path, for the few sites where it tells products apart. */
  path: string
  isApp: boolean
}

/** Hosts of the visitor's own machine, which is not a source. */
const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]', '0.0.0.0'])

/**
 * Parses a `Referer` header without `URL`, which would cost more. Returns undefined if it is not http(s) or an Android app, or
 * has no valid host.
 */
export function parseReferrer(header: string | undefined): Referrer | undefined {
  if (!header) return undefined
  const scheme = header.indexOf('://')
  if (scheme < 0) return undefined
  const protocol = header.slice(0, scheme).toLowerCase()
  const isApp = protocol === 'android-app'
  if (!isApp && protocol !== 'https' && protocol !== 'http') return undefined
  const end = authorityEnd(header, scheme + 3)
  const authority = header.slice(scheme + 3, end)
  const host = authority
    .slice(authority.lastIndexOf('@') + 1)
    .replace(/:\d*$/, '')
    .toLowerCase()
  if (
    host.length > MAX_CHARACTERS.hostname ||
    !/^(?:[a-z0-9_\u0080-\uffff-]+\.)*[a-z0-9_\u0080-\uffff-]+\.?$|^\[[0-9a-f:.]+\]$/.test(host)
  )
    return undefined
  const path = header.charAt(end) === '/' ? header.slice(end).replace(/[?#].*$/s, '') : '/'
  return {
    url: truncate(`${protocol}://${host}${path}`, MAX_CHARACTERS.referrer),
    host: isApp ? host : withoutWww(host.replace(/\.$/, '')),
    path,
    isApp,
  }
}

function authorityEnd(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const char = text[i]
    if (char === '/' || char === '?' || char === '#' || char === '\\') return i
  }
  return text.length
}

/** Returns whether a referrer is the site itself or the visitor's own machine, and so no arrival from elsewhere. */
export const isOwnReferrer = ({ host }: Referrer, hostname: string, domains: readonly string[]): boolean =>
  host === withoutWww(hostname) ||
  LOCAL_HOSTS.has(host) ||
  host.endsWith('.localhost') ||
  domains.some((domain) => withoutWww(domain) === host)
