import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import type { Plan } from './plan.js'
import { beforeWindowEnd } from './window-conditions.js'

/**
 * Selects the visitor ids that the site had identified before the window ended: `known_id` (a visitor id) and `person`, the
 * identified id given last. Visitor ids with the same `person` belong to one person.
 */
export const identifiedVisitors = (plan: Plan): Sql => sql`
  select visitor_id as known_id, ${plan.dialect.lastBy(raw('identified_id'), raw('(said, identified_id)'))} as person
  from (
    select visitor_id, identified_id, max(timestamp) as said from events
    where ${beforeWindowEnd(plan)} and identified_id is not null group by visitor_id, identified_id) i
  group by visitor_id`

/** A set of people: identified ones by their identified id, others by their only visitor id. */
export interface PersonSet {
  readonly persons: readonly string[]
  readonly visitors: readonly bigint[]
}

/** Groups rows of visitors by person: `person`, and `visitor` for those who are not identified. */
export const PERSON_COLUMNS = raw('person, case when person is null then visitor_id end as visitor')

/** Selects the rows of `source` that belong to these people, each with `person`. */
export function rowsOfPersons({ persons, visitors }: PersonSet, source: Sql, plan: Plan): Sql {
  const alone = isIn(raw('visitor_id'), visitors)
  if (persons.length === 0) return sql`(select *, null as person from ${source} as a where ${alone})`
  return sql`(select * from ${source} as a
    left join (select * from (${identifiedVisitors(plan)}) i where ${isIn(raw('person'), persons)}) k
      on k.known_id = a.visitor_id
    where person is not null or ${alone})`
}
