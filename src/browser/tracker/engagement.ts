import { listen } from './swallow-errors.js'

/** Engaged milliseconds not reported yet, NaN while the page is gone; and when the current engaged span began, 0 for none. */
let engaged = 0
let since = 0
/** Pixels from the top that have been on screen, and the document's height in pixels; 0 before the first look. */
let furthest = 0
let height = 0
/** The scroll percentage that was reported last. */
let reportedScroll = 0

/** Counts the time since the last tick, if the page was visible and it or a frame in it had the focus throughout. */
export const tick = (): void => {
  const now = performance.now()
  if (since) engaged += now - since
  since = !document.hidden && document.hasFocus() ? now : 0
}

export const measureScroll = (): void => {
  height = document.documentElement.scrollHeight
  furthest = Math.max(furthest, scrollY + innerHeight)
}

/** Starts measuring engaged time and scroll depth. */
export const watchEngagement = (): void => {
  listen('focus', tick)
  listen('blur', tick)
  listen('scroll', measureScroll)
}

/** Stops the clock until the next view: the page goes, and some browsers still report focus while it waits in the cache. */
export const pause = (): void => {
  engaged = Number.NaN
}

/**
 * Returns and resets the engagement since the last call: `d` in milliseconds and `sc`, the deepest scroll in percent so
 * far; both are 0 if neither grew. `leaving` measures the scroll once more. An application that shows its next page
 * passes false, because the new page may already be in the document.
 */
export const takeEngagement = (): { d: number; sc: number } => {
  tick()
  if (!height) measureScroll()
  const d = ~~engaged
  const sc = Math.min(100, Math.round((100 * furthest) / height))
  engaged = 0
  const grown = sc > reportedScroll
  if (grown) reportedScroll = sc
  return { d, sc: d || grown ? reportedScroll : 0 }
}

/** Starts again for another page of the same document. */
export const restart = (): void => {
  engaged = furthest = height = reportedScroll = 0
}
