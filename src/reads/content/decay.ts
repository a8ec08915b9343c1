import { z } from 'zod'
import { filterBlocked, type Url } from '../../query/blocked-urls.js'
import { shift } from '../../query/calendar.js'
import { sourceRows, whereClause } from '../../query/conditions.js'
import { NOT_SPOOFED } from '../../query/metrics.js'
import { type Plan, planForTable, withoutUrlFilters, withWindow } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { columnsMatch, type ReadContext } from '../../query/read-context.js'
import { raw, type Sql, sql } from '../../sql.js'
import type { ResultRow } from '../../store.js'
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
    const [site = {}] = await context.rows(sql`
      select ${beforeAndNow(plan, 'people')} from ${pageviews(withoutUrlFilters(overBothWindows(plan, then)))}`)
    const [was, is] = [Number(site.people_before), Number(site.people_now)]
    const factor = was > 0 && is > 0 ? is / was : undefined
    if (was > 0) {
      const percent = Math.round((is / was - 1) * 1000) / 10
      const message = `The site's pageviews changed by ${percent} %; verdicts take this change out.`
      context.warn({ metric: 'people', code: 'site_wide_change_taken_out', message })
    }
    // Whole numbers, so that a quarter is exactly a quarter.
    const fell = sql`people_before * 3 * ${is} >= people_now * 4 * ${was} and ${is > 0}`
    const held = raw('agents_now * 10 > agents_before * 9')
    const enough = sql`${long} and people_before >= ${MIN_VIEWS} and agents_before >= ${MIN_FETCHES}`
    const page = await context.list(
      { key: URL_KEY, order: ['rank asc', 'lost desc'], metrics: [], compare: false },
      (p) => sql`
        select *, people_before - people_now as lost,
          case verdict when 'decaying' then 0 when 'fading' then 1 when 'steady' then 2 else 3 end as rank
        from (
          select *, case when not (${enough}) then 'insufficient' when not (${fell}) then 'steady'
            when ${held} then 'decaying' else 'fading' end as verdict
          from (${urlRows(overBothWindows(p, then), p)}) u) v`,
    )
    const shut = await urlsNowUnreadable(context, overBothWindows(plan, then), page)
    const data = page.map((found) => {
      const { hostname, pathname, verdict } = found
      const change = (name: 'people' | 'agents') => {
        const [a, b] = [Number(found[`${name}_before`]), Number(found[`${name}_now`])]
        return { before: a, now: b, ...(a > 0 ? { change: (b - a) / a } : {}) }
      }
      const people = change('people')
      const adjusted =
        people.before > 0 && factor !== undefined ? { adjusted: people.now / people.before / factor - 1 } : {}
      const blocked = verdict !== 'insufficient' && shut.has(urlKey(found))
      return {
        hostname,
        pathname,
        people: { ...people, ...adjusted },
        agents: change('agents'),
        verdict: blocked ? 'blocked' : verdict,
      }
    })
    return { data, rows: data.length }
  },
})

/** The plan over both windows, which are adjacent. */
const overBothWindows = (plan: Plan, then: Plan['window']): Plan =>
  withWindow(plan, { start: then.start, end: plan.window.end })

const beforeAndNow = ({ window }: Plan, name: 'people' | 'agents'): Sql => sql`
  count(*) filter (where timestamp < ${window.start}) as ${raw(name)}_before,
  count(*) filter (where timestamp >= ${window.start}) as ${raw(name)}_now`

const pageviews = (plan: Plan): Sql => {
  const own = planForTable(plan, 'events')
  return sql`${sourceRows('events', own)} as e where ${whereClause(own)} and kind = 'pageview'`
}
const agentFetches = (plan: Plan): Sql => sql`
  agent_events where ${whereClause(planForTable(plan, 'agent_events'))} and ${NOT_SPOOFED}
    and purpose not in ('monitor', 'seo')`

/**
 * Selects the URLs that people read in either window: `hostname, pathname, people_before, people_now, agents_before,
 * agents_now`.
 */
const urlRows = (wide: Plan, plan: Plan): Sql => sql`
  select p.hostname, p.pathname, people_before, people_now, coalesce(agents_before, 0) as agents_before,
    coalesce(agents_now, 0) as agents_now
  from (select hostname, pathname, ${beforeAndNow(plan, 'people')} from ${pageviews(wide)}
    group by hostname, pathname) p
  left join (select hostname, pathname, ${beforeAndNow(plan, 'agents')} from ${agentFetches(wide)}
    group by hostname, pathname) a on a.hostname = p.hostname and a.pathname = p.pathname`

/**
 * Returns those of these URLs that agents can no longer read: the last response before was a page and the last one now
 * is not, or an agent whose last fetch before was allowed is now disallowed. Obedient agents do not fetch what is
 * disallowed. If the policy now disallows all agents that fetch for answers, one fetch that was allowed before is
 * enough.
 */
async function urlsNowUnreadable(
  context: ReadContext,
  wide: Plan,
  page: readonly ResultRow[],
): Promise<ReadonlySet<string>> {
  const { plan } = context
  const now = sql`timestamp >= ${plan.window.start}`
  const good = raw('case when status between 200 and 299 or status = 304 then 1 else 0 end')
  const last = (value: Sql, when: Sql) =>
    sql`${plan.dialect.lastBy(value, sql`(timestamp, ${value})`)} filter (where ${when})`
  const allowed = raw('case when robots_allowed then 1 else 0 end')
  const judged = raw('robots_allowed is not null')
  const found = await context.rows(sql`
    select hostname, pathname, agent_id, max(timestamp) filter (where not ${now}) as seen_before,
      max(timestamp) filter (where ${now}) as seen_now, ${last(good, sql`not ${now}`)} as good_before,
      ${last(good, now)} as good_now, ${last(allowed, sql`not ${now} and ${judged}`)} as allowed_before,
      ${last(allowed, sql`${now} and ${judged}`)} as allowed_now
    from ${agentFetches(wide)} and ${columnsMatch(URL_KEY, page)}
    group by hostname, pathname, agent_id`)
  const shut = new Set<string>()
  const open = new Map<string, Url>()
  const latest = new Map<string, { before: LatestFetch; now: LatestFetch }>()
  for (const row of found) {
    const name = urlKey(row)
    if (row.allowed_before === 1 && row.allowed_now === 0) shut.add(name)
    if (row.allowed_before === 1) open.set(name, { hostname: String(row.hostname), pathname: String(row.pathname) })
    const best = latest.get(name)
    latest.set(name, {
      before: laterFetch(best?.before, row.seen_before, row.good_before),
      now: laterFetch(best?.now, row.seen_now, row.good_now),
    })
  }
  const blocked = await context.blockedUrls(undefined)
  for (const url of blocked ? await filterBlocked(blocked, [...open.values()]) : []) shut.add(urlKey({ ...url }))
  for (const [name, { before: then, now: last }] of latest) if (then?.good && last && !last.good) shut.add(name)
  return shut
}

type LatestFetch = { at: number; good: boolean } | undefined
/** Returns the later of two fetches; of two at the same time the successful one. */
function laterFetch(best: LatestFetch, seen: unknown, good: unknown): LatestFetch {
  if (!(seen instanceof Date)) return best
  const at = seen.getTime()
  if (best && (best.at > at || (best.at === at && best.good))) return best
  return { at, good: good === 1 }
}
