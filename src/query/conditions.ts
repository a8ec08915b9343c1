import { type Dialect, join, raw, type Sql, sql } from '../sql.js'
import { type Dimension, findDimension, propKey, type Table } from './dimensions.js'
import { type Condition, type Filter, type FilterValue, listConditions } from './filters.js'
import { goalFilter } from './goals.js'
import { operatorNamed } from './operators.js'
import type { Plan } from './plan.js'
import { sessionsFromHits, sessionsInWindow } from './sessions.js'
import { inWindow } from './window-conditions.js'

export { beforeWindowEnd, inWindow, startedInWindow } from './window-conditions.js'

/** A dimension's value in a row. The text is the dimension table's own, never the request's. */
export const dimensionColumn = (d: Dimension, dialect: Dialect): Sql => {
  const key = propKey(d)
  return key === undefined ? raw(d.value ?? d.name) : dialect.jsonText(raw('props'), key)
}

/** The site's rows of the window that pass the filters: the clause that every read shares. */
export const whereClause = (plan: Plan, dialect: Dialect): Sql =>
  sql`${inWindow(plan)} and ${filterCondition(plan, dialect)}`

/** The filters alone: never null, so that `not` is its opposite. */
export const filterCondition = (plan: Plan, dialect: Dialect, filters: readonly Filter[] = plan.filters): Sql => {
  if (filters.length === 0) return raw('true')
  const { mandatory: always, ...freely } = plan
  return combine(
    filters.map((f) => filterSql(f, always?.includes(f) ? freely : plan, dialect)),
    ' and ',
  )
}

/** What is told of a session as a whole and is on none of its rows: its type, and its value in `sessions`. */
const SESSION_COLUMNS = [
  { name: 'exit_page', type: 'varchar', value: 'exit_page' },
  { name: 'duration', type: 'double precision', value: 'ms / 1000.0' },
] as const
type SessionColumn = (typeof SESSION_COLUMNS)[number]

/**
 * The rows to ask of: the table, or people's rows beside what is known of their sessions when something asks for it. By
 * goal: the rows that reach one, with its name as `goal`; a row that reaches two is there twice. `from`: some of them.
 */
export function sourceRows(
  table: Table,
  plan: Plan,
  dialect: Dialect,
  filters = plan.filters,
  also?: Dimension,
  from = raw(table),
): Sql {
  if (table === 'agent_events') return from
  const asked = (by: readonly Filter[]) => {
    const names = [...listConditions(by).map((c) => c.dimension), ...(also ? [also.name] : [])]
    return SESSION_COLUMNS.filter(({ name }) => names.includes(name))
  }
  if (also?.name !== 'goal') return joinSessionColumns(from, asked(filters), [], plan, dialect)
  const goals = (plan.goals ?? []).map((goal) => ({ name: goal.name, by: goalFilter(goal) }))
  if (goals.length === 0) return raw('(select *, cast(null as varchar) as goal from events where false)')
  const columns = asked([...filters, ...goals.map(({ by }) => by)])
  const reaching = goals.map(({ name, by }) => {
    const joined = asked([...filters, by])
    const others = columns.filter((one) => !joined.includes(one))
    return sql`select e.*, ${name} as goal from ${joinSessionColumns(from, joined, others, plan, dialect)} as e where ${filterCondition(plan, dialect, [by])}`
  })
  return sql`(${join(reaching, ' union all ')})`
}

/** People's rows with these columns of their sessions, and `others` empty. */
function joinSessionColumns(
  from: Sql,
  columns: readonly SessionColumn[],
  others: readonly SessionColumn[],
  plan: Plan,
  dialect: Dialect,
): Sql {
  if (columns.length + others.length === 0) return from
  const added = SESSION_COLUMNS.flatMap((one) => {
    if (columns.includes(one)) return [raw(`x.${one.name}`)]
    return others.includes(one) ? [raw(`cast(null as ${one.type}) as ${one.name}`)] : []
  })
  const whole = sql`left join (${sessionValues(columns, plan, dialect)}) x on x.session_id = e.session_id`
  return sql`(select e.*, ${join(added, ', ')} from ${from} e ${columns.length > 0 ? whole : raw('')})`
}

/** These of every session that has a row in the window, over the whole session. */
const sessionValues = (columns: readonly SessionColumn[], plan: Plan, dialect: Dialect): Sql => {
  const values = raw(columns.map(({ name, value }) => `${value} as ${name}`).join(', '))
  const earlier = sql`(select * from events where site_id = ${plan.site} and session_start < ${plan.window.start}
    and session_id in (select session_id from events where ${inWindow(plan)} and session_start < ${plan.window.start}))`
  return sql`
    select session_id, ${values} from (${sessionsInWindow(plan, dialect)}) s
    union all select session_id, ${values} from (${sessionsFromHits(earlier, dialect)}) s`
}

function filterSql(f: Filter, plan: Plan, dialect: Dialect): Sql {
  const inner = (part: Filter) => filterSql(part, plan, dialect)
  if ('and' in f) return combine(f.and.map(inner), ' and ')
  if ('or' in f) return combine(f.or.map(inner), ' or ')
  if ('not' in f) return sql`not ${inner(f.not)}`
  if ('has_done' in f) return visitorDid(f.has_done, plan, dialect)
  if ('has_not_done' in f) return sql`not ${visitorDid(f.has_not_done, plan, dialect)}`
  if ('reached' in f) return inner(f.by)
  const { base, negative } = operatorNamed(f.op)
  const positive = conditionSql(f, base, dialect)
  return negative ? sql`not ${positive}` : positive
}

const combine = (parts: readonly Sql[], separator: ' and ' | ' or '): Sql => sql`(${join(parts, separator)})`

/** The visitor did it in the window, within what always has to hold. */
const visitorDid = (f: Filter, plan: Plan, dialect: Dialect): Sql => {
  const both = [...(plan.mandatory ?? []), f]
  return sql`(visitor_id in (select visitor_id from ${sourceRows('events', plan, dialect, both)} as done where ${inWindow(plan)} and ${filterCondition(plan, dialect, both)}))`
}

function conditionSql(c: Condition, base: ReturnType<typeof operatorNamed>['base'], dialect: Dialect): Sql {
  const d = findDimension(c.dimension, 'filters')
  const own = dimensionColumn(d, dialect)
  // A property is looked up once; a column's own null test is what the engine can use to skip rows.
  const known = (test: Sql) =>
    propKey(d) === undefined ? sql`(${own} is not null and ${test})` : sql`coalesce(${test}, false)`
  if (base === 'is_set') return d.type === 'text' ? known(sql`${own} <> ''`) : sql`(${own} is not null)`
  const values: readonly FilterValue[] = c.value === undefined ? [] : typeof c.value === 'object' ? c.value : [c.value]
  const insensitive = c.case_sensitive === false
  const typed = base === 'is' || d.type === 'text' ? own : sql`cast(${own} as varchar)`
  const subject = insensitive && d.type === 'text' ? sql`lower(${typed})` : typed
  const param = (v: FilterValue) => (insensitive && typeof v === 'string' ? sql`lower(${v})` : sql`${v}`)
  const anyOf = (one: (v: FilterValue) => Sql) => known(combine(values.map(one), ' or '))
  const flags = insensitive ? '(?i)' : ''
  const [low = 0, high = 0] = values
  const number = d.type === 'number' ? own : dialect.toNumber(own)
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
      return anyOf((v) => dialect.matches(typed, `${flags}${wildcardPattern(String(v))}`))
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
export const wildcardPattern = (pattern: string): string =>
  `(?s)^${pattern
    .split(/(\*+)/)
    .map((part) => (part === '*' ? '[^/]*' : part.startsWith('*') ? '.*' : part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&')))
    .join('')}$`

/** The regular expressions that filters hold, as the engine will see them: it alone can say whether it reads them. */
export const regexPatterns = (filters: readonly Filter[]): string[] =>
  listConditions(filters)
    .filter((c) => operatorNamed(c.op).base === 'matches')
    .flatMap((c) => (typeof c.value === 'object' ? c.value : [c.value ?? '']))
    .map(String)
