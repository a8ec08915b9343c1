import { MINUTE_MS } from '../../base/time-units.js'
import { join, raw, type Sql, sql } from '../../storage/sql.js'
import { filterCondition } from './conditions.js'
import { NOT_SPOOFED } from './metrics.js'
import type { Plan } from './plan.js'
import { sessionSteps, sessionViews, stepColumns } from './session-steps.js'
import { inWindow } from './window-conditions.js'

/** The longest time between two reads that belong together. */
const READ_GAP_MS = 30 * MINUTE_MS
/** Steps of a visit that `wholeVisits` selects: as many as an aggregated session has. */
const MAX_VISIT_STEPS = 8
/**
 * Columns that two reads by one client share: the name, the user agent, and the network and country of its address. No
 * address is stored, and its hash would part a crawler that reads from several addresses.
 */
const CLIENT = raw('agent_id, user_agent, asn, country')
const VIEW_ORDER = raw('timestamp, pathname')

/** Pages before and after a chain that are selected by name. */
const MAX_NAMED_PATHS = 20

/**
 * Selects `side, matched, kind, pathname, n, pages` around a chain of pages. Side 1: the page before it, side 2: the page
 * after it, of kind `page`, `other` for those that are not named, or `edge` where the visit or the run began or ended. Side
 * 3: how often exactly the first `matched` steps were taken.
 *
 * A visit counts once, by its longest way along the chain, of equals by the first. A run of an agent's reads counts each
 * time. A page that follows itself is one step.
 */
export const chainNeighbours = (plan: Plan, steps: readonly string[]): Sql => {
  const [first = ''] = steps
  const numbered = raw('row_number() over (partition by visit order by timestamp, pathname) as n')
  const beside = (by: string, name: string) => raw(`${by} over (partition by visit order by n) as ${name}`)
  const next = steps.map((_, i) => beside(`lead(pathname, ${i + 1})`, `next_${i + 1}`))
  const matched = steps.reduceRight(
    (rest, step, i) =>
      i === 0 ? sql`1 + ${rest}` : sql`(case when ${raw(`next_${i}`)} = ${step} then 1 + ${rest} else 0 end)`,
    raw('0'),
  )
  const isHuman = plan.audience !== 'agent'
  const chains = sql`
    select visit, n, ${matched} as matched, came_from, ${raw(`next_${steps.length}`)} as went_to
    from (select visit, n, pathname, ${beside('lag(pathname)', 'came_from')}, ${join(next, ', ')}
      from (select visit, timestamp, pathname, ${numbered}
        from (${isHuman ? visitViews(plan, first) : agentReads(plan)}) v) d) s
    where pathname = ${first}`
  const counted = isHuman
    ? sql`select * from (select *, row_number() over (partition by visit order by matched desc, n) as place
        from (${chains}) f) r where place = 1`
    : chains
  const whole = raw(`${steps.length}`)
  const counts = sql`
    select side, case side when 3 then matched else 0 end as matched,
      case side when 1 then came_from when 2 then went_to end as pathname, count(*) as n
    from (${counted}) c cross join (select 1 as side union all select 2 as side union all select 3 as side) s
    where side = 3 or matched = ${whole}
    group by 1, 2, 3`
  const place = raw('row_number() over (partition by side, pathname is null order by n desc, pathname) as place')
  const kind = sql`case when pathname is null then 'edge' when place <= ${MAX_NAMED_PATHS} then 'page' else 'other' end`
  return sql`
    select side, matched, kind, name as pathname, sum(n) as n, count(*) as pages
    from (select *, case when kind = 'page' then pathname end as name
      from (select *, ${kind} as kind from (select *, ${place} from (${counts}) c) r) k) g
    group by 1, 2, 3, 4`
}

/** Selects `visit, timestamp, pathname`: the pages of the visits that viewed this page, without repeats. */
const visitViews = (plan: Plan, page: string): Sql => {
  const views = sessionViews(plan)
  return sql`
    select session_id as visit, timestamp, pathname
    from (select *, lag(pathname) over (partition by session_id order by ${VIEW_ORDER}) as previous
      from (${views}) w where session_id in (select session_id from (${views}) x where pathname = ${page})) p
    where previous is null or previous <> pathname`
}

/**
 * Selects the same of agents. A run is what one client read with gaps of at most 30 minutes, within the window; `visit` is
 * its number. Runs that have a read that passes the filters. Spoofed fetches are left out: they say nothing about the agent.
 */
function agentReads(plan: Plan): Sql {
  const { dialect, filters } = plan
  const ms = (column: string) => dialect.epochMs(raw(column))
  const reads = sql`
    select ${CLIENT}, timestamp, pathname, case when ${filterCondition(plan)} then 1 else 0 end as passes
    from agent_events e where ${inWindow(plan)} and is_pageview and ${NOT_SPOOFED}`
  const gaps = sql`
    select *, case when earlier is null or ${ms('timestamp')} - ${ms('earlier')} > ${READ_GAP_MS} then 1 else 0 end as begins
    from (select *, lag(timestamp) over (partition by ${CLIENT} order by ${VIEW_ORDER}) as earlier from (${reads}) r) g`
  // Runs are numbered over all clients: each first read has the next number, and so has an equal read that is sorted before it.
  const runs = sql`
    select *, sum(begins) over (order by ${CLIENT}, ${VIEW_ORDER} range between unbounded preceding and current row) as visit
    from (${gaps}) b`
  const passing =
    filters.length === 0
      ? runs
      : sql`select * from (select *, max(passes) over (partition by visit) as passed from (${runs}) r) q where passed = 1`
  return sql`
    select visit, timestamp, pathname
    from (select *, lag(pathname) over (partition by visit order by ${VIEW_ORDER}) as previous from (${passing}) a) p
    where begins = 1 or previous <> pathname`
}

/** Selects `step_1` to `step_8` and `sessions`: the most frequent ways of visits that took this chain within eight pages. */
export function frequentVisits(plan: Plan, steps: readonly string[], most: number): Sql {
  const columns = stepColumns(MAX_VISIT_STEPS)
  const places = columns.slice(0, MAX_VISIT_STEPS + 1 - steps.length).map((_, from) => {
    const each = steps.map((step, i) => sql`${raw(`step_${from + i + 1}`)} = ${step}`)
    return sql`(${join(each, ' and ')})`
  })
  const names = join(columns, ', ')
  return sql`
    select ${names}, count(*) as sessions from (${sessionSteps(plan, MAX_VISIT_STEPS)}) w
    where ${join(places, ' or ')} group by ${names}
    order by sessions desc, ${join(
      columns.map((column) => sql`${column} nulls first`),
      ', ',
    )}
    limit ${raw(`${most}`)}`
}
