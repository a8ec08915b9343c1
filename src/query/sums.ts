import { join, raw, type Sql, sql } from '../sql.js'

/** What is summed up of sessions, and of the hits that no session stands for; `bounces` are of `entries`. */
type Sum = (typeof SUMS)[number]
const SUMS = [
  ...(['visitors', 'pageviews', 'events', 'sessions', 'ms', 'views', 'entries', 'exits', 'bounces'] as const),
  ...(['engaged_ms', 'engaged', 'scrolled', 'scrolls'] as const),
] as const
export type Sums = Partial<Record<Sum, Sql>>

/** Rows by `value`, and what they add to which sums; `from` is all behind the columns. */
export interface SumSource {
  readonly value: Sql
  readonly sums: Sums
  readonly from: Sql
}

/** The sums that each metric is made of, and how where it is no sum itself. */
const FORMULAS: Readonly<Record<string, readonly [of: readonly Sum[], how?: string]>> = {
  visitors: [['visitors']],
  sessions: [['sessions']],
  pageviews: [['pageviews']],
  bounce: [['bounces', 'entries'], 'bounces * 1.0 / nullif(entries, 0)'],
  duration: [['ms', 'sessions'], 'ms * 1.0 / nullif(sessions, 0) / 1000'],
  views_per_session: [['views', 'sessions'], 'views * 1.0 / nullif(sessions, 0)'],
  events: [['events']],
  entries: [['entries']],
  exits: [['exits']],
  exit_rate: [['exits', 'pageviews'], 'case when pageviews > 0 then least(1.0, exits * 1.0 / pageviews) end'],
  time_on_page: [['engaged_ms', 'engaged'], 'engaged_ms * 1.0 / nullif(engaged, 0) / 1000'],
  scroll_depth: [['scrolled', 'scrolls'], 'scrolled * 1.0 / nullif(scrolls, 0)'],
}

/**
 * `value` and these metrics of it, from all parts together. What no metric is made of is not summed: the engine does not
 * see by itself that nobody asks for it.
 */
export function metricsFromSums(metrics: readonly string[], parts: readonly SumSource[]): Sql {
  const made = metrics.map((metric) => ({
    metric,
    of: FORMULAS[metric]?.[0] ?? [],
    how: FORMULAS[metric]?.[1] ?? metric,
  }))
  const needed = SUMS.filter((sum) => made.some(({ of }) => of.includes(sum)))
  const selected = parts
    .filter(({ sums }) => needed.some((sum) => sums[sum] !== undefined))
    .map(({ value, sums, from }) => {
      const columns = needed.map((sum) => sql`, ${sums[sum] ?? raw('0')} as ${raw(sum)}`)
      return sql`select ${value} as value${join(columns, '')} ${from}`
    })
  return sql`
    select value, ${raw(made.map(({ metric, how }) => `${how} as ${metric}`).join(', '))}
    from (
      select value, ${raw(needed.map((sum) => `sum(${sum}) as ${sum}`).join(', '))}
      from (${join(selected, ' union all ')}) b
      group by value) p`
}
