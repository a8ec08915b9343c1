import { z } from 'zod'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import { type BlockedUrls, filterBlocked, mayBeBlocked } from '../../query/blocked-urls.js'
import {
  ARRIVALS_ARE_A_LOWER_BOUND,
  CITATION_VERDICTS,
  type CitationScope,
  citationOperators,
  citationThreshold,
  citationTotals,
  citationVerdicts,
  totalsFromCounts,
} from '../../query/citations.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import type { ReadContext } from '../../query/read-context.js'
import { Arrivals, Count, comparableRow, Operator, PageReads, Ratio } from '../shapes.js'

const METRICS = ['fetches', 'arrivals', 'ratio']
const MAX_OPERATORS = 1000
/** URLs that the policy may block are judged in batches, up to this many. */
const BATCH_URLS = 2000
const MAX_BATCHES = 10

/** GET /api/citation-gap/summary: the site's totals, its URLs by verdict, and each operator's share. */
export default defineRead({
  path: '/api/citation-gap/summary',
  summary: 'The citation gap of the whole site: totals, URLs by verdict, operators',
  params: { operator: Operator },
  audience: { only: 'all', mixesAudiences: true },
  data: comparableRow({
    fetches: PageReads.optional(),
    arrivals: Arrivals.optional(),
    ratio: Ratio,
    median: Ratio.describe(
      "Median of the ratios of the site's URLs with enough data, whatever the filters on URLs; absent if no URL has one.",
    ),
    threshold: z
      .number()
      .nonnegative()
      .describe('The multiple of `median` above which a URL is a gap. Below a third of `median` it is earning.'),
    urls: z.record(z.enum(CITATION_VERDICTS), Count).describe('Number of URLs by verdict.'),
    operators: z.array(
      comparableRow({
        operator: z.string().optional().describe('Absent: arrivals from an assistant that only its medium names.'),
        fetches: PageReads,
        arrivals: Arrivals,
        ratio: Ratio,
      }),
    ),
  }),
  run: async (context, { operator }) => {
    const of: CitationScope = { assistants: context.assistants, operator }
    const { counts, shut, whole, median } = await countVerdicts(
      context,
      citationVerdicts(context, of, true),
      await context.blockedUrls(operator),
    )
    // For the window itself the totals are known, because every URL that was fetched or arrived at has a verdict.
    const totals = await context.one(METRICS, (plan) =>
      plan === context.plan ? totalsFromCounts(whole) : citationTotals(plan, of),
    )
    const operators = await context.list(
      {
        key: 'operator',
        order: ['fetches desc', 'arrivals desc'],
        metrics: METRICS,
        limit: MAX_OPERATORS,
        comparesAll: true,
      },
      (plan) => citationOperators(plan, of),
    )
    const urls = Object.fromEntries(CITATION_VERDICTS.map((verdict) => [verdict, counts.get(verdict) ?? 0]))
    for (const verdict of shut) {
      urls[verdict] = (urls[verdict] ?? 0) - 1
      urls.blocked = (urls.blocked ?? 0) + 1
    }
    context.warn(ARRIVALS_ARE_A_LOWER_BOUND)
    const middle = median > 0 ? { median } : {}
    const data = { ...totals, ...middle, threshold: citationThreshold(context.site), urls, operators }
    return { data, rows: operators.length }
  },
})

/**
 * Counts the URLs of each verdict, lists the verdicts of URLs that only the policy blocks, sums up fetches and arrivals,
 * and returns the site's median, 0 if no URL has one.
 */
async function countVerdicts(context: ReadContext, judged: (plan: Plan) => Sql, blocked: BlockedUrls | undefined) {
  const counts = new Map<string, number>()
  const whole = { fetches: 0, arrivals: 0 }
  const shut: string[] = []
  let median = 0
  let after = raw('true')
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const maybe = blocked
      ? sql`verdict <> 'blocked' and ${mayBeBlocked(blocked, context.plan.dialect)} and ${after}`
      : raw('false')
    const first = sql`
      union all select null as hostname, null as pathname, verdict, count(hostname) as n, sum(fetches) as fetches,
        sum(arrivals) as arrivals, max(median) as median from v group by verdict`
    const rows = await context.rows(sql`
      with v as materialized (${judged(context.plan)})
      select * from (
        select * from (select hostname, pathname, verdict, 0 as n, 0 as fetches, 0 as arrivals, median from v
          where hostname is not null and ${maybe}
          order by hostname, pathname limit ${BATCH_URLS}) c
        ${batch === 0 ? first : raw('')}) u
      order by hostname, pathname`)
    const urls: { hostname: string; pathname: string; verdict: string }[] = []
    for (const { hostname, pathname, verdict, n, fetches = 0, arrivals = 0, median: middle } of rows) {
      median = Number(middle)
      if (hostname === undefined) {
        counts.set(String(verdict), Number(n))
        whole.fetches += Number(fetches)
        whole.arrivals += Number(arrivals)
      } else urls.push({ hostname: String(hostname), pathname: String(pathname), verdict: String(verdict) })
    }
    if (!blocked) return { counts, shut, whole, median }
    shut.push(...(await filterBlocked(blocked, urls)).map(({ verdict }) => verdict))
    const last = urls.at(-1)
    if (!last || urls.length < BATCH_URLS) return { counts, shut, whole, median }
    after = sql`(hostname, pathname) > (${last.hostname}, ${last.pathname})`
  }
  context.warn({
    code: 'blocked_not_all_judged',
    message: `Only ${BATCH_URLS * MAX_BATCHES} URLs were checked against the policy, in order of their names; more may be blocked.`,
  })
  return { counts, shut, whole, median }
}
