import { optedOut, setServerOptOut } from './opt-out.js'
import { VERSION } from './version.js'

/** The payload keys that only some hits have; a hit without a kind `t` is a pageview. */
interface Fields {
  t?: 'custom' | 'outbound' | 'file_download' | 'form' | 'error' | 'web_vitals' | 'engagement'
  n?: string
  u?: string | undefined
  r?: string | undefined
  d?: number
  sc?: number
  p?: object | undefined
  b?: unknown[] | undefined
  e?: object
}

/** Hits that wait for the first view of a document, so that a page that is never seen does not fill memory. */
const MAX_WAITING_HITS = 99

let site: number
let endpoint: string | URL
let hasRouteInFragment: boolean | undefined
let person: string | undefined
/** The last id and traits that `identify` reported. */
let identified: string | undefined
/** The URL of the first page that was seen. Nothing is sent before that, because the document may never be seen. */
export let landing: string | undefined
const waiting: Fields[] = []

/** Sets where hits are sent; call it before anything is sent. */
export const configure = (siteId: number, url: string | URL, hash?: boolean): void => {
  site = siteId
  endpoint = url
  hasRouteInFragment = hash
}

/** Returns the page's URL, without the fragment unless the application routes by it. */
export const currentUrl = (): string => location.href.replace(hasRouteInFragment ? '' : /#.*/, '')

/**
 * Sends one hit as text, which needs no preflight and outlives the page. It is never retried. After an opt-out it renews
 * the cookie instead, because cookies expire sooner than storage.
 */
const post = (fields: Fields) => {
  if (optedOut()) return setServerOptOut(true)
  const body = JSON.stringify({
    s: site,
    u: currentUrl(),
    w: screen.width,
    h: screen.height,
    vw: innerWidth,
    vh: innerHeight,
    l: navigator.language,
    tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
    id: person,
    v: VERSION,
    ...fields,
  })
  // biome-ignore lint/complexity/useOptionalChain: compiled for older browsers it is three times as long.
  if (!navigator.sendBeacon || !navigator.sendBeacon(endpoint, body))
    fetch(endpoint, { method: 'POST', body, keepalive: true }).catch(() => {})
}

/** Sends a pageview, and after a document's first one the hits that waited for it. */
export const sendView = (fields: Fields): void => {
  post(fields)
  landing = landing || currentUrl()
  waiting.splice(0).forEach(post)
}

/** Sends any other hit, once the document has been seen. */
export const send = (fields: Fields): void => {
  if (landing) post(fields)
  else if (waiting.length < MAX_WAITING_HITS) waiting.push(fields)
}

/** Attributes later hits to a person; without an id, to no person again. Repeating the same call sends nothing. */
export const identify = (id?: string | number | null, traits?: object): void => {
  const before = identified
  identified = JSON.stringify([id, traits])
  person = id == null ? undefined : `${id}`
  if (person && identified !== before) send({ t: 'engagement', p: traits })
}
