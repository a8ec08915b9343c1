import { type Dialect, join, NUMERAL, type Param, raw, sql } from '../sql.js'

const typeOf = (value: Param): string => {
  if (value instanceof Date) return "DateTime64(3, 'UTC')"
  if (typeof value === 'bigint') return 'UInt64'
  if (typeof value === 'boolean') return 'Bool'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'Int64' : 'Float64'
  return value === null ? 'Nullable(String)' : 'String'
}

/**
 * SQL for ClickHouse, with the settings of `src/clickhouse/settings.ts`. Instants are DateTime64(3, 'UTC'), ids are UInt64,
 * properties are JSON text.
 */
export const clickhouseDialect: Dialect = {
  placeholder: (position, value) => `{p${position}:${typeOf(value)}}`,
  contains: (column, part) => sql`position(${column}, ${part}) > 0`,
  startsWith: (column, prefix) => sql`startsWith(${column}, ${prefix})`,
  endsWith: (column, suffix) => sql`endsWith(${column}, ${suffix})`,
  matches: (column, pattern) => sql`match(${column}, ${pattern})`,
  // `lower` changes ASCII only. `lowerUTF8` makes two characters of a dotted capital I.
  lower: (text) => sql`replaceAll(lowerUTF8(replaceAll(${text}, 'İ', 'i')), 'ς', 'σ')`,
  toNumber: (column) => sql`toFloat64OrNull(trimBoth(extract(${column}, '${raw(NUMERAL)}')))`,
  // A decimal with fewer digits would cut them off. The cast throws beyond its range, so larger values are null before it.
  toDecimal: (column) => {
    const rounded = sql`round(toDecimal128OrNull(${column}, 18), 4)`
    return sql`cast(if(abs(${rounded}) < 100000000000000, ${rounded}, null) as Nullable(Decimal(38, 4)))`
  },
  toInteger: (value) => sql`toInt64(${value})`,
  jsonText: (column, key) => sql`JSONExtract(${column}, ${key}, 'Nullable(String)')`,
  // An array cannot be null.
  jsonEach: (from, column) => sql`
    select *, pair.1 as key, pair.2 as value
    from (${from}) j array join JSONExtractKeysAndValues(ifNull(${column}, ''), 'Nullable(String)') as pair`,
  eachWord: (from, column) => sql`
    select w.*, arrayJoin(splitByChar(' ', ifNull(${column}, ''))) as word from (${from}) w`,
  tuple: (values) => sql`tuple(${join(values, ', ')})`,
  tupleMember: (tuple, position) => sql`tupleElement(${tuple}, ${raw(String(position))})`,
  distinctList: (column, from) => sql`select distinct ${column} from ${from}`,
  firstBy: (value, by) => sql`argMin(${value}, ${by})`,
  lastBy: (value, by) => sql`argMax(${value}, ${by})`,
  epochMs: (column) => sql`toUnixTimestamp64Milli(${column})`,
  divideInteger: (value, size) => sql`intDiv(${value}, ${size})`,
  addMs: (column, ms) => sql`addMilliseconds(${column}, ${ms})`,
  quantile: (column, p) => sql`quantileExactInclusive(${raw(String(p))})(${column})`,
  quantiles: (column, ps) => sql`quantilesExactInclusive(${raw(ps.join(', '))})(${column})`,
}
