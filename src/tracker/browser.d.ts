/** What browsers have, or some of them, and TypeScript's `dom` has not. */

interface Window {
  /** Ours once the tracker runs; before that an array of calls, or whatever else a page has under this name. */
  readership?: { readonly track?: unknown }
}
interface WindowEventMap {
  /** It is the document's, and passes the window on its way down. */
  visibilitychange: Event
}
interface Document {
  readonly prerendering?: boolean
}
/** Each of some kinds only: layout-shift, event, navigation. */
interface PerformanceEntry {
  readonly hadRecentInput?: boolean
  readonly value?: number
  readonly interactionId?: number
  readonly activationStart?: number
  readonly responseStart?: number
  readonly loadEventEnd?: number
}
interface PerformanceObserverInit {
  durationThreshold?: number
}
