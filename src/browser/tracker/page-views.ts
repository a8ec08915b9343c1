import { measureScroll, pause, restart, takeEngagement, tick } from './engagement.js'
import { currentUrl, send, sendView } from './send.js'
import { listen, swallowErrors } from './swallow-errors.js'
import { reportVitals } from './vitals.js'

/** URLs: of the page on view, and of the document's address, which may not have been seen. */
let page = ''
let current = ''
/** Whether the current page has not been seen yet, in a background tab or prerendered. */
let unseen = true

const show = (): void => {
  if (unseen && !document.hidden) {
    unseen = false
    // The first view of a document has no `d`: so the server knows that its own row is the same view.
    const before = { r: page || document.referrer || undefined, ...(page && takeEngagement()) }
    sendView(before)
    page = current = currentUrl()
    restart()
  }
  // After the view, so that the time before it was visible is not counted.
  tick()
}

/** Handles a change of the address. Replacing only the query saves a state of the same page. */
const changed = swallowErrors(({ navigationType }: Partial<NavigationCurrentEntryChangeEvent>): void => {
  const ignored = navigationType !== 'replace' ? '' : /\?[^#]*/
  const before = current.replace(ignored, '')
  current = currentUrl()
  if (current.replace(ignored, '') === before) return
  unseen = true
  show()
})

const onLeave = (): void => {
  if (unseen) return
  measureScroll()
  const left = takeEngagement()
  if (left.d + left.sc) send({ t: 'engagement', u: page, ...left })
  reportVitals()
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
  listen('popstate', changed)
  for (const navigationType of ['push', 'replace'] as const) {
    const name = `${navigationType}State` as const
    const original = history[name]
    // The browser's own function runs first and may throw; the tracker's part never does.
    history[name] = (...args) => {
      original.apply(history, args)
      changed({ navigationType })
    }
  }
  // Also reports navigations without a history function, and routers that kept `pushState` before it was wrapped. Last,
  // because a browser without the Navigation API throws here.
  navigation.addEventListener('currententrychange', changed)
}
