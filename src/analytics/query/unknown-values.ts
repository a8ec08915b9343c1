import { nearestName } from '../../base/nearest-name.js'
import { isIn, join, raw, type Sql, sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'
import { sourceRows, whereClause } from './conditions.js'
import { findDimension, quote } from './dimensions.js'
import type { Condition, Filter } from './filters.js'
import { dimensionColumn } from './group-by-dimension.js'
import { type Plan, planForTable } from './plan.js'
import type { Warning } from './read-warnings.js'
import { SECTION } from './sections.js'

/** Conditions that are looked up; a question with more was written by a program. */
const MAX_CONDITIONS = 3
/** Values of a condition that is looked up, for the same reason: the dashboard asks about 25 paths at once. */
const MAX_ASKED = 3
/** The most frequent values among which the nearest is sought. */
const MAX_VALUES = 200
/** No longer value is meant by what a person writes, and the site's process compares each of them. */
const MAX_VALUE_CHARS = 200
/** Dimensions whose values are names of records or ids of people. */
const LEFT_OUT = ['goal', 'visitor_id', 'identified_id']

/**
 * Says which values of the request's filters no row in the window has, with the nearest value that exists. Only for an
 * answer without a number, so that no other question waits for it: each such condition reads one column of the window. A
 * look-up that fails gives no hint, and the answer stands. Not for share links, because it names paths beyond their reads.
 */
export async function findUnknownValues(
  data: unknown,
  filters: readonly Filter[],
  plan: Plan,
  store: Pick<Store, 'query'>,
): Promise<Warning[]> {
  const conditions = listEqualities(filters).slice(0, MAX_CONDITIONS)
  if (conditions.length === 0 || hasNumber(data)) return []
  const warnings = await Promise.all(
    conditions.map(async ({ dimension, value }) => {
      const asked = (Array.isArray(value) ? value : [value]).map(String)
      const existing = await listValues(dimension, asked, plan, store).catch((): string[] => [])
      // A window without any row says nothing about a value.
      if (existing.length === 0 || asked.some((one) => existing.includes(one))) return []
      return asked.slice(0, 1).map((one) => describeValue(dimension, one, existing, plan.audience))
    }),
  )
  return warnings.flat()
}

/** The conditions that every row of the answer has to meet: equality with a text. */
const listEqualities = (filters: readonly Filter[]): Condition[] =>
  filters.flatMap((f) => {
    if ('and' in f) return listEqualities(f.and)
    if ('has_done' in f) return listEqualities([f.has_done])
    if (!('dimension' in f) || f.op !== 'is' || f.case_sensitive === false || LEFT_OUT.includes(f.dimension)) return []
    if (Array.isArray(f.value) && f.value.length > MAX_ASKED) return []
    return findDimension(f.dimension, 'filters').type === 'text' ? [f] : []
  })

/** Whether an answer counts anything. An id is not a count. */
function hasNumber(data: unknown): boolean {
  if (typeof data === 'number') return data !== 0
  if (Array.isArray(data)) return data.some(hasNumber)
  if (typeof data !== 'object' || data === null) return false
  return Object.entries(data).some(([name, value]) => name !== 'id' && hasNumber(value))
}

/** The values of a dimension in the window, those that were asked for first, then the most frequent; within a share's filters. */
async function listValues(name: string, asked: readonly string[], plan: Plan, store: Pick<Store, 'query'>) {
  if (name === SECTION) return [...(plan.sections ?? [])]
  const dimension = findDimension(name, 'filters')
  const whole: Plan = { ...plan, filters: plan.mandatory ?? [] }
  const { audience } = plan
  const tables = dimension.tables.filter(
    (table) => audience === 'all' || (table === 'events') === (audience === 'human'),
  )
  if (tables.length === 0) return []
  const column = dimensionColumn(dimension, plan)
  const from = tables.map((table): Sql => {
    const side = planForTable(whole, table)
    return sql`select ${column} as value from ${sourceRows(table, side, side.filters, dimension)} as e where ${whereClause(side)}`
  })
  const isAsked = isIn(raw('value'), asked)
  const rows = await store.query(sql`
    select value, count(*) as n from (${join(from, ' union all ')}) v
    where value <> '' and (length(value) <= ${MAX_VALUE_CHARS} or ${isAsked})
    group by value order by max(case when ${isAsked} then 1 else 0 end) desc, n desc, value limit ${MAX_VALUES}`)
  return rows.map(({ value }) => String(value))
}

function describeValue(
  dimension: string,
  value: string,
  existing: readonly string[],
  audience: Plan['audience'],
): Warning {
  const nearest = nearestValue(dimension, value, existing)
  const most = existing.slice(0, 3).map(quote).join(', ')
  const hint = nearest === undefined ? `the most frequent are ${most}.` : `did you mean ${quote(nearest)}?`
  // The other readership may have the value.
  const row = { human: 'row of people', agent: 'row of agents', all: 'row' }[audience]
  const form = dimension === 'country' && !/^[A-Z]{2}$/.test(value) ? ' A country is its two-letter code.' : ''
  const message = `No ${row} in this window has the ${dimension} ${quote(value)}; ${hint}${form}`
  return { code: 'no_such_value', message, dimension, value, ...(nearest === undefined ? {} : { nearest }) }
}

const plainText = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')

/** The value that was probably meant: in another spelling, a longer or shorter name, a country by its name, or mistyped. */
function nearestValue(dimension: string, value: string, existing: readonly string[]): string | undefined {
  const asked = plainText(value)
  const same = existing.find((one) => plainText(one) === asked)
  if (same !== undefined) return same
  if (dimension === 'country') return existing.find((code) => countryNames(code).includes(asked))
  // Short words are near to each other by chance.
  if (asked.length < 4) return undefined
  const extended = existing.find((one) => {
    const plain = plainText(one)
    return plain.length > 3 && (asked.includes(plain) || plain.startsWith(asked))
  })
  return extended ?? nearestName(value, existing)
}

/** The names of a country in English and German. */
const countryNames = (code: string): string[] =>
  /^[A-Z]{2}$/.test(code) ? NAMES.map((names) => plainText(names.of(code) ?? '')) : []
const NAMES = ['en', 'de'].map((language) => new Intl.DisplayNames(language, { type: 'region' }))
