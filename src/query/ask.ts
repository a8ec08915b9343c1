import { type Dialect, join, raw, type Sql, sql } from '../sql.js'
import type { ResultRow, Store } from '../store.js'
import type { Window } from './calendar.js'
import { isCount } from './metrics.js'
import { before, type Plan } from './plan.js'

/** The site that is asked about. */
export interface Site {
  readonly id: number
  readonly timezone: string
  /** How long a visitor keeps one id (contract 3). */
  readonly visitor_salt: 'day' | 'week' | 'month' | 'never'
}

/** An agent of the catalog as `agents/catalog` shows it (contract 5). */
export interface CatalogAgent {
  readonly agent_id: string
  readonly name: string
  readonly operator: string
  readonly purpose: string
  readonly docs_url?: string
  readonly robots_token?: string
  readonly verification: readonly ('ranges' | 'rdns' | 'web_bot_auth')[]
  readonly ranges?: { readonly count: number; readonly refreshed_at: string; readonly source: string }
}

/** What is held of an agent's published addresses. */
export type Held = { readonly agent_id: string } & NonNullable<CatalogAgent['ranges']>

/** Why a metric is absent, or what a number is based on. */
export interface Warning {
  readonly metric?: string
  readonly code: string
  readonly message: string
}

export interface List {
  /** The column whose value names a row: unique, and what the two windows' rows are matched by. */
  readonly key: string
  /** Columns to rank by, best first; the key settles what is equal. */
  readonly order: readonly string[]
  readonly metrics: readonly string[]
  /** So many and no pages; absent: the page that was asked for. */
  readonly top?: number
}

/** What a read asks with: its SQL is made once per window, never with a window, a page or a comparison of its own. */
export interface Ask {
  readonly plan: Plan
  readonly site: Site
  readonly now: Date
  readonly dialect: Dialect
  readonly catalog: readonly CatalogAgent[]
  /** What is held at this moment, of every agent of which something is. */
  holdings(): Promise<readonly Held[]>
  readonly paging: { readonly limit: number; readonly page: number } | undefined
  /** Rows as they are, nulls absent. */
  rows(query: Sql): Promise<ResultRow[]>
  /** One row of metrics, with `comparison` and `change` when a comparison is asked for. */
  one(metrics: readonly string[], build: (plan: Plan) => Sql): Promise<ResultRow>
  /** Ranked rows, each with `comparison` and `change`; `build` gives every row, unordered. */
  list(list: List, build: (plan: Plan) => Sql): Promise<ResultRow[]>
  /** A page of rows that are no table's. */
  page<T>(all: readonly T[]): T[]
  warn(warning: Warning): void
  /** Says so where visitors are counted across a change of their ids, in any of these windows. */
  warnOfSalt(windows: readonly Window[]): void
  /** Rows there are on all pages. */
  readonly total: number | undefined
  readonly warnings: readonly Warning[]
}

interface Context extends Pick<Ask, 'plan' | 'site' | 'now' | 'catalog' | 'holdings' | 'paging'> {
  readonly store: Pick<Store, 'query' | 'dialect'>
  /** Named in the statement, for the engine's slow-query log. */
  readonly name: string
}

export function ask({ store, name, ...context }: Context): Ask {
  const { plan, site, paging } = context
  const warnings: Warning[] = []
  let total: number | undefined
  const query = (q: Sql) => store.query(sql`${raw(`/* ${name} */ `)}${q}`)

  const warnOfSalt = (windows: readonly Window[]) => {
    if (!windows.some((window) => saltPeriods(window, site.visitor_salt) > 1)) return
    warnings.push({
      metric: 'visitors',
      code: 'salt_rotated_in_window',
      message: `Visitor ids change every ${site.visitor_salt}: who came in two of these periods is counted twice.`,
    })
  }

  return {
    ...context,
    dialect: store.dialect,
    warnings,
    get total() {
      return total
    },
    warnOfSalt,
    warn: (warning) => void warnings.push(warning),
    rows: async (q) => (await query(q)).map((row) => present(row)),

    async one(metrics, build) {
      if (metrics.includes('visitors')) warnOfSalt([plan.window])
      const [row = {}] = await query(build(plan))
      const now = present(row, metrics)
      if (!plan.comparison) return now
      const [other = {}] = await query(build(before(plan, plan.comparison)))
      return compared(now, other, metrics)
    },

    async list({ key, order, metrics, top }, build) {
      if (metrics.includes('visitors')) warnOfSalt([plan.window])
      const ranked = join([...order.map((column) => raw(`${column} nulls last`)), raw(`${key} nulls last`)], ', ')
      const limit = top ?? paging?.limit ?? 50
      const offset = top === undefined && paging ? (paging.page - 1) * paging.limit : 0
      const found = await query(sql`
        select *, count(*) over () as total_rows from (${build(plan)}) r order by ${ranked} limit ${limit} offset ${offset}`)
      if (top === undefined) {
        const [beyond] =
          found.length > 0 || offset === 0 ? [] : await query(sql`select count(*) as n from (${build(plan)}) r`)
        total = Number(found[0]?.total_rows ?? beyond?.n ?? 0)
      }
      const page = found.map(({ total_rows, ...row }) => present(row, metrics))
      if (!plan.comparison || page.length === 0) return page
      const others = await query(sql`
        select * from (${build(before(plan, plan.comparison))}) r where ${isOneOf(key, page)}`)
      const byKey = new Map<unknown, ResultRow>(others.map((row) => [row[key] ?? undefined, row]))
      return page.map((row) => compared(row, byKey.get(row[key]) ?? {}, metrics))
    },

    page(all) {
      total = all.length
      return paging ? all.slice((paging.page - 1) * paging.limit, paging.page * paging.limit) : [...all]
    },
  }
}

/** The rows of these keys; an absent key is null. */
function isOneOf(key: string, page: readonly ResultRow[]): Sql {
  const values = page.flatMap((row) => {
    const value = row[key]
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [sql`${value}`] : []
  })
  const among = values.length > 0 ? sql`${raw(key)} in (${join(values, ', ')})` : raw('false')
  return sql`(${among} or ${values.length < page.length ? sql`${raw(key)} is null` : raw('false')})`
}

/** Absent, never zero (spec 2.1 rules 1 and 2): null is left out, but a count of nothing, which is 0. */
export function present(row: ResultRow, metrics: readonly string[] = []): ResultRow {
  const unasked = metrics.filter((name) => !Object.hasOwn(row, name)).map((name) => [name, null] as const)
  return Object.fromEntries(
    [...Object.entries(row), ...unasked].flatMap(([name, value]) => {
      if (value !== null && !Number.isNaN(value)) return [[name, value]]
      return metrics.includes(name) && isCount(name) ? [[name, 0]] : []
    }),
  )
}

/** A row beside the same row of the other window: `comparison` has the same metrics, `change` is relative to them. */
function compared(row: ResultRow, other: ResultRow, metrics: readonly string[]): ResultRow {
  const then = present(Object.fromEntries(metrics.map((name) => [name, other[name] ?? null])), metrics)
  const change = metrics.flatMap((name) => {
    const [a, b] = [row[name], then[name]]
    return typeof a === 'number' && typeof b === 'number' && b !== 0 ? [[name, (a - b) / b] as const] : []
  })
  return { ...row, comparison: then, change: Object.fromEntries(change) }
}

/** The salt's periods that the window touches, in UTC: weeks from Monday. */
function saltPeriods(window: Window, salt: Site['visitor_salt']): number {
  const period = (at: number): number => {
    const date = new Date(at)
    const day = Math.floor(at / 86_400_000)
    return { day, week: Math.floor((day + 3) / 7), month: date.getUTCFullYear() * 12 + date.getUTCMonth(), never: 0 }[
      salt
    ]
  }
  if (window.start >= window.end) return 0
  return period(window.end.getTime() - 1) - period(window.start.getTime()) + 1
}
