import { type Dialect, join, raw, type Sql, sql } from '../sql.js'
import { type Dimension, findDimension, propKey, type Table } from './dimensions.js'
import { type Condition, conditionsOf, type Filter, type Value } from './filters.js'
import { filterOf } from './goals.js'
import { operator } from './operators.js'
import type { Plan } from './plan.js'
import { sessions, summed } from './sessions.js'
import { inWindow } from './within.js'

export { inWindow, startedInWindow, upToEnd } from './within.js'

/** A dimension's value in a row. The text is the dimension table's own, never the request's. */
export const column = (d: Dimension, dialect: Dialect): Sql => {
  const key = propKey(d)
  return key === undefined ? raw(d.value ?? d.name) : dialect.jsonText(raw('props'), key)
}

/** The site's rows of the window that pass the filters: the clause that every read shares. */
export const where = (plan: Plan, dialect: Dialect): Sql => sql`${inWindow(plan)} and ${filtered(plan, dialect)}`

/** The filters alone: never null, so that `not` is its opposite. */
export const filtered = (plan: Plan, dialect: Dialect, filters: readonly Filter[] = plan.filters): Sql => {
  if (filters.length === 0) return raw('true')
  const { always, ...freely } = plan
  return all(
    filters.map((f) => test(f, always?.includes(f) ? freely : plan, dialect)),
    ' and ',
  )
}

/** What is told of a session as a whole and is on none of its rows: its type, and its value in `sessions`. */
const OF_SESSIONS = [
  { name: 'exit_page', type: 'varchar', value: 'exit_page' },
  { name: 'duration', type: 'double precision', value: 'ms / 1000.0' },
] as const
type OfSession = (typeof OF_SESSIONS)[number]

/**
 * The rows to ask of: the table, or people's rows beside what is known of their sessions when something asks for it. By
 * goal: the rows that reach one, with its name as `goal`; a row that reaches two is there twice. `from`: some of them.
 */
export function rows(
  table: Table,
  plan: Plan,
  dialect: Dialect,
  filters = plan.filters,
  also?: Dimension,
  from = raw(table),
): Sql {
  if (table === 'agent_events') return from
  const asked = (by: readonly Filter[]) => {
    const names = [...conditionsOf(by).map((c) => c.dimension), ...(also ? [also.name] : [])]
    return OF_SESSIONS.filter(({ name }) => names.includes(name))
  }
  if (also?.name !== 'goal') return beside(from, asked(filters), [], plan, dialect)
  const goals = (plan.goals ?? []).map((goal) => ({ name: goal.name, by: filterOf(goal) }))
  if (goals.length === 0) return raw('(select *, cast(null as varchar) as goal from events where false)')
  const columns = asked([...filters, ...goals.map(({ by }) => by)])
  const reaching = goals.map(({ name, by }) => {
    const joined = asked([...filters, by])
    const others = columns.filter((one) => !joined.includes(one))
    return sql`select e.*, ${name} as goal from ${beside(from, joined, others, plan, dialect)} as e where ${filtered(plan, dialect, [by])}`
  })
  return sql`(${join(reaching, ' union all ')})`
}

/** People's rows with these columns of their sessions, and `others` empty. */
function beside(
  from: Sql,
  columns: readonly OfSession[],
  others: readonly OfSession[],
  plan: Plan,
  dialect: Dialect,
): Sql {
  if (columns.length + others.length === 0) return from
  const added = OF_SESSIONS.flatMap((one) => {
    if (columns.includes(one)) return [raw(`x.${one.name}`)]
    return others.includes(one) ? [raw(`cast(null as ${one.type}) as ${one.name}`)] : []
  })
  const whole = sql`left join (${wholes(columns, plan, dialect)}) x on x.session_id = e.session_id`
  return sql`(select e.*, ${join(added, ', ')} from ${from} e ${columns.length > 0 ? whole : raw('')})`
}

/** These of every session that has a row in the window, over the whole session. */
const wholes = (columns: readonly OfSession[], plan: Plan, dialect: Dialect): Sql => {
  const values = raw(columns.map(({ name, value }) => `${value} as ${name}`).join(', '))
  const earlier = sql`(select * from events where site_id = ${plan.site} and session_start < ${plan.window.start}
    and session_id in (select session_id from events where ${inWindow(plan)} and session_start < ${plan.window.start}))`
  return sql`
    select session_id, ${values} from (${sessions(plan, dialect)}) s
    union all select session_id, ${values} from (${summed(earlier, dialect)}) s`
}

function test(f: Filter, plan: Plan, dialect: Dialect): Sql {
  const inner = (part: Filter) => test(part, plan, dialect)
  if ('and' in f) return all(f.and.map(inner), ' and ')
  if ('or' in f) return all(f.or.map(inner), ' or ')
  if ('not' in f) return sql`not ${inner(f.not)}`
  if ('has_done' in f) return did(f.has_done, plan, dialect)
  if ('has_not_done' in f) return sql`not ${did(f.has_not_done, plan, dialect)}`
  if ('reached' in f) return inner(f.by)
  const { base, negative } = operator(f.op)
  const positive = condition(f, base, dialect)
  return negative ? sql`not ${positive}` : positive
}

const all = (parts: readonly Sql[], separator: ' and ' | ' or '): Sql => sql`(${join(parts, separator)})`

/** The visitor did it in the window, within what always has to hold. */
const did = (f: Filter, plan: Plan, dialect: Dialect): Sql => {
  const both = [...(plan.always ?? []), f]
  return sql`(visitor_id in (select visitor_id from ${rows('events', plan, dialect, both)} as done where ${inWindow(plan)} and ${filtered(plan, dialect, both)}))`
}

function condition(c: Condition, base: ReturnType<typeof operator>['base'], dialect: Dialect): Sql {
  const d = findDimension(c.dimension, 'filters')
  const own = column(d, dialect)
  // A property is looked up once; a column's own null test is what the engine can use to skip rows.
  const known = (test: Sql) =>
    propKey(d) === undefined ? sql`(${own} is not null and ${test})` : sql`coalesce(${test}, false)`
  if (base === 'is_set') return d.type === 'text' ? known(sql`${own} <> ''`) : sql`(${own} is not null)`
  const values: readonly Value[] = c.value === undefined ? [] : typeof c.value === 'object' ? c.value : [c.value]
  const insensitive = c.case_sensitive === false
  const typed = base === 'is' || d.type === 'text' ? own : sql`cast(${own} as varchar)`
  const subject = insensitive && d.type === 'text' ? sql`lower(${typed})` : typed
  const param = (v: Value) => (insensitive && typeof v === 'string' ? sql`lower(${v})` : sql`${v}`)
  const anyOf = (one: (v: Value) => Sql) => known(all(values.map(one), ' or '))
  const flags = insensitive ? '(?i)' : ''
  const [low = 0, high = 0] = values
  const number = d.type === 'number' ? own : dialect.number(own)
  const compared = (test: Sql) => sql`coalesce(${number} ${test}, false)`
  switch (base) {
    case 'is':
      return known(sql`${subject} in (${join(values.map(param), ', ')})`)
    case 'contains':
      return anyOf((v) => dialect.contains(subject, param(v)))
    case 'starts_with':
      return anyOf((v) => dialect.startsWith(subject, param(v)))
    case 'ends_with':
      return anyOf((v) => dialect.endsWith(subject, param(v)))
    case 'matches':
      return anyOf((v) => dialect.matches(typed, `${flags}${v}`))
    case 'matches_wildcard':
      return anyOf((v) => dialect.matches(typed, `${flags}${wildcard(String(v))}`))
    case 'gt':
      return compared(sql`> ${low}`)
    case 'gte':
      return compared(sql`>= ${low}`)
    case 'lt':
      return compared(sql`< ${low}`)
    case 'lte':
      return compared(sql`<= ${low}`)
    case 'between':
      return compared(sql`between ${low} and ${high}`)
  }
}

/** `*` stays within a path's segment, `**` crosses; the whole value has to match (contract 4). */
export const wildcard = (pattern: string): string =>
  `(?s)^${pattern
    .split(/(\*+)/)
    .map((part) => (part === '*' ? '[^/]*' : part.startsWith('*') ? '.*' : part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&')))
    .join('')}$`

/** The regular expressions that filters hold, as the engine will see them: it alone can say whether it reads them. */
export const patternsOf = (filters: readonly Filter[]): string[] =>
  conditionsOf(filters)
    .filter((c) => operator(c.op).base === 'matches')
    .flatMap((c) => (typeof c.value === 'object' ? c.value : [c.value ?? '']))
    .map(String)
