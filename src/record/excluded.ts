import { askedPath } from './route.js'
import type { Site } from './site.js'

const compiled = new WeakMap<Site, readonly RegExp[]>()

/**
 * Whether a site asked not to record views of a path: its patterns are whole paths with `*` and `**`. Of a route the whole
 * may be excluded, and the path that all routes are of.
 */
export function isExcluded(site: Site, pathname: string): boolean {
  if (site.excluded_paths.length === 0) return false
  let patterns = compiled.get(site)
  if (patterns === undefined) {
    patterns = site.excluded_paths.map(pattern)
    compiled.set(site, patterns)
  }
  const asked = askedPath(pathname)
  return patterns.some((one) => one.test(pathname) || (asked !== pathname && one.test(asked)))
}

function pattern(wildcard: string): RegExp {
  const parts = wildcard.split(/(\*+)/).map((part) => {
    if (part === '*') return '[^/]*'
    return part.startsWith('**') ? '.*' : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('')}$`, 's')
}
