/**
 * Paths that every agent may fetch: what a site tells agents, and what they find its pages by. A site that refuses them
 * cannot be obeyed.
 */
const ALWAYS = String.raw`/(?:robots\.txt|llms(?:-full)?\.txt|\.well-known(?:/.*)?)`
const IS_ALWAYS = new RegExp(`^${ALWAYS}$`, 's')
const SITEMAP_ENDING = /\.(?:xml|txt)(?:\.gz)?$/i

/** Returns whether rules let every fetch of a path pass; `sitemaps` are the paths that robots.txt names as such. */
export function isNeverRefused(pathname: string, sitemaps: ReadonlySet<string>): boolean {
  // An application may resolve such a path to another one.
  if (pathname.includes('/../')) return false
  if (IS_ALWAYS.test(pathname) || sitemaps.has(pathname)) return true
  return SITEMAP_ENDING.test(pathname) && pathname.slice(pathname.lastIndexOf('/')).toLowerCase().includes('sitemap')
}

/** Matches such a path in the configuration of another server; without the sitemaps that only robots.txt names. */
export const NEVER_REFUSED_PATTERN = `(?:${ALWAYS}|/(?:.*/)?[^/]*[Ss]itemap[^/]*\\.(?:xml|txt)(?:\\.gz)?)$`
