/** The statements from one version of a schema to the next; a version is its place in the list, from 1. */
export type Migration = readonly string[]

/**
 * The tables of records, in SQL that DuckDB and PostgreSQL share. Records are few, updated in place, without references
 * between tables (with one, even renaming a parent row fails on DuckDB).
 */
export const RECORDS_SCHEMA: readonly Migration[] = [
  [
    'create table organisations (id integer, name varchar, created_at timestamp)',
    `create table sites (
      id integer, org integer, name varchar, domains varchar, timezone varchar, currency varchar,
      excluded_paths varchar, respect_gpc boolean, visitor_salt varchar, retention_days integer,
      citation_threshold double precision, created_at timestamp)`,
    `create table keys (
      id integer, org integer, site integer, name varchar, prefix varchar, digest varchar, scopes varchar,
      created_at timestamp, expires_at timestamp, revoked_at timestamp, last_used_at timestamp, requests bigint)`,
  ],
  [
    // Every version of each hostname's robots.txt and llms.txt (kind). A failed fetch is a version too: it has a reason and
    // no body, and its status is 0 if there was no response. Times are those of our fetches.
    `create table policies (
      hostname varchar, kind varchar, url varchar, status integer, reason varchar, sha256 varchar, body varchar,
      truncated boolean, content_type varchar, etag varchar, last_modified varchar, first_seen timestamp,
      last_seen timestamp)`,
  ],
  [
    // Definitions that reads of a site use; match, revenue, steps and filters are JSON text.
    'create table goals (id integer, site integer, name varchar, type varchar, match varchar, revenue varchar)',
    'create table funnels (id integer, site integer, name varchar, steps varchar, window_minutes integer)',
    'create table segments (id integer, site integer, name varchar, filters varchar, shared boolean)',
    // The last id of each of these tables: the id of a deleted row is never given again.
    'create table last_ids (kind varchar, id integer)',
    "insert into last_ids values ('goals', 0), ('funnels', 0), ('segments', 0)",
  ],
  [
    // Hits that an ingest endpoint received and that became no row, by UTC day (2026-11-21) and reason.
    'create table drops (day varchar, site integer, door varchar, reason varchar, count bigint)',
  ],
  [
    // Keys that a site's servers sign with, in clear: an HMAC needs the key itself. The present key of a site does not
    // expire; a rotated one is valid until `expires_at`.
    'create table ingest_keys (site integer, key varchar, created_at timestamp, expires_at timestamp)',
  ],
  [
    // Passwords are argon2id in PHC form, null until one is set. Every other secret is a SHA-256 digest, except that of an
    // authenticator, which is needed in clear. `totp_step` is the last accepted step (RFC 6238 5.2).
    `create table users (
      id integer, email varchar, name varchar, password varchar, totp_secret varchar, totp_on boolean,
      totp_step bigint, created_at timestamp)`,
    'create table recovery_codes (user_id integer, digest varchar)',
    `create table sessions (
      id integer, user_id integer, digest varchar, created_at timestamp, last_seen_at timestamp, agent varchar,
      ip varchar)`,
    // Links for one use that a mail or the operator gives out. Kind is login, reset, email or register; a registration has
    // no account yet and is in `pending` as JSON text.
    `create table tokens (
      digest varchar, kind varchar, user_id integer, email varchar, pending varchar, created_at timestamp,
      expires_at timestamp)`,
    'create table members (org integer, user_id integer, role varchar, created_at timestamp)',
    `create table invitations (
      id integer, org integer, email varchar, role varchar, digest varchar, mailed varchar, invited_by varchar, created_at timestamp,
      expires_at timestamp, accepted_at timestamp)`,
    // Without defaults: they would set an option that is locked (DuckDB 1.5).
    'alter table organisations add column require_totp boolean',
    'update organisations set require_totp = false',
    'alter table organisations add column delete_after timestamp',
    'alter table sites add column origin varchar',
    'alter table sites add column version integer',
    'update sites set version = 1',
    'alter table goals add column version integer',
    'update goals set version = 1',
    'alter table funnels add column version integer',
    'update funnels set version = 1',
    'alter table segments add column version integer',
    'update segments set version = 1',
    // The name of a flag is its key. Scopes, filters, variants, channels, state and recipients are JSON text.
    `create table flags (
      id integer, site integer, name varchar, version integer, enabled boolean, rollout double precision, variants varchar,
      filters varchar)`,
    `create table shares (
      id integer, site integer, name varchar, version integer, slug varchar, scopes varchar, password varchar,
      expires_at timestamp, filters varchar, created_at timestamp)`,
    `create table alerts (
      id integer, site integer, name varchar, version integer, kind varchar, metric varchar, audience varchar,
      filters varchar, op varchar, value double precision, window_minutes integer, channels varchar, enabled boolean,
      secret varchar, state varchar, last_fired_at timestamp)`,
    `create table reports (
      id integer, site integer, name varchar, version integer, period varchar, recipients varchar, enabled boolean,
      last_sent varchar)`,
    // Messages to deliver; the key keeps a retried one from being sent twice. State is waiting, sending, done or failed.
    `create table notices (
      id integer, key varchar, site integer, alert integer, report integer, channel varchar, payload varchar,
      created_at timestamp, attempts integer, next_at timestamp, state varchar, last_error varchar, done_at timestamp)`,
    // Rows to remove from the events. Kind is visitor (16 hex digits) or site (its hostnames, JSON text); both are cleared
    // when the removal is done.
    `create table removals (
      id integer, site integer, kind varchar, visitor varchar, hostnames varchar, requested_at timestamp, rows bigint,
      done_at timestamp)`,
    `create table audit (
      id bigint, org integer, happened_at timestamp, actor_kind varchar, actor varchar, action varchar, object varchar,
      object_id varchar, ip varchar, details varchar)`,
    `insert into last_ids
      select 'sites', coalesce(max(id), 0) from sites
      union all select 'organisations', coalesce(max(id), 0) from organisations
      union all select kind, 0 from (values ('users'), ('sessions'), ('invitations'), ('flags'), ('shares'), ('alerts'),
        ('reports'), ('notices'), ('removals'), ('audit')) kinds (kind)`,
  ],
  [
    // The server that a delivery keeps busy (a webhook's host, or `mail`): deliveries to one server are limited.
    'alter table notices add column receiver varchar',
    // When an instance ran and stored every row: counts of other times may be too low.
    'create table recorded (began timestamp, ended timestamp)',
  ],
  // A table that is altered cannot be updated in the same transaction.
  ["update notices set receiver = ''"],
  [
    // The openings of this file together with events.duckdb; events.duckdb has the same tokens (binding.ts).
    'create table openings (number integer, token varchar, opened_at timestamp, other_born varchar, confirmed boolean)',
    // Losses that were found at an opening; without `decided_at` they wait for the operator.
    `create table losses (
      token varchar, found_at timestamp, kind varchar, backup varchar, since timestamp, decided_at timestamp)`,
    // The site of the first start, to which --domain belongs. Its id is 1 unless ids were given before.
    'create table first_site (id integer)',
    "insert into first_site select 1 from last_ids where kind = 'organisations' and id > 0",
  ],
  [
    // Notes on the time line; the name is the text. A person's note has `user_id` or `author`, an automatic one its cause.
    `create table annotations (
      id integer, site integer, name varchar, version integer, happened_at timestamp, kind varchar, author varchar,
      user_id integer, cause varchar, data varchar)`,
    // Causes of automatic notes, also of deleted ones, which do not come back.
    'create table annotation_causes (site integer, cause varchar, happened_at timestamp)',
    "insert into last_ids values ('annotations', 0)",
  ],
  // Why the time before a span was not recorded, and whether rows of the span may be lost with a file.
  ['alter table recorded add column cause varchar', 'alter table recorded add column complete boolean'],
  [
    // The origins that may frame a share link, JSON text, and whether it has a badge; null in older rows: none.
    'alter table shares add column embed varchar',
    'alter table shares add column badge boolean',
  ],
  // A site's scripts and styles as the notes know them, JSON text: a change of their hashes is a deployment.
  ['create table asset_names (site integer, names varchar)'],
  [
    // The process that may write, of those that share the records: one row (storage/records/lease.ts). A new holder is a new epoch.
    'create table writers (epoch bigint, instance varchar, address varchar, renewals bigint)',
    "insert into writers values (0, '', '', 0)",
  ],
  // The secrets of visitor ids, where several processes share the records: the text of salts.json.
  ['create table salts (content varchar)'],
  [
    // For events in an engine without transactions (storage/clickhouse/journal.ts), one row: the last writer's epoch, and the
    // last number and row id that it gave; the last commit with its first number and row id, until it is applied.
    `create table journal (
      epoch bigint, last_number bigint, last_row bigint, first_number bigint, first_row bigint, body varchar)`,
    'insert into journal values (0, 0, 0, 0, 0, null)',
    // The last position of each run of the writers.
    'create table commits (run varchar, mark varchar)',
  ],
  [
    // Notes of `readership migrate` in its target: the source, in one row until a writer opens these records; and each day of
    // a table that was copied and verified, with its fingerprint in the source.
    'create table copying (source varchar, is_complete boolean)',
    'create table copied (name varchar, day integer, fingerprint varchar)',
  ],
  [
    // Imports of access logs: how far each one is, and what became of its lines (manage/imports.ts).
    `create table imports (
      id integer, site integer, state varchar, reason varchar, source varchar, format varchar, created_at timestamp, ended_at timestamp,
      first_at timestamp, last_at timestamp, lines bigint, broken bigint, skipped bigint, known bigint, human bigint,
      agent bigint, own_salts boolean, done bigint, total bigint)`,
    // Stored sessions as they were before an import made them part of others; the arrival is JSON text.
    `create table import_sessions (
      import integer, site integer, session_id varchar, session_start timestamp, arrival varchar)`,
    // The key of the hashes in the column import_key, one row while an import is stored.
    'create table import_secrets (secret varchar)',
    "insert into last_ids values ('imports', 0)",
  ],
  [
    // Days that other tools counted, and the additions that they came with; `files` is JSON text. A null is not known.
    `create table histories (
      id integer, site integer, tool varchar, files varchar, created_at timestamp, days integer, first_day varchar,
      last_day varchar)`,
    `create table history_days (
      history integer, site integer, day varchar, visitors bigint, visits bigint, pageviews bigint, bounces bigint,
      seconds bigint)`,
    "insert into last_ids values ('histories', 0)",
  ],
  // Lines of an import that its paths of data left out; null of an older one.
  ['alter table imports add column data_lines bigint'],
  // The patterns of a site's sections, JSON text; null in older rows: none.
  ['alter table sites add column sections varchar'],
  [
    // Rules for agents, in the order of `position`. The definition is JSON text, and so is who changed a row last
    // (manage/author.ts).
    `create table rules (
      id integer, site integer, name varchar, version integer, position integer, definition varchar,
      changed_at timestamp, changed_by varchar)`,
    // Targets of requests for missing pages; the name is the missing path.
    `create table redirects (
      id integer, site integer, name varchar, version integer, target varchar, status integer, created_at timestamp,
      created_by varchar)`,
    // Versions of the robots.txt that readership serves for a site; `managed_robots` is the one that is served, or null.
    `create table robots_texts (
      id integer, site integer, text varchar, created_at timestamp, created_by varchar)`,
    'alter table sites add column managed_robots integer',
    // Since when, and for whom, no rule of the site refuses anything; null: the rules decide.
    'alter table sites add column rules_paused_since timestamp',
    'alter table sites add column rules_paused_by varchar',
    "insert into last_ids values ('rules', 0), ('redirects', 0), ('robots_texts', 0)",
  ],
  // Prices of agents' fetches in the site's currency; null: none.
  ['per_gigabyte', 'per_thousand_requests', 'per_origin_second'].map(
    (unit) => `alter table sites add column price_${unit} double precision`,
  ),
  // The private key that signs folders of evidence, made with the first one: one row.
  ['create table evidence_keys (seed varchar, created_at timestamp)'],
  [
    // Pages as search engines counted them, each number for the whole time of its addition; a null is not known. `pages` is
    // their number; null: the addition has days.
    'alter table histories add column pages integer',
    `create table history_pages (
      history integer, site integer, hostname varchar, pathname varchar, citations bigint, clicks bigint,
      impressions bigint)`,
  ],
  // The key with which a site's changed pages are announced; null: they are not.
  ['key', 'key_location'].map((name) => `alter table sites add column indexnow_${name} varchar`),
]
