import type { Migration } from '../records/records-schema.js'

/** Session aggregates; `src/storage/aggregates/session-aggregates.ts` says what the columns mean. */
const AGGREGATES_SCHEMA: readonly string[] = [
  `create table sessions (
    site_id integer, session_id ubigint, visitor_id ubigint, started timestamp, prior timestamp, ended timestamp,
    ms bigint, views integer, acts integer, bounced double, ids integer, mixed boolean,
    entry_page varchar, exit_page varchar, referrer varchar, source varchar, channel varchar, utm_source varchar,
    utm_medium varchar, utm_campaign varchar, utm_content varchar, utm_term varchar, country varchar, region varchar,
    city varchar, asn uinteger, browser varchar, browser_version varchar, os varchar, os_version varchar,
    device_type varchar, screen_class varchar, language varchar,
    step_1 varchar, step_2 varchar, step_3 varchar, step_4 varchar, step_5 varchar, step_6 varchar, step_7 varchar,
    step_8 varchar)`,
  `create table session_pages (
    site_id integer, session_id ubigint, visitor_id ubigint, started timestamp, prior timestamp, ended timestamp,
    pathname varchar, page_views integer, page_acts integer, engaged_ms bigint, scroll integer, entered integer,
    exited integer, ms bigint, views integer, bounced double, ids integer)`,
  'create table unsealed (site_id integer, session_id ubigint, session_start timestamp)',
  // The last row is the watermark. Rows are only added, because DuckDB replays that without fault.
  'create table seals (watermark timestamp)',
]

/** Not `PRIOR_DIMENSIONS`, which may grow: a migration never changes. */
const FIRST_PRIORS = [
  ...['channel', 'source', 'campaign', 'country', 'region', 'city', 'browser', 'os', 'device_type', 'screen_class'],
]
/** Empties the aggregates, so that all sessions are aggregated again. */
const EMPTY_AGGREGATES = ['sessions', 'session_pages', 'unsealed', 'seals'].map((table) => `delete from ${table}`)
const PRIORS_SCHEMA: readonly string[] = [
  ...FIRST_PRIORS.map((by) => `alter table sessions add column prior_${by} timestamp`),
  ...EMPTY_AGGREGATES,
]

/**
 * Plain columns without keys, indexes and references: the known faults of DuckDB concern their replay from the log. A
 * released migration never changes; new ones are added. The columns have the order of `src/storage/columns.ts`.
 */
export const EVENTS_SCHEMA: readonly Migration[] = [
  [
    `create table events (
      site_id integer, timestamp timestamp, kind varchar, event_name varchar, visitor_id ubigint, session_id ubigint,
      session_start timestamp, hostname varchar, pathname varchar, status integer, duration_ms integer,
      entry_page varchar, referrer varchar, source varchar, channel varchar, utm_source varchar, utm_medium varchar,
      utm_campaign varchar, utm_content varchar, utm_term varchar, country varchar, region varchar, city varchar,
      asn uinteger, browser varchar, browser_version varchar, os varchar, os_version varchar, device_type varchar,
      screen_class varchar, language varchar, timezone varchar, engaged_ms integer, scroll integer,
      identified_id varchar, props varchar, recorded_by varchar)`,
    `create table agent_events (
      site_id integer, timestamp timestamp, agent_id varchar, operator varchar, purpose varchar,
      catalog_version varchar, user_agent varchar, verified boolean, verification varchar, method varchar,
      hostname varchar, pathname varchar, status integer, bytes bigint, duration_ms integer, content_type varchar,
      conditional integer, is_pageview boolean, country varchar, asn uinteger, ip_hash ubigint,
      robots_allowed boolean, llms_listed integer)`,
    // One row for each commit with the position that it reached, which shows whether a batch is stored already.
    'create table commits (run varchar, sequence bigint, mark varchar)',
  ],
  [
    'alter table events add column suspected boolean',
    'alter table events add column suspected_by varchar',
    'alter table agent_events add column robots_rule varchar',
    'alter table agent_events add column robots_line integer',
    'alter table agent_events add column robots_grace boolean',
    'alter table agent_events add column x_robots_tag varchar',
    'alter table agent_events add column content_usage varchar',
    // The URLs in each hostname's sitemaps: coverage shows which of them no agent ever fetched.
    'create table sitemap_urls (hostname varchar, pathname varchar, lastmod timestamp)',
  ],
  [
    // No structs: DuckDB 1.5.6 crashes when several threads write them (storage 'latest'; segmentation fault).
    ...['lcp', 'cls', 'inp', 'fcp', 'ttfb'].map((vital) => `alter table events add column ${vital} double`),
    'alter table events add column error varchar',
    'alter table events add column traits varchar',
  ],
  AGGREGATES_SCHEMA,
  [
    // Deliveries of other servers, so that none is stored twice (src/storage/edge-delivery.ts).
    `create table deliveries (
      site_id integer, signature varchar, sender varchar, number bigint, accepted_at timestamp)`,
  ],
  PRIORS_SCHEMA,
  [
    // Results of removals so far, written in the transactions of their steps and kept until the records have them too: a
    // crash between the two files loses nothing. Ids are 16 hex digits, joined by comma.
    'create table removed (key varchar, rows bigint, visitor_ids varchar)',
  ],
  // Sessions of events only have an exit page.
  EMPTY_AGGREGATES,
  [
    'alter table events add column reported_at timestamp',
    // Reports of pages by visitors without a session: the columns of `events`, which both tables get from now on.
    'create table loose_reports as select * from events where false',
  ],
  [
    // The openings of this file together with control.duckdb; control.duckdb has the same tokens (binding.ts).
    'create table openings (number integer, token varchar, opened_at timestamp, other_born varchar)',
    // Site ids that were given; the highest counts.
    'create table site_ids (last integer)',
  ],
  [
    ...['prior_entry_page', 'prior_exit_page', 'first_seen', 'previous'].map(
      (name) => `alter table sessions add column ${name} timestamp`,
    ),
    ...EMPTY_AGGREGATES,
    // Counts by day; `src/storage/aggregates/daily-counts.ts` says what the columns mean.
    `create table daily_urls (
      site_id integer, day timestamp, hostname varchar, pathname varchar, fetches bigint, pages bigint, bytes bigint,
      verified_fetches bigint, spoofed bigint, indeterminate bigint, unverifiable bigint, last_seen timestamp,
      attempts bigint, page_reads bigint, refused bigint, readings bigint, first_crawl timestamp, last_crawl timestamp,
      last_response bigint, agents varchar)`,
    `create table daily_agents (
      site_id integer, day timestamp, agent_id varchar, operator varchar, purpose varchar, fetches bigint, pages bigint,
      bytes bigint, verified_fetches bigint, spoofed bigint, indeterminate bigint, unverifiable bigint,
      last_seen timestamp, attempts bigint, page_reads bigint)`,
    `create table daily_views (
      site_id integer, day timestamp, hostname varchar, pathname varchar, assistant varchar, views bigint, arrivals bigint)`,
    'create table daily_changed (site_id integer, day timestamp)',
    'create table daily_seals (day timestamp)',
  ],
  ['events', 'loose_reports', 'agent_events'].flatMap((table) => [
    `alter table ${table} add column import_id integer`,
    `alter table ${table} add column import_key ubigint`,
  ]),
  // A session of several visitor ids has the visitor of its first hit: such sessions are aggregated again.
  ['insert into unsealed select site_id, session_id, started from sessions where ids > 1'],
  [
    'alter table sessions rename column acts to interactions',
    'alter table sessions rename column ids to visitor_ids',
    'alter table sessions rename column mixed to traits_vary',
    'alter table session_pages rename column page_acts to page_interactions',
    'alter table session_pages rename column ids to visitor_ids',
    'alter table unsealed rename to stale_sessions',
    // Sessions that began before the last of these moments are aggregated.
    'alter table seals rename to aggregated_until',
    'alter table aggregated_until rename column watermark to started',
    'alter table daily_seals rename to daily_aggregated_until',
  ],
  // The operator's rule that decided a fetch.
  ['alter table agent_events add column action varchar', 'alter table agent_events add column rule integer'],
  [
    'alter table agent_events add column accepts varchar',
    // The editions of pages; `src/storage/page-samples.ts` says what the columns mean.
    `create table page_samples (
      site_id integer, hostname varchar, pathname varchar, first_seen timestamp, last_seen timestamp,
      prior_seen timestamp, replaced_at timestamp, digest varchar, samples integer, differing integer, varies boolean,
      served_to varchar, text_length integer, headings integer, links integer, lang varchar, canonical varchar, title varchar,
      first_line varchar, notice varchar, living_seen timestamp, living_text_length integer, living_headings integer,
      living_links integer, living_line varchar, agent_seen timestamp, agent_digest varchar, agent_samples integer,
      agent_text_length integer, agent_headings integer, agent_links integer, agent_line varchar)`,
    // The published list or directory that verified a fetch, and how current its copy was.
    'alter table agent_events add column proof varchar',
    'alter table agent_events add column proof_at timestamp',
    // Whether a row of the session is suspected. All sessions are aggregated again.
    ...['sessions', 'session_pages'].map((table) => `alter table ${table} add column suspected boolean`),
    ...['sessions', 'session_pages', 'stale_sessions', 'aggregated_until'].map((table) => `delete from ${table}`),
  ],
]
