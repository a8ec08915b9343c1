/**
 * Paths that every agent may fetch: what a site tells agents, and what they find its pages by. A site that refuses them
 * cannot be obeyed.
 */
const ALWAYS = /^\/(?:robots\.txt|llms(?:-full)?\.txt|\.well-known(?:\/.*)?)$/s
const SITEMAP = /^\/(?:[^/]*\/)*[^/]*sitemap[^/]*\.(?:xml|txt)(?:\.gz)?$/i

/** Returns whether rules let every fetch of a path pass; `sitemaps` are the paths that robots.txt names as such. */
export const isNeverRefused = (pathname: string, sitemaps: ReadonlySet<string>): boolean =>
  ALWAYS.test(pathname) || SITEMAP.test(pathname) || sitemaps.has(pathname)
