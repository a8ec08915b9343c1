import { quietly } from './quietly.js'

/** As https://web.dev/articles/vitals has them: milliseconds, but for `cls`, which has no unit. */
export interface Vitals {
  lcp?: number | undefined
  cls?: number | undefined
  inp?: number | undefined
  fcp?: number | undefined
  ttfb?: number | undefined
}

let observer: PerformanceObserver
/** When the document was first hidden: nobody waited for what is painted after that. */
let hidden = 1 / 0
/** When something was last painted, by the name of its entries, or by their type where they have none. */
const painted: Record<string, number> = {}
/** What moves less than a second after the last, over five seconds at most, is one shift: its sum, start and end. */
let shift = 0
let shiftStart = 0
let shiftEnd = 0
let largestShift = 0
/** The longest event of each interaction, by its id. */
const interactions: Record<number, number> = {}
let told = false

/** Kinds of entries have no field in common that is told apart by here. */
const take = ({
  entryType,
  name,
  startTime,
  duration,
  interactionId,
  value,
  hadRecentInput,
}: PerformanceEntry): void => {
  if (interactionId) interactions[interactionId] = Math.max(interactions[interactionId] || 0, duration)
  else if (value && !hadRecentInput) {
    if (startTime - shiftEnd >= 1000 || startTime - shiftStart >= 5000) {
      shift = 0
      shiftStart = startTime
    }
    shift += value
    shiftEnd = startTime
    largestShift = Math.max(largestShift, shift)
  } else if (startTime < hidden) painted[name || entryType] = startTime
}

/** Asked for what it does not know, a browser complains in the page's console. */
const knows = (type: string) => PerformanceObserver.supportedEntryTypes.includes(type)

export const watchVitals = (): void => {
  // What is prerendered is hidden from nobody: it has not been asked for yet. Some browsers remember how it began.
  if (!document.prerendering && (document.hidden || performance.getEntriesByName('hidden')[0])) hidden = 0
  observer = new PerformanceObserver(quietly((list) => list.getEntries().forEach(take)))
  for (const type of ['paint', 'largest-contentful-paint', 'layout-shift', 'event', 'first-input'])
    if (knows(type)) observer.observe({ type, buffered: true, durationThreshold: 40 })
}

/**
 * What was measured, once: when the document is first hidden after it was loaded. Later shifts and interactions of the
 * same document are not told any more.
 */
export const vitals = (): Vitals | undefined => {
  hidden = Math.min(hidden, performance.now())
  const navigation: Partial<PerformanceEntry> = performance.getEntriesByType('navigation')[0] || {}
  const { activationStart = 0, responseStart, loadEventEnd } = navigation
  if (told || !loadEventEnd) return
  told = true
  observer.takeRecords().forEach(take)
  const wait = (until: number | undefined) => until && Math.round(Math.max(0, until - activationStart))
  const fcp = wait(painted['first-contentful-paint'])
  const longest = Object.values(interactions).sort((a, b) => b - a)
  const count = performance.interactionCount || longest.length
  return {
    lcp: wait(painted['largest-contentful-paint']),
    // What moved where nothing was seen to be painted moved before nobody.
    cls: fcp && knows('layout-shift') ? largestShift : undefined,
    // One in fifty may have been an accident.
    inp: longest[Math.min(longest.length - 1, ~~(count / 50))],
    fcp,
    ttfb: wait(responseStart),
  }
}
