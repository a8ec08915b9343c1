/*
 * Columns of the session aggregates that both sides rely on: src/duckdb/aggregate-step.ts fills the tables, and
 * src/query/aggregate-split.ts reads them.
 */

/** The same on all hits of a session, except in a few sessions (`mixed`). */
export const SESSION_TRAITS: readonly string[] = [
  ...['country', 'region', 'city', 'asn', 'browser', 'browser_version', 'os', 'os_version', 'device_type'],
  ...['screen_class', 'language'],
]

/**
 * Columns of `sessions` that say when the visitor's previous aggregated session with the same values of these dimensions
 * began. They cover what visitors are counted by most. A further one needs a migration that adds its column.
 */
export const PRIOR_DIMENSIONS: Readonly<Record<string, readonly string[]>> = {
  prior: [],
  prior_channel: ['channel'],
  prior_source: ['source', 'channel'],
  prior_campaign: ['utm_campaign', 'utm_source', 'utm_medium'],
  prior_entry_page: ['entry_page'],
  prior_exit_page: ['exit_page'],
  prior_country: ['country'],
  prior_region: ['country', 'region'],
  prior_city: ['country', 'region', 'city'],
  prior_browser: ['browser'],
  prior_os: ['os'],
  prior_device_type: ['device_type'],
  prior_screen_class: ['screen_class'],
}
export const PRIOR_COLUMNS: readonly string[] = Object.keys(PRIOR_DIMENSIONS)

/**
 * Columns of `sessions` for cohorts, over all sessions of the visitor: when the first began, and the one before this.
 * Unlike `prior`, they include sessions of several visitors, which count for the visitor with the least id.
 */
export const COHORT_COLUMNS = ['first_seen', 'previous'] as const
