import * as tracker from './start.js'
import { swallowErrors } from './swallow-errors.js'

export interface Options {
  /** The site's id. */
  site: number
  /** The URL that hits are sent to; the default is `/_readership/api/track` of the page's own origin. */
  endpoint?: string
  /** Whether the fragment is part of a page's address, for applications that route by it. */
  hash?: boolean
}

/** False while an application renders on a server, where every function here does nothing. */
const inBrowser = typeof document === 'object'

const startSafely = swallowErrors(({ site, endpoint = '/_readership/api/track', hash }: Options) =>
  tracker.start(site, endpoint, hash),
)

/** Starts counting the pages of this document as they are seen. Never throws; a second call does nothing. */
export function start(options: Options): void {
  if (inBrowser) startSafely(options)
}

/** Sends a custom event with properties. Every property belongs to the event, `currency` as well. */
export function track(name: string, props?: Readonly<Record<string, unknown>>): void {
  if (inBrowser) tracker.track(name, props)
}

/** Attributes later hits to a person with these traits; without an id, to no person again. */
export function identify(id?: string | number | null, traits?: Readonly<Record<string, unknown>>): void {
  if (inBrowser) tracker.identify(id, traits)
}

/** Stops all sending from this browser and origin; `optOut(false)` resumes it. */
export function optOut(out = true): void {
  if (inBrowser) tracker.optOut(out)
}
