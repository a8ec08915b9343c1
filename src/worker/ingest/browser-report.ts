import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import type { Hit } from '../../capture/hit.js'
import { parseLanguage } from '../../capture/language.js'
import type { EventRow, PageError, Vitals } from '../../storage/rows.js'
import { errorFingerprint } from './error-fingerprint.js'

/** The columns of a row that a browser fills in, whatever it sent: bounded, and null if it sent nothing of use. */
export type BrowserReport = Pick<
  EventRow,
  | 'event_name'
  | 'screen_class'
  | 'language'
  | 'timezone'
  | 'engaged_ms'
  | 'scroll'
  | 'identified_id'
  | 'props'
  | 'traits'
  | 'vitals'
  | 'error'
>

/** A day. */
const MAX_ENGAGED_MS = 86_400_000

/** Reads a hit. In an engagement with an id, `props` are traits of the person; in an error they are the error's parts. */
export function readBrowserReport(hit: Hit): BrowserReport {
  const identified_id = shortText(hit.identified_id)
  const props = hit.kind === 'error' ? null : propsText(hit.props)
  const measures = hit.kind === 'pageview' || hit.kind === 'engagement'
  const identifies = hit.kind === 'engagement' && identified_id !== null
  return {
    event_name: hit.kind === 'custom' ? shortText(hit.name) : null,
    screen_class: screenClass(hit.screen_width ?? hit.viewport_width),
    language: parseLanguage(hit.language) ?? parseLanguage(hit.headers?.['accept-language']),
    timezone: readTimezone(hit.timezone),
    engaged_ms: measures ? clamped(hit.engaged_ms, MAX_ENGAGED_MS) : null,
    scroll: measures ? clamped(hit.scroll, 100) : null,
    identified_id,
    props: identifies ? null : props,
    traits: identifies ? props : null,
    vitals: checkVitals(hit.vitals),
    error: hit.kind === 'error' ? readPageError(hit.props) : null,
  }
}

/** Truncates, and replaces half a surrogate pair, which JSON and the store reject. */
const wellFormed = (text: string, max: number = MAX_CHARACTERS.text): string =>
  Buffer.from(truncate(text, max)).toString()
const shortText = (text: unknown): string | null => (typeof text === 'string' && text !== '' ? wellFormed(text) : null)

const clamped = (value: number | undefined, max: number): number | null =>
  value === undefined || !(value >= 0) ? null : Math.round(Math.min(value, max))

/** Upper bounds of the classes, CSS pixels. */
const SCREEN_CLASSES = [
  ['xs', 576],
  ['sm', 768],
  ['md', 992],
  ['lg', 1440],
] as const

export const screenClass = (width: number | undefined): string | null =>
  width === undefined || !(width > 0) ? null : (SCREEN_CLASSES.find(([, end]) => width < end)?.[0] ?? 'xl')

/** The form of IANA names. Whether such a zone exists is not checked. */
const TIMEZONE_NAME = /^[A-Za-z][\w+-]*(?:\/[A-Za-z][\w+-]*){0,2}$/
const readTimezone = (name: string | undefined): string | null =>
  name !== undefined && name.length <= 64 && TIMEZONE_NAME.test(name) ? name : null

/** A number of this size or more is stored as text. */
const MAX_JSON_NUMBER = 2 ** 63
const MAX_PROPS = { keys: 50, keyCharacters: 200 }

/** Returns properties as the JSON text of one flat object; null if none is left. */
export function propsText(props: Readonly<Record<string, unknown>> | undefined): string | null {
  if (props === undefined) return null
  const entries: [string, string | number | boolean][] = []
  for (const key in props) {
    if (entries.length === MAX_PROPS.keys) break
    const value = Object.hasOwn(props, key) ? flatValue(props[key]) : undefined
    if (value !== undefined) entries.push([wellFormed(key, MAX_PROPS.keyCharacters), value])
  }
  // Not by assignment: a key may be `__proto__`.
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries))
}

/** Returns a value that filters can compare. An object or array becomes its JSON text, unless that is too long. */
function flatValue(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string') return wellFormed(value)
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return undefined
    // Some engines cannot read a JSON text with such a number.
    return Math.abs(value) < MAX_JSON_NUMBER ? value : String(value)
  }
  if (typeof value !== 'object' || value === null) return undefined
  try {
    const text = JSON.stringify(value)
    return text.length <= MAX_CHARACTERS.text ? text : undefined
  } catch {
    // Nested too deeply to be written.
    return undefined
  }
}

/** Larger measurements are not plausible. */
const MAX_VITALS: Vitals = { lcp: 600_000, inp: 600_000, fcp: 600_000, ttfb: 600_000, cls: 100 }

function checkVitals(sent: Hit['vitals']): Vitals | null {
  if (sent === undefined) return null
  const measured = (name: keyof Vitals): number | null => {
    const value = sent[name]
    return typeof value === 'number' && value >= 0 && value <= (MAX_VITALS[name] ?? 0) ? value : null
  }
  const vitals: Vitals = {
    lcp: measured('lcp'),
    cls: measured('cls'),
    inp: measured('inp'),
    fcp: measured('fcp'),
    ttfb: measured('ttfb'),
  }
  return Object.values(vitals).some((value) => value !== null) ? vitals : null
}

/** Reads an error's class, message and the top line of its stack; null if it has neither class nor message. */
function readPageError(props: Hit['props']): PageError | null {
  const text = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : null)
  const [type, message, frame] = [text(props?.type), text(props?.message), text(props?.frame)]
  if (type === null && message === null) return null
  const error = { type: type ?? 'Error', message: message ?? '', frame }
  return {
    type: wellFormed(error.type),
    message: wellFormed(error.message),
    frame: frame === null ? null : wellFormed(frame),
    fingerprint: errorFingerprint(error),
  }
}
