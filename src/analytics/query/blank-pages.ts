import { IS_FIRST_VIEW, IS_GENUINE } from '../../storage/aggregates/daily-counts.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import { filterCondition, sourceRows } from './conditions.js'
import { presentEditions } from './editions.js'
import { IS_REFUSED } from './metrics.js'
import { type Plan, planForTable } from './plan.js'
import { inWindow } from './window-conditions.js'

/** Characters, without white space, below which a served text is hardly more than the navigation. */
const MIN_TEXT = 200
/** How many times the served text a browser shows of an empty shell, and of a page that scripts write for the most part. */
const SHELL_FACTOR = 5
const SCRIPT_FACTOR = 2
/** Characters that a browser shows more than a page has that scripts write for the most part. */
const MIN_SCRIPT_TEXT = 500
/** Samples in turn, of people's text and of another one for agents, after which the difference is not chance. */
const MIN_SAMPLES_IN_TURN = 3
/** Characters below which a page without a heading is an empty shell, even if no browser described the document. */
const MIN_SERVED_TEXT = 50

/** A page's problems for programs that read it, each with its condition on the columns that `blankPages` joins. */
const CONDITIONS = {
  empty_shell: `text_length < ${MIN_TEXT} and case when living_text_length is null
    then text_length < ${MIN_SERVED_TEXT} and headings = 0
    else living_text_length >= ${MIN_TEXT} and living_text_length >= ${SHELL_FACTOR} * text_length end`,
  written_by_scripts: `text_length >= ${MIN_TEXT} and living_text_length >= ${SCRIPT_FACTOR} * text_length
    and living_text_length - text_length >= ${MIN_SCRIPT_TEXT}`,
  not_found: "notice = 'not_found'",
  consent: "notice = 'consent'",
  challenge: "notice = 'challenge'",
  other_text: `in_turn >= ${MIN_SAMPLES_IN_TURN}`,
  agents_refused: 'refusals > 0 and views > 0',
} as const
/** Whether an edition has no content of its own for a program. */
export const IS_BLANK = `coalesce((${CONDITIONS.empty_shell}) or notice is not null, false)`
export type PageProblem = keyof typeof CONDITIONS
export const PAGE_PROBLEMS = Object.keys(CONDITIONS).filter((name): name is PageProblem => name in CONDITIONS)

/** A response that sends an agent away for good, which no rule of the operator's gave. */
const IS_TURNED_AWAY = sql`${raw("method = 'GET' and status in (401, 402, 403, 451)")} and not ${IS_REFUSED}`

/** Columns with the facts that samples and browsers gave about a page. */
const PAGE_FACTS = `last_seen, text_length, headings, links, lang, canonical, title, first_line, notice, living_seen,
  living_text_length, living_headings, living_links, living_line, agent_seen, agent_text_length, agent_headings, agent_links,
  agent_line`

/** Selects the facts about pages, and how often agents got a text that no edition of the page had for people. */
const describedPages = (plan: Plan): Sql =>
  presentEditions(
    plan,
    sql`${raw(PAGE_FACTS)}, case when (hostname, pathname, agent_digest) in (
      select hostname, pathname, digest from page_samples where site_id = ${plan.site} and served_to <> 'agents')
      then 0 else agent_samples end as in_turn`,
  )

/** Selects people's pages: `hostname, pathname, views`, and `readers`, whose visits began there after a search or an assistant. */
const peoplesPages = (plan: Plan): Sql => {
  const side = planForTable(plan, 'events')
  return sql`
    select hostname, pathname, count(*) as views,
      count(distinct case when ${raw(IS_FIRST_VIEW)} and channel in ('Organic Search', 'AI Assistants') then session_id end) as readers
    from ${sourceRows('events', side, side.filters)} as e
    where ${inWindow(side)} and kind = 'pageview' and (status is null or status < 400) and ${filterCondition(side)}
    group by hostname, pathname`
}

/** Selects agents' pages: `hostname, pathname, fetches, refusals`. */
const agentsPages = (plan: Plan): Sql => {
  const side = planForTable(plan, 'agent_events')
  return sql`
    select hostname, pathname, sum(case when is_pageview then 1 else 0 end) as fetches,
      sum(case when ${IS_TURNED_AWAY} then 1 else 0 end) as refusals
    from agent_events where ${inWindow(side)} and ${raw(IS_GENUINE)} and ${filterCondition(side)}
    group by hostname, pathname`
}

/** Selects the pages with a problem: the columns above, and 1 or 0 for each problem. */
export const blankPages = (plan: Plan): Sql => {
  const flags = Object.entries(CONDITIONS).map(
    ([name, condition]) => `case when ${condition} then 1 else 0 end as ${name}`,
  )
  const on = (table: string) => raw(`on ${table}.hostname = u.hostname and ${table}.pathname = u.pathname`)
  return sql`
    with present as materialized (${describedPages(plan)}), asked as materialized (${agentsPages(plan)})
    select * from (
      select *, ${raw(flags.join(', '))} from (
        select u.hostname as hostname, u.pathname as pathname, ${raw(PAGE_FACTS)}, in_turn,
          coalesce(views, 0) as views, coalesce(readers, 0) as readers, coalesce(fetches, 0) as fetches,
          coalesce(refusals, 0) as refusals
        from (
          select distinct hostname, pathname from (
            select hostname, pathname from present union all select hostname, pathname from asked where refusals > 0) b) u
        left join present p ${on('p')}
        left join (${peoplesPages(plan)}) v ${on('v')}
        left join asked a ${on('a')}) j) f
    where ${raw(PAGE_PROBLEMS.join(' + '))} > 0`
}

/** Selects the agents that were turned away from these pages: `hostname, pathname, agent_id, refusals`. */
export const refusedAgents = (plan: Plan, urls: Sql): Sql => {
  const side = planForTable(plan, 'agent_events')
  return sql`
    select hostname, pathname, agent_id, count(*) as refusals from agent_events
    where ${inWindow(side)} and ${raw(IS_GENUINE)} and ${IS_TURNED_AWAY} and ${filterCondition(side)} and ${urls}
    group by hostname, pathname, agent_id order by refusals desc, agent_id`
}
