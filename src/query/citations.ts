import { type Dialect, isIn, join, raw, type Sql, sql } from '../sql.js'
import { sourceRows, whereClause } from './conditions.js'
import { NOT_SPOOFED } from './metrics.js'
import { type Plan, planForTable, withoutUrlFilters } from './plan.js'
import type { Assistant, ReadContext, Site } from './read-context.js'

/** In the order in which they are tried: the first that applies is the verdict. */
export const CITATION_VERDICTS = [
  'blocked',
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

/** Selects successful page reads. A 304 names no content type; `is_pageview` or the path's ending decides then. */
const isPageRead = (dialect: Dialect): Sql => {
  const endings = ['.md', '.markdown', '.pdf'].map((end) => dialect.endsWith(raw('lower(pathname)'), sql`${end}`))
  return sql`method = 'GET' and status in (200, 206, 304) and case when content_type is null
    then status = 304 and (is_pageview or ${join(endings, ' or ')})
    else content_type in ('text/html', 'application/xhtml+xml', 'text/markdown', 'text/x-markdown', 'application/pdf')
    end`
}

/** Selects the pageview with which a session from an AI assistant began; a session has one. */
const IS_ARRIVAL = raw("channel = 'AI Assistants' and timestamp = session_start and pathname = entry_page")

/** Selects fetches that may serve an answer, or the index that answers come from. */
const answerFetches = (plan: Plan, operator: string | undefined): Sql => sql`
  agent_events where ${whereClause(planForTable(plan, 'agent_events'))} and purpose in ('search', 'assistant')
    and ${NOT_SPOOFED} and ${operator === undefined ? raw('true') : sql`operator = ${operator}`}`

const pageviews = (plan: Plan): Sql => {
  const side = planForTable(plan, 'events')
  return sql`${sourceRows('events', side)} as e where ${whereClause(side)} and kind = 'pageview'`
}

const arrivalCondition = ({ assistants, operator }: CitationScope): Sql => {
  if (operator === undefined) return IS_ARRIVAL
  const sources = assistants.filter((each) => each.operator === operator).map(({ source }) => source)
  return sql`${IS_ARRIVAL} and ${isIn(raw('source'), sources)}`
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
      select hostname, pathname, count(*) filter (where ${isPageRead(plan.dialect)}) as f, 0 as a, count(*) as n,
        count(*) filter (where status in (401, 403, 429)) as r, 0 as v
      from ${answerFetches(plan, of.operator)} group by hostname, pathname
      union all
      select hostname, pathname, 0 as f, count(distinct case when ${arrivalCondition(of)} then session_id end) as a, 0 as n,
        0 as r, count(*) as v
      from ${pageviews(plan)} group by hostname, pathname) s
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
  // Without a median no URL has a ratio, so the last three verdicts do not occur.
  return (p: Plan): Sql => sql`
    with c as materialized (${urlCounts(p, of)}),
    m as materialized (
      select coalesce(${plan.dialect.quantile(raw('ratio'), 0.5)}, 0) as median
      from (${p === whole ? raw('select * from c') : urlCounts(whole, of)}) w where ${HAS_ENOUGH_DATA})
    select hostname, pathname, fetches, arrivals, ratio,${raw(withMedian ? ' median,' : '')}
      case when refused then 'blocked'
        when fetches = 0 and arrivals = 0 then 'unseen'
        when fetches < ${MIN_FETCHES} and arrivals < ${MIN_ARRIVALS} then 'insufficient'
        when fetches = 0 then 'unfetched'
        when arrivals = 0 or ratio > ${high} then 'gap'
        when ratio < median / 3 then 'earning'
        else 'balanced' end as verdict
    from ${raw(withMedian ? 'm left join c on true' : 'c cross join m')}`
}

/** The multiple of the site's median above which a ratio is a gap. */
export const citationThreshold = ({ citation_threshold = DEFAULT_GAP_THRESHOLD }: Pick<Site, 'citation_threshold'>) =>
  citation_threshold

/** Selects `fetches, arrivals, ratio` of all URLs together. */
export const citationTotals = (plan: Plan, of: CitationScope): Sql => sql`
  select fetches, arrivals, ${ratio}
  from (select sum(fetches) as fetches, sum(arrivals) as arrivals from (${urlCounts(plan, of)}) c) t`

/** The same from known counts. */
export const totalsFromCounts = ({ fetches, arrivals }: { fetches: number; arrivals: number }): Sql => sql`
  select fetches, arrivals, ${ratio} from (select ${fetches} as fetches, ${arrivals} as arrivals) t`

/**
 * Selects `operator, fetches, arrivals, ratio`. The row without an operator has arrivals from assistants that only
 * their medium names.
 */
export const citationOperators = (plan: Plan, of: CitationScope): Sql => {
  const names = of.assistants.map(({ source, operator }) => sql`when ${source} then ${operator}`)
  const name = names.length === 0 ? raw('null') : sql`case source ${join(names, ' ')} end`
  return sql`
    select operator, fetches, arrivals, ${ratio}
    from (
      select operator, sum(f) as fetches, sum(a) as arrivals
      from (
        select operator, count(*) filter (where ${isPageRead(plan.dialect)}) as f, 0 as a
        from ${answerFetches(plan, of.operator)} group by operator
        union all
        select operator, 0 as f, count(distinct session_id) as a
        from (select ${name} as operator, session_id from ${pageviews(plan)} and ${arrivalCondition(of)}) p
        group by operator) s
      group by operator) o
    where fetches > 0 or arrivals > 0`
}

/** Apps and many sites send no referrer, so their visitors look like direct traffic. */
export const ARRIVALS_ARE_A_LOWER_BOUND = {
  metric: 'arrivals',
  code: 'arrivals_are_a_floor',
  message: 'Arrivals are a lower bound: native apps and links without a referrer are not counted.',
} as const
