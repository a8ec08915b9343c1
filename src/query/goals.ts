import { z } from 'zod'
import { ApiError } from '../errors.js'
import { quote } from './dimensions.js'
import { type Condition, type Filter, parseCondition } from './filters.js'
import { findOperator, operatorNamed } from './operators.js'

/** What a goal or a funnel's step can be of (contract 7): a kind of hit, or how long a session was. */
export const GOAL_TYPES = ['page', 'event', 'outbound', 'file_download', 'form', 'scroll', 'duration'] as const
export type GoalType = (typeof GOAL_TYPES)[number]

/** What each type compares, among rows of which kind. */
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
  op: z.string().describe('An operator of the filters.'),
  value: Value.optional().describe('A list is any of; none for is_set.'),
})
/** What a hit has to be like, as it comes in and as it is kept; `readMatch` says whether it can be asked. */
export const GoalMatch = z.strictObject({
  ...ValueTest.shape,
  props: z
    .array(z.strictObject({ key: z.string().min(1).max(200), ...ValueTest.shape }))
    .max(10)
    .optional()
    .describe('Of an event: properties that it has to have, all of them.'),
  pathname: ValueTest.optional().describe('Of scroll: the pages that count; default every page.'),
})
export type GoalMatch = z.infer<typeof GoalMatch>

/** A hit to look for. */
export interface GoalCondition {
  readonly type: GoalType
  readonly match: GoalMatch
}

export interface Goal extends GoalCondition {
  readonly id: number
  readonly name: string
  /** The property that holds an amount, and the currency where the hit names none. */
  readonly revenue?: { readonly property: string; readonly currency: string } | undefined
}

/**
 * A match in canonical names. Throws `validation_error` on the part of `at` that is wrong (`match.props[0].value`):
 * another operator than the subject takes, a value of another type, parts that the type does not have.
 */
export function parseGoalMatch({ type, match }: GoalCondition, at = 'match'): GoalMatch {
  const { dimension, most } = SUBJECTS[type]
  const { props, pathname } = match
  if (props && type !== 'event') throw invalidField(`${at}.props`, `${type} has no properties to compare; event has.`)
  if (pathname && type !== 'scroll')
    throw invalidField(`${at}.pathname`, `${type} takes no pathname beside its value; scroll does.`)
  const own = parseValueTest(dimension, match, at)
  if (most !== undefined) {
    const base = findOperator(own.op)?.base
    if (base !== 'gte' && base !== 'gt') throw invalidField(`${at}.op`, `${type} is reached: gte or gt.`)
    if (typeof own.value !== 'number' || own.value <= 0 || own.value > most)
      throw invalidField(`${at}.value`, `${type} is a number over 0, at most ${most}.`)
  }
  return {
    ...own,
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
  if (!findOperator(op)) throw invalidField(`${field}.op`, `There is no operator ${quote(op)}.`)
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

/** A deed as a filter of rows; of a duration, all rows of the sessions that were so long. */
export function goalFilter({ type, match }: GoalCondition): Filter {
  const { dimension, kind } = SUBJECTS[type]
  const { props = [], pathname } = match
  return {
    and: [
      ...(kind === undefined ? [] : [{ dimension: 'kind', op: 'is', value: kind } as const]),
      toCondition(dimension, match),
      ...props.map(({ key, ...one }) => toCondition(`prop:${key}`, one)),
      ...(pathname ? [toCondition('pathname', pathname)] : []),
    ],
  }
}

/**
 * Filters with every condition on `goal` resolved: `is` takes a name, or the id of a goal where no goal has that name.
 * Throws `validation_error` on `field` for a goal that is none of these.
 */
export function resolveGoals(filters: readonly Filter[], goals: readonly Goal[], field: string): Filter[] {
  const one = (f: Filter): Filter => {
    if ('and' in f) return { and: f.and.map(one) }
    if ('or' in f) return { or: f.or.map(one) }
    if ('not' in f) return { not: one(f.not) }
    if ('has_done' in f) return { has_done: one(f.has_done) }
    if ('has_not_done' in f) return { has_not_done: one(f.has_not_done) }
    if ('reached' in f || f.dimension !== 'goal') return f
    const { negative } = operatorNamed(f.op)
    const found = findGoals(f, goals, field).map(goalFilter)
    const any = { or: found.length > 0 ? found : [MATCHES_NOTHING] }
    return { reached: f, by: negative ? { not: any } : any }
  }
  return filters.map(one)
}

/** No row is without a kind. */
const MATCHES_NOTHING: Filter = { dimension: 'kind', op: 'is_not_set' }

function findGoals({ op, value, case_sensitive }: Condition, goals: readonly Goal[], field: string): Goal[] {
  const { base } = operatorNamed(op)
  const fold = (text: unknown) => (case_sensitive === false ? String(text).toLowerCase() : String(text))
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
    throw invalidField(field, `There is no goal ${quote(word)}.`)
  })
}
