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
const CLIENT = ['agent_id', 'user_agent', 'asn', 'country'].map(raw)
const CLIENT_ORDER = raw('partition by client order by timestamp, pathname')
const OF_CLIENT = sql`over (${CLIENT_ORDER})`

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
  const counted = plan.audience === 'agent' ? chainsOfAgents(plan, first, steps) : chainsOfVisits(plan, first, steps)
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

const numbered = (steps: readonly string[]) =>
  steps.map((step, i) => ({ step, next: raw(`next_${i + 1}`), place: i + 1 }))

/** How many steps were taken from a page that is the first: `next_1` is the page after it, and so on. */
const matchedSteps = ([, ...steps]: readonly string[]): Sql =>
  sql`1 + ${numbered(steps).reduceRight(
    (rest, { step, next }) => sql`(case when ${next} = ${step} then 1 + ${rest} else 0 end)`,
    raw('0'),
  )}`

/** Selects `matched, came_from, went_to` of each visit that viewed the first page. All pages of a visit are sorted once. */
function chainsOfVisits(plan: Plan, first: string, steps: readonly string[]): Sql {
  const inVisit = raw('over (partition by visit order by timestamp, pathname)')
  const next = numbered(steps).map(({ next, place }) => sql`lead(pathname, ${raw(`${place}`)}) ${inVisit} as ${next}`)
  return sql`
    select * from (
      select *, row_number() over (partition by visit order by matched desc, n) as place
      from (select visit, n, ${matchedSteps(steps)} as matched, came_from, ${raw(`next_${steps.length}`)} as went_to
        from (select visit, pathname, row_number() ${inVisit} as n, lag(pathname) ${inVisit} as came_from, ${join(next, ', ')}
          from (${visitViews(plan, first)}) v) s
        where pathname = ${first}) f) r
    where place = 1`
}

/** Selects the same of each time that an agent read the first page. A read that begins a run has nothing before it. */
function chainsOfAgents(plan: Plan, first: string, steps: readonly string[]): Sql {
  const next = numbered(steps).map(({ next, place }) => {
    const at = (column: string) => sql`lead(${raw(column)}, ${raw(`${place}`)}) ${OF_CLIENT}`
    return sql`case when ${at('begins')} = 0 then ${at('pathname')} end as ${next}`
  })
  return sql`
    select ${matchedSteps(steps)} as matched, came_from, ${raw(`next_${steps.length}`)} as went_to
    from (select pathname, case when begins = 0 then lag(pathname) ${OF_CLIENT} end as came_from, ${join(next, ', ')}
      from (${agentReads(plan, first)}) v) s
    where pathname = ${first}`
}

/** Selects `visit, timestamp, pathname`: the pages of the visits that viewed this page, without repeats. */
const visitViews = (plan: Plan, page: string): Sql => {
  const views = sessionViews(plan)
  return sql`
    select session_id as visit, timestamp, pathname
    from (select *, lag(pathname) over (partition by session_id order by timestamp, pathname) as previous
      from (${views}) w where session_id in (select session_id from (${views}) x where pathname = ${page})) p
    where previous is null or previous <> pathname`
}

/**
 * Selects the pages that the clients who read this page read, without repeats: `client, timestamp, pathname`, and `begins`, 1
 * for the first read of a run. A run is what one client read with gaps of at most 30 minutes, within the window. Runs that
 * have a read that passes the filters. Spoofed fetches are left out: they say nothing about the agent.
 */
function agentReads(plan: Plan, page: string): Sql {
  const { dialect, filters } = plan
  const ms = (column: string) => dialect.epochMs(raw(column))
  const source = sql`agent_events where ${inWindow(plan)} and is_pageview and ${NOT_SPOOFED}`
  const passes = filters.length > 0 ? sql`, case when ${filterCondition(plan)} then 1 else 0 end as passes` : raw('')
  // To sort by a number takes a third of the time that the names take.
  const clients = sql`
    select ${join(CLIENT, ', ')}, row_number() over () as client from ${source}
    group by ${join(CLIENT, ', ')} having count(*) filter (where pathname = ${page}) > 0`
  const isClient = join(
    CLIENT.map((column) => sql`c.${column} is not distinct from e.${column}`),
    ' and ',
  )
  const reads = sql`
    select client, timestamp, pathname ${filters.length > 0 ? raw(', passes') : raw('')}
    from (select *${passes} from ${source}) e join (${clients}) c on ${isClient}`
  const gaps = sql`
    select *, case when earlier is null or ${ms('timestamp')} - ${ms('earlier')} > ${READ_GAP_MS} then 1 else 0 end as begins
    from (select *, lag(timestamp) ${OF_CLIENT} as earlier, lag(pathname) ${OF_CLIENT} as previous from (${reads}) r) g`
  // Only filters need the number of a run: each first read of a client has the next one, and so has an equal read that is sorted
  // before it.
  const passing =
    filters.length === 0
      ? gaps
      : sql`
        select * from (
          select *, max(passes) over (partition by client, run) as passed
          from (select *, sum(begins) over (${CLIENT_ORDER} range between unbounded preceding and current row) as run
            from (${gaps}) b) r) q
        where passed = 1`
  return sql`select client, timestamp, pathname, begins from (${passing}) a where begins = 1 or previous <> pathname`
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
