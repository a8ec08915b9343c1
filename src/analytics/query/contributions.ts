import { IS_SPOOFED } from '../../storage/aggregates/daily-counts.js'
import { join, raw, type Sql, sql } from '../../storage/sql.js'
import { canUseSessionAggregates, excludesVaryingTraits, splitSessions } from './aggregate-split.js'
import { bucketKey } from './buckets.js'
import type { Window } from './calendar.js'
import type { ComparedTimes } from './compared-times.js'
import { aggregateCondition, filterCondition, sourceRows, whereClause } from './conditions.js'
import { sectionOf } from './group-by-dimension.js'
import { type Plan, withWindow } from './plan.js'
import { SECTION } from './sections.js'
import { isWithin, startedInWindow } from './window-conditions.js'

/*
 * A change of visits (people) or of reads (agents) as contributions that add up: each visit and each read has one value of
 * each dimension, so the differences of all values make the difference of the total.
 */

/** A dimension whose values divide the change. */
export interface ChangeDimension {
  readonly name: string
  /** True if a name that was only claimed is a value of its own: others read in that name. */
  readonly splitsSpoofed?: true
  /** The column with the path of which its values are sections; absent: the values have a column of its name. */
  readonly column?: 'entry_page' | 'pathname'
}

/** The dimensions by which the change of each readership is divided, in the order of the answer. */
export const CHANGE_DIMENSIONS = {
  human: [
    { name: 'entry_page' },
    { name: SECTION, column: 'entry_page' },
    { name: 'source' },
    { name: 'country' },
    { name: 'utm_campaign' },
  ],
  agent: [
    { name: 'agent_id', splitsSpoofed: true },
    { name: 'pathname' },
    { name: SECTION, column: 'pathname' },
    { name: 'country' },
  ],
} as const satisfies Record<'human' | 'agent', readonly ChangeDimension[]>

/** Names the columns of what is counted. */
function storedColumns(audience: 'human' | 'agent'): string[] {
  const dimensions: readonly ChangeDimension[] = CHANGE_DIMENSIONS[audience]
  return dimensions.filter(({ column }) => column === undefined).map(({ name }) => name)
}

/** The most values that are named. */
export const MAX_RISES = 5
export const MAX_FALLS = 3

/** The page that a visit began with, or that an agent read. */
export const PAGE_OF = { human: 'entry_page', agent: 'pathname' } as const

/** One value of a dimension: a further read counts only what has it. */
export interface ChangeValue {
  readonly dimension: string
  readonly value: string | undefined
  readonly spoofed: boolean
}

/** Selects the visits of the window, once each: `started` and a column for each dimension of people. */
function visits(plan: Plan): Sql {
  const { filters } = plan
  const names = storedColumns('human')
  const where = filterCondition(plan)
  const { aggregates, hits } = canUseSessionAggregates(filters)
    ? splitSessions(plan, excludesVaryingTraits(filters))
    : { aggregates: undefined, hits: sql`(select * from events where ${startedInWindow(plan)})` }
  // The country of few visits varies; the least of them is the one that an aggregate has.
  const counted = sql`
    select min(session_start) as started, ${raw(names.map((name) => `min(${name}) as ${name}`).join(', '))}
    from ${sourceRows('events', plan, filters, undefined, hits)} as e where ${where} group by session_id`
  if (aggregates === undefined) return counted
  return sql`select started, ${raw(names.join(', '))} from ${aggregates} as s where ${aggregateCondition(plan)} union all ${counted}`
}

/** Selects the pages that agents read in the window: `started` and a column for each dimension of agents. */
const pageReads = (plan: Plan): Sql => sql`
  select timestamp as started, agent_id, case when ${raw(IS_SPOOFED)} then 1 else 0 end as spoofed, pathname, country
  from agent_events where ${whereClause(plan)} and is_pageview`

export interface ChangeOptions {
  readonly plan: Plan
  readonly comparison: Window
  readonly times: ComparedTimes
  /** The key of the window's last bucket. */
  readonly lastBucket: number
}

/** Counts only what has this value. */
function hasValue({ dimension, value, spoofed }: ChangeValue, plan: Plan): Sql {
  const column = dimension === SECTION ? sectionOf(PAGE_OF[audienceOf(plan)], plan) : raw(dimension)
  return sql`${value === undefined ? sql`${column} is null` : sql`${column} = ${value}`}
    ${dimension === 'agent_id' ? raw(`and spoofed = ${spoofed ? 1 : 0}`) : raw('')}`
}

const audienceOf = ({ audience }: Plan): 'human' | 'agent' => (audience === 'agent' ? 'agent' : 'human')

/**
 * Selects what is compared, of both windows: a column for each dimension, `bucket`, and 1 in `n_now` or `n_before`. The bucket
 * of what happened before is the one at the same distance from the start of its window.
 */
function compared({ plan, comparison, times, lastBucket }: ChangeOptions, only: ChangeValue | undefined): Sql {
  const audience = audienceOf(plan)
  const columns = raw([...storedColumns(audience), ...(audience === 'agent' ? ['spoofed'] : [])].join(', '))
  const { dialect, window, tz, granularity } = plan
  const before = withWindow(plan, comparison)
  const rows = (of: Plan) => (audience === 'agent' ? pageReads(of) : visits(of))
  const key = (at: Sql) => bucketKey(at, window, tz, granularity, dialect)
  const started = raw('started')
  const sameMoment = dialect.addMs(started, raw(String(times.offset)))
  // Days of another year may be longer.
  const bucketBefore = sql`least(${key(sameMoment)}, ${raw(String(lastBucket))})`
  const where = only ? sql` and ${hasValue(only, plan)}` : raw('')
  return sql`
    select ${columns}, ${key(started)} as bucket, 1 as n_now, 0 as n_before
    from (${rows(plan)}) v where ${isWithin(started, times.now, plan.window)}${where}
    union all
    select ${columns}, ${bucketBefore} as bucket, 0 as n_now, 1 as n_before
    from (${rows(before)}) v where ${isWithin(started, times.before, before.window)}${where}`
}

const SUMS = ({ dialect }: Plan): Sql =>
  sql`${dialect.toInteger(raw('sum(n_now)'))} as n_now, ${dialect.toInteger(raw('sum(n_before)'))} as n_before`

/** Selects each bucket with something in it, as text in `value`. */
const buckets = (plan: Plan): Sql => sql`
  select 'bucket' as dimension, cast(bucket as varchar) as value, 0 as spoofed, n_now, n_before,
    0 as n_values, 0 as rise, 0 as fall, 0 as excess
  from (select bucket, ${SUMS(plan)} from compared group by bucket) b`

/**
 * Selects the values of a dimension that rose and fell most, ranked, with `n_values`, and the value with the greatest excess
 * in the direction of the total: what it changed beyond what it would have changed with all others.
 */
function topValues({ name, splitsSpoofed, column }: ChangeDimension, plan: Plan): Sql {
  const spoofed = splitsSpoofed ? raw('spoofed') : raw('0')
  const keys = raw(splitsSpoofed ? `${name}, spoofed` : name)
  // Paths are far fewer than what is counted: a path's section is found once.
  const counted = column
    ? sql`select ${sectionOf(column, plan)} as value, 0 as spoofed, ${SUMS(plan)}
        from (select ${raw(column)}, ${SUMS(plan)} from compared group by ${raw(column)}) p group by value`
    : sql`select ${raw(name)} as value, ${spoofed} as spoofed, ${SUMS(plan)} from compared group by ${keys}`
  const ties = raw('value nulls last, spoofed')
  const excess = raw(`(case when t_before = 0 then n_now - n_before
      else (n_now - n_before) * t_before - n_before * (t_now - t_before) end)
    * case when t_now < t_before then -1 else 1 end`)
  return sql`
    select ${raw(`'${name}'`)} as dimension, value, spoofed, n_now, n_before, n_values, rise, fall, excess
    from (
      select value, spoofed, n_now, n_before, n_values,
        row_number() over (order by n_now - n_before desc, ${ties}) as rise,
        row_number() over (order by n_now - n_before, ${ties}) as fall,
        row_number() over (order by ${excess} desc, ${ties}) as excess
      from (
        select value, spoofed, n_now, n_before, count(*) over () as n_values, sum(n_now) over () as t_now,
          sum(n_before) over () as t_before
        from (${counted}) g) t) r
    where (n_now > n_before and rise <= ${MAX_RISES}) or (n_now < n_before and fall <= ${MAX_FALLS}) or excess = 1`
}

/** Selects the buckets and the most changed values of these dimensions, of all or of `only` what has a value. */
export function selectChanges(options: ChangeOptions, dimensions: readonly ChangeDimension[], only?: ChangeValue): Sql {
  const { plan } = options
  return sql`
    with compared as materialized (${compared(options, only)})
    ${join([buckets(plan), ...dimensions.map((one) => topValues(one, plan))], ' union all ')}`
}
