/** A value of a statement, which is passed as a parameter and never part of its text. */
export type Param = string | number | bigint | boolean | Date | null

/** A statement with its values apart from its text: `text` has one piece more than `values`. */
export class Sql {
  constructor(
    readonly text: readonly string[],
    readonly values: readonly Param[],
  ) {}
}

/** Template tag: a nested `Sql` is spliced in, any other value becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Sql | Param)[]): Sql {
  const text = [strings[0] ?? '']
  const values: Param[] = []
  const append = (piece: string) => {
    text[text.length - 1] += piece
  }
  parts.forEach((part, i) => {
    if (part instanceof Sql) {
      append(part.text[0] ?? '')
      part.values.forEach((value, j) => {
        values.push(value)
        text.push(part.text[j + 1] ?? '')
      })
    } else {
      values.push(part)
      text.push('')
    }
    append(strings[i + 1] ?? '')
  })
  return new Sql(text, values)
}

/** Trusted text: a column or function name from this repository, never a word of a request. */
export const raw = (text: string): Sql => new Sql([text], [])

/** Joins `parts` with `separator`; empty for an empty list. */
export const join = (parts: readonly Sql[], separator: string): Sql =>
  parts.reduce((all, part, i) => (i === 0 ? part : sql`${all}${raw(separator)}${part}`), raw(''))

/** The condition that a column has one of these values; false for an empty list. */
export function isIn(column: Sql, values: readonly Param[]): Sql {
  const list = values.map((value) => sql`${value}`)
  return list.length === 0 ? raw('false') : sql`${column} in (${join(list, ', ')})`
}

/** Text in lower case, equal to `Dialect.lower`: a dotted capital I is an i, and a final sigma any sigma. */
export const foldCase = (text: string): string => text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ')

/** The text with the engine's placeholders, and the values in order. */
export const compile = (query: Sql, placeholder: (position: number, value: Param) => string) => ({
  text: query.text.reduce((all, piece, i) => all + placeholder(i, query.values[i - 1] ?? null) + piece),
  values: query.values,
})

/** A text that two statements share only if they are equal, with the types of their values. */
export const keyOf = ({ text, values }: Sql): string => JSON.stringify([text, values.map(tagType)])
const tagType = (value: Param) => {
  if (typeof value === 'string') return value
  return value instanceof Date ? ['date', value.getTime()] : [typeof value, String(value)]
}

export const GRANULARITIES = ['minute', 'hour', 'day', 'week', 'month'] as const
export type Granularity = (typeof GRANULARITIES)[number]

/**
 * Text that counts as a number, as an RE2 and JavaScript pattern: a decimal numeral, spaces around it allowed. The limit on
 * exponents keeps numbers within a double. Engines differ on other texts (`1_000`, `nan`, `1e400`), which are not numbers.
 */
export const NUMERAL = '^( *[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,2})? *)$'

/** Types of the values that `Dialect.rows` takes, in the words of `columns.ts`; any of them may be null. */
export type ValueType = 'integer' | 'bigint' | 'ubigint' | 'double' | 'varchar' | 'boolean' | 'timestamp'

/**
 * The SQL that differs between engines; everything else is written once, in standard SQL. Every engine gives the same values
 * (test/contract/store-contract.ts).
 */
export interface Dialect {
  placeholder(position: number, value: Param): string
  /** A parenthesised select of `rows`, at least one, with these columns; however many they are, they are one parameter. */
  rows(rows: readonly object[], types: Readonly<Record<string, ValueType>>): Sql
  contains(column: Sql, part: Sql): Sql
  startsWith(column: Sql, prefix: Sql): Sql
  endsWith(column: Sql, suffix: Sql): Sql
  /** The text before the first `separator`, one ASCII character, or all of it. */
  textBefore(column: Sql, separator: string): Sql
  /** RE2 search; the query fails if the pattern is invalid. */
  matches(column: Sql, pattern: string): Sql
  /** The text that the first group of an RE2 pattern matched; empty if the pattern does not occur. */
  firstGroup(column: Sql, pattern: string): Sql
  /** Text in lower case, to compare without case as `foldCase` does. */
  lower(text: Sql): Sql
  /** Text to a number; null if it is not a `NUMERAL`. */
  toNumber(column: Sql): Sql
  /** Text of a plain number to an exact decimal, rounded to four digits after the point; null from 10^14. */
  toDecimal(column: Sql): Sql
  /** A whole number of any type in the one type that branches of a union share. */
  toInteger(value: Sql): Sql
  /**
   * One value of a column of JSON text, as text; null if the key is missing or the text is not JSON. A number has the text
   * that `JSON.stringify` wrote, but an exponent has no plus sign.
   */
  jsonText(column: Sql, key: string): Sql
  /**
   * Selects the columns of `from` with `key` and `value`, both text: one row for each key of its JSON text `column`. The
   * value of a JSON null is null. A text that is not a JSON object has no rows.
   */
  jsonEach(from: Sql, column: Sql): Sql
  /** Selects the columns of `from` with `word`: one row for each of the words of its text `column`, separated by spaces. */
  eachWord(from: Sql, column: Sql): Sql
  /** Several values as one, to group and join by; any of them may be null. */
  tuple(values: readonly Sql[]): Sql
  /** One value of a tuple; positions start at 1. */
  tupleMember(tuple: Sql, position: number): Sql
  /** The value in the row with the least or greatest `by`, which may be a tuple. */
  firstBy(value: Sql, by: Sql): Sql
  lastBy(value: Sql, by: Sql): Sql
  /** A select of the column's distinct values in `from`, written so that the engine expects few and joins by lookup. */
  distinctList(column: Sql, from: Sql): Sql
  /** Whole milliseconds since 1970 of an instant column. */
  epochMs(column: Sql): Sql
  /** Integer division of non-negative numbers. */
  divideInteger(value: Sql, size: Sql): Sql
  /** The bits that a column of whole, non-negative numbers has in any row of the group, as a number. */
  bitOr(column: Sql): Sql
  /** An instant `ms` milliseconds later. */
  addMs(column: Sql, ms: Sql): Sql
  quantile(column: Sql, p: number): Sql
  /** Several quantiles in one pass: an array in the order of `ps`; null if there are no values. */
  quantiles(column: Sql, ps: readonly number[]): Sql
}
