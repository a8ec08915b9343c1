/** A value that SQL text may not contain: it travels as a parameter. */
export type Param = string | number | bigint | boolean | Date | null

/** SQL text with its values kept apart: `text` has one piece more than `values`. */
export class Sql {
  constructor(
    readonly text: readonly string[],
    readonly values: readonly Param[],
  ) {}
}

/** The tag that makes `Sql`: a nested `Sql` is spliced in, any other value becomes a parameter. */
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

/** Text that is ours: a column or function name from a table in this repository, never a word of a request. */
export const raw = (text: string): Sql => new Sql([text], [])

/** `parts` with `separator` between them; nothing for an empty list. */
export const join = (parts: readonly Sql[], separator: string): Sql =>
  parts.reduce((all, part, i) => (i === 0 ? part : sql`${all}${raw(separator)}${part}`), raw(''))

/** Text with the engine's placeholders, and the values in their order. */
export const compile = (query: Sql, placeholder: (position: number, value: Param) => string) => ({
  text: query.text.reduce((all, piece, i) => all + placeholder(i, query.values[i - 1] ?? null) + piece),
  values: query.values,
})

export const GRANULARITIES = ['minute', 'hour', 'day', 'week', 'month'] as const
export type Granularity = (typeof GRANULARITIES)[number]

/** What differs between SQL engines, and nothing else: everything not here is written once, in standard SQL. */
export interface Dialect {
  placeholder(position: number, value: Param): string
  contains(column: Sql, part: Sql): Sql
  startsWith(column: Sql, prefix: Sql): Sql
  endsWith(column: Sql, suffix: Sql): Sql
  /** RE2 search; the engine refuses a pattern it cannot read. */
  matches(column: Sql, pattern: string): Sql
  /** Text to a number, null where it is none. */
  toNumber(column: Sql): Sql
  /** Text to an exact decimal with four digits behind its point; null where it is none, or 10^14 and more. */
  toDecimal(column: Sql): Sql
  /** One value of a column of JSON text, as text; null where the key is missing or the text is no JSON. */
  jsonText(column: Sql, key: string): Sql
  /**
   * A select of the columns of `from` and, a row for every key of its JSON text `column`, `key` and `value`, both text;
   * `value` is null of a null. What is no JSON object has no rows.
   */
  jsonEach(from: Sql, column: Sql): Sql
  /** Several values as one that can be grouped and joined by, whichever of them are null. */
  tuple(values: readonly Sql[]): Sql
  /** One of the values of a tuple, from 1. */
  tupleMember(tuple: Sql, position: number): Sql
  /** The value in the row where `by` is least, greatest; `by` may be a tuple. */
  firstBy(value: Sql, by: Sql): Sql
  lastBy(value: Sql, by: Sql): Sql
  /** A select of a column's distinct values in `from`, which the engine takes for few: it looks others up among them. */
  distinctList(column: Sql, from: Sql): Sql
  /** Whole milliseconds since 1970 of an instant column. */
  epochMs(column: Sql): Sql
  /** Of whole numbers that are not negative, how often the one is in the other. */
  divideInteger(value: Sql, size: Sql): Sql
  /** An instant so many milliseconds later. */
  addMs(column: Sql, ms: Sql): Sql
  quantile(column: Sql, p: number): Sql
  /** Several quantiles in one pass: an array in the order of `ps`, null of nothing. */
  quantiles(column: Sql, ps: readonly number[]): Sql
}
