import { z } from 'zod'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { filterBlocked, type Url } from '../../query/blocked-urls.js'
import { shift } from '../../query/calendar.js'
import { dailyCounts, lastFetches } from '../../query/counted-days.js'
import { columnsMatch } from '../../query/key-match.js'
import { type Plan, withoutUrlFilters, withWindow } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import type { ReadContext } from '../../query/read-context.js'
import { Count, urlKey } from '../shapes.js'

const VERDICTS = ['decaying', 'fading', 'insufficient', 'blocked', 'steady'] as const
const MIN_DAYS = 28
const MIN_VIEWS = 50
const MIN_FETCHES = 10
const URL_KEY = ['hostname', 'pathname']

const ChangeShape = z.number().optional().describe('Relative: -0.5 is half as many. Absent if the number before was 0.')
const sideShape = { before: Count, now: Count, change: ChangeShape }

/** GET /api/content/decay: URLs that lose human readers while agents continue to fetch them. */
export default defineRead({
  path: '/api/content/decay',
  summary: 'URLs where human traffic fell while agent traffic held, compared with the previous window',
  params: {},
  list: true,
  audience: { only: 'all', mixesAudiences: true },
  compare: 'previous',
  data: z.array(
    z.object({
      hostname: z.string(),
      pathname: z.string(),
      people: z
        .object({
          ...sideShape,
          adjusted: ChangeShape.describe('The change after the site-wide change is taken out; the verdict uses it.'),
        })
        .describe('Pageviews.'),
      agents: z
        .object(sideShape)
        .describe('Fetches without spoofed ones and without agents of purpose monitor and seo.'),
      verdict: z.enum(VERDICTS),
    }),
  ),
  run: async (context) => {
    const { plan } = context
    const then = plan.comparison ?? plan.window
    const long = shift(plan.window.start, { days: MIN_DAYS }, plan.tz) <= plan.window.end
    if (!long) {
      const message = `The window is shorter than ${MIN_DAYS} days, so every verdict is insufficient.`
      context.warn({ metric: 'verdict', code: 'window_too_short', message })
    }
    const [before, now] = bothWindows(withoutUrlFilters(plan), then).map(
      (p) => sql`(select sum(views) from (${dailyCounts(p, 'daily_views', ['views'], { keys: [] })}) v)`,
    )
    const [site = {}] = await context.rows(sql`select ${before ?? raw('0')} as was, ${now ?? raw('0')} as now`)
    const [was, is] = [Number(site.was ?? 0), Number(site.now ?? 0)]
    const factor = was > 0 && is > 0 ? is / was : undefined
    if (was > 0) {
      const percent = Math.round((is / was - 1) * 1000) / 10
      const message = `The site's pageviews changed by ${percent} %; verdicts take this change out.`
      context.warn({ metric: 'people', code: 'site_wide_change_taken_out', message })
    }
    // Whole numbers, so that a quarter is exactly a quarter.
    const fell = sql`people_before * 3 * ${is} >= people_now * 4 * ${was} and ${is > 0}`
    const isHeld = raw('agents_now * 10 > agents_before * 9')
    const enough = sql`${long} and people_before >= ${MIN_VIEWS} and agents_before >= ${MIN_FETCHES}`
    const page = await context.list(
      { key: URL_KEY, order: ['rank asc', 'lost desc'], metrics: [], compare: false },
      (p) => sql`
        select *, people_before - people_now as lost,
          case verdict when 'decaying' then 0 when 'fading' then 1 when 'steady' then 2 else 3 end as rank
        from (
          select *, case when not (${enough}) then 'insufficient' when not (${fell}) then 'steady'
            when ${isHeld} then 'decaying' else 'fading' end as verdict
          from (${urlRows(p, then)}) u) v`,
    )
    // Others stay insufficient, whatever agents can read.
    const rated = page.filter(({ verdict }) => verdict !== 'insufficient')
    const shut = await urlsNowUnreadable(context, then, rated)
    const data = page.map((row) => {
      const { hostname, pathname, verdict } = row
      const change = (name: 'people' | 'agents') => {
        const [a, b] = [Number(row[`${name}_before`]), Number(row[`${name}_now`])]
        return { before: a, now: b, ...(a > 0 ? { change: (b - a) / a } : {}) }
      }
      const people = change('people')
      const adjusted =
        people.before > 0 && factor !== undefined ? { adjusted: people.now / people.before / factor - 1 } : {}
      return {
        hostname,
        pathname,
        people: { ...people, ...adjusted },
        agents: change('agents'),
        verdict: shut.has(urlKey(row)) ? 'blocked' : verdict,
      }
    })
    return { data, rows: data.length }
  },
})

/** The plan over the window before, and over the window. */
const bothWindows = (plan: Plan, then: Plan['window']) =>
  [withWindow(plan, { start: then.start, end: plan.window.start }), plan] as const

/**
 * Selects the URLs that people read in either window: `hostname, pathname, people_before, people_now, agents_before,
 * agents_now`.
 */
const urlRows = (plan: Plan, then: Plan['window']): Sql => {
  const [before, now] = bothWindows(plan, then)
  const part = (p: Plan, table: 'daily_views' | 'daily_urls', count: string, name: string) => {
    const columns = ['people_before', 'people_now', 'agents_before', 'agents_now']
    const values = columns.map((each) => `${each === name ? count : '0'} as ${each}`).join(', ')
    return sql`select hostname, pathname, ${raw(values)} from (${dailyCounts(p, table, [count], { keys: URL_KEY })}) c`
  }
  return sql`
    select * from (
      select hostname, pathname, sum(people_before) as people_before, sum(people_now) as people_now,
        sum(agents_before) as agents_before, sum(agents_now) as agents_now
      from (
        ${part(before, 'daily_views', 'views', 'people_before')}
        union all ${part(now, 'daily_views', 'views', 'people_now')}
        union all ${part(before, 'daily_urls', 'readings', 'agents_before')}
        union all ${part(now, 'daily_urls', 'readings', 'agents_now')}) b
      group by hostname, pathname) u
    where people_before + people_now > 0`
}

/**
 * Returns those of these URLs that agents can no longer read: the last response before was a page and the last one now
 * is not, or an agent whose last fetch before was allowed is now disallowed. Obedient agents do not fetch what is
 * disallowed. If the policy now disallows all agents that fetch for answers, one fetch that was allowed before is
 * enough.
 */
async function urlsNowUnreadable(
  context: ReadContext,
  then: Plan['window'],
  page: readonly ResultRow[],
): Promise<ReadonlySet<string>> {
  if (page.length === 0) return new Set()
  const ofPage = columnsMatch(URL_KEY, page)
  const [before, now] = bothWindows(context.plan, then)
  const latestNow = await readLastFetches(context, now, ofPage)
  const latestBefore = await readLastFetches(context, before, ofPage)
  const shut = new Set<string>()
  const open = new Map<string, Url>()
  for (const [name, { allowed, url }] of latestBefore.agents) {
    if (!allowed) continue
    if (latestNow.agents.get(name)?.allowed === false) shut.add(urlKey({ ...url }))
    open.set(urlKey({ ...url }), url)
  }
  const blocked = await context.blockedUrls(undefined)
  for (const url of blocked ? await filterBlocked(blocked, [...open.values()]) : []) shut.add(urlKey({ ...url }))
  // An odd number is a success.
  for (const [name, response] of latestBefore.responses)
    if (response % 2 === 1 && (latestNow.responses.get(name) ?? 1) % 2 === 0) shut.add(name)
  return shut
}

/** Returns the last response of each of these URLs, and of each agent and URL whether the last judged fetch was allowed. */
async function readLastFetches(context: ReadContext, plan: Plan, urls: Sql) {
  const agents = new Map<string, { url: Url; allowed: boolean }>()
  const responses = new Map<string, number>()
  for (const row of await context.rows(lastFetches(plan, urls))) {
    const url = { hostname: String(row.hostname), pathname: String(row.pathname) }
    const name = urlKey(url)
    if (row.state !== undefined) agents.set(JSON.stringify([name, row.agent_id]), { url, allowed: row.state === '+' })
    if (row.last_response !== undefined)
      responses.set(name, Math.max(responses.get(name) ?? 0, Number(row.last_response)))
  }
  return { agents, responses }
}
