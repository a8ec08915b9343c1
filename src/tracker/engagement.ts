import { on } from './quietly.js'

/** Milliseconds in front of somebody, not yet told, NaN while the page is gone; the clock's last look, 0 for nobody. */
let engaged = 0
let since = 0
/** Pixels from the top that have been on screen, and that there are; 0 while nobody has looked. */
let furthest = 0
let height = 0
/** The percentage last told. */
let told = 0

/** Counts the time since the last tick where the page was visible and had the focus (or a frame in it) all the while. */
export const tick = (): void => {
  const now = performance.now()
  if (since) engaged += now - since
  since = !document.hidden && document.hasFocus() ? now : 0
}

const look = (): void => {
  height = document.documentElement.scrollHeight
  furthest = Math.max(furthest, scrollY + innerHeight)
}

export const watchEngagement = (): void => {
  on('focus', tick)
  on('blur', tick)
  on('scroll', look)
}

/** The page goes, maybe to be restored: no time passes until the next view, whatever the browser still says of focus. */
export const pause = (): void => {
  engaged = Number.NaN
}

/**
 * What is new since it was last asked for: `d`, the milliseconds since then, and `sc`, the most percent so far. Both are
 * 0 where neither grew. `leaving` measures once more: when an application turns to its next page that may stand there
 * already, so it goes by the last scroll.
 */
export const news = (leaving: boolean): { d: number; sc: number } => {
  tick()
  if (leaving || !height) look()
  const d = Math.round(engaged) || 0
  const sc = Math.min(100, Math.round((100 * furthest) / height))
  engaged = 0
  const grown = sc > told
  if (grown) told = sc
  return { d, sc: d || grown ? told : 0 }
}

/** Another page: nothing of it has been on screen. */
export const restart = (): void => {
  engaged = furthest = height = told = 0
}
