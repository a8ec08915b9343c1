import { AGGREGATES_SCHEMA, PRIORS_SCHEMA } from './aggregate-step.js'
import type { Migration } from './migrate.js'

/**
 * Plain columns and nothing else: no key, index or reference, whose replay from the log is where the known faults lie
 * (reference/performance.md 4). A migration never changes once released; later ones add to it. The order of the columns
 * is the order of `encode.ts`.
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
    // One row a commit, with what it brought the run's totals to: how a batch is known to be stored already.
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
    // What each hostname's sitemaps list, replaced whole: coverage tells from it what no agent ever fetched.
    'create table sitemap_urls (hostname varchar, pathname varchar, lastmod timestamp)',
  ],
  [
    // No structs: DuckDB 1.5.6 dies writing them by several threads (storage 'latest'; segmentation fault).
    ...['lcp', 'cls', 'inp', 'fcp', 'ttfb'].map((vital) => `alter table events add column ${vital} double`),
    'alter table events add column error varchar',
    'alter table events add column traits varchar',
  ],
  AGGREGATES_SCHEMA,
  [
    // What other servers handed over, so that it is not taken twice (src/capture/edge-delivery.ts).
    `create table deliveries (
      site_id integer, signature varchar, sender varchar, number bigint, accepted_at timestamp)`,
  ],
  PRIORS_SCHEMA,
  [
    // What steps of a removal removed so far, in the transaction that removed it, until the records have it too: whoever
    // dies between the two files, it is told as it was. Ids are 16 hex digits, joined by comma.
    'create table removed (key varchar, rows bigint, visitor_ids varchar)',
  ],
]
