import { type Granularity, join, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow, Store } from '../../storage/store.js'
import type { BlockedUrls } from './blocked-urls.js'
import { type Bucket, bucketEnds } from './buckets.js'
import type { Window } from './calendar.js'
import type { Cursor } from './cursor.js'
import type { Audience } from './dimensions.js'
import type { Funnel } from './funnels.js'
import { keyMatches } from './key-match.js'
import { findLateMetrics, type LateMetrics } from './late-metrics.js'
import { hasMetric, isCount } from './metrics.js'
import { addHistory, type ReadHistory } from './other-tools.js'
import { type Plan, withWindow } from './plan.js'
import type { PolicyQuery, PolicyVersionsQuery } from './policy-query.js'
import {
  describeUnrecorded,
  gapsWithin,
  intersect,
  joinGaps,
  type Recording,
  recordedPart,
  recordedSpan,
} from './recording.js'
import { changesSalt, type SaltPeriod } from './salt-periods.js'

/** The site that a read is about. */
export interface Site {
  /** Its organisation, which shares the store with others. */
  readonly org?: number
  readonly id: number
  readonly timezone: string
  /** The period after which a visitor gets another id. */
  readonly visitor_salt: SaltPeriod
  /** A URL is a citation gap if its ratio exceeds this multiple of the site's median; default 3. */
  readonly citation_threshold?: number | undefined
  /** Whether a hostname belongs to the site. */
  owns(hostname: string): boolean
}

/** An agent of the catalog as `agents/catalog` returns it. */
export interface CatalogAgent {
  readonly agent_id: string
  readonly name: string
  readonly operator: string
  readonly purpose: string
  readonly docs_url: string
  readonly robots_token?: string
  /** Whether its operator states that it obeys robots.txt. */
  readonly respects_robots: 'yes' | 'no' | 'unknown'
  readonly verification: readonly ('ranges' | 'rdns' | 'web_bot_auth')[]
  readonly ranges?: { readonly count: number; readonly refreshed_at: string; readonly source: string }
}

/** The id of agents that are in no catalogue. */
export const OTHER_AGENTS = 'other'

/** A traffic source that is an AI assistant, with its operator (by the catalog's name if it is in the catalog). */
export interface Assistant {
  readonly source: string
  readonly operator: string
}

/** The downloaded address ranges of an agent. */
export type AgentRanges = { readonly agent_id: string } & NonNullable<CatalogAgent['ranges']>

/** Explains why a metric is absent, or what a number is based on. */
export interface Warning {
  readonly metric?: string
  readonly code: string
  readonly message: string
  /** The filter that `no_such_value` is about, and the value that was probably meant. */
  readonly dimension?: string
  readonly value?: string
  readonly nearest?: string
}

interface ListOptions {
  /** The columns that identify a row. They match the rows of the two windows. */
  readonly key: string | readonly string[]
  /** Columns to sort by, best first; the key breaks ties. */
  readonly order: readonly string[]
  readonly metrics: readonly string[]
  /** Returns this many rows and no pages; absent: the requested page. */
  readonly limit?: number
  /** False: rows get no `comparison`, because they compare two windows already. */
  readonly compare?: boolean
  /** Computes the `metrics` that `build` does not select. */
  readonly late?: LateMetrics | undefined
  /** Selects the number of rows on all pages as `n`, if that is cheaper than counting them with the page. */
  readonly totalQuery?: Sql
}

export interface ReadContextOptions {
  readonly plan: Plan
  /** The audience that the response is for. The plan's may be people for `all`, where only people have rows. */
  readonly audience: Audience
  readonly site: Site
  readonly now: Date
  readonly catalog: readonly CatalogAgent[]
  readonly assistants: readonly Assistant[]
  /** The URLs that the policy disallows for the agents of an operator, or of all; undefined if no policy is known. */
  blockedUrls(operator: string | undefined): Promise<BlockedUrls | undefined>
  /** The site's recorded policy, for the read to parse. */
  policy(question: PolicyQuery): Promise<unknown>
  /** The versions of the site's policy, for the read to parse. */
  policyVersions(question: PolicyVersionsQuery): Promise<unknown>
  /** The downloaded address ranges of all agents that have some. */
  agentRanges(): Promise<readonly AgentRanges[]>
  /** The times that were recorded of the site. */
  readonly recording: Recording
  /** The days of the site that other tools counted. */
  readonly history: ReadHistory
  /** A funnel of the site by the id in the path. */
  funnel(id: string): Promise<Funnel | undefined>
  readonly paging: { readonly limit: number; readonly page: number } | undefined
  readonly store: Pick<Store, 'query'>
  /** Goes into each statement as a comment, for the engine's slow-query log. */
  readonly name: string
  readonly onStatement: ((statement: Sql) => void) | undefined
  /** `list` returns the next rows of this cursor instead of a page. */
  readonly cursor?: Cursor | undefined
}

/**
 * The context in which a read runs. A read builds its SQL for a plan; the context runs it for the window and for the comparison, and
 * adds paging, so no read handles a window, a page or a comparison itself.
 */
export type ReadContext = ReturnType<typeof createReadContext>

/** Long because its members share the plan, the warnings and the total. */
export function createReadContext({ store, name, onStatement, cursor, ...options }: ReadContextOptions) {
  const { plan, site, paging } = options
  const warnings: Warning[] = []
  const requestedMetrics = new Set<string>()
  let total: number | undefined
  let agents: Map<string, CatalogAgent> | undefined
  let asksBeforeFirstRow = false
  /** Tells how much of a time was recorded; the response says so where it is nothing. */
  const recorded = (time: Window) => {
    const part = recordedPart(options.recording, time, options.now)
    const { since } = options.recording
    asksBeforeFirstRow ||= part === 'none' && (since === undefined || time.start < since)
    return part
  }
  const tagged = (statement: Sql): Sql => {
    const named = sql`${raw(`/* ${name} */ `)}${statement}`
    onStatement?.(named)
    return named
  }
  const query = (statement: Sql) => store.query(tagged(statement))

  const warn = (warning: Warning) => {
    const known = warnings.some(({ metric, code }) => metric === warning.metric && code === warning.code)
    if (!known) warnings.push(warning)
  }
  const saltChangesIn = (window: Window) =>
    changesSalt(recordedSpan(options.recording, window, options.now), site.visitor_salt)
  const warnOfSaltChange = (windows: readonly Window[]) => {
    if (!windows.some(saltChangesIn)) return
    warn({
      metric: 'visitors',
      code: 'salt_rotated_in_window',
      message: `Visitor ids change every ${site.visitor_salt}: a person seen in two of these periods is counted twice.`,
    })
  }
  const noteMetrics = (metrics: readonly string[]) => {
    for (const metric of metrics) requestedMetrics.add(metric)
    if (metrics.includes('visitors')) warnOfSaltChange([plan.window])
  }
  const warnOfVerification = (rows: readonly ResultRow[], metrics: readonly string[]) => {
    for (const warning of verificationWarnings(rows, metrics)) warn(warning)
  }

  return {
    ...options,
    warnings,
    /** Every metric that `one` and `list` were asked for, in order. */
    metrics: requestedMetrics,
    /** The number of rows on all pages. */
    get total() {
      return total
    },
    warn,
    /** Returns the metrics that have a meaning for the audience, and warns of each of the others. */
    meaningful<M extends string>(metrics: readonly M[]): M[] {
      const { audience } = options
      // A metric of one read only, such as `entries`, is people's.
      const has = (metric: string) =>
        hasMetric(audience, metric) || (audience === 'human' && !hasMetric('agent', metric))
      const absent = metrics.filter((metric) => !has(metric))
      const who = { human: 'people', agent: 'agents', all: 'people and agents together' }[audience]
      for (const metric of absent)
        warn({ metric, code: 'not_for_audience', message: `Absent, because it has no meaning for ${who}.` })
      return metrics.filter((metric) => !absent.includes(metric))
    },
    /** Tells whether the salt, and so every visitor id, changes between two recorded times of a window. */
    saltChangesIn,
    /** Adds a warning to the response if the salt changes between two recorded times of any of these windows. */
    warnOfSaltChange,

    /** Runs a statement; null columns are absent from the rows. */
    rows: async (statement: Sql): Promise<ResultRow[]> => (await query(statement)).map((row) => withoutNulls(row)),

    /**
     * Returns one row of metrics, with `comparison` and `change` if a comparison was requested. With `days` of other tools
     * for a window, they are added.
     */
    async one(metrics: readonly string[], build: (plan: Plan) => Sql, days?: ReadHistory['find']): Promise<ResultRow> {
      noteMetrics(metrics)
      const total = async (of: Plan, isRecorded: boolean) => {
        const [row = {}] = await query(build(of))
        return addHistory(withoutNulls(row, metrics, isRecorded), (await days?.(of.window, metrics)) ?? [], metrics)
      }
      const now = await total(plan, recorded(plan.window) !== 'none')
      warnOfVerification([now], metrics)
      if (!plan.comparison) return now
      const wasRecorded = recorded(plan.comparison) !== 'none'
      return withComparison(now, await total(withWindow(plan, plan.comparison), wasRecorded), metrics, wasRecorded)
    },

    /** Returns sorted rows, each with `comparison` and `change`. `build` selects all rows, unsorted. */
    async list(
      { key, order, metrics, late, limit: top, compare = true, totalQuery }: ListOptions,
      build: (plan: Plan) => Sql,
    ): Promise<ResultRow[]> {
      const early = metrics.filter((metric) => !late?.metrics.includes(metric))
      noteMetrics(metrics)
      const keys = typeof key === 'string' ? [key] : key
      const sorting = raw([...order, ...keys].map((column) => `${column} nulls last`).join(', '))
      const comparison = compare ? plan.comparison : undefined
      const isRecorded = recorded(plan.window) !== 'none'
      const wasRecorded = comparison === undefined || recorded(comparison) !== 'none'
      const nameOf = (row: ResultRow) => JSON.stringify(keys.map((column) => row[column] ?? null))
      const findLate = (rows: readonly ResultRow[], of: Plan) => findLateMetrics(late, rows, of, { query, nameOf })
      if (cursor && top === undefined) {
        const other = comparison && build(withWindow(plan, comparison))
        const all = other ? joinComparison(build(plan), other, keys, early) : build(plan)
        const found = await cursor.next(tagged(sql`select * from (${all}) r order by ${sorting}`))
        const lateNow = await findLate(found, plan)
        const lateThen = comparison ? await findLate(found, withWindow(plan, comparison)) : () => ({})
        const rows = found.map((row) => {
          if (!other) return withoutNulls({ ...row, ...lateNow(row) }, metrics, isRecorded)
          const [now, then] = splitComparison(row, early)
          const whole = withoutNulls({ ...now, ...lateNow(row) }, metrics, isRecorded)
          return withComparison(whole, { ...then, ...lateThen(row) }, metrics, wasRecorded)
        })
        warnOfVerification(rows, metrics)
        return rows
      }
      const limit = top ?? paging?.limit ?? 50
      const offset = top === undefined && paging ? (paging.page - 1) * paging.limit : 0
      const totalColumn = raw(totalQuery ? '' : ', count(*) over () as total_rows')
      const found = await query(sql`
        select *${totalColumn} from (${build(plan)}) r order by ${sorting} limit ${limit} offset ${offset}`)
      if (top === undefined) {
        const beyondLastPage = found.length === 0 && offset > 0
        const counting = totalQuery ?? (beyondLastPage ? sql`select count(*) as n from (${build(plan)}) r` : undefined)
        const [counted] = counting ? await query(counting) : []
        total = Number(counted?.n ?? found[0]?.total_rows ?? 0)
      }
      const lateNow = await findLate(found, plan)
      const page = found.map(({ total_rows, ...row }) => withoutNulls({ ...row, ...lateNow(row) }, metrics, isRecorded))
      warnOfVerification(page, metrics)
      if (!comparison || page.length === 0) return page
      const others = await query(sql`
        select * from (${build(withWindow(plan, comparison))}) r where ${keyMatches(keys, page)}`)
      const lateThen = await findLate(page, withWindow(plan, comparison))
      const byName = new Map(others.map((row) => [nameOf(row), row]))
      return page.map((row) =>
        withComparison(row, { ...byName.get(nameOf(row)), ...lateThen(row) }, metrics, wasRecorded),
      )
    },

    /** Tells how much of a time was recorded; the response says so where it is nothing. */
    recorded,
    /**
     * Tells how much of each bucket was recorded and lies in the window: a count of 0 in a bucket without anything recorded
     * would claim that nothing happened.
     */
    recordedBuckets(buckets: readonly Bucket[], window: Window, tz: string, unit: Granularity) {
      const ends = bucketEnds(buckets, tz, unit)
      return buckets.map(({ t: start }, i) => {
        const end = ends[i] ?? window.end
        const part = recorded(intersect({ start, end }, window))
        const isCut = start < window.start || end > window.end
        return part === 'all' && isCut ? 'part' : part
      })
    },
    /** Returns what `meta.recorded` says, and adds the warnings that say it, and what other tools counted, in words. */
    recordedTimes() {
      const { recording, history } = options
      const list = (window: Window) => joinGaps(gapsWithin(recording, window), window)
      const gaps = list(plan.window)
      const comparison = plan.comparison && list(plan.comparison)
      const asksBefore = asksBeforeFirstRow && !history.isIncluded()
      const message = describeUnrecorded(recording, [...(comparison ?? []), ...gaps], asksBefore)
      if (message !== undefined) warn({ code: 'not_recorded', message })
      const note = history.note()
      if (note) warn(note)
      return { since: recording.since, gaps, comparison }
    },

    /** Returns an agent's name, operator and purpose; for an agent that is in no catalogue a name only. */
    agentNames(id: string): { name: string; operator?: string; purpose?: string } {
      agents ??= new Map(options.catalog.map((agent) => [agent.agent_id, agent]))
      const agent = agents.get(id)
      if (!agent) return { name: id === OTHER_AGENTS ? 'Other agents' : id }
      return { name: agent.name, operator: agent.operator, purpose: agent.purpose }
    },

    /** Returns the requested page of rows that come from no table. */
    page<T>(all: readonly T[]): T[] {
      total = all.length
      return paging ? all.slice((paging.page - 1) * paging.limit, paging.page * paging.limit) : [...all]
    },
  }
}

const COMPARISON_PREFIX = 'comparison_'

/** Selects every row with the metrics of the same row in the other window, in one statement. */
function joinComparison(rows: Sql, others: Sql, keys: readonly string[], metrics: readonly string[]): Sql {
  const columns = metrics.map((metric) => raw(`, b.${metric} as ${COMPARISON_PREFIX}${metric}`))
  const same = keys.map((key) => raw(`a.${key} is not distinct from b.${key}`))
  return sql`select a.* ${join(columns, '')} from (${rows}) a left join (${others}) b on ${join(same, ' and ')}`
}

/** Takes a row of `joinComparison` apart: the row of the window, and the metrics of the other. */
function splitComparison(row: ResultRow, metrics: readonly string[]): [ResultRow, ResultRow] {
  const own = Object.entries(row).filter(([name]) => !name.startsWith(COMPARISON_PREFIX))
  const other = metrics.map((metric) => [metric, row[`${COMPARISON_PREFIX}${metric}`]] as const)
  return [Object.fromEntries(own), Object.fromEntries(other)]
}

/** Explains why a verified share is absent, or which fetches it leaves out. */
function verificationWarnings(rows: readonly ResultRow[], metrics: readonly string[]): Warning[] {
  if (!metrics.includes('verified')) return []
  const warnings: Warning[] = []
  const warn = (code: string, message: string) => warnings.push({ metric: 'verified', code, message })
  if (rows.some((row) => row.verified === undefined))
    warn('nothing_verified', 'Absent where no fetch was verified and none was found to be spoofed.')
  const open = rows.reduce((sum, row) => sum + Number(row.indeterminate ?? 0), 0)
  if (open > 0)
    warn('verification_indeterminate', `It leaves out ${open} fetches that could not be checked at the time.`)
  return warnings
}

/**
 * Removes null columns; a count among `metrics` is 0 instead, but absent if nothing was recorded. What cannot be computed
 * is absent, never zero.
 */
function withoutNulls(row: ResultRow, metrics: readonly string[] = [], isRecorded = true): ResultRow {
  // A loop, because it runs for each of up to a million rows.
  const shown: ResultRow = {}
  for (const [name, value] of Object.entries(row)) {
    if (value !== null && !Number.isNaN(value)) shown[name] = value
    else if (metrics.includes(name) && isCount(name)) shown[name] = 0
  }
  for (const name of metrics) {
    if (!isCount(name)) continue
    if (!Object.hasOwn(row, name)) shown[name] = 0
    if (!isRecorded && shown[name] === 0) delete shown[name]
  }
  return shown
}

/** Adds `comparison` (the metrics of the same row in the other window) and `change` (relative to those). */
function withComparison(row: ResultRow, other: ResultRow, metrics: readonly string[], wasRecorded: boolean): ResultRow {
  const then = Object.fromEntries(metrics.map((name) => [name, other[name] ?? null]))
  const comparison = withoutNulls(then, metrics, wasRecorded)
  const change = metrics.flatMap((name) => {
    const [a, b] = [row[name], comparison[name]]
    return typeof a === 'number' && typeof b === 'number' && b !== 0 ? [[name, (a - b) / b] as const] : []
  })
  return { ...row, comparison, change: Object.fromEntries(change) }
}
