/*
 * What sealed sessions promise to whoever asks for them: the tables are made by it (src/duckdb/aggregate-step.ts) and asked by it
 * (src/query/aggregate-split.ts).
 */

/** The same on all hits of a session, but for a few (`mixed`). */
export const SESSION_TRAITS: readonly string[] = [
  ...['country', 'region', 'city', 'asn', 'browser', 'browser_version', 'os', 'os_version', 'device_type'],
  ...['screen_class', 'language'],
]

/**
 * The columns of `sessions` that say when the visitor's sealed session before began, among those with the same values of
 * these dimensions: of what visitors are counted by most. A further one needs a migration that adds its column.
 */
export const PRIOR_DIMENSIONS: Readonly<Record<string, readonly string[]>> = {
  prior: [],
  prior_channel: ['channel'],
  prior_source: ['source', 'channel'],
  prior_campaign: ['utm_campaign', 'utm_source', 'utm_medium'],
  prior_country: ['country'],
  prior_region: ['country', 'region'],
  prior_city: ['country', 'region', 'city'],
  prior_browser: ['browser'],
  prior_os: ['os'],
  prior_device_type: ['device_type'],
  prior_screen_class: ['screen_class'],
}
export const PRIOR_COLUMNS: readonly string[] = Object.keys(PRIOR_DIMENSIONS)
