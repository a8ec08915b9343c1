import { isIn, join, raw, type Sql, sql } from '../../storage/sql.js'
import { dailyCounts } from './counted-days.js'
import { isTwin, pageName, twinName } from './markdown-twins.js'
import { type Plan, withoutUrlFilters } from './plan.js'
import type { Assistant, ReadContext, ReadSite } from './read-context.js'

/** In the order in which they are tried: the first that applies is the verdict. */
export const CITATION_VERDICTS = [
  'blocked',
  'twin',
  'unseen',
  'insufficient',
  'unfetched',
  'gap',
  'earning',
  'balanced',
] as const

/** Restricts the citation gap to the agents and assistants of one operator; undefined: all operators. */
export interface CitationScope {
  readonly assistants: readonly Assistant[]
  readonly operator: string | undefined
}

const MIN_FETCHES = 10
const MIN_ARRIVALS = 3
const DEFAULT_GAP_THRESHOLD = 3

const ofOperator = (operator: string | undefined): Sql | undefined =>
  operator === undefined ? undefined : sql`operator = ${operator}`

/** The arrivals that count, of `daily_views`: with an operator those from its assistants. */
const countedArrivals = ({ assistants, operator }: CitationScope): Sql => {
  if (operator === undefined) return raw('arrivals')
  const sources = assistants.filter((each) => each.operator === operator).map(({ source }) => source)
  return sql`case when ${isIn(raw('assistant'), sources)} then arrivals else 0 end`
}

const ratio = raw('case when arrivals > 0 then fetches * 1.0 / arrivals end as ratio')

/**
 * Selects every URL that agents fetched or were refused, or that people entered at or read: `hostname, pathname,
 * fetches, arrivals, refused, ratio`.
 */
const urlCounts = (plan: Plan, of: CitationScope): Sql => sql`
  select hostname, pathname, fetches, arrivals, refused * 2 > attempts as refused, ${ratio}
  from (
    select hostname, pathname, sum(f) as fetches, sum(a) as arrivals, sum(n) as attempts, sum(r) as refused,
      sum(v) as views
    from (
      select hostname, pathname, page_reads as f, 0 as a, attempts as n, refused as r, 0 as v
      from (${dailyCounts(plan, 'daily_urls', ['page_reads', 'attempts', 'refused'], { where: ofOperator(of.operator) })}) fetched
      union all
      select hostname, pathname, 0 as f, ${countedArrivals(of)} as a, 0 as n, 0 as r, views as v
      from (${dailyCounts(plan, 'daily_views', ['views', 'arrivals'])}) viewed) s
    group by hostname, pathname) u
  where fetches > 0 or views > 0 or refused * 2 > attempts`

/** Selects URLs with a ratio and enough data to trust it. The median is taken over them. */
const HAS_ENOUGH_DATA = raw(
  `fetches > 0 and arrivals > 0 and (fetches >= ${MIN_FETCHES} or arrivals >= ${MIN_ARRIVALS})`,
)

/**
 * Returns a statement with each URL's verdict, the policy left aside: `hostname, pathname, fetches, arrivals, ratio,
 * verdict`. The median is taken over the whole site, whatever filters on URLs the plan has. `withMedian` adds it to each
 * row, 0 if no URL has enough data; without any URL there is one row, which has the median alone.
 */
export function citationVerdicts(
  { plan, site }: Pick<ReadContext, 'plan' | 'site'>,
  of: CitationScope,
  withMedian = false,
) {
  const whole = withoutUrlFilters(plan)
  const high = sql`median * ${citationThreshold(site)}`
  const { dialect } = plan
  // Without a median no URL has a ratio, so the last three verdicts do not occur.
  return (p: Plan): Sql => sql`
    with c as materialized (${urlCounts(p, of)}),
    w as materialized (${p === whole ? raw('select * from c') : urlCounts(whole, of)}),
    m as materialized (
      select coalesce(${dialect.quantile(raw('ratio'), 0.5)}, 0) as median from w where ${HAS_ENOUGH_DATA})
    select hostname, pathname, fetches, arrivals, ratio,${raw(withMedian ? ' median,' : '')}
      case when refused then 'blocked'
        when ${isTwin(dialect)} and concat(hostname, ' ', ${twinName(dialect)}) in (
          select concat(hostname, ' ', ${pageName(dialect)}) from w where not ${isTwin(dialect)}) then 'twin'
        when fetches = 0 and arrivals = 0 then 'unseen'
        when fetches < ${MIN_FETCHES} and arrivals < ${MIN_ARRIVALS} then 'insufficient'
        when fetches = 0 then 'unfetched'
        when arrivals = 0 or ratio > ${high} then 'gap'
        when ratio < median / 3 then 'earning'
        else 'balanced' end as verdict
    from ${raw(withMedian ? 'm left join c on true' : 'c cross join m')}`
}

/** The multiple of the site's median above which a ratio is a gap. */
export const citationThreshold = ({
  citation_threshold = DEFAULT_GAP_THRESHOLD,
}: Pick<ReadSite, 'citation_threshold'>) => citation_threshold

/** Selects `fetches, arrivals, ratio` of all URLs together. */
export const citationTotals = (plan: Plan, of: CitationScope): Sql => sql`
  select fetches, arrivals, ${ratio}
  from (select sum(fetches) as fetches, sum(arrivals) as arrivals from (${urlCounts(plan, of)}) c) t`

/** The same from known counts. */
export const totalsFromCounts = ({ fetches, arrivals }: { fetches: number; arrivals: number }): Sql => sql`
  select fetches, arrivals, ${ratio} from (select ${fetches} as fetches, ${arrivals} as arrivals) t`

/** Returns the operator of the column `assistant` of `daily_views`; null where only a medium says that it is an assistant. */
export const operatorOfAssistant = (assistants: readonly Assistant[]): Sql => {
  const names = assistants.map(({ source, operator }) => sql`when ${source} then ${operator}`)
  return names.length === 0 ? raw('null') : sql`case assistant ${join(names, ' ')} end`
}

/**
 * Selects `operator, fetches, arrivals, ratio`. The row without an operator has arrivals from assistants that only
 * their medium names.
 */
export const citationOperators = (plan: Plan, of: CitationScope): Sql => sql`
  select operator, fetches, arrivals, ${ratio}
  from (
    select operator, sum(f) as fetches, sum(a) as arrivals
    from (
      select operator, page_reads as f, 0 as a
      from (${dailyCounts(plan, 'daily_agents', ['page_reads'], { keys: ['operator'], where: ofOperator(of.operator) })}) fetched
      union all
      select ${operatorOfAssistant(of.assistants)} as operator, 0 as f, ${countedArrivals(of)} as a
      from (${dailyCounts(plan, 'daily_views', ['arrivals'])}) viewed) s
    group by operator) o
  where fetches > 0 or arrivals > 0`

/** Apps and many sites send no referrer, so their visitors look like direct traffic. */
export const ARRIVALS_ARE_A_LOWER_BOUND = {
  metric: 'arrivals',
  code: 'arrivals_are_a_floor',
  message: 'Arrivals are a lower bound: native apps and links without a referrer are not counted.',
} as const
