import type { Dice } from './dice.js'

/** A browser's properties that the tracker reports with each hit. */
export interface Screen {
  mobile: boolean
  width: number
  height: number
  language: string
  timezone: string
}

/** A hit as the tracker sends it; see `capture/payload.ts`. `after` is the time since the hit or load before it. */
interface ScriptHit {
  after: number
  payload: Record<string, unknown>
}

/** One page on the screen: its address, where the visitor came from, whether it is the first of the visit, and its pace. */
export interface PageOnScreen {
  url: string
  path: string
  referrer: string
  first: boolean
  /** How many times as long as usual a page takes to load. */
  pace: number
}

/** Pages whose script writes their text, as browsers show them: characters, links, headings, and the first line. */
export const LIVING_PAGES: ReadonlyMap<string, readonly [number, number, number, string]> = new Map([
  ['/harbours', [612, 4, 4, 'Harbours today High and low water at our three harbours, two days ahead.']],
])

/** Milliseconds from the load of a page to the tracker's first hit. */
const LOAD_MS = 150

/**
 * Makes the hits of one page: the view, what the person does, and at the end time on page, scroll depth and Web Vitals.
 * `stay` is how long the page is read, in milliseconds.
 */
export function pageHits(dice: Dice, screen: Screen, page: PageOnScreen, stay: number): ScriptHit[] {
  const { url, path, referrer } = page
  const hit = (after: number, fields: Record<string, unknown>): ScriptHit => ({
    after,
    payload: {
      s: 1,
      u: url,
      w: screen.width,
      h: screen.height,
      vw: screen.width,
      vh: Math.round(screen.height * 0.87),
      l: screen.language,
      tz: screen.timezone,
      ...fields,
    },
  })
  const acts = actsOn(dice, path, new URL(url).origin)
  const share = Math.round(stay / (acts.length + 1))
  return [
    hit(LOAD_MS, referrer ? { r: referrer } : {}),
    ...acts.map((fields) => hit(share, fields)),
    hit(share, {
      t: 'engagement',
      d: Math.round(stay * (0.6 + 0.4 * dice.random())),
      sc: 15 + dice.integer(86),
    }),
    ...(page.first
      ? [hit(5, { t: 'web_vitals', e: vitals(dice, screen.mobile, page), b: LIVING_PAGES.get(path) })]
      : []),
  ]
}

/** Chooses what a person does on a page: a click, a download, a form, or an error that the page's script throws. */
function actsOn(dice: Dice, path: string, origin: string): Record<string, unknown>[] {
  const acts: [number, Record<string, unknown>][] = [
    [path.startsWith('/articles/') ? 0.07 : 0, { t: 'custom', n: 'Shared', p: { by: dice.pick(['mail', 'link']) } }],
    [path.startsWith('/articles/') ? 0.04 : 0, { t: 'outbound', p: { url: 'https://harbour-notes.example/tides' } }],
    [path === '/tides' ? 0.2 : 0, { t: 'file_download', p: { url: `${origin}/files/tide-card.pdf` } }],
    [path === '/thank-you' ? 1 : 0, { t: 'custom', n: 'Subscribed', p: { plan: dice.pick(['paper', 'mail']) } }],
    [path === '/gauge' ? 0.12 : 0, gaugeError(dice, origin)],
    [0.004, { t: 'error', p: { type: 'TypeError', message: 'Failed to fetch', frame: `at ${origin}/site.js:13:18` } }],
  ]
  return acts.filter(([chance]) => dice.random() < chance).map(([, fields]) => fields)
}

const gaugeError = (dice: Dice, origin: string) => ({
  t: 'error',
  p: {
    type: 'TypeError',
    message: dice.pick(["Cannot read properties of null (reading 'setAttribute')", 'path is null']),
    frame: `at draw (${origin}/site.js:10:10)`,
  },
})

/** Draws the vitals of a load: phones are slower, and the gauge moves its page about. */
function vitals(dice: Dice, mobile: boolean, { path, pace }: PageOnScreen) {
  const slow = (mobile ? 1.7 : 1) * pace
  const fcp = dice.pause(700 * slow)
  return {
    ttfb: dice.pause(110 * slow),
    fcp,
    lcp: fcp + dice.pause(500 * slow),
    inp: dice.pause(70 * slow),
    cls: Math.round(dice.pause(path === '/gauge' ? 160 : 25)) / 1000,
  }
}
