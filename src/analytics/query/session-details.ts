import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import type { Plan } from './plan.js'
import type { ReadContext } from './read-context.js'
import { sessionsInWindow } from './sessions.js'
import { startedInWindow } from './window-conditions.js'

/** When a session began: enough to find its rows without scanning the site's. */
export interface SessionStart {
  readonly id: bigint
  readonly started: Date
}

/** The plan over the start times of these sessions, without filters. */
export const planAround = (plan: Plan, begun: readonly SessionStart[]): Plan => {
  const times = begun.map(({ started }) => started.getTime())
  const last = times.reduce((a, b) => Math.max(a, b), 0)
  const first = times.reduce((a, b) => Math.min(a, b), last)
  return { ...plan, filters: [], window: { start: new Date(first), end: new Date(last + 1) } }
}

/**
 * Returns whole sessions, one row each, unsorted: `id, visitor_id, started_at, ended_at, duration` (seconds),
 * `pageviews, events, entry_page, exit_page, channel, source, utm_campaign, country, browser, os, device_type,
 * screen_class, language, identified_id`. Country, device and language are from the first hit that has them, the
 * identified id from the last.
 */
export async function sessionDetails(context: ReadContext, begun: readonly SessionStart[]): Promise<ResultRow[]> {
  if (begun.length === 0) return []
  const { plan } = context
  const near = planAround(plan, begun)
  const isWanted = isIn(
    raw('session_id'),
    begun.map(({ id }) => id),
  )
  const first = (name: string): Sql =>
    sql`${plan.dialect.firstBy(raw(name), raw(`(timestamp, ${name})`))} as ${raw(name)}`
  return context.rows(sql`
    select s.session_id as id, visitor_id, started as started_at, ended as ended_at, ms / 1000 as duration,
      views as pageviews, interactions as events, entry_page, exit_page, channel, source, utm_campaign, country, browser, os, device_type,
      screen_class, language, identified_id
    from (select * from (${sessionsInWindow(near)}) w where ${isWanted}) s
    join (
      select session_id, min(channel) as channel, min(source) as source, min(utm_campaign) as utm_campaign,
        ${first('country')}, ${first('browser')}, ${first('os')}, ${first('device_type')}, ${first('screen_class')},
        ${first('language')},
        ${plan.dialect.lastBy(raw('identified_id'), raw('(timestamp, identified_id)'))} as identified_id
      from events where ${startedInWindow(near)} and ${isWanted} group by session_id) r on r.session_id = s.session_id`)
}
