import type { Vitals } from '../storage/rows.js'
import type { Observation } from './observation.js'

/** The kinds of messages that the browser script sends. */
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

/** A document as a browser shows it. */
export interface LivingDocument {
  /** Characters of its text, without white space. */
  text_length: number
  links: number
  headings: number
  /** The first 120 characters of its text; empty without text. */
  first_line: string
}

/**
 * One message of the browser script under full names, with what its HTTP request adds. Texts have no length limit yet.
 * `ip` is transport only, as in an observation.
 */
export interface Hit {
  site: number
  /** When it arrived, or a few milliseconds before, in the order of its batch: ISO-8601 UTC with milliseconds. */
  timestamp: string
  kind: HitKind
  /** The name of a custom event. */
  name?: string
  /** The page, from its URL: hostname in lower case without the port, path as written, query without its question mark. */
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
   * Engaged milliseconds and deepest scroll, 0 to 100. In a pageview they are about the previous page of the same
   * document, and absent on its first page; in an engagement they are about the page itself.
   */
  engaged_ms?: number
  scroll?: number
  /** Properties. In an engagement with an id they are the site's traits of the person. */
  props?: Readonly<Record<string, unknown>>
  identified_id?: string
  /** Vitals that the tracker measured. */
  vitals?: Partial<Vitals>
  /** The document as it was shown once its scripts ran; with the vitals. */
  document?: LivingDocument
  ip: string
  user_agent: string
  /** The headers of the hit's own request, as in an observation. */
  headers?: Observation['headers']
  /**
   * For a request with `Signature-Input` only: its method, when it arrived, and what else a signature may cover, as in an
   * observation.
   */
  signed?: { method: string; at: string } & NonNullable<Observation['signed']>
}

/** The input from which rows are made. */
export type Evidence = Observation | Hit

export const isHit = (evidence: Evidence): evidence is Hit => 'kind' in evidence
