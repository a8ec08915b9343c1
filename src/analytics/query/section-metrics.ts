import { join, raw, type Sql, sql } from '../../storage/sql.js'
import { METRIC_FORMULAS, type PassingPages, pageMetricsFromAggregates, passingPages } from './aggregate-metrics.js'
import { excludesVaryingTraits } from './aggregate-split.js'
import { sectionOf } from './group-by-dimension.js'
import type { Plan } from './plan.js'

/*
 * The numbers of sections, from those of their pages: the section of a path is looked up once per path, not once per row. What
 * happened adds up over pages. Sessions and visitors do not, because one may see several pages of a section: each gets the set
 * of its sections, a bit for each in a number, and equal sets are counted.
 */

/** The bits of one number that all engines and JSON keep exactly. A site with more sections has two numbers. */
const BITS = 50
/** The name in SQL for paths without a section: it can be joined by, and no section has it. */
const NONE = ''
/** The sums that add up over the pages of a section. */
const SUMS = ['pageviews', 'events', 'bounces', 'entries']

/**
 * Selects each section as `value` with these metrics of people, from the aggregated pages of sessions. Undefined if the hits
 * themselves are needed.
 */
export function sectionMetricsFromAggregates(plan: Plan, metrics: readonly string[]): Sql | undefined {
  const { dialect } = plan
  // A session whose traits vary may begin in a section on a hit that does not pass.
  if (excludesVaryingTraits(plan.filters)) return undefined
  const pages = passingPages(plan)
  const sums = pageMetricsFromAggregates(plan, SUMS)
  if (!pages || !sums) return undefined
  const { bits, types, sets } = sectionBits(plan)
  const columns = raw(sets.join(', '))
  return sql`
    with bit as materialized (select section, ${columns} from ${dialect.rows(bits, types)} r),
    path as materialized (
      select pathname, p.section as section, ${raw([...SUMS, ...sets].join(', '))}
      from (select *, coalesce(${sectionOf('pathname', plan)}, ${NONE}) as section
        from (select *, value as pathname from (${sums}) v) n) p
      join bit b on b.section = p.section),
    ${setsOf(pages, sets, plan)}
    select nullif(c.section, ${NONE}) as value,
      ${raw(metrics.map((metric) => `${METRIC_FORMULAS[metric]?.[1] ?? metric} as ${metric}`).join(', '))}
    from (
      select b.section as section, sum(sessions) as sessions, sum(ms) as ms, sum(views) as views, sum(visitors) as visitors
      from bit b join (
        select ${columns}, count(*) as sessions, sum(ms) as ms, sum(views) as views, 0 as visitors
        from session group by ${columns}
        union all
        select ${columns}, 0 as sessions, 0 as ms, 0 as views, count(*) as visitors
        from visitor group by ${columns}) c on ${hasBit(sets, plan)}
      group by b.section) c
    join (select section, ${raw(SUMS.map((sum) => `sum(${sum}) as ${sum}`).join(', '))} from path group by section) a
      on a.section = c.section`
}

/** The bit of each section, as rows: one column for each set of 50. */
function sectionBits({ sections = [] }: Plan) {
  const names = [...sections, NONE]
  const sets = Array.from({ length: Math.ceil(names.length / BITS) }, (_, i) => `set_${i + 1}`)
  const bits = names.map((section, at) => ({
    section,
    ...Object.fromEntries(sets.map((set, i) => [set, Math.floor(at / BITS) === i ? 2 ** (at % BITS) : 0])),
  }))
  const types = { section: 'varchar', ...Object.fromEntries(sets.map((set) => [set, 'bigint'] as const)) } as const
  return { bits, types, sets }
}

/** Whether the sets of `c` have the bit of `b`. */
const hasBit = (sets: readonly string[], { dialect }: Plan): Sql =>
  join(
    sets.map((set) => {
      const bit = raw(`b.${set}`)
      return sql`(${bit} > 0 and ${dialect.divideInteger(raw(`c.${set}`), sql`greatest(${bit}, 1)`)} % 2 = 1)`
    }),
    ' or ',
  )

/** Tables `session` and `visitor` with the sets of each. Visitors are those of whole sessions, and of hits in no whole session. */
function setsOf(
  { aggregated, sessionHits, otherSessions, hits }: PassingPages,
  sets: readonly string[],
  plan: Plan,
): Sql {
  const columns = raw(sets.join(', '))
  const unions = join(
    sets.map((set) => sql`${plan.dialect.bitOr(raw(set))} as ${raw(set)}`),
    ', ',
  )
  return sql`
    session as materialized (
      select session_id, any_value(whole_visitor) as visitor_id, any_value(ms) as ms, any_value(views) as views, ${unions}
      from (
        select session_id, case when whole then visitor_id end as whole_visitor, ms, views, pathname from (${aggregated}) a
        union all
        select p.session_id as session_id, null as whole_visitor, ms, views, pathname
        from (select session_id, pathname from ${sessionHits} group by session_id, pathname) p
        join (${otherSessions}) s on s.session_id = p.session_id) u
      join path on path.pathname = u.pathname group by session_id),
    visitor as materialized (
      select visitor_id, ${unions}
      from (select visitor_id, ${columns} from session where visitor_id is not null
        union all
        select visitor_id, ${columns} from (select visitor_id, pathname from ${hits}) h
        join path on path.pathname = h.pathname) u
      group by visitor_id)`
}
