/** Why an observation or a hit became no row: closed, counted by name, readable in /metrics. */
export const DROP_REASONS = [
  /** More rows waited for the store than the recorder's bound. */
  'queue_full',
  /** The recorder had switched itself off after repeated faults. */
  'recorder_off',
  /** Our own code failed on it. */
  'fault',
  /** The hostname belongs to no site. */
  'unknown_host',
  /** By a person, and not a page (contract 3): an asset, a form's post, an API call, an error page. */
  'not_a_page',
  /** By a person's browser, ahead of time. */
  'prefetch',
  /** By a person, of a path that the site does not want recorded. */
  'excluded_path',
  /** The visitor asked: by the first-party opt-out, or by Sec-GPC or DNT where the site honours them. */
  'opted_out',
  /** No payload of spec 2.4, or not as it came: no JSON, nested without end, compressed. */
  'malformed',
  /** A body over its limit. */
  'too_large',
  /** Behind the first 200 of a batch. */
  'over_batch',
  /** For a site that is none. */
  'unknown_site',
  /** For a site whose hostname it is not. */
  'foreign_host',
  /** Over the hits a minute that a site takes from one address. */
  'rate_limited',
  /** By an agent that runs the script, and no pageview: what an agent does on a page is nothing that people did. */
  'agent',
  /** Of a view that has its row already: the browser told of it before the server had answered, or an agent ran the script. No loss. */
  'same_view',
  /** It says nothing: an engagement without time, scroll or id, vitals or an error without any. No loss. */
  'nothing_measured',
  /** What a page says of itself when nobody knows of its visit any more: it began none. */
  'no_session',
] as const
export type DropReason = (typeof DROP_REASONS)[number]
export type DropCounts = Partial<Record<DropReason, number>>

/** Where what is dropped came in from outside: the browser's three, and other servers. */
export const INGEST_ENDPOINTS = ['track', 'edge'] as const
export type IngestEndpoint = (typeof INGEST_ENDPOINTS)[number]

/** What came in for one site at one door and became no row. */
export interface EndpointDrop {
  site: number
  door: IngestEndpoint
  reason: DropReason
  count: number
}

/** Counts one more. */
export function countEndpointDrop(all: EndpointDrop[], site: number, door: IngestEndpoint, reason: DropReason): void {
  const known = all.find((one) => one.site === site && one.door === door && one.reason === reason)
  if (known === undefined) all.push({ site, door, reason, count: 1 })
  else known.count += 1
}
