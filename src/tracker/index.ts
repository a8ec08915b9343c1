import * as tracker from './start.js'

export interface Options {
  /** The site's id. */
  site: number
  /** Where hits go to, a URL: `/_readership/api/track` of the page's own origin when absent. */
  endpoint?: string
  /** Whether what follows `#` is part of what a page is: for applications that route by it. */
  hash?: boolean
}

/** On a server there is no page: nothing happens there, and nothing is kept. */
const inBrowser = typeof document === 'object'

/**
 * Counts the pages of this document, from now on and as they are seen. Nothing here ever throws, and a second call does
 * nothing.
 */
export function start(options: Options): void {
  if (inBrowser) tracker.start({ endpoint: '/_readership/api/track', ...options })
}

/** An event of your own, with properties of it. A `currency` among them is the event's own. */
export function track(name: string, props?: Readonly<Record<string, unknown>>): void {
  if (inBrowser) tracker.track(name, props)
}

/** From here on hits are this person's, who has these traits; with no id nobody's again. */
export function identify(id?: string | number | null, traits?: Readonly<Record<string, unknown>>): void {
  if (inBrowser) tracker.identify(id, traits)
}

/** Nothing is sent from this browser any more; `false` lifts it. */
export function optOut(out = true): void {
  if (inBrowser) tracker.optOut(out)
}
