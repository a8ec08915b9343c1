import { COLUMN_TYPES, type ColumnType, type RowTable, VITAL_COLUMNS } from '../columns.js'

/** A column of a table: its name and its type in ClickHouse's words. */
export interface Column {
  readonly name: string
  readonly type: string
}

const INSTANT = "DateTime64(3, 'UTC')"
const TYPES: Readonly<Record<Exclude<ColumnType, 'vitals'>, string>> = {
  integer: 'Int32',
  uinteger: 'UInt32',
  bigint: 'Int64',
  ubigint: 'UInt64',
  varchar: 'String',
  json: 'String',
  boolean: 'Bool',
  timestamp: INSTANT,
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
  ...['content_type', 'robots_rule', 'x_robots_tag', 'content_usage'],
])

/** The columns of a table of rows, after the declaration that DuckDB's tables have too, and those of `ReplacingMergeTree`. */
export const listColumns = (table: RowTable): Column[] => [
  ...Object.entries(COLUMN_TYPES[table]).flatMap(([name, type]: [string, ColumnType]) =>
    type === 'vitals'
      ? VITAL_COLUMNS.map((vital) => ({ name: vital, type: 'Nullable(Float64)' }))
      : [{ name, type: typeOf(table, name, TYPES[type]) }],
  ),
  { name: 'row_id', type: 'UInt64' },
  { name: 'ver', type: 'UInt64' },
]

function typeOf(table: RowTable, name: string, type: string): string {
  const required = REQUIRED.has(name) || (table === 'events' && OF_SESSIONS.has(name))
  const nullable = required ? type : `Nullable(${type})`
  return LOW_CARDINALITY.has(name) ? `LowCardinality(${nullable})` : nullable
}

export const ROW_TABLES = ['events', 'loose_reports', 'agent_events'] as const satisfies readonly RowTable[]

/**
 * A table of rows. Its key has neither a session's id nor its start, because a late hit changes them and a key cannot be
 * updated. Of rows with one key the one with the highest `ver` counts. Block numbers allow updates as patches.
 */
const createRowTable = (table: RowTable): string => `
  create table if not exists ${table} (
    ${listColumns(table)
      .map(({ name, type }) => `${name} ${type}`)
      .join(', ')}
    ${table === 'events' ? ', index started session_start type minmax' : ''})
  engine = ReplacingMergeTree(ver) partition by toYYYYMM(timestamp) order by (site_id, timestamp, row_id)
  settings enable_block_number_column = 1, enable_block_offset_column = 1`

/**
 * One migration after the other; each is a list of statements that may be repeated. A released one never changes, except
 * that the tables of rows get new columns from their declaration (`migrate.ts`).
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    ...ROW_TABLES.map(createRowTable),
    `create table if not exists sitemap_urls (hostname String, pathname String, lastmod Nullable(${INSTANT}))
      engine = MergeTree order by (hostname, pathname)`,
    // How far sessions are aggregated and days are counted. While these are empty, reads take all from rows.
    `create table if not exists seals (watermark ${INSTANT}) engine = MergeTree order by watermark`,
    `create table if not exists unsealed (site_id Int32, session_id UInt64, session_start ${INSTANT})
      engine = MergeTree order by (site_id, session_id)`,
    `create table if not exists daily_seals (day ${INSTANT}) engine = MergeTree order by day`,
    `create table if not exists daily_changed (site_id Int32, day ${INSTANT}) engine = MergeTree order by (site_id, day)`,
  ],
]
