import { news, pause, restart, tick } from './engagement.js'
import { here, send, view } from './hit.js'
import { on, quietly } from './quietly.js'
import { vitals } from './vitals.js'

/** URLs: of the first page seen, of the one on view, and of where the document is, which need not have been seen. */
let landing = ''
let page = ''
let current = ''
/** A page has come that nobody has seen: in a tab behind, or prerendered. */
let unseen = true

const show = (): void => {
  if (unseen && !document.hidden) {
    unseen = false
    // The first view of a document has no `d`: that is how the server knows that its own row is the same view.
    const before = { r: page || document.referrer || undefined, ...(page && news(false)) }
    page = current = here()
    landing = landing || page
    view(before)
    restart()
  }
  // Not before: what nobody was in front of would be told of as long as it takes from here to there.
  tick()
}

/** An application may have turned a page. To replace the query only is to keep a state, not to go anywhere. */
const turn = (how: unknown): void => {
  const place = (url: string) => (how === 'replaceState' ? url.replace(/\?[^#]*/, '') : url)
  const before = place(current)
  current = here()
  if (place(current) === before) return
  unseen = true
  show()
}

/** The browser's own function first, with its own failures; then ours, unheard. */
const follow = (name: 'pushState' | 'replaceState'): void => {
  const own = history[name]
  const turned = quietly(turn)
  history[name] = function (...args) {
    own.apply(this, args)
    turned(name)
  }
}

const leave = (): void => {
  if (unseen) return
  const left = news(true)
  if (left.d + left.sc) send('engagement', { u: page, ...left })
  const e = vitals()
  if (e) send('web_vitals', { u: landing, e })
}

export const watchPages = (): void => {
  show()
  on('visibilitychange', () => (document.hidden ? leave() : show()))
  // By itself: where that fails, as without an observer of vitals, the page goes all the same.
  on('pagehide', leave)
  on('pagehide', () => {
    pause()
    // Should it be restored, that is a view as any other.
    unseen = true
  })
  on('pageshow', show)
  on('popstate', turn)
  follow('pushState')
  follow('replaceState')
}
