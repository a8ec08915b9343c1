import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { foldCase } from '../../storage/sql.js'
import { quote } from './dimensions.js'
import { type Condition, type Filter, parseCondition } from './filters.js'
import { findOperator, operatorNamed, suggestOperator } from './operators.js'

/** The types of goals and funnel steps: a kind of hit, or the length of a session. */
export const GOAL_TYPES = ['page', 'event', 'outbound', 'file_download', 'form', 'scroll', 'duration'] as const
type GoalType = (typeof GOAL_TYPES)[number]

/** The dimension that each type compares, and the kind of rows it compares. `most` bounds the number. */
const SUBJECTS: Record<GoalType, { dimension: string; kind?: string; most?: number }> = {
  page: { dimension: 'pathname', kind: 'pageview' },
  event: { dimension: 'event_name', kind: 'custom' },
  outbound: { dimension: 'prop:url', kind: 'outbound' },
  file_download: { dimension: 'prop:url', kind: 'file_download' },
  form: { dimension: 'prop:form', kind: 'form' },
  scroll: { dimension: 'scroll', most: 100 },
  duration: { dimension: 'duration', most: 86_400 },
}

const Value = z.union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()])).min(1)])
const ValueTest = z.strictObject({
  op: z.string().describe('An operator of the filters; `is_set` for any value.'),
  value: Value.optional().describe('A list matches any of its values; omit it for is_set.'),
})
/** The condition on a hit, as requests and records write it. `parseGoalMatch` checks it against the type. */
export const GoalMatch = z.strictObject({
  ...ValueTest.shape,
  props: z
    .array(z.strictObject({ key: z.string().min(1).max(200), ...ValueTest.shape }))
    .max(10)
    .optional()
    .describe('For events: properties that all have to match.'),
  pathname: ValueTest.optional().describe('For scroll: the pages that count; default every page.'),
})
export type GoalMatch = z.infer<typeof GoalMatch>

/** A condition that a goal or a funnel's step looks for. */
export interface GoalCondition {
  readonly type: GoalType
  readonly match: GoalMatch
}

export interface Goal extends GoalCondition {
  readonly id: number
  readonly name: string
  /** The property that holds the amount, and the currency for hits that name none. */
  readonly revenue?: { readonly property: string; readonly currency: string } | undefined
}

/**
 * Returns a match in canonical names. Throws `validation_error` with the path of the wrong part as field
 * (`match.props[0].value`): an operator, a value or a part that the type does not accept.
 */
export function parseGoalMatch({ type, match }: GoalCondition, at = 'match'): GoalMatch {
  const { dimension, most } = SUBJECTS[type]
  const { props, pathname } = match
  if (props && type !== 'event') throw invalidField(`${at}.props`, `${type} has no properties; only event has.`)
  if (pathname && type !== 'scroll')
    throw invalidField(`${at}.pathname`, `${type} takes no pathname; only scroll does.`)
  const valueTest = parseValueTest(dimension, match, at)
  if (most !== undefined) {
    const base = findOperator(valueTest.op)?.base
    if (base !== 'gte' && base !== 'gt') throw invalidField(`${at}.op`, `${type} must be compared with gte or gt.`)
    if (typeof valueTest.value !== 'number' || valueTest.value <= 0 || valueTest.value > most)
      throw invalidField(`${at}.value`, `${type} must be a number over 0 and at most ${most}.`)
  }
  return {
    ...valueTest,
    ...(props
      ? {
          props: props.map(({ key, ...one }, i) => ({
            key,
            ...parseValueTest(`prop:${key}`, one, `${at}.props[${i}]`),
          })),
        }
      : {}),
    ...(pathname ? { pathname: parseValueTest('pathname', pathname, `${at}.pathname`) } : {}),
  }
}

const invalidField = (field: string, message: string): ApiError => new ApiError('validation_error', message, field)

function parseValueTest(
  dimension: string,
  { op, value }: z.infer<typeof ValueTest>,
  field: string,
): z.infer<typeof ValueTest> {
  if (!findOperator(op)) throw invalidField(`${field}.op`, `Unknown operator ${quote(op)}${suggestOperator(op)}`)
  try {
    const { dimension: _, ...canonical } = toCondition(dimension, { op, value }, field)
    return ValueTest.parse(canonical)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw invalidField(`${field}.${/\.op: /.test(error.message) ? 'op' : 'value'}`, error.message)
  }
}

const toCondition = (dimension: string, { op, value }: z.infer<typeof ValueTest>, where = 'match'): Condition =>
  parseCondition({ dimension, op, ...(value === undefined ? {} : { value }) }, where)

/**
 * The condition as a filter of rows. A duration goal selects all rows of sessions that are long enough. `is_set` is not a
 * condition on hits of one kind: a form without a name is a form.
 */
export function goalFilter({ type, match }: GoalCondition): Filter {
  const { dimension, kind } = SUBJECTS[type]
  const { props = [], pathname } = match
  return {
    and: [
      ...(kind === undefined ? [] : [{ dimension: 'kind', op: 'is', value: kind } as const]),
      ...(kind !== undefined && findOperator(match.op)?.name === 'is_set' ? [] : [toCondition(dimension, match)]),
      ...props.map(({ key, ...one }) => toCondition(`prop:${key}`, one)),
      ...(pathname ? [toCondition('pathname', pathname)] : []),
    ],
  }
}

/**
 * Resolves every condition on `goal` to the goal's own conditions. `is` takes a goal's name, or its id if no goal has
 * that name. Throws `validation_error` on `field` for an unknown goal.
 */
export function resolveGoals(filters: readonly Filter[], goals: readonly Goal[], field: string): Filter[] {
  const one = (f: Filter): Filter => {
    if ('and' in f) return { and: f.and.map(one) }
    if ('or' in f) return { or: f.or.map(one) }
    if ('not' in f) return { not: one(f.not) }
    if ('has_done' in f) return { has_done: one(f.has_done) }
    if ('has_not_done' in f) return { has_not_done: one(f.has_not_done) }
    if (!('dimension' in f) || f.dimension !== 'goal') return f
    const { negative } = operatorNamed(f.op)
    const found = findGoals(f, goals, field).map(goalFilter)
    const anyGoal = { or: found.length > 0 ? found : [MATCHES_NOTHING] }
    return { reached: f, by: negative ? { not: anyGoal } : anyGoal }
  }
  return filters.map(one)
}

/** Every row has a kind. */
const MATCHES_NOTHING: Filter = { dimension: 'kind', op: 'is_not_set' }

function findGoals({ op, value, case_sensitive }: Condition, goals: readonly Goal[], field: string): Goal[] {
  const { base } = operatorNamed(op)
  const fold = (text: unknown) => (case_sensitive === false ? foldCase(String(text)) : String(text))
  const values = (Array.isArray(value) ? value : [value]).map(fold)
  const having = (test: (name: string, value: string) => boolean) =>
    goals.filter(({ name }) => values.some((one) => test(fold(name), one)))
  switch (base) {
    case 'is_set':
      return [...goals]
    case 'contains':
      return having((name, part) => name.includes(part))
    case 'starts_with':
      return having((name, part) => name.startsWith(part))
    case 'ends_with':
      return having((name, part) => name.endsWith(part))
  }
  return values.flatMap((word) => {
    const found = goals.filter(({ name }) => fold(name) === word)
    if (found.length > 0) return found
    const numbered = goals.filter(({ id }) => String(id) === word)
    if (numbered.length > 0) return numbered
    throw invalidField(field, `Unknown goal ${quote(word)}.`)
  })
}
