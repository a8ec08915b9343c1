import type { Migration } from './migrate.js'

/** Records: small, updated in place, no references between tables (even renaming a parent row fails under one). */
export const CONTROL_SCHEMA: readonly Migration[] = [
  [
    'create table organisations (id integer, name varchar, created_at timestamp)',
    `create table sites (
      id integer, org integer, name varchar, domains varchar, timezone varchar, currency varchar,
      excluded_paths varchar, respect_gpc boolean, visitor_salt varchar, retention_days integer,
      citation_threshold double, created_at timestamp)`,
    `create table keys (
      id integer, org integer, site integer, name varchar, prefix varchar, digest varchar, scopes varchar,
      created_at timestamp, expires_at timestamp, revoked_at timestamp, last_used_at timestamp, requests bigint)`,
  ],
  [
    // Every version of each hostname's robots.txt and llms.txt (kind). A fetch that failed is a version too: its status
    // is 0 where nothing answered, `reason` says why, and it has no body. Times are the keeper's.
    `create table policies (
      hostname varchar, kind varchar, url varchar, status integer, reason varchar, sha256 varchar, body varchar,
      truncated boolean, content_type varchar, etag varchar, last_modified varchar, first_seen timestamp,
      last_seen timestamp)`,
  ],
  [
    // What a site's reads are asked by; match, revenue, steps and filters are JSON text.
    'create table goals (id integer, site integer, name varchar, type varchar, match varchar, revenue varchar)',
    'create table funnels (id integer, site integer, name varchar, steps varchar, window_minutes integer)',
    'create table segments (id integer, site integer, name varchar, filters varchar, shared boolean)',
    // The id that each of these tables gave last: one that was deleted never comes to mean another.
    'create table last_ids (kind varchar, id integer)',
    "insert into last_ids values ('goals', 0), ('funnels', 0), ('segments', 0)",
  ],
  [
    // What came in at a door for a site and became no row, by UTC day (2026-11-21) and reason.
    'create table drops (day varchar, site integer, door varchar, reason varchar, count bigint)',
  ],
  [
    // What a site's servers sign with, as it is: an HMAC has no use for a digest. One of a site has no end; one that was
    // rotated away is good until its own.
    'create table ingest_keys (site integer, key varchar, created_at timestamp, expires_at timestamp)',
  ],
]
