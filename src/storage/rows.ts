import { z } from 'zod'

const measurement = z.number().nonnegative().nullable()
/** Web Vitals of a page, null where the browser measured nothing: milliseconds, `cls` without a unit. */
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
  /** The top of its stack; null if no stack came with it. */
  frame: z.string().nullable(),
  /** Equal for equal errors, whatever varies in their messages. */
  fingerprint: z.string(),
})
export type PageError = z.infer<typeof PageError>

/** A row of `events`: one thing that a person did. It contains no address. */
export interface EventRow {
  site_id: number
  timestamp: Date
  /** `pageview`, or another kind of hit. */
  kind: string
  /** The name of a custom event. */
  event_name: string | null
  visitor_id: bigint
  session_id: bigint
  /** The timestamp of the session's first hit. A session belongs to the window in which it started. */
  session_start: Date
  hostname: string
  pathname: string
  status: number | null
  /** 0 for a pageview without a request: another page of a single-page app. */
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
  /** Engaged milliseconds and deepest scroll, 0 to 100, if a browser reported them. */
  engaged_ms: number | null
  scroll: number | null
  identified_id: string | null
  /** JSON text. */
  props: string | null
  /** At least two independent families of signals say that this is not a person. The row still counts as a person's. */
  suspected: boolean
  /** The signals as `family:signal`, separated by commas, each at most once; null without any signal. */
  suspected_by: string | null
  recorded_by: 'server' | 'browser' | 'edge' | 'import'
  vitals: Vitals | null
  /** Set for kind `error`. */
  error: PageError | null
  /** JSON text: what the site says about the person it identifies, on the row that said it. */
  traits: string | null
  /** When a page's report arrived that did not prolong its session; null for every other row. `timestamp` is in the session. */
  reported_at: Date | null
  /** The import that wrote the row (table `imports` of the records); null for a row that was recorded live. */
  import_id: number | null
  /** Identifies the exchange in its log, a keyed hash; null for a row that was recorded live. */
  import_key: bigint | null
}

/** A report of a page by a visitor without a session: it has no values of one. */
export type LooseReport = Omit<EventRow, keyof Arrival | 'session_id' | 'session_start'> & {
  [Column in keyof Arrival | 'session_id' | 'session_start']: null
}

/** The kind of a row of `loose_reports`: a person asked for a page that does not exist. */
export const MISSING_PAGE = 'missing_page'

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

/** Identifies the row of a view: two views of one page by one visitor in the same millisecond are the same. */
export type ViewKey = Pick<EventRow, 'site_id' | 'visitor_id' | 'timestamp' | 'hostname' | 'pathname'>

/** The columns of a view's row that its browser fills in, and those that its server fills in. */
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

/** Columns that the second report of a view (by browser or server) adds to its stored row; null adds nothing. */
export interface Addition extends Pick<EventRow, (typeof BROWSER_COLUMNS)[number] | (typeof SERVER_COLUMNS)[number]> {
  to: ViewKey
}

/** A row of `agent_events`: one fetch by an agent. It contains no address. */
export interface AgentEventRow {
  site_id: number
  timestamp: Date
  agent_id: string
  operator: string
  purpose: string
  /** The version of the catalog that named the agent; rows can be classified again under a later one. */
  catalog_version: string
  user_agent: string
  verified: boolean | null
  /** web_bot_auth, ranges, rdns, spoofed, unverifiable, indeterminate */
  verification: string
  /** The list of addresses or directory of keys that verified the claim: its URL, or the name of a local file; null for other ways. */
  proof: string | null
  /** When that list or directory was last confirmed to be current. */
  proof_at: Date | null
  method: string
  hostname: string
  pathname: string
  status: number
  bytes: number
  duration_ms: number
  content_type: string | null
  conditional: 0 | 1
  /** The fetch read a page: GET, 2xx or 304, a document type. */
  is_pageview: boolean
  country: string | null
  asn: number | null
  ip_hash: bigint
  /** By the robots.txt that was active at that moment, for the agent's own token; null if no version was known. */
  robots_allowed: boolean | null
  /** If it was not allowed: the deciding pattern, its line, and whether a copy at most a day old still allowed it. */
  robots_rule: string | null
  robots_line: number | null
  robots_grace: boolean | null
  llms_listed: 0 | 1 | null
  /** The response's wishes to its readers, as sent. */
  x_robots_tag: string | null
  content_usage: string | null
  /** The action of the operator's rule that decided the fetch: `allow`, or `block`, `pay`, `limit`, `gone`, which refused it. */
  action: string | null
  /** The rule's id. */
  rule: number | null
  /** The format that `Accept` asked for (`markdown`, `html`, `any`); null without the header, or if it was not recorded. */
  accepts: string | null
  import_id: number | null
  import_key: bigint | null
}

/** The rows that one batch of observations and hits becomes. */
export interface Rows {
  events: EventRow[]
  agent_events: AgentEventRow[]
}
