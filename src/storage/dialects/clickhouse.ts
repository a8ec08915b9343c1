import { type Dialect, join, NUMERAL, type Param, raw, sql, type ValueType } from '../sql.js'
import { rowsToJson } from './rows-json.js'

const typeOf = (value: Param): string => {
  if (value instanceof Date) return "DateTime64(3, 'UTC')"
  if (typeof value === 'bigint') return 'UInt64'
  if (typeof value === 'boolean') return 'Bool'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'Int64' : 'Float64'
  return value === null ? 'Nullable(String)' : 'String'
}

/** How `rows` reads each type from JSON. */
const JSON_TYPES: Readonly<Record<ValueType, string>> = {
  integer: 'Int32',
  bigint: 'Int64',
  ubigint: 'UInt64',
  double: 'Float64',
  varchar: 'String',
  boolean: 'Bool',
  timestamp: 'Int64',
}

/**
 * SQL for ClickHouse, with the settings of `src/storage/clickhouse/settings.ts`. Instants are DateTime64(3, 'UTC'), ids are UInt64,
 * properties are JSON text.
 */
export const clickhouseDialect: Dialect = {
  placeholder: (position, value) => `{p${position}:${typeOf(value)}}`,
  rows(rows, types) {
    const entries = Object.entries(types)
    const structure = entries.map(([name, type]) => `${name} Nullable(${JSON_TYPES[type]})`)
    const columns = entries.map(([name, type]) => {
      const value = `tupleElement(r, '${name}')`
      return `${type === 'timestamp' ? `fromUnixTimestamp64Milli(${value}, 'UTC')` : value} as ${name}`
    })
    return sql`(select ${raw(columns.join(', '))}
      from (select arrayJoin(JSONExtract(${rowsToJson(rows, types)}, 'Array(Tuple(${raw(structure.join(', '))}))')) as r))`
  },
  contains: (column, part) => sql`position(${column}, ${part}) > 0`,
  startsWith: (column, prefix) => sql`startsWith(${column}, ${prefix})`,
  endsWith: (column, suffix) => sql`endsWith(${column}, ${suffix})`,
  textBefore: (column, separator) => sql`substringIndex(${column}, ${separator}, 1)`,
  matches: (column, pattern) => sql`match(${column}, ${pattern})`,
  firstGroup: (column, pattern) => sql`extract(${column}, ${pattern})`,
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
  bitOr: (column) => sql`groupBitOr(${column})`,
  addMs: (column, ms) => sql`addMilliseconds(${column}, ${ms})`,
  quantile: (column, p) => sql`quantileExactInclusive(${raw(String(p))})(${column})`,
  quantiles: (column, ps) => sql`quantilesExactInclusive(${raw(ps.join(', '))})(${column})`,
}
