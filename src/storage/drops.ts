/** Reasons why an observation or a hit became no row. The list is closed; `/metrics` counts by these names. */
export const DROP_REASONS = [
  /** More rows waited for the store than the recorder's bound. */
  'queue_full',
  /** The recorder had switched itself off after repeated faults. */
  'recorder_off',
  /** Our own code failed on it. */
  'fault',
  /** The hostname belongs to no site. */
  'unknown_host',
  /** A person requested something other than a page: an asset, a form post, an API call, an error page. */
  'not_a_page',
  /** A person's browser fetched it ahead of time. */
  'prefetch',
  /** A person requested a path that the site excludes. */
  'excluded_path',
  /** The visitor used the first-party opt-out, or sent Sec-GPC or DNT and the site honours them. */
  'opted_out',
  /** The payload cannot be read: not JSON, a required key missing, nested too deeply, or compressed. */
  'malformed',
  /** The body is over its limit. */
  'too_large',
  /** After the first 200 hits of a batch. */
  'over_batch',
  /** The site does not exist. */
  'unknown_site',
  /** The hostname is not one of the site's. */
  'foreign_host',
  /** Over the hits a minute that a site accepts from one address. */
  'rate_limited',
  /** An agent ran the script, and the hit is not a pageview: what an agent does on a page is not a person's event. */
  'agent',
  /** The view already has its row: the browser reported it before the server had responded, or an agent ran the script. No loss. */
  'same_view',
  /** An engagement without time, scroll or id, or vitals or an error without content. No loss. */
  'nothing_measured',
] as const
export type DropReason = (typeof DROP_REASONS)[number]
export type DropCounts = Partial<Record<DropReason, number>>

/** The endpoints at which evidence comes in from outside: `track` from browsers (three endpoints), `edge` from other servers. */
export const INGEST_ENDPOINTS = ['track', 'edge'] as const
export type IngestEndpoint = (typeof INGEST_ENDPOINTS)[number]

/** Counts what one site received at one endpoint and dropped for one reason. `door` is the endpoint's field name in the API. */
export interface EndpointDrop {
  site: number
  door: IngestEndpoint
  reason: DropReason
  count: number
}

/** Counts one more drop in `all`. */
export function countEndpointDrop(all: EndpointDrop[], site: number, door: IngestEndpoint, reason: DropReason): void {
  const entry = all.find((one) => one.site === site && one.door === door && one.reason === reason)
  if (entry === undefined) all.push({ site, door, reason, count: 1 })
  else entry.count += 1
}
