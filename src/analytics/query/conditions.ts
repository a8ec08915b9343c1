import { type Dialect, join, raw, type Sql, sql } from '../../storage/sql.js'
import { type Dimension, findDimension, propKey, type ReadTable } from './dimensions.js'
import { type Condition, type Filter, type FilterValue, leavesOutSessions, listConditions } from './filters.js'
import { goalFilter } from './goals.js'
import { operatorNamed } from './operators.js'
import type { Plan } from './plan.js'
import { sessionsFromHits, sessionsInWindow } from './sessions.js'
import { inWindow } from './window-conditions.js'

/** Selects the site's rows in the window that pass the filters: the clause that every read shares. */
export const whereClause = (plan: Plan): Sql => sql`${inWindow(plan)} and ${filterCondition(plan)}`

/** The filters as a condition. It is never null, so `not` gives the opposite. */
export const filterCondition = (plan: Plan, filters: readonly Filter[] = plan.filters): Sql => {
  if (filters.length === 0) return raw('true')
  const { mandatory, ...withoutMandatory } = plan
  return combine(
    filters.map((f) => filterSql(f, mandatory?.includes(f) ? withoutMandatory : plan)),
    ' and ',
  )
}

/** The same condition on aggregated sessions or their pages, which know whether a row of the session is suspected. */
export const aggregateCondition = (plan: Plan): Sql =>
  leavesOutSessions(plan.filters)
    ? sql`not suspected and ${filterCondition(
        plan,
        plan.filters.filter((f) => !leavesOutSessions([f])),
      )}`
    : filterCondition(plan)

/** The rows of people with the reports of visitors without a session, which only vitals and errors count. */
export const withLooseReports = ({ filters }: Plan): Sql =>
  raw(`(select * from events union all select * from loose_reports
    ${leavesOutSessions(filters) ? 'where not coalesce(suspected, false)' : ''})`)

/** Values of a session as a whole that are on none of its rows: the type, and the value in `sessions`. */
const SESSION_COLUMNS = [
  { name: 'exit_page', type: 'varchar', value: 'exit_page' },
  { name: 'duration', type: 'double precision', value: 'ms / 1000.0' },
] as const
type SessionColumn = (typeof SESSION_COLUMNS)[number]

/**
 * The rows to select from: the table, joined with values of the session if a filter or `also` needs them. Grouped by goal,
 * the rows that reach a goal, with its name as `goal`; a row that reaches two goals occurs twice. `from` replaces the table.
 */
export function sourceRows(
  table: ReadTable,
  plan: Plan,
  filters = plan.filters,
  also?: Dimension,
  from = raw(table),
): Sql {
  if (table === 'agent_events') return from
  const sessionColumns = (by: readonly Filter[]) => {
    const names = [...listConditions(by).map((c) => c.dimension), ...(also ? [also.name] : [])]
    return SESSION_COLUMNS.filter(({ name }) => names.includes(name))
  }
  if (also?.name !== 'goal') return joinSessionColumns(from, sessionColumns(filters), [], plan)
  const goals = (plan.goals ?? []).map((goal) => ({ name: goal.name, filter: goalFilter(goal) }))
  if (goals.length === 0) return raw('(select *, cast(null as varchar) as goal from events where false)')
  const columns = sessionColumns([...filters, ...goals.map(({ filter }) => filter)])
  const reaching = goals.map(({ name, filter }) => {
    const joined = sessionColumns([...filters, filter])
    const empty = columns.filter((one) => !joined.includes(one))
    return sql`select e.*, ${name} as goal from ${joinSessionColumns(from, joined, empty, plan)} as e where ${filterCondition(plan, [filter])}`
  })
  return sql`(${join(reaching, ' union all ')})`
}

/** Joins people's rows with these columns of their sessions; the columns `empty` are null. */
function joinSessionColumns(
  from: Sql,
  columns: readonly SessionColumn[],
  empty: readonly SessionColumn[],
  plan: Plan,
): Sql {
  if (columns.length + empty.length === 0) return from
  const added = SESSION_COLUMNS.flatMap((one) => {
    if (columns.includes(one)) return [raw(`x.${one.name}`)]
    return empty.includes(one) ? [raw(`cast(null as ${one.type}) as ${one.name}`)] : []
  })
  const values = sql`left join (${sessionValues(columns, plan)}) x on x.session_id = e.session_id`
  return sql`(select e.*, ${join(added, ', ')} from ${from} e ${columns.length > 0 ? values : raw('')})`
}

/** Selects these columns of every session that has a row in the window, computed over the whole session. */
const sessionValues = (columns: readonly SessionColumn[], plan: Plan): Sql => {
  const values = raw(columns.map(({ name, value }) => `${value} as ${name}`).join(', '))
  const earlier = sql`(select * from events where site_id = ${plan.site} and session_start < ${plan.window.start}
    and session_id in (select session_id from events where ${inWindow(plan)} and session_start < ${plan.window.start}))`
  return sql`
    select session_id, ${values} from (${sessionsInWindow(plan)}) s
    union all select session_id, ${values} from (${sessionsFromHits(earlier, plan.dialect)}) s`
}

function filterSql(f: Filter, plan: Plan): Sql {
  const inner = (part: Filter) => filterSql(part, plan)
  if ('and' in f) return combine(f.and.map(inner), ' and ')
  if ('or' in f) return combine(f.or.map(inner), ' or ')
  if ('not' in f) return sql`not ${inner(f.not)}`
  if ('has_done' in f) return visitorDid(f.has_done, plan)
  if ('has_not_done' in f) return sql`not ${visitorDid(f.has_not_done, plan)}`
  if ('reached' in f) return inner(f.by)
  // A loose report has no session.
  if ('sessions' in f) return sql`coalesce(session_id not in (${suspectedSessions(plan)}), true)`
  const { base, negative } = operatorNamed(f.op)
  const positive = conditionSql(f, base, plan)
  return negative ? sql`not ${positive}` : positive
}

/** Selects the sessions with a suspected row, whatever the window: a session that the window cuts may have it outside. */
const suspectedSessions = ({ site }: Plan): Sql =>
  sql`select session_id from events where site_id = ${site} and suspected`

const combine = (parts: readonly Sql[], separator: ' and ' | ' or '): Sql => sql`(${join(parts, separator)})`

/** Selects rows of visitors who have a row in the window that passes the filter and the mandatory filters. */
const visitorDid = (f: Filter, plan: Plan): Sql => {
  const all = [...(plan.mandatory ?? []), f]
  return sql`(visitor_id in (select visitor_id from ${sourceRows('events', plan, all)} as done where ${inWindow(plan)} and ${filterCondition(plan, all)}))`
}

/** Returns the column with a dimension's value. The SQL text comes from the dimension table, never from a request. */
export const storedColumn = (dimension: Dimension, dialect: Dialect): Sql => {
  const key = propKey(dimension)
  return key === undefined ? raw(dimension.value ?? dimension.name) : dialect.jsonText(raw('props'), key)
}

function conditionSql(c: Condition, base: ReturnType<typeof operatorNamed>['base'], plan: Plan): Sql {
  const { dialect } = plan
  const d = findDimension(c.dimension, 'filters')
  const column = c.literal === undefined ? storedColumn(d, dialect) : sql`${c.literal}`
  // Looks a property up only once. For a column, `is not null` is a test that lets the engine skip rows.
  const ofKnown = (test: Sql) =>
    propKey(d) === undefined ? sql`(${column} is not null and ${test})` : sql`coalesce(${test}, false)`
  if (base === 'is_set') return d.type === 'text' ? ofKnown(sql`${column} <> ''`) : sql`(${column} is not null)`
  const values: readonly FilterValue[] = c.value === undefined ? [] : typeof c.value === 'object' ? c.value : [c.value]
  const insensitive = c.case_sensitive === false
  const typed = base === 'is' || d.type === 'text' ? column : sql`cast(${column} as varchar)`
  const subject = insensitive && d.type === 'text' ? dialect.lower(typed) : typed
  const param = (v: FilterValue) => (insensitive && typeof v === 'string' ? dialect.lower(sql`${v}`) : sql`${v}`)
  const anyOf = (one: (v: FilterValue) => Sql) => ofKnown(combine(values.map(one), ' or '))
  const flags = insensitive ? '(?i)' : ''
  const [low = 0, high = 0] = values
  const number = d.type === 'number' ? column : dialect.toNumber(column)
  const compared = (test: Sql) => sql`coalesce(${number} ${test}, false)`
  switch (base) {
    case 'is':
      return ofKnown(sql`${subject} in (${join(values.map(param), ', ')})`)
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

/** Translates a wildcard pattern for the whole value: `*` stays within a path segment, `**` crosses segments. */
export const wildcardPattern = (pattern: string): string =>
  `(?s)^${pattern
    .split(/(\*+)/)
    .map((part) => (part === '*' ? '[^/]*' : part.startsWith('*') ? '.*' : part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&')))
    .join('')}$`

/** The regular expressions in filters, for the engine to check. */
export const regexPatterns = (filters: readonly Filter[]): string[] =>
  listConditions(filters)
    .filter((c) => operatorNamed(c.op).base === 'matches')
    .flatMap((c) => (typeof c.value === 'object' ? c.value : [c.value ?? '']))
    .map(String)
    .filter((pattern, i, all) => all.indexOf(pattern) === i)
