import { type Dialect, join, NUMERAL, raw, type Sql, sql, type ValueType } from '../sql.js'
import { rowsToJson } from './rows-json.js'

/** SQL for DuckDB. Instants are TIMESTAMP columns in UTC, ids are UBIGINT, properties are JSON text. */
export const duckdbDialect: Dialect = {
  placeholder: (position, value) => {
    const type =
      value instanceof Date
        ? '::TIMESTAMP'
        : typeof value === 'bigint'
          ? '::UBIGINT'
          : typeof value === 'number'
            ? Number.isSafeInteger(value)
              ? '::BIGINT'
              : '::DOUBLE'
            : ''
    return `$${position}${type}`
  },
  rows: selectRows,
  contains: (column, part) => sql`contains(${column}, ${part})`,
  startsWith: (column, prefix) => sql`starts_with(${column}, ${prefix})`,
  endsWith: (column, suffix) => sql`ends_with(${column}, ${suffix})`,
  textBefore: (column, separator) => sql`split_part(${column}, ${separator}, 1)`,
  matches: (column, pattern) => sql`regexp_matches(${column}, ${pattern})`,
  firstGroup: (column, pattern) => sql`regexp_extract(${column}, ${pattern}, 1)`,
  lower: (text) => sql`replace(lower(${text}), 'ς', 'σ')`,
  toNumber: (column) => sql`try_cast(regexp_extract(${column}, '${raw(NUMERAL)}') as double)`,
  toDecimal: (column) => sql`try_cast(${column} as decimal(18, 4))`,
  toInteger: (value) => value,
  // Half a surrogate pair, which a browser can send, is valid JSON for JavaScript and an error for DuckDB.
  jsonText: (column, key) => sql`try(json_extract_string(${column}, ${pointer(key)}))`,
  // Parses each text once, into a list of keys and one of values: a lookup by key would parse it for every key.
  jsonEach: (from, column) => sql`
    select f.*, unnest(map_keys(pairs)) as key, unnest(map_values(pairs)) as value
    from (select *, try(from_json(${column}, '"map(varchar, varchar)"')) as pairs from (${from}) j) f`,
  eachWord: (from, column) => sql`select w.*, unnest(string_split(${column}, ' ')) as word from (${from}) w`,
  tuple: (values) => sql`row(${join(values, ', ')})`,
  tupleMember: (tuple, position) => sql`${tuple}[${raw(String(position))}]`,
  distinctList: (column, from) => sql`select unnest(list(distinct ${column})) from ${from}`,
  firstBy: (value, by) => sql`arg_min(${value}, ${by})`,
  lastBy: (value, by) => sql`arg_max(${value}, ${by})`,
  epochMs: (column) => sql`epoch_ms(${column})`,
  divideInteger: (value, size) => sql`(${value} // ${size})`,
  bitOr: (column) => sql`bit_or(${column})`,
  addMs: (column, ms) => sql`(${column} + to_milliseconds(${ms}))`,
  quantile: (column, p) => sql`quantile_cont(${column}, ${raw(String(p))})`,
  quantiles: (column, ps) => sql`quantile_cont(${column}, [${raw(ps.join(', '))}])`,
}

function selectRows(rows: readonly object[], types: Readonly<Record<string, ValueType>>): Sql {
  const entries = Object.entries(types)
  const structure = Object.fromEntries(entries.map(([name, type]) => [name, type === 'timestamp' ? 'bigint' : type]))
  const values = sql`select unnest(from_json(${rowsToJson(rows, types)}, ${JSON.stringify([structure])}),
    recursive := true)`
  const columns = entries.map(([name, type]) =>
    type === 'timestamp' ? `make_timestamp(${name} * 1000) as ${name}` : name,
  )
  return entries.some(([, type]) => type === 'timestamp')
    ? sql`(select ${raw(columns.join(', '))} from (${values}))`
    : sql`(${values})`
}

/** A JSON pointer (RFC 6901 3) reaches any key; DuckDB's own path syntax cannot escape a quote. */
const pointer = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
