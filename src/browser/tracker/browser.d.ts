/** Browser features that the tracker uses and TypeScript's `dom` library does not declare. */

interface Window {
  /** The tracker's API once it runs; before that an array of calls, or any other value of the page under this name. */
  readership?: { readonly track?: unknown }
  readonly LayoutShift?: unknown
}
interface WindowEventMap {
  /** A document event that passes the window while it is captured. */
  visibilitychange: Event
}
interface Document {
  readonly prerendering?: boolean
}
/** Fields that only some kinds of entries have: layout-shift, event, navigation. */
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
