import { watchClicks } from './clicks.js'
import { watchEngagement } from './engagement.js'
import { watchErrors } from './errors.js'
import { optOut as setOptOut } from './opt-out.js'
import { watchPages } from './page-views.js'
import { configure, identify as identifyPerson, type Options, send } from './send.js'
import { swallowErrors } from './swallow-errors.js'
import { watchVitals } from './vitals.js'

/** Sends a custom event of the page with properties. */
export const track = swallowErrors((name: string, props?: object) => send('custom', { n: name, p: props }))
export const identify = swallowErrors(identifyPerson)
export const optOut = swallowErrors(setOptOut)

/** `window.readership`; the calls that a page queued before the script loaded are pushed into it. */
const api = { track, identify, optOut, push: swallowErrors((call: (readership: object) => void) => call(api)) }

/** Starts once in a document, however often it is called; never without a site or outside http and https pages. */
export const start = swallowErrors((options: Options) => {
  const before = window.readership
  if (Object(before).track || !options.site || !/^http/.test(location.href)) return
  window.readership = api
  configure(options)
  // If `before` is something else, such as an element with this name, only this call fails.
  for (const call of Object([]).concat(before)) api.push(call)
  // Each on its own: a browser that lacks one feature still has the others.
  for (const watch of [watchEngagement, watchVitals, watchPages, watchClicks, watchErrors]) swallowErrors(watch)()
})
