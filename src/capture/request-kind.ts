import { createPathMatcher } from './excluded-paths.js'

/** Files that programs ask for by convention. A site that answers them with HTML, such as an error page, shows no page. */
const CONVENTIONAL_FILE =
  /^\/(?:\.well-known\/.*|favicon[\w-]*\.(?:ico|png|svg|gif)|apple-touch-icon[\w-]*\.png|apple-app-site-association|(?:robots|ads|app-ads|humans|security|llms|llms-full)\.txt|sellers\.json|sitemap[\w.-]*\.(?:xml|xml\.gz|txt)|(?:browserconfig|crossdomain|clientaccesspolicy|opensearch)\.xml|manifest\.json|[\w-]+\.webmanifest|(?:sw|service-worker)\.js)$/

/** Returns whether programs ask for this path by convention. */
export const isConventionalFile = (pathname: string): boolean => CONVENTIONAL_FILE.test(pathname)

/** Names of files that a page loads: styles, scripts, pictures, fonts, sound and film. */
const ASSET =
  /\.(?:css|m?js|map|wasm|png|jpe?g|jfif|gif|svg|webp|avif|ico|bmp|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|og[agv]|wav|mov|vtt)$/i
/** Names of files that are read by themselves or by programs: documents, feeds, data, archives. */
const FILE =
  /\.(?:pdf|xml|rss|atom|rdf|json|jsonl|jsonld|ndjson|geojson|csv|tsv|txt|ya?ml|ics|vcf|kml|kmz|gpx|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|mobi|zip|gz|tgz|bz2|xz|zst|7z|rar|tar|jar|apk|dmg|pkg|exe|msi|deb|rpm|iso|bin|torrent|psd|ai|eps|tiff?|heic|flac|aac|avi|mkv|mpe?g|m3u8|swf|asc|sig|webmanifest)$/i
const HTML_NAME = /\.(?:x?html?|shtml)$/i
/** Names of pages and of programs that make pages; other names with a dot are files. */
const PAGE_NAME = /\.(?:x?html?|shtml|php\d?|aspx?|jspx?|cgi)$/i

/** `data` is a file by its place: a path without an extension below which a site has an interface for programs. */
export type PathKind = 'page' | 'asset' | 'file' | 'data'

/**
 * Paths of interfaces for programs, as servers and frameworks name them by default: their responses are data. A name with an
 * extension says more than its folder. `*` matches within a segment, `**` across segments.
 */
const DEFAULT_DATA_PATHS: readonly string[] = [
  '/api/**',
  '/_api/**',
  '/graphql',
  '/graphql/**',
  '/trpc/**',
  '/jsonapi/**',
  '/wp-json/**',
  '/socket.io/**',
  '/_next/**',
  '/_nuxt/**',
  '/_vercel/**',
  '/.netlify/**',
  '/cdn-cgi/**',
  '/_readership/**',
]

/** Returns whether a path is one of data; of a site's own patterns, or of the default ones. */
export type DataPaths = (pathname: string) => boolean
export const createDataPaths: (patterns: readonly string[]) => DataPaths = createPathMatcher
export const isDataPath: DataPaths = createDataPaths(DEFAULT_DATA_PATHS)

const lastSegment = (pathname: string): string => pathname.slice(pathname.lastIndexOf('/') + 1)

/** Returns what a path names. Most logs have no content types, so the name decides, as in other readers of logs. */
export function kindOfPath(pathname: string, isData = isDataPath): PathKind {
  const name = lastSegment(pathname)
  if (name.includes('.')) {
    if (ASSET.test(name)) return 'asset'
    if (!PAGE_NAME.test(name)) return 'file'
    return isConventionalFile(pathname) ? 'file' : 'page'
  }
  if (isConventionalFile(pathname)) return 'file'
  return isData(pathname) ? 'data' : 'page'
}

/** Returns what the extension of a path says; undefined without one, and for one that can be of anything (`.php`). */
export function kindOfExtension(pathname: string): PathKind | undefined {
  const name = lastSegment(pathname)
  if (!name.includes('.')) return undefined
  if (ASSET.test(name)) return 'asset'
  if (FILE.test(name)) return 'file'
  return HTML_NAME.test(name) ? 'page' : undefined
}

/** Returns whether a response delivered what was asked for: 2xx, or 304 for a copy that the client has. */
export const isDelivered = (status: number): boolean => (status >= 200 && status < 300) || status === 304
