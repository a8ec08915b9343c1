import { watchClicks } from './clicks.js'
import { watchEngagement } from './engagement.js'
import { watchErrors } from './errors.js'
import { configure, identify as identifyPerson, type Options, send } from './hit.js'
import { optOut as setOptOut } from './opt-out.js'
import { watchPages } from './page.js'
import { quietly } from './quietly.js'
import { watchVitals } from './vitals.js'

/** An event of the page's own, with properties of it. */
export const track = quietly((name: string, props?: object) => send('custom', { n: name, p: props }))
export const identify = quietly(identifyPerson)
export const optOut = quietly(setOptOut)

/** `window.readership`, and what calls before it was there are given. */
const api = { track, identify, optOut, push: quietly((call: (readership: object) => void) => call(api)) }

/** Once in a document, however often it is asked; never where there is no site or no address of the web. */
export const start = quietly((options: Options) => {
  const before = window.readership
  if (Object(before).track || !options.site || !/^http/.test(location.href)) return
  window.readership = api
  configure(options)
  // Of whatever else was there, an element by this name, the one call fails by itself.
  for (const call of Object([]).concat(before)) api.push(call)
  // Each by itself: a browser without the one still has the others.
  for (const watch of [watchEngagement, watchVitals, watchPages, watchClicks, watchErrors]) quietly(watch)()
})
