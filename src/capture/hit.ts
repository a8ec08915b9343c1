import type { Vitals } from '../rows.js'
import type { Observation } from './observation.js'

/** What a browser can tell of (spec 6). */
export const HIT_KINDS = [
  'pageview',
  'custom',
  'outbound',
  'file_download',
  'form',
  'error',
  'web_vitals',
  'engagement',
] as const
export type HitKind = (typeof HIT_KINDS)[number]

/**
 * What a browser says of itself (spec 2.4), under full names, with what its request adds. Texts are as long as the
 * sender likes; `ip` is transport only, as an observation's.
 */
export interface Hit {
  site: number
  /** When it came in: ISO-8601 UTC with milliseconds. */
  timestamp: string
  kind: HitKind
  /** Of a custom event. */
  name?: string
  /** The page, by its URL: the hostname in lower case without the port, the path as written, the query without its mark. */
  hostname: string
  pathname: string
  query?: string
  referrer?: string
  /** CSS pixels. */
  screen_width?: number
  viewport_width?: number
  language?: string
  timezone?: string
  /**
   * Engaged milliseconds and deepest scroll, 0 to 100. Of a pageview they are of the page before in the same document, and
   * absent on a document's first; of an engagement they are of the page itself.
   */
  engaged_ms?: number
  scroll?: number
  /** Of an engagement that identifies: what the site says of the person. */
  props?: Readonly<Record<string, unknown>>
  identified_id?: string
  /** Those measured. */
  vitals?: Partial<Vitals>
  ip: string
  user_agent: string
  /** The request's own, as an observation's. */
  headers?: Observation['headers']
  /** Of a request with `Signature-Input` only: its method, and what else a signature may cover, as an observation's. */
  signed?: { method: string } & NonNullable<Observation['signed']>
}

/** What comes in, of which rows are made. */
export type Evidence = Observation | Hit

export const isHit = (evidence: Evidence): evidence is Hit => 'kind' in evidence
