import { watchClicks } from './clicks.js'
import { watchEngagement } from './engagement.js'
import { watchErrors } from './errors.js'
import { optOut as setOptOut } from './opt-out.js'
import { watchPages } from './page-views.js'
import { configure, identify as identifyPerson, send } from './send.js'
import { swallowErrors } from './swallow-errors.js'
import { watchVitals } from './vitals.js'

/** Sends a custom event of the page with properties. */
export const track = swallowErrors((n: string, p?: object) => send({ t: 'custom', n, p }))
export const identify = swallowErrors(identifyPerson)
export const optOut = swallowErrors(setOptOut)

/** `window.readership`; the calls that a page queued before the script loaded are pushed into it. */
const api = { track, identify, optOut, push: swallowErrors((call: (readership: object) => void) => call(api)) }

/** Starts once in a document, however often it is called; never without a site or outside http and https pages. */
export const start = (site: number, endpoint: string | URL, hash?: boolean): void => {
  const before = window.readership
  if (Object(before).track || !site || !/^http/.test(location.href)) return
  window.readership = api
  configure(site, endpoint, hash)
  // If `before` is something else, such as an element with this name, only this call fails.
  for (const call of Array(0).concat(before)) api.push(call)
  watchEngagement()
  watchClicks()
  watchErrors()
  // Only these two need features that a browser may lack, and each still runs without the other.
  swallowErrors(watchVitals)()
  swallowErrors(watchPages)()
}
