import { optedOut, setServerOptOut } from './opt-out.js'
import { VERSION } from './version.js'

export interface Options {
  /** The site's id. */
  site: number
  /** The URL that hits are sent to, absolute or relative to the page. */
  endpoint: string
  /** Whether the fragment is part of a page's address, for applications that route by it. */
  hash?: boolean
}

/** The payload keys that only some hits have. */
interface Fields {
  n?: string
  u?: string
  r?: string | undefined
  d?: number
  sc?: number
  p?: object | undefined
  e?: object
}
type Kind = 'custom' | 'outbound' | 'file_download' | 'form' | 'error' | 'web_vitals' | 'engagement'

/** Hits that wait for the first view of a document, so that a page that is never seen does not fill memory. */
const MAX_WAITING_HITS = 99

let options: Options
let person: string | undefined
/** The last id and traits that `identify` reported. */
let identified: string | undefined
/** Whether the document has not been seen yet; nothing is sent before that, because it may never be seen. */
let unseen = true
const waiting: [Fields, Kind][] = []

/** Sets the site and the endpoint; call it before anything is sent. */
export const configure = (given: Options): void => {
  options = given
}

/** Returns the page's URL, without the fragment unless the application routes by it. */
export const currentUrl = (): string => location.href.replace(options.hash ? '' : /#.*/, '')

/** Sends one hit as text, which needs no preflight and outlives the page. It is never retried. */
const deliver = (fields: Fields, kind?: Kind): void => {
  const body = JSON.stringify({
    s: options.site,
    t: kind,
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
  if (!navigator.sendBeacon || !navigator.sendBeacon(options.endpoint, body))
    fetch(options.endpoint, { method: 'POST', body, keepalive: true, mode: 'no-cors' }).catch(() => {})
}

/** Sends a hit, or after an opt-out renews the cookie instead, because cookies expire sooner than storage. */
const post = (fields: Fields, kind?: Kind): void => (optedOut() ? setServerOptOut(true) : deliver(fields, kind))

/** Sends a pageview, and after a document's first one the hits that waited for it. */
export const sendView = (fields: Fields): void => {
  post(fields)
  unseen = false
  for (const hit of waiting.splice(0)) post(...hit)
}

/** Sends any other hit, once the document has been seen. */
export const send = (kind: Kind, fields: Fields): void => {
  if (!unseen) post(fields, kind)
  else if (waiting.length < MAX_WAITING_HITS) waiting.push([fields, kind])
}

/** Attributes later hits to a person; without an id, to no person again. Repeating the same call sends nothing. */
export const identify = (id?: string | number | null, traits?: object): void => {
  const before = identified
  identified = JSON.stringify([id, traits])
  person = id == null ? undefined : `${id}`
  if (person && identified !== before) send('engagement', { p: traits })
}
