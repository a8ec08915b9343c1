import { type Dialect, join, raw, type Sql, sql } from '../sql.js'
import type { ResultRow, Store } from '../store.js'
import type { BlockedUrls } from './blocked-urls.js'
import type { Window } from './calendar.js'
import type { Cursor } from './cursor.js'
import type { Funnel } from './funnels.js'
import { isCount } from './metrics.js'
import { type Plan, withWindow } from './plan.js'

/** The site that is asked about. */
export interface Site {
  readonly id: number
  readonly timezone: string
  /** How long a visitor keeps one id (contract 3). */
  readonly visitor_salt: 'day' | 'week' | 'month' | 'never'
  /** By how much a ratio exceeds the site's median where the citation gap begins; 3 (contract 5). */
  readonly citation_threshold?: number | undefined
  /** Whether a hostname is this site's. */
  owns(hostname: string): boolean
}

/** An agent of the catalog as `agents/catalog` shows it (contract 5). */
export interface CatalogAgent {
  readonly agent_id: string
  readonly name: string
  readonly operator: string
  readonly purpose: string
  readonly docs_url?: string
  readonly robots_token?: string
  /** Whether its operator says that it obeys robots.txt. */
  readonly respects_robots: 'yes' | 'no' | 'unknown'
  readonly verification: readonly ('ranges' | 'rdns' | 'web_bot_auth')[]
  readonly ranges?: { readonly count: number; readonly refreshed_at: string; readonly source: string }
}

/** A source of people that is an AI assistant, and whose it is, by the catalog's name where it has one. */
export interface Assistant {
  readonly source: string
  readonly operator: string
}

/** What is asked of a site's policy: which hostname, which agent, and for what path and query. */
export interface PolicyQuery {
  readonly hostname?: string
  readonly agent_id?: string
  readonly path?: string
}
/** What is held of an agent's published addresses. */
export type AgentRanges = { readonly agent_id: string } & NonNullable<CatalogAgent['ranges']>

/** Why a metric is absent, or what a number is based on. */
export interface Warning {
  readonly metric?: string
  readonly code: string
  readonly message: string
}

export interface ListOptions {
  /** The columns whose values name a row: unique, and what the two windows' rows are matched by. */
  readonly key: string | readonly string[]
  /** Columns to rank by, best first; the key settles what is equal. */
  readonly order: readonly string[]
  readonly metrics: readonly string[]
  /** So many and no pages; absent: the page that was asked for. */
  readonly limit?: number
  /** Without `comparison`, whatever is asked for: the rows compare already. */
  readonly compare?: false
  /** How many rows there are on all pages, as `n`, where that is cheaper than to count them beside the page. */
  readonly totalQuery?: Sql
}

/** What a read asks with: its SQL is made once per window, never with a window, a page or a comparison of its own. */
export interface ReadContext {
  readonly plan: Plan
  readonly site: Site
  readonly now: Date
  readonly dialect: Dialect
  readonly catalog: readonly CatalogAgent[]
  readonly assistants: readonly Assistant[]
  /** What the policy blocks, of an operator's agents or of all; undefined where no policy is known. */
  blocked(operator: string | undefined): Promise<BlockedUrls | undefined>
  /** The site's policy as it is kept: to be parsed by who asks. */
  policy(question: PolicyQuery): Promise<unknown>
  /** What is held at this moment, of every agent of which something is. */
  holdings(): Promise<readonly AgentRanges[]>
  /** A funnel of the site, by the id that a path has. */
  funnel(id: string): Promise<Funnel | undefined>
  readonly paging: { readonly limit: number; readonly page: number } | undefined
  /** Rows as they are, nulls absent. */
  rows(query: Sql): Promise<ResultRow[]>
  /** One row of metrics, with `comparison` and `change` when a comparison is asked for. */
  one(metrics: readonly string[], build: (plan: Plan) => Sql): Promise<ResultRow>
  /** Ranked rows, each with `comparison` and `change`; `build` gives every row, unordered. */
  list(list: ListOptions, build: (plan: Plan) => Sql): Promise<ResultRow[]>
  /** A page of rows that are no table's. */
  page<T>(all: readonly T[]): T[]
  warn(warning: Warning): void
  /** Says so where visitors are counted across a change of their ids, in any of these windows. */
  warnOfSaltChange(windows: readonly Window[]): void
  /** Rows there are on all pages. */
  readonly total: number | undefined
  readonly warnings: readonly Warning[]
  /** Every metric that `one` and `list` were asked for, in that order. */
  readonly metrics: ReadonlySet<string>
}

interface ReadContextOptions
  extends Pick<
    ReadContext,
    'plan' | 'site' | 'now' | 'catalog' | 'assistants' | 'blocked' | 'policy' | 'holdings' | 'funnel' | 'paging'
  > {
  readonly store: Pick<Store, 'query' | 'dialect'>
  /** Named in the statement, for the engine's slow-query log. */
  readonly name: string
  /** Where `list` takes its rows from in the place of a page: all there are, some at each call. */
  readonly cursor?: Cursor | undefined
}

export function createReadContext({ store, name, cursor, ...context }: ReadContextOptions): ReadContext {
  const { plan, site, paging } = context
  const warnings: Warning[] = []
  const asked = new Set<string>()
  let total: number | undefined
  const query = (q: Sql) => store.query(sql`${raw(`/* ${name} */ `)}${q}`)

  const warnOfSalt = (windows: readonly Window[]) => {
    if (!windows.some((window) => countSaltPeriods(window, site.visitor_salt) > 1)) return
    warnings.push({
      metric: 'visitors',
      code: 'salt_rotated_in_window',
      message: `Visitor ids change every ${site.visitor_salt}: who came in two of these periods is counted twice.`,
    })
  }

  const warn = (warning: Warning) => {
    const known = warnings.some(({ metric, code }) => metric === warning.metric && code === warning.code)
    if (!known) warnings.push(warning)
  }

  return {
    ...context,
    dialect: store.dialect,
    warnings,
    metrics: asked,
    get total() {
      return total
    },
    warnOfSaltChange: warnOfSalt,
    warn,
    rows: async (q) => (await query(q)).map((row) => withoutNulls(row)),

    async one(metrics, build) {
      for (const metric of metrics) asked.add(metric)
      if (metrics.includes('visitors')) warnOfSalt([plan.window])
      const [row = {}] = await query(build(plan))
      const now = withoutNulls(row, metrics)
      for (const warning of verificationWarnings([now], metrics)) warn(warning)
      if (!plan.comparison) return now
      const [other = {}] = await query(build(withWindow(plan, plan.comparison)))
      return withComparison(now, other, metrics)
    },

    async list({ key, order, metrics, limit: top, compare: compares = true, totalQuery: count }, build) {
      for (const metric of metrics) asked.add(metric)
      if (metrics.includes('visitors')) warnOfSalt([plan.window])
      const keys = typeof key === 'string' ? [key] : key
      const ranked = raw([...order, ...keys].map((column) => `${column} nulls last`).join(', '))
      if (cursor && top === undefined) {
        const other = compares && plan.comparison && build(withWindow(plan, plan.comparison))
        const every = other ? joinComparison(build(plan), other, keys, metrics) : build(plan)
        const found = await cursor.next(sql`/* ${raw(name)} */ select * from (${every}) r order by ${ranked}`)
        const rows = found.map((row) => (other ? splitComparison(row, metrics) : withoutNulls(row, metrics)))
        for (const warning of verificationWarnings(rows, metrics)) warn(warning)
        return rows
      }
      const limit = top ?? paging?.limit ?? 50
      const offset = top === undefined && paging ? (paging.page - 1) * paging.limit : 0
      const counted = raw(count ? '' : ', count(*) over () as total_rows')
      const found = await query(sql`
        select *${counted} from (${build(plan)}) r order by ${ranked} limit ${limit} offset ${offset}`)
      if (top === undefined) {
        const beyond = found.length > 0 || offset === 0 ? undefined : sql`select count(*) as n from (${build(plan)}) r`
        const apart = count ?? beyond
        const [all] = apart ? await query(apart) : []
        total = Number(all?.n ?? found[0]?.total_rows ?? 0)
      }
      const page = found.map(({ total_rows, ...row }) => withoutNulls(row, metrics))
      for (const warning of verificationWarnings(page, metrics)) warn(warning)
      if (!plan.comparison || !compares || page.length === 0) return page
      const others = await query(sql`
        select * from (${build(withWindow(plan, plan.comparison))}) r where ${keyMatches(keys, page)}`)
      const nameOf = (row: ResultRow) => JSON.stringify(keys.map((column) => row[column] ?? null))
      const byName = new Map(others.map((row) => [nameOf(row), row]))
      return page.map((row) => withComparison(row, byName.get(nameOf(row)) ?? {}, metrics))
    },

    page(all) {
      total = all.length
      return paging ? all.slice((paging.page - 1) * paging.limit, paging.page * paging.limit) : [...all]
    },
  }
}

const COMPARISON_PREFIX = 'comparison_'

/** Every row with the metrics of the same row in the other window, in one statement. */
function joinComparison(rows: Sql, others: Sql, keys: readonly string[], metrics: readonly string[]): Sql {
  const then = metrics.map((metric) => raw(`, b.${metric} as ${COMPARISON_PREFIX}${metric}`))
  const same = keys.map((key) => raw(`a.${key} is not distinct from b.${key}`))
  return sql`select a.* ${join(then, '')} from (${rows}) a left join (${others}) b on ${join(same, ' and ')}`
}

/** What `beside` put together. */
function splitComparison(row: ResultRow, metrics: readonly string[]): ResultRow {
  const own = Object.entries(row).filter(([name]) => !name.startsWith(COMPARISON_PREFIX))
  const then = metrics.map((metric) => [metric, row[`${COMPARISON_PREFIX}${metric}`]] as const)
  return withComparison(withoutNulls(Object.fromEntries(own), metrics), Object.fromEntries(then), metrics)
}

/** The rows of these names, and where one of several columns is absent in some of them a few more. */
export function keyMatches(keys: readonly string[], page: readonly ResultRow[]): Sql {
  const [only] = keys
  if (keys.length === 1 && only !== undefined) {
    const values = page.flatMap((row) => toParameter(row[only]))
    const among = values.length > 0 ? sql`${raw(only)} in (${join(values, ', ')})` : raw('false')
    return sql`(${among} or ${values.length < page.length ? sql`${raw(only)} is null` : raw('false')})`
  }
  const named = keys.filter((column) => page.every((row) => toParameter(row[column]).length > 0))
  return columnsMatch(named, page)
}

/**
 * The rows in which these columns are as in one of `others`, which all have them. Each column is compared by itself
 * first, which engines are fast at; they compare rows with each of a list of rows only where that says more.
 */
export function columnsMatch(columns: readonly string[], others: readonly ResultRow[]): Sql {
  if (others.length === 0 || columns.length === 0) return raw(others.length === 0 ? 'false' : 'true')
  const values = columns.map(
    (column) => new Map(others.map((row) => [JSON.stringify(row[column]), toParameter(row[column])])),
  )
  const each = columns.map(
    (column, i) => sql`${raw(column)} in (${join([...(values[i]?.values() ?? [])].flat(), ', ')})`,
  )
  if (values.filter(({ size }) => size > 1).length <= 1) return sql`(${join(each, ' and ')})`
  const tuples = others.map(
    (row) =>
      sql`(${join(
        columns.flatMap((column) => toParameter(row[column])),
        ', ',
      )})`,
  )
  return sql`(${join(each, ' and ')} and (${raw(columns.join(', '))}) in (${join(tuples, ', ')}))`
}

const toParameter = (value: unknown): Sql[] =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value instanceof Date
    ? [sql`${value}`]
    : []

/** Why a verified share is absent, or what it leaves out (contract 3). */
function verificationWarnings(rows: readonly ResultRow[], metrics: readonly string[]): Warning[] {
  if (!metrics.includes('verified')) return []
  const metric = 'verified'
  const none = rows.filter((row) => row.verified === undefined).length
  const open = rows.reduce((sum, row) => sum + Number(row.indeterminate ?? 0), 0)
  return [
    ...(none === 0
      ? []
      : [
          {
            metric,
            code: 'nothing_verified',
            message: 'Absent where no claim was verified and none was found to be spoofed.',
          },
        ]),
    ...(open === 0
      ? []
      : [
          {
            metric,
            code: 'verification_indeterminate',
            message: `It leaves out ${open} fetches whose claim could not be checked then.`,
          },
        ]),
  ]
}

/** Absent, never zero (spec 2.1 rules 1 and 2): null is left out, but a count of nothing, which is 0. */
export function withoutNulls(row: ResultRow, metrics: readonly string[] = []): ResultRow {
  // A loop: it is run for each of a million rows.
  const shown: ResultRow = {}
  for (const [name, value] of Object.entries(row)) {
    if (value !== null && !Number.isNaN(value)) shown[name] = value
    else if (metrics.includes(name) && isCount(name)) shown[name] = 0
  }
  for (const name of metrics) if (!Object.hasOwn(row, name) && isCount(name)) shown[name] = 0
  return shown
}

/** A row beside the same row of the other window: `comparison` has the same metrics, `change` is relative to them. */
function withComparison(row: ResultRow, other: ResultRow, metrics: readonly string[]): ResultRow {
  const then = withoutNulls(Object.fromEntries(metrics.map((name) => [name, other[name] ?? null])), metrics)
  const change = metrics.flatMap((name) => {
    const [a, b] = [row[name], then[name]]
    return typeof a === 'number' && typeof b === 'number' && b !== 0 ? [[name, (a - b) / b] as const] : []
  })
  return { ...row, comparison: then, change: Object.fromEntries(change) }
}

/** The salt's periods that the window touches, in UTC: weeks from Monday. */
function countSaltPeriods(window: Window, salt: Site['visitor_salt']): number {
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
