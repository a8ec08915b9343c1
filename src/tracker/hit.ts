import { optedOut, tellServer } from './opt-out.js'
import { VERSION } from './version.js'

export interface Options {
  /** The site's id. */
  site: number
  /** Where hits go to: a URL, absolute or as seen from the page. */
  endpoint: string
  /** Whether what follows `#` is part of what a page is: for applications that route by it. */
  hash?: boolean
}

/** The keys of spec 2.4 that one hit has and others have not. */
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

/** A page that nobody ever looks at must not fill memory. */
const MOST_HELD = 99

let options: Options
let person: string | undefined
/** Whom and what `identify` last told of. */
let told: string | undefined
/** Nobody has seen the document yet, so nothing is sent: it may never be seen. */
let unseen = true
const held: [Fields, Kind][] = []

export const configure = (given: Options): void => {
  options = given
}

/** What is on view, without what follows `#` unless that is a route: else it is the page's own affair. */
export const here = (): string => location.href.replace(options.hash ? '' : /#.*/, '')

/** As text, which crosses origins without a question beforehand, and survives the page. Sent once, whatever comes of it. */
const deliver = (fields: Fields, kind?: Kind): void => {
  const body = JSON.stringify({
    s: options.site,
    t: kind,
    u: here(),
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
  // biome-ignore lint/complexity/useOptionalChain: for older browsers that becomes three times as long.
  if (!navigator.sendBeacon || !navigator.sendBeacon(options.endpoint, body))
    fetch(options.endpoint, { method: 'POST', body, keepalive: true, mode: 'no-cors' }).catch(() => {})
}

/** Who opted out has nothing sent but word to the server, once more: cookies go sooner than storage does. */
const post = (fields: Fields, kind?: Kind): void => (optedOut() ? tellServer(true) : deliver(fields, kind))

/** A page is seen: its view, and on the document's first what waited for that. */
export const view = (fields: Fields): void => {
  post(fields)
  unseen = false
  for (const hit of held.splice(0)) post(...hit)
}

/** Any other hit, once the document has been seen. */
export const send = (kind: Kind, fields: Fields): void => {
  if (!unseen) post(fields, kind)
  else if (held.length < MOST_HELD) held.push([fields, kind])
}

/** From here on hits are this person's; with no id nobody's again. The same twice says nothing new. */
export const identify = (id?: string | number | null, traits?: object): void => {
  const before = told
  told = JSON.stringify([id, traits])
  person = id == null ? undefined : `${id}`
  if (person && told !== before) send('engagement', { p: traits })
}
