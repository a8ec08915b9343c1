import { isConventionalFile, isPage } from './page-response.js'

/** Names of files that a page loads: styles, scripts, pictures, fonts, sound and film. */
const ASSET =
  /\.(?:css|m?js|map|wasm|png|jpe?g|jfif|gif|svg|webp|avif|ico|bmp|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|og[agv]|wav|mov|vtt)$/i
/** Names of pages that servers run or deliver; other names with a dot are files. */
const PAGE_NAME = /\.(?:html?|xhtml|php\d?|aspx?|jspx?|cgi)$/i

export type PathKind = 'page' | 'asset' | 'file'

/** Returns what a path names. Most logs have no content types, so the name decides, as in other readers of logs. */
export function kindOfPath(pathname: string): PathKind {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  if (name.includes('.')) {
    if (ASSET.test(name)) return 'asset'
    if (!PAGE_NAME.test(name)) return 'file'
  }
  return isConventionalFile(pathname) ? 'file' : 'page'
}

/** Types of what a page loads. JSON and plain text are data. */
const ASSET_TYPE = /^(?:image|font|audio|video)\/|^(?:text\/css|(?:text|application)\/(?:x-)?(?:java|ecma)script)\b/i

/** Returns what a response was, in a log that has its content type. */
export function kindOfType(contentType: string, pathname: string): PathKind {
  if (ASSET_TYPE.test(contentType)) return 'asset'
  return isPage({ ...ANY_GET, pathname, content_type: contentType }) ? 'page' : 'file'
}

const ANY_GET = {
  ...{ timestamp: '', user_agent: '', method: 'GET', hostname: '', status: 200, bytes: 0, duration_ms: 0, ip: '' },
  conditional: 0,
} as const

/** Returns whether a response delivered what was asked for: 2xx, or 304 for a copy that the client has. */
export const isDelivered = (status: number): boolean => (status >= 200 && status < 300) || status === 304
