import { type AgentEventRow, type EventRow, type LooseReport, PageError, Vitals } from './rows.js'

/** A row with a value that its column cannot hold: our own fault, and not the batch's. */
export class RowError extends Error {
  override readonly name = 'RowError'
  constructor(
    readonly table: RowTable,
    readonly index: number,
    readonly column: string,
    value: unknown,
  ) {
    super(`${table}.${column} cannot hold ${typeof value === 'bigint' ? value : JSON.stringify(value)}`)
  }
}

/** A table of rows that happened. */
export type RowTable = 'events' | 'agent_events' | 'loose_reports'
export type PlainType = 'integer' | 'uinteger' | 'bigint' | 'ubigint' | 'varchar' | 'boolean' | 'timestamp'
/** `vitals` is five columns of doubles; `json` is text. */
export type ColumnType = PlainType | 'vitals' | 'json'
export type Columns<Row> = { readonly [Column in keyof Row]: ColumnType }

const EVENT_COLUMNS = {
  site_id: 'integer',
  timestamp: 'timestamp',
  kind: 'varchar',
  event_name: 'varchar',
  visitor_id: 'ubigint',
  session_id: 'ubigint',
  session_start: 'timestamp',
  hostname: 'varchar',
  pathname: 'varchar',
  status: 'integer',
  duration_ms: 'integer',
  entry_page: 'varchar',
  referrer: 'varchar',
  source: 'varchar',
  channel: 'varchar',
  utm_source: 'varchar',
  utm_medium: 'varchar',
  utm_campaign: 'varchar',
  utm_content: 'varchar',
  utm_term: 'varchar',
  country: 'varchar',
  region: 'varchar',
  city: 'varchar',
  asn: 'uinteger',
  browser: 'varchar',
  browser_version: 'varchar',
  os: 'varchar',
  os_version: 'varchar',
  device_type: 'varchar',
  screen_class: 'varchar',
  language: 'varchar',
  timezone: 'varchar',
  engaged_ms: 'integer',
  scroll: 'integer',
  identified_id: 'varchar',
  props: 'varchar',
  recorded_by: 'varchar',
  suspected: 'boolean',
  suspected_by: 'varchar',
  vitals: 'vitals',
  error: 'json',
  traits: 'varchar',
  reported_at: 'timestamp',
  import_id: 'integer',
  import_key: 'ubigint',
} as const

/**
 * The columns of the tables of rows and their types, in DuckDB's words. In the order of DuckDB's tables, because an appender
 * knows columns by their place (test/storage/duckdb/event-store.test.ts compares).
 */
export const COLUMN_TYPES: {
  events: Columns<EventRow>
  loose_reports: Columns<LooseReport>
  agent_events: Columns<AgentEventRow>
} = {
  events: EVENT_COLUMNS,
  loose_reports: EVENT_COLUMNS,
  agent_events: {
    site_id: 'integer',
    timestamp: 'timestamp',
    agent_id: 'varchar',
    operator: 'varchar',
    purpose: 'varchar',
    catalog_version: 'varchar',
    user_agent: 'varchar',
    verified: 'boolean',
    verification: 'varchar',
    method: 'varchar',
    hostname: 'varchar',
    pathname: 'varchar',
    status: 'integer',
    bytes: 'bigint',
    duration_ms: 'integer',
    content_type: 'varchar',
    conditional: 'integer',
    is_pageview: 'boolean',
    country: 'varchar',
    asn: 'uinteger',
    ip_hash: 'ubigint',
    robots_allowed: 'boolean',
    llms_listed: 'integer',
    robots_rule: 'varchar',
    robots_line: 'integer',
    robots_grace: 'boolean',
    x_robots_tag: 'varchar',
    content_usage: 'varchar',
    import_id: 'integer',
    import_key: 'ubigint',
    action: 'varchar',
    rule: 'integer',
    accepts: 'varchar',
    proof: 'varchar',
    proof_at: 'timestamp',
  },
}

/** In the order of their columns. */
export const VITAL_COLUMNS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const

/** The names of a table's columns, in their order. An engine may have more, which are not part of a row. */
export const listColumnNames = (table: RowTable): string[] =>
  Object.entries(COLUMN_TYPES[table]).flatMap(([name, type]) => (type === 'vitals' ? [...VITAL_COLUMNS] : [name]))

/**
 * Returns the value of a column as engines store it; undefined if the column cannot hold the value. Numbers are rounded and
 * limited to the column's range.
 */
export const COLUMN_VALUES = {
  integer: (value: unknown) => roundWithin(value, -(2 ** 31), 2 ** 31 - 1),
  uinteger: (value: unknown) => roundWithin(value, 0, 2 ** 32 - 1),
  bigint: (value: unknown) => roundWithin(value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  ubigint: (value: unknown) => (typeof value === 'bigint' && value >= 0n && value < UBIGINT_LIMIT ? value : undefined),
  varchar: (value: unknown) => (typeof value === 'string' ? value : undefined),
  boolean: (value: unknown) => (typeof value === 'boolean' ? value : undefined),
  timestamp: (value: unknown) => (value instanceof Date && !Number.isNaN(value.getTime()) ? value : undefined),
  vitals: (value: unknown) => Vitals.safeParse(value).data,
  json: (value: unknown) => {
    const { success, data } = PageError.safeParse(value)
    return success ? JSON.stringify(data, replaceLoneSurrogates) : undefined
  },
} as const satisfies { readonly [T in ColumnType]: (value: unknown) => unknown }

const UBIGINT_LIMIT = 1n << 64n

function roundWithin(value: unknown, least: number, most: number): number | undefined {
  if (typeof value !== 'number' || Number.isNaN(value)) return undefined
  return Math.min(most, Math.max(least, Math.round(value)))
}

/** A replacer for `JSON.stringify`: engines refuse JSON with half a surrogate pair. DuckDB's appender does the same. */
export const replaceLoneSurrogates = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? Buffer.from(value).toString() : value
