import { DAILY_NAMES, type DailyTableName, dailyColumns } from '../aggregates/daily-counts.js'
import { type AggregateType, SESSION_TABLES } from '../aggregates/session-aggregates.js'
import { COLUMN_TYPES, type ColumnType, type RowTable, VITAL_COLUMNS } from '../columns.js'
import { PAGE_EDITION_KEY, PAGE_EDITION_TYPES } from '../page-samples.js'

/** A column of a table: its name and its type in ClickHouse's words. */
export interface Column {
  readonly name: string
  readonly type: string
}

const INSTANT = "DateTime64(3, 'UTC')"
const TYPES: Readonly<Record<Exclude<ColumnType, 'vitals'> | AggregateType, string>> = {
  integer: 'Int32',
  uinteger: 'UInt32',
  bigint: 'Int64',
  ubigint: 'UInt64',
  varchar: 'String',
  json: 'String',
  boolean: 'Bool',
  timestamp: INSTANT,
  // The type of `count(*)`, because a sum over a union of both needs one type.
  count: 'UInt64',
  double: 'Float64',
}

/** Columns that every row has. No others: of a column that cannot be null, `lag` returns '' or 0 where there is no row. */
const REQUIRED = new Set([
  'site_id',
  'timestamp',
  'kind',
  'visitor_id',
  'agent_id',
  'verification',
  'method',
  'ip_hash',
])
/** Columns that every row with a session has. */
const OF_SESSIONS = new Set(['session_id', 'session_start'])
/** Text with few values, which a dictionary stores in less than half the space. Paths and referrers have many. */
const LOW_CARDINALITY = new Set([
  ...['kind', 'event_name', 'hostname', 'source', 'channel', 'utm_source', 'utm_medium', 'utm_campaign', 'country'],
  ...[
    'region',
    'browser',
    'browser_version',
    'os',
    'os_version',
    'device_type',
    'screen_class',
    'language',
    'timezone',
  ],
  ...['recorded_by', 'suspected_by', 'agent_id', 'operator', 'purpose', 'catalog_version', 'verification', 'method'],
  ...['content_type', 'robots_rule', 'x_robots_tag', 'content_usage', 'action', 'accepts', 'proof'],
])

/** Columns of a table whose rows have versions: the one with the highest `ver` counts, and none if that is deleted. */
const VERSION_COLUMNS: readonly Column[] = [
  { name: 'ver', type: 'UInt64' },
  { name: 'is_deleted', type: 'UInt8' },
]

/** The columns of a table of rows, after the declaration that DuckDB's tables have too, with its key and version. */
export const listColumns = (table: RowTable): Column[] => [
  ...Object.entries(COLUMN_TYPES[table]).flatMap(([name, type]: [string, ColumnType]) =>
    type === 'vitals'
      ? VITAL_COLUMNS.map((vital) => ({ name: vital, type: 'Nullable(Float64)' }))
      : [{ name, type: typeOf(table, name, TYPES[type]) }],
  ),
  { name: 'row_id', type: 'UInt64' },
  ...VERSION_COLUMNS,
]

function typeOf(table: RowTable, name: string, type: string): string {
  const required = REQUIRED.has(name) || (table === 'events' && OF_SESSIONS.has(name))
  const nullable = required ? type : `Nullable(${type})`
  return LOW_CARDINALITY.has(name) ? `LowCardinality(${nullable})` : nullable
}

export const ROW_TABLES = ['events', 'loose_reports', 'agent_events'] as const satisfies readonly RowTable[]

const describe = (columns: readonly Column[]): string => columns.map(({ name, type }) => `${name} ${type}`).join(', ')

/**
 * Settings of a table whose rows may have to be erased. A part that a merge or a mutation replaces leaves the disk within
 * seconds, not after eight minutes, so the part that replaces it is written through; so is each insert.
 */
const ERASABLE = `old_parts_lifetime = 1, merge_tree_clear_old_parts_interval_seconds = 1, fsync_after_insert = 1,
  fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1`

/**
 * A table of rows. Its key has neither a session's id nor its start, because a late hit changes them, and a version with
 * another key would be another row.
 */
const createRowTable = (table: RowTable): string => `
  create table if not exists ${table} (
    ${describe(listColumns(table))} ${table === 'events' ? ', index started session_start type minmax' : ''})
  engine = ReplacingMergeTree(ver, is_deleted) partition by toYYYYMM(timestamp) order by (site_id, timestamp, row_id)
  settings ${ERASABLE}`

/** Deliveries of other servers; the columns are those of DuckDB's table. */
export const DELIVERY_COLUMNS: readonly Column[] = [
  { name: 'site_id', type: 'Int32' },
  { name: 'signature', type: 'Nullable(String)' },
  { name: 'sender', type: 'Nullable(String)' },
  { name: 'number', type: 'Nullable(Int64)' },
  { name: 'accepted_at', type: INSTANT },
  { name: 'row_id', type: 'UInt64' },
  ...VERSION_COLUMNS,
]

const AGGREGATE_KEYS = {
  sessions: ['site_id', 'started', 'session_id'],
  session_pages: ['site_id', 'started', 'session_id', 'pathname'],
  daily_urls: ['site_id', 'day', 'hostname', 'pathname'],
  daily_agents: ['site_id', 'day', 'agent_id', 'operator', 'purpose'],
  daily_views: ['site_id', 'day', 'hostname', 'pathname', 'assistant'],
} as const satisfies Record<keyof typeof SESSION_TABLES | DailyTableName, readonly string[]>
export type AggregateTable = keyof typeof AGGREGATE_KEYS
const SESSION_NAMES = ['sessions', 'session_pages'] as const satisfies AggregateTable[]

/** The columns of a row's key. */
export const aggregateKey = (table: AggregateTable): readonly string[] => AGGREGATE_KEYS[table]
export const aggregateColumns = (table: AggregateTable): Readonly<Record<string, AggregateType>> =>
  table === 'sessions' || table === 'session_pages' ? SESSION_TABLES[table] : dailyColumns(table)

/** Columns of aggregates that every row has, besides counts and keys; and the key that a row may lack. */
const ALWAYS = new Set(['visitor_id', 'ended', 'ms', 'bounced', 'traits_vary', 'suspected', 'agents'])
const OPTIONAL_KEY = 'assistant'

/**
 * A table of aggregates, a part a month. Of rows with one key the one with the highest `ver` counts, or none if that is
 * deleted.
 */
function createAggregateTable(table: AggregateTable): string {
  const key = aggregateKey(table)
  const columns = Object.entries(aggregateColumns(table)).map(([name, type]) => {
    const required = (key.includes(name) && name !== OPTIONAL_KEY) || type === 'count' || ALWAYS.has(name)
    const plain = required ? TYPES[type] : `Nullable(${TYPES[type]})`
    return `${name} ${LOW_CARDINALITY.has(name) ? `LowCardinality(${plain})` : plain}`
  })
  return `create table if not exists ${table} (${columns.join(', ')}, ${describe(VERSION_COLUMNS)})
    engine = ReplacingMergeTree(ver, is_deleted) partition by toYYYYMM(${key[1]}) order by (${key.join(', ')})
    settings ${ERASABLE}${key.includes(OPTIONAL_KEY) ? ', allow_nullable_key = 1' : ''}`
}

/** Columns of `page_samples` that its key has. */
const ALWAYS_OF_PAGES: ReadonlySet<string> = new Set(PAGE_EDITION_KEY)

/** How far sessions are aggregated and days are counted, one row each, that of the latest writer; and the stale sessions. */
const PROGRESS_TABLES = [
  `create table if not exists aggregated_until (started ${INSTANT}, ver UInt64)
    engine = ReplacingMergeTree(ver) order by tuple()`,
  `create table if not exists daily_aggregated_until (day ${INSTANT}, ver UInt64)
    engine = ReplacingMergeTree(ver) order by tuple()`,
  // A deleted entry is dropped after a while. One that comes back has its session aggregated once more, no harm.
  `create table if not exists stale_sessions (
      site_id Int32, session_id UInt64, session_start ${INSTANT}, ${describe(VERSION_COLUMNS)},
      written_at DateTime default now())
    engine = ReplacingMergeTree(ver, is_deleted) order by (site_id, session_id, session_start)
    ttl written_at + interval 1 day delete where is_deleted = 1 settings ${ERASABLE}`,
]

/** The editions of pages; the columns are those of DuckDB's table. */
const PAGE_SAMPLES = `create table if not exists page_samples (
    ${Object.entries(PAGE_EDITION_TYPES)
      .map(([name, type]) => `${name} ${ALWAYS_OF_PAGES.has(name) ? TYPES[type] : `Nullable(${TYPES[type]})`}`)
      .join(', ')}, ${describe(VERSION_COLUMNS)})
  engine = ReplacingMergeTree(ver, is_deleted) order by (${PAGE_EDITION_KEY.join(', ')}) settings ${ERASABLE}`

/** Columns of aggregates that a migration renamed. */
const RENAMED_COLUMNS = [
  ['sessions', 'acts', 'interactions'],
  ['sessions', 'ids', 'visitor_ids'],
  ['sessions', 'mixed', 'traits_vary'],
  ['session_pages', 'page_acts', 'page_interactions'],
  ['session_pages', 'ids', 'visitor_ids'],
] as const

/**
 * One migration after the other; each is a list of statements that may be repeated. A server that joins a cluster runs all
 * of them again and creates tables as the other replicas have them now, so the statements that create tables follow their
 * declaration: a new table is created there too, and a migration changes those that exist.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    ...ROW_TABLES.map(createRowTable),
    `create table if not exists deliveries (${describe(DELIVERY_COLUMNS)})
      engine = ReplacingMergeTree(ver, is_deleted) order by (site_id, row_id)`,
    `create table if not exists sitemap_urls (
        hostname String, pathname String, lastmod Nullable(${INSTANT}), ${describe(VERSION_COLUMNS)})
      engine = ReplacingMergeTree(ver, is_deleted) order by (hostname, pathname)`,
    // Removals that are not forgotten: the person's ids and sessions, 16 hex digits joined by comma, and whether the rows are gone.
    `create table if not exists removed (
        key String, rows Int64, person Nullable(String), visitor_ids String, session_ids String, done Bool,
        ${describe(VERSION_COLUMNS)})
      engine = ReplacingMergeTree(ver, is_deleted) order by key settings ${ERASABLE}`,
    // The records that the rows belong to (binding.ts).
    `create table if not exists bindings (token String, bound_at ${INSTANT}) engine = MergeTree order by bound_at`,
    ...[...SESSION_NAMES, ...DAILY_NAMES].map(createAggregateTable),
    ...PROGRESS_TABLES,
    `create table if not exists daily_changed (site_id Int32, day ${INSTANT}, ${describe(VERSION_COLUMNS)})
      engine = ReplacingMergeTree(ver, is_deleted) order by (site_id, day)`,
    // The stale sessions of a step, under its number.
    `create table if not exists step_sessions (
        step UInt64, site_id Int32, session_id UInt64, session_start ${INSTANT}, part LowCardinality(String),
        written_at DateTime default now())
      engine = MergeTree order by (step, part) ttl written_at + interval 1 day settings ${ERASABLE}`,
  ],
  // Aggregated sessions of several visitor ids again, which the next one does with all sessions.
  [],
  [
    ...RENAMED_COLUMNS.map(([table, was, name]) => `alter table ${table} rename column if exists ${was} to ${name}`),
    // Not renamed, because a replica's path has the table's name. Without a row in the new ones all is aggregated again.
    ...PROGRESS_TABLES,
    ...['seals', 'daily_seals', 'unsealed'].map((table) => `drop table if exists ${table} sync`),
  ],
  [
    PAGE_SAMPLES,
    ...SESSION_NAMES.map((table) => `alter table ${table} add column if not exists suspected Bool`),
    // Aggregates all sessions again, with this column.
    'truncate table aggregated_until',
  ],
]
