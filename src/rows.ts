import { z } from 'zod'

const measurement = z.number().nonnegative().nullable()
/** Web Vitals of a page, those that its browser measured: milliseconds, `cls` without a unit. */
export const Vitals = z.object({
  lcp: measurement,
  cls: measurement,
  inp: measurement,
  fcp: measurement,
  ttfb: measurement,
})
export type Vitals = z.infer<typeof Vitals>

/** An error that a page threw. */
export const PageError = z.object({
  /** Its class, `TypeError`. */
  type: z.string(),
  /** As thrown. */
  message: z.string(),
  /** Where it was thrown, the top of its stack; null where no stack came with it. */
  frame: z.string().nullable(),
  /** The same for errors that are the same, whatever varies in their messages. */
  fingerprint: z.string(),
})
export type PageError = z.infer<typeof PageError>

/** What is stored of one thing a person did: a row of `events`. It has no address (spec 2.4). */
export interface EventRow {
  site_id: number
  timestamp: Date
  /** `pageview`, or one of the kinds of spec 6. */
  kind: string
  /** The name of a custom event. */
  event_name: string | null
  visitor_id: bigint
  session_id: bigint
  /** The timestamp of the session's first hit: a session belongs to the window it started in (contract 4). */
  session_start: Date
  hostname: string
  pathname: string
  status: number | null
  /** 0 of a pageview for which a document in the browser asked nobody: another page of a single-page app. */
  duration_ms: number | null
  /** From here to `utm_term`: fixed by the session's first hit, the same on each of its rows. */
  entry_page: string | null
  referrer: string | null
  source: string | null
  channel: string
  utm_source: string | null
  utm_medium: string | null
  utm_campaign: string | null
  utm_content: string | null
  utm_term: string | null
  country: string | null
  region: string | null
  city: string | null
  asn: number | null
  browser: string | null
  browser_version: string | null
  os: string | null
  os_version: string | null
  device_type: string | null
  screen_class: string | null
  language: string | null
  timezone: string | null
  /** Engaged milliseconds and deepest scroll, 0 to 100, where a browser said so. */
  engaged_ms: number | null
  scroll: number | null
  identified_id: string | null
  /** JSON text. */
  props: string | null
  /** Two independent families of signals say that this is no person; it is counted as one all the same. */
  suspected: boolean
  /** Why: `family:signal`, by comma, at most one of each; null where nothing was seen. */
  suspected_by: string | null
  recorded_by: 'server' | 'browser' | 'edge' | 'import'
  vitals: Vitals | null
  /** Of kind `error`. */
  error: PageError | null
  /** JSON text: what the site says of the person it identifies, on the row that said it. */
  traits: string | null
}

/** The columns of a person's row that the session's first hit fixes for all of its rows. */
export const ARRIVAL_COLUMNS = [
  'entry_page',
  'referrer',
  'source',
  'channel',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_content',
  'utm_term',
] as const
export type Arrival = Pick<EventRow, (typeof ARRIVAL_COLUMNS)[number]>

/** What tells the row of a view: two of one page by one visitor in the same millisecond are the same. */
export type ViewKey = Pick<EventRow, 'site_id' | 'visitor_id' | 'timestamp' | 'hostname' | 'pathname'>

/** The columns of a view's row that its browser fills in, and those that its server does. */
export const BROWSER_COLUMNS = [
  'screen_class',
  'language',
  'timezone',
  'identified_id',
  'props',
  'traits',
  'vitals',
] as const
export const SERVER_COLUMNS = ['status', 'duration_ms'] as const

/** What the one who told of a view second adds to the stored row of it; null adds nothing. */
export interface Addition extends Pick<EventRow, (typeof BROWSER_COLUMNS)[number] | (typeof SERVER_COLUMNS)[number]> {
  to: ViewKey
}

/** What is stored of one fetch by an agent: a row of `agent_events` (spec 2.5). It has no address. */
export interface AgentEventRow {
  site_id: number
  timestamp: Date
  agent_id: string
  operator: string
  purpose: string
  /** The catalog that said so; rows can be classified again under a later one. */
  catalog_version: string
  user_agent: string
  verified: boolean | null
  /** web_bot_auth, ranges, rdns, spoofed, unverifiable, indeterminate (contract 3). */
  verification: string
  method: string
  hostname: string
  pathname: string
  status: number
  bytes: number
  duration_ms: number
  content_type: string | null
  conditional: 0 | 1
  /** A fetch that read a page: GET, 2xx or 304, a document type (contract 4). */
  is_pageview: boolean
  country: string | null
  asn: number | null
  ip_hash: bigint
  /** By the robots.txt in force at that moment, for the agent's own token; null where none was known (contract 3). */
  robots_allowed: boolean | null
  /** Where it was not allowed: the pattern that said so, its line, and whether a copy a day old allowed it still. */
  robots_rule: string | null
  robots_line: number | null
  robots_grace: boolean | null
  llms_listed: 0 | 1 | null
  /** What the response asked of its readers, as sent. */
  x_robots_tag: string | null
  content_usage: string | null
}

/** The rows that one batch of observations became. */
export interface Rows {
  events: EventRow[]
  agent_events: AgentEventRow[]
}
