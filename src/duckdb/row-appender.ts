import type { DuckDBAppender } from '@duckdb/node-api'
import { type AgentEventRow, type EventRow, type LooseReport, PageError, Vitals } from '../rows.js'
import { replaceLoneSurrogates, toTimestamp } from './query.js'

/** A row with a value that its column cannot hold: our own fault, and not the batch's. */
export class RowError extends Error {
  override readonly name = 'RowError'
  constructor(
    readonly table: Table,
    readonly index: number,
    readonly column: string,
    value: unknown,
  ) {
    super(`${table}.${column} cannot hold ${typeof value === 'bigint' ? value : JSON.stringify(value)}`)
  }
}

type Table = 'events' | 'agent_events' | 'loose_reports'
type PlainType = 'integer' | 'uinteger' | 'bigint' | 'ubigint' | 'varchar' | 'boolean' | 'timestamp'
/** `vitals` is five columns of doubles; `json` is text. */
type ColumnType = PlainType | 'vitals' | 'json'
type Columns<Row> = { readonly [Column in keyof Row]: ColumnType }

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
} as const

/** In the order of the tables, because an appender knows columns by their place (test/duckdb/event-store.test.ts compares). */
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
  },
}

/** Appends `rows` to `table`; throws `RowError` at the first value that its column cannot hold. */
export function appendRows<Row>(appender: DuckDBAppender, table: Table, columns: Columns<Row>, rows: readonly Row[]) {
  // Looked up once: a fifth of the cost of appending a row was the lookup of its columns' types.
  const steps: { column: Extract<keyof Row, string>; append: Append; width: number }[] = []
  for (const column in columns) {
    const type = columns[column]
    steps.push({ column, append: APPENDERS[type], width: type === 'vitals' ? VITAL_COLUMNS.length : 1 })
  }
  rows.forEach((row, index) => {
    for (const { column, append, width } of steps) {
      const value = row[column]
      if (value === null || value === undefined) for (let n = 0; n < width; n++) appender.appendNull()
      else if (!append(appender, value)) throw new RowError(table, index, column, value)
    }
    appender.endRow()
  })
}

/** Returns false if the column cannot hold the value. */
type Append = (appender: DuckDBAppender, value: unknown) => boolean

/** Numbers are rounded and limited to the column's range. */
const APPENDERS: { readonly [T in ColumnType]: Append } = {
  integer: (appender, value) => {
    const whole = roundWithin(value, -(2 ** 31), 2 ** 31 - 1)
    if (whole !== undefined) appender.appendInteger(whole)
    return whole !== undefined
  },
  uinteger: (appender, value) => {
    const whole = roundWithin(value, 0, 2 ** 32 - 1)
    if (whole !== undefined) appender.appendUInteger(whole)
    return whole !== undefined
  },
  bigint: (appender, value) => {
    const whole = roundWithin(value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    if (whole !== undefined) appender.appendBigInt(BigInt(whole))
    return whole !== undefined
  },
  ubigint: (appender, value) => {
    const fits = typeof value === 'bigint' && value >= 0n && value < UBIGINT_LIMIT
    if (fits) appender.appendUBigInt(value)
    return fits
  },
  varchar: (appender, value) => {
    const fits = typeof value === 'string'
    if (fits) appender.appendVarchar(value)
    return fits
  },
  boolean: (appender, value) => {
    const fits = typeof value === 'boolean'
    if (fits) appender.appendBoolean(value)
    return fits
  },
  timestamp: (appender, value) => {
    const fits = value instanceof Date && !Number.isNaN(value.getTime())
    if (fits) appender.appendTimestamp(toTimestamp(value))
    return fits
  },
  vitals: (appender, value) => {
    const { success, data } = Vitals.safeParse(value)
    if (success) for (const vital of VITAL_COLUMNS) appendMeasured(appender, data[vital])
    return success
  },
  json: (appender, value) => {
    const { success, data } = PageError.safeParse(value)
    if (success) appender.appendVarchar(JSON.stringify(data, replaceLoneSurrogates))
    return success
  },
}

const UBIGINT_LIMIT = 1n << 64n

/** In the order of their columns. */
export const VITAL_COLUMNS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const

function appendMeasured(appender: DuckDBAppender, value: number | null): void {
  if (value === null) appender.appendNull()
  else appender.appendDouble(value)
}

function roundWithin(value: unknown, least: number, most: number): number | undefined {
  if (typeof value !== 'number' || Number.isNaN(value)) return undefined
  return Math.min(most, Math.max(least, Math.round(value)))
}
