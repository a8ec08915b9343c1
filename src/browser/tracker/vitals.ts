import { describeDocument } from './document-text.js'
import { currentUrl, landing, send } from './send.js'
import { swallowErrors } from './swallow-errors.js'

/** Kinds of entries by how they begin: paint, largest-contentful-paint, layout-shift, event, first-input. */
const KINDS = /^(paint|la|event|first)/

let observer: PerformanceObserver
/** When the document was first hidden; later paints are ignored, because the visitor did not wait for them. */
let hidden = 1 / 0
/** The time of the last paint by the name of its entry, or by its type where it has no name. */
const painted: Record<string, number> = {}
/** Shifts within a second of each other and five seconds in all are one shift: its sum, start and end. */
let shift = 0
let shiftStart = 0
let shiftEnd = 0
let largestShift = 0
/** Duration of the longest event of each interaction, by its id. */
const interactions: Record<number, number> = {}
let measured = false

/** Notes one entry; the fields that are present tell its kind. */
const note = (entry: PerformanceEntry): void => {
  const { startTime, interactionId, value } = entry
  if (interactionId) interactions[interactionId] = Math.max(interactions[interactionId] || 0, entry.duration)
  else if (value && !entry.hadRecentInput) {
    if (startTime - shiftEnd >= 1000 || startTime - shiftStart >= 5000) {
      shift = 0
      shiftStart = startTime
    }
    shift += value
    shiftEnd = startTime
    largestShift = Math.max(largestShift, shift)
  } else if (startTime < hidden) painted[entry.name || entry.entryType] = startTime
}

/** Starts collecting performance entries. */
export const watchVitals = (): void => {
  // A prerendered page is not hidden from a visitor who asked for it. Some browsers record that a page began hidden.
  if (!document.prerendering && (document.hidden || performance.getEntriesByName('hidden')[0])) hidden = 0
  observer = new PerformanceObserver(swallowErrors((list) => list.getEntries().forEach(note)))
  // Observing a kind that the browser does not have logs a warning in the page's console.
  for (const type of PerformanceObserver.supportedEntryTypes)
    if (KINDS.test(type)) observer.observe({ type, buffered: true, durationThreshold: 40 })
}

/**
 * Sends the vitals and a description of the document once, when it is first hidden after it loaded. Later shifts and interactions of the same
 * document are not reported.
 */
export const reportVitals = (): void => {
  hidden = Math.min(hidden, performance.now())
  const { activationStart = 0, responseStart, loadEventEnd } = Object(performance.getEntriesByType('navigation')[0])
  if (!measured && loadEventEnd) {
    measured = true
    observer.takeRecords().forEach(note)
    const sinceActivation = (time: number | undefined) => time && Math.max(0, Math.round(time - activationStart))
    const fcp = sinceActivation(painted['first-contentful-paint'])
    const longest = Object.values(interactions).sort((a, b) => b - a)
    const count = performance.interactionCount || longest.length
    send({
      t: 'web_vitals',
      u: landing,
      // A later page of the same document has another text.
      b: currentUrl() === landing ? describeDocument() : undefined,
      e: {
        lcp: sinceActivation(painted['largest-contentful-paint']),
        // Ignore layout shift if nothing was painted.
        cls: fcp && window.LayoutShift ? largestShift : undefined,
        // The longest interaction, leaving out one outlier in fifty.
        inp: longest[~~(count / 50)] || longest.pop(),
        fcp,
        ttfb: sinceActivation(responseStart),
      },
    })
  }
}
