import { pause, restart, takeEngagement, tick } from './engagement.js'
import { currentUrl, send, sendView } from './send.js'
import { listen, swallowErrors } from './swallow-errors.js'
import { measureVitals } from './vitals.js'

/** URLs: of the first page seen, of the page on view, and of the document's address, which may not have been seen. */
let landing = ''
let page = ''
let current = ''
/** Whether the current page has not been seen yet, in a background tab or prerendered. */
let unseen = true

const show = (): void => {
  if (unseen && !document.hidden) {
    unseen = false
    // The first view of a document has no `d`: so the server knows that its own row is the same view.
    const before = { r: page || document.referrer || undefined, ...(page && takeEngagement(false)) }
    page = current = currentUrl()
    landing = landing || page
    sendView(before)
    restart()
  }
  // After the view, so that the time before it was visible is not counted.
  tick()
}

/** Handles a change of the address. Replacing only the query saves a state and is not a new page. */
const onAddressChange = (how: unknown): void => {
  const place = (url: string) => (how === 'replaceState' ? url.replace(/\?[^#]*/, '') : url)
  const before = place(current)
  current = currentUrl()
  if (place(current) === before) return
  unseen = true
  show()
}

/** Wraps a history function: the browser's own runs first and may throw; the tracker's part never does. */
const wrapHistory = (name: 'pushState' | 'replaceState'): void => {
  const original = history[name]
  const changed = swallowErrors(onAddressChange)
  history[name] = function (...args) {
    original.apply(this, args)
    changed(name)
  }
}

const onLeave = (): void => {
  if (unseen) return
  const left = takeEngagement(true)
  if (left.d + left.sc) send('engagement', { u: page, ...left })
  const e = measureVitals()
  if (e) send('web_vitals', { u: landing, e })
}

/** Sends a pageview for each page that is seen, and its engagement and vitals when the visitor leaves it. */
export const watchPages = (): void => {
  show()
  listen('visibilitychange', () => (document.hidden ? onLeave() : show()))
  // A listener of its own: if `onLeave` throws, for example without a vitals observer, the next one still runs.
  listen('pagehide', onLeave)
  listen('pagehide', () => {
    pause()
    // A page restored from the back/forward cache is a new view.
    unseen = true
  })
  listen('pageshow', show)
  listen('popstate', onAddressChange)
  wrapHistory('pushState')
  wrapHistory('replaceState')
}
