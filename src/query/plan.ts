import { ApiError } from '../errors.js'
import type { Granularity } from '../sql.js'
import type { AggregateState } from './aggregate-split.js'
import { chooseGranularity } from './buckets.js'
import { shift, startOf, type Window } from './calendar.js'
import { type Audience, findDimension, requireDimension, type Table } from './dimensions.js'
import type { Envelope, Range } from './envelope.js'
import { type Condition, type Filter, isBehavioural, keepConditions, listConditions } from './filters.js'
import { type Goal, resolveGoals } from './goals.js'

/** A query with everything resolved: what SQL is made from. */
export interface Plan {
  readonly site: number
  readonly audience: Audience
  readonly window: Window
  readonly tz: string
  readonly granularity: Granularity
  /** All have to hold; the segment's are among them, and goals are resolved. */
  readonly filters: readonly Filter[]
  /** Those of them that nothing lifts: no read leaves one out, and what else a visitor did is asked of their rows alone. */
  readonly mandatory?: readonly Filter[]
  /** The site's; absent: it has none. */
  readonly goals?: readonly Goal[]
  /** Absent: `compare=none`. */
  readonly comparison?: Window
  /** Absent: every session is read from its hits. */
  readonly aggregates?: AggregateState
}

export interface PlanInput {
  readonly site: { readonly id: number; readonly timezone: string }
  readonly audience: Audience
  /** Filters may name a dimension of either readership (`sideOf`), not only those that the audience has. */
  readonly either?: boolean
  readonly segment: readonly Filter[]
  /** What whoever asks cannot take away (`Plan.always`). */
  readonly mandatory?: readonly Filter[]
  readonly goals?: readonly Goal[]
  readonly now: Date
  /** The site's first row, for `range=all`; undefined where there is none. */
  readonly firstRow?: Date | undefined
  readonly aggregates?: AggregateState | undefined
}

/** Envelope and what it refers to, to plan. Pure. Throws `validation_error` with the field. */
export function createPlan(envelope: Omit<Envelope, 'site' | 'audience'>, resolved: PlanInput): Plan {
  const tz = envelope.tz ?? resolved.site.timezone
  const window = resolveWindow(envelope, tz, resolved.now, resolved.firstRow)
  checkFilters(envelope.filters ?? [], resolved, 'filters')
  checkFilters(resolved.segment, resolved, 'segment')
  const comparison = comparisonWindow(window, envelope.compare, tz)
  const { goals = [] } = resolved
  // Of both readerships where the read asks of either: it would have to be left out of one.
  checkFilters(
    resolved.mandatory ?? [],
    { audience: resolved.either ? 'all' : resolved.audience, either: false },
    'share',
  )
  const always = resolveGoals(resolved.mandatory ?? [], goals, 'share')
  const asked = [
    ...resolveGoals(envelope.filters ?? [], goals, 'filters'),
    ...resolveGoals(resolved.segment, goals, 'segment'),
  ]
  return {
    site: resolved.site.id,
    audience: resolved.audience,
    window,
    tz,
    granularity: chooseGranularity(window, tz, envelope.granularity),
    filters: [...always, ...asked],
    ...(always.length > 0 ? { mandatory: always } : {}),
    goals,
    ...(comparison ? { comparison } : {}),
    ...(resolved.aggregates ? { aggregates: resolved.aggregates } : {}),
  }
}

/** The window of a query. With `end` alone, `range` is measured back from there; with `start` alone, it ends now. */
export function resolveWindow(
  { start, end, range }: Pick<Envelope, 'start' | 'end' | 'range'>,
  tz: string,
  now: Date,
  first: Date | undefined,
): Window {
  if (!start) return rangeWindow(range, tz, end ?? now, first)
  const window = { start, end: end ?? now }
  if (window.start <= window.end) return window
  throw new ApiError('validation_error', `start is after ${end ? 'end' : 'now'}.`, 'start')
}

/** `7d`, `30d`, `90d`: whole days, today the last of them; `12mo`: whole months, this one the last; `24h` rolls. */
function rangeWindow(range: Range, tz: string, now: Date, first: Date | undefined): Window {
  const today = startOf('day', now, tz)
  const days = (n: number) => ({ start: startOf('day', shift(today, { days: 1 - n }, tz), tz), end: now })
  switch (range) {
    case 'today':
      return { start: today, end: now }
    case 'yesterday':
      return { start: days(2).start, end: today }
    case '24h':
      return { start: new Date(now.getTime() - 86_400_000), end: now }
    case '7d':
      return days(7)
    case '30d':
      return days(30)
    case '90d':
      return days(90)
    case '12mo':
      return { start: startOf('month', shift(startOf('month', now, tz), { months: -11 }, tz), tz), end: now }
    case 'mtd':
      return { start: startOf('month', now, tz), end: now }
    case 'ytd':
      return { start: startOf('year', now, tz), end: now }
    case 'all':
      return { start: first && first < now ? first : today, end: now }
  }
}

/** `previous`: as long, and right before; `year`: the same local times a year earlier. */
function comparisonWindow({ start, end }: Window, compare: Envelope['compare'], tz: string): Window | undefined {
  if (compare === 'none') return undefined
  if (compare === 'previous') return { start: new Date(2 * start.getTime() - end.getTime()), end: start }
  return { start: shift(start, { years: -1 }, tz), end: shift(end, { years: -1 }, tz) }
}

/** The same plan over the window it is compared with: nothing else changes (spec 2.1, compare). */
export const withWindow = (plan: Plan, comparison: Window): Plan => ({ ...plan, window: comparison })

/** The plan as one of the two kinds of row can be asked it: by the conditions whose dimensions it has (`partOf`). */
export const planForTable = (plan: Plan, table: Table): Plan =>
  keepDimensions(plan, (name) => findDimension(name, 'filters').tables.includes(table))

/** The plan for the whole site: without the conditions that pick URLs. */
export const withoutUrlFilters = (plan: Plan): Plan => keepDimensions(plan, (name) => !URL_DIMENSIONS.includes(name))

/** The plan as a list of URLs can be asked it: none of them is known to pass what always has to hold of more than URLs. */
export const planForUrlList = (plan: Plan): Plan => {
  const urls = keepDimensions(plan, (name) => URL_DIMENSIONS.includes(name))
  const told = listConditions(plan.mandatory ?? []).every(({ dimension }) => URL_DIMENSIONS.includes(dimension))
  return told ? urls : { ...urls, filters: [{ dimension: 'hostname', op: 'is_not_set' }] }
}

/** The plan without the conditions that pick what reaches a goal; what else a visitor did stays asked. */
export const withoutGoalFilters = (plan: Plan): Plan => ({
  ...plan,
  filters: plan.filters.flatMap((f) =>
    picksGoals(f) && !isMandatory(plan, f) ? (keepConditions(f, keepUnlessGoal) ?? []) : f,
  ),
})
const keepUnlessGoal = (c: Condition) => (c.dimension === 'goal' ? undefined : c)
const picksGoals = (f: Filter): boolean => {
  if ('and' in f) return f.and.some(picksGoals)
  if ('or' in f) return f.or.some(picksGoals)
  return 'not' in f ? picksGoals(f.not) : 'reached' in f
}

const URL_DIMENSIONS: readonly string[] = ['hostname', 'pathname']
const keepDimensions = (plan: Plan, keeps: (dimension: string) => boolean): Plan => {
  if (listConditions(plan.filters).every(({ dimension }) => keeps(dimension))) return plan
  const keep = (condition: Condition) => (keeps(condition.dimension) ? condition : undefined)
  return { ...plan, filters: plan.filters.flatMap((f) => (isMandatory(plan, f) ? f : (keepConditions(f, keep) ?? []))) }
}
const isMandatory = ({ mandatory: always = [] }: Plan, filter: Filter): boolean => always.includes(filter)

function checkFilters(
  filters: readonly Filter[],
  { audience, either }: Pick<PlanInput, 'audience' | 'either'>,
  field: string,
): void {
  for (const { dimension } of listConditions(filters)) {
    const known = findDimension(dimension, field)
    if (!either) requireDimension(known, audience, field)
  }
  if (audience !== 'human' && filters.some(isBehavioural)) {
    throw new ApiError('validation_error', `has_done and has_not_done are for audience human, not ${audience}.`, field)
  }
}
