import { IS_GENUINE } from '../../storage/aggregates/daily-counts.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import { whereClause } from './conditions.js'
import { isTwin, pageName, twinName } from './markdown-twins.js'
import type { Plan } from './plan.js'
import { inWindow } from './window-conditions.js'

/** The formats that a response has, by its `Content-Type`. */
export const SERVED_FORMATS = ['html', 'markdown', 'json', 'text', 'other'] as const

/** Null: no Content-Type was sent, or it was not recorded. */
const SERVED = raw(`case when content_type is null then null
  when content_type in ('text/html', 'application/xhtml+xml') then 'html'
  when content_type in ('text/markdown', 'text/x-markdown') then 'markdown'
  when content_type = 'application/json' or content_type like '%+json' then 'json'
  when content_type = 'text/plain' then 'text' else 'other' end`)

/** Selects fetches that got a body: no 304, which confirms a copy, and none that a rule refused. */
const GOT_BODY = raw(`method = 'GET' and status in (200, 206) and ${IS_GENUINE}`)

/** Selects the fetches of the window that got a body, by agent and formats: `agent_id, accepts, served, fetches, imported`. */
export const formatFetches = (plan: Plan): Sql => sql`
  select agent_id, accepts, served, count(*) as fetches, count(import_id) as imported
  from (
    select agent_id, accepts, ${SERVED} as served, import_id from agent_events where ${whereClause(plan)} and ${GOT_BODY}) f
  group by agent_id, accepts, served`

/** Selects the pages that were asked for as Markdown and served as HTML: `hostname, pathname, fetches, agents`. */
export const pagesWithoutMarkdown = (plan: Plan): Sql => sql`
  select hostname, pathname, count(*) as fetches, count(distinct agent_id) as agents
  from agent_events
  where ${whereClause(plan)} and ${GOT_BODY} and accepts = 'markdown' and ${SERVED} = 'html'
  group by hostname, pathname`

/**
 * Selects the Markdown twins that agents fetched: `hostname, pathname, agent_id, fetches`. A twin's page exists, because an
 * agent or a person read it in the window.
 */
export const twinFetches = (plan: Plan): Sql => {
  const { dialect } = plan
  return sql`
    select t.hostname as hostname, t.pathname as pathname, agent_id, fetches
    from (
      select hostname, pathname, agent_id, ${twinName(dialect)} as name, count(*) as fetches
      from agent_events where ${whereClause(plan)} and ${GOT_BODY} and ${isTwin(dialect)}
      group by hostname, pathname, agent_id) t
      join (
        select distinct hostname, ${pageName(dialect)} as name
        from (
          select hostname, pathname from agent_events
          where ${inWindow(plan)} and ${GOT_BODY} and is_pageview and not ${isTwin(dialect)}
          union all
          select hostname, pathname from events
          where ${inWindow(plan)} and kind = 'pageview' and coalesce(status, 200) < 400) v) p
      on p.hostname = t.hostname and p.name = t.name`
}
