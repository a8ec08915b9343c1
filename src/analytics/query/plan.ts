import { ApiError } from '../../base/errors.js'
import type { Dialect, Granularity } from '../../storage/sql.js'
import { chooseGranularity } from './buckets.js'
import { shift, startOf, startOfDay, type Window } from './calendar.js'
import { type Audience, findDimension, type ReadTable, requireDimension } from './dimensions.js'
import type { Envelope, RangeName } from './envelope.js'
import {
  type Condition,
  type Filter,
  isBehavioural,
  keepConditions,
  leavesOutSessions,
  listConditions,
  UNSUSPECTED_SESSIONS,
} from './filters.js'
import { type Goal, resolveGoals } from './goals.js'
import { resolveSections } from './sections.js'

/** How far the store has aggregated sessions. */
export interface AggregateState {
  /** Sessions that started before it are aggregated, apart from those of `staleSince`. */
  readonly until: Date
  /** The start of the earliest aggregated session that has got hits since; otherwise undefined. */
  readonly staleSince: Date | undefined
}

/** How far the store has counted days, and the counted days of the site that are read from their rows nevertheless. */
export interface CountedDays {
  /** A midnight (UTC). */
  readonly until: Date
  /** Midnights, ascending. */
  readonly changed: readonly Date[]
}

/** A query with everything resolved: SQL is built from it. */
export interface Plan {
  /** The storage engine's own words. */
  readonly dialect: Dialect
  readonly site: number
  readonly audience: Audience
  readonly window: Window
  readonly tz: string
  readonly granularity: Granularity
  /** All have to hold. They include the segment's; conditions on goals are resolved. */
  readonly filters: readonly Filter[]
  /** The filters of a share, and `suspected=exclude`. No read leaves one out, and `has_done` looks only at rows that pass them. */
  readonly mandatory?: readonly Filter[]
  /** The site's goals; absent: it has none. */
  readonly goals?: readonly Goal[]
  /** The patterns of the site's sections in their order; absent: the question is not about sections. */
  readonly sections?: readonly string[]
  /** Absent for `compare=none`. */
  readonly comparison?: Window
  /** Absent: every session is read from its hits. */
  readonly aggregates?: AggregateState
  /** Absent: no day of the site is counted. */
  readonly countedDays?: CountedDays
}

interface PlanInput {
  readonly dialect: Dialect
  readonly site: { readonly id: number; readonly timezone: string }
  readonly audience: Audience
  /** Filters may name a dimension of people or of agents (`planForTable`), not only one that the audience has. */
  readonly mixesAudiences?: boolean
  readonly segment: readonly Filter[]
  readonly mandatory?: readonly Filter[]
  readonly goals?: readonly Goal[]
  readonly sections?: readonly string[] | undefined
  readonly now: Date
  /** The time of the site's first row, for `range=all`; undefined if it has none. */
  readonly firstRow?: Date | undefined
  readonly aggregates?: AggregateState | undefined
  readonly countedDays?: CountedDays | undefined
}

/** Resolves an envelope to a plan. Pure. Throws `validation_error` with the field. */
export function createPlan(envelope: Omit<Envelope, 'site' | 'audience'>, input: PlanInput): Plan {
  const {
    dialect,
    site,
    audience,
    mixesAudiences,
    segment,
    mandatory = [],
    goals = [],
    sections = [],
    now,
    firstRow,
    aggregates,
    countedDays,
  } = input
  const { filters = [] } = envelope
  const tz = envelope.tz ?? site.timezone
  const window = resolveWindow(envelope, tz, now, firstRow)
  checkFilters(filters, input, 'filters')
  checkFilters(segment, input, 'segment')
  const comparison = comparisonWindow(window, envelope.compare, tz)
  // A mandatory filter must apply to people and to agents if the read mixes them: none may be left out for one of them.
  checkFilters(mandatory, { audience: mixesAudiences ? 'all' : audience, mixesAudiences: false }, 'share')
  const resolve = (all: readonly Filter[], field: string) => resolveSections(resolveGoals(all, goals, field), sections)
  const hasPeople = audience !== 'agent' || mixesAudiences
  const withoutSuspected = envelope.suspected === 'exclude' && hasPeople ? [UNSUSPECTED_SESSIONS] : []
  const resolved = [...withoutSuspected, ...resolve(mandatory, 'share')]
  return {
    dialect,
    site: site.id,
    audience,
    window,
    tz,
    granularity: chooseGranularity(window, tz, envelope.granularity),
    filters: [...resolved, ...resolve(filters, 'filters'), ...resolve(segment, 'segment')],
    ...(resolved.length > 0 ? { mandatory: resolved } : {}),
    goals,
    ...(input.sections ? { sections } : {}),
    ...(comparison ? { comparison } : {}),
    ...(aggregates ? { aggregates } : {}),
    ...(countedDays ? { countedDays } : {}),
  }
}

/**
 * The instants of `start` and `end`: a day as `start` begins with it, a day as `end` includes it, in the zone. Throws
 * `validation_error` if the start is after the end.
 */
export function resolveBounds({ start, end }: Pick<Envelope, 'start' | 'end'>, tz: string): Partial<Window> {
  const from = start && (start instanceof Date ? start : startOfDay(start, tz))
  const until = end && (end instanceof Date ? end : startOfDay(end, tz, 1))
  // A day as `end` includes it, so a start at the next midnight is after it.
  if (from && until && (end instanceof Date ? from > until : from >= until))
    throw new ApiError('validation_error', 'start must not be after end.', 'start')
  return { ...(from && { start: from }), ...(until && { end: until }) }
}

/**
 * The window of a query. With `end` alone, `range` is measured back from `end`; with `start` alone, the window ends
 * now. A day as `start` begins with it, a day as `end` includes it, in the zone.
 */
export function resolveWindow(
  { start, end, range }: Pick<Envelope, 'start' | 'end' | 'range'>,
  tz: string,
  now: Date,
  first: Date | undefined,
): Window {
  const { start: from, end: until = endOfMoment(now) } = resolveBounds({ start, end }, tz)
  if (!from) {
    const latest = end && !(end instanceof Date) ? startOfDay(end, tz) : (end ?? now)
    return rangeWindow(range, tz, { end: until, latest }, first)
  }
  if (end || from <= now) return { start: from, end: until }
  throw new ApiError('validation_error', 'start must not be after now.', 'start')
}

/**
 * The end of a window that runs until now: up to ten seconds later, so that readers who ask at about the same time ask the
 * same question. No row is left out: what happens until then changes the result.
 */
const endOfMoment = (now: Date): Date => new Date(Math.ceil(now.getTime() / MOMENT_MS) * MOMENT_MS)
const MOMENT_MS = 10_000

/**
 * `7d`, `30d`, `90d`: whole days, the day of `latest` being the last; `12mo`: whole months, its month being the last;
 * `24h` rolls.
 */
function rangeWindow(range: RangeName, tz: string, { end, latest }: { end: Date; latest: Date }, first?: Date): Window {
  const today = startOf('day', latest, tz)
  const days = (n: number) => ({ start: startOf('day', shift(today, { days: 1 - n }, tz), tz), end })
  switch (range) {
    case 'today':
      return { start: today, end }
    case 'yesterday':
      return { start: days(2).start, end: today }
    case '24h':
      return { start: new Date(end.getTime() - 86_400_000), end }
    case '7d':
      return days(7)
    case '30d':
      return days(30)
    case '90d':
      return days(90)
    case '12mo':
      return { start: startOf('month', shift(startOf('month', latest, tz), { months: -11 }, tz), tz), end }
    case 'mtd':
      return { start: startOf('month', latest, tz), end }
    case 'ytd':
      return { start: startOf('year', latest, tz), end }
    case 'all':
      return { start: first && first < end ? first : today, end }
  }
}

/** `previous`: the window of equal length right before; `year`: the same local times a year earlier. */
function comparisonWindow({ start, end }: Window, compare: Envelope['compare'], tz: string): Window | undefined {
  if (compare === 'none') return undefined
  if (compare === 'previous') return { start: new Date(2 * start.getTime() - end.getTime()), end: start }
  return { start: shift(start, { years: -1 }, tz), end: shift(end, { years: -1 }, tz) }
}

/** The same plan over another window. */
export const withWindow = (plan: Plan, window: Window): Plan => ({ ...plan, window })

/** The plan with only those conditions whose dimension the table has (see `keepConditions`). */
export const planForTable = (plan: Plan, table: ReadTable): Plan => {
  const kept = keepDimensions(plan, (name) => findDimension(name, 'filters').tables.includes(table))
  return table === 'agent_events' ? withSuspected(kept) : kept
}

/** The plan that leaves out no sessions: agents have none. */
export const withSuspected = (plan: Plan): Plan =>
  leavesOutSessions(plan.filters) ? { ...plan, filters: plan.filters.filter((f) => !leavesOutSessions([f])) } : plan

/** The plan for the whole site: without the conditions that select URLs. */
export const withoutUrlFilters = (plan: Plan): Plan => keepDimensions(plan, (name) => !URL_DIMENSIONS.includes(name))

/** The plan with only the conditions that select URLs. */
export const withUrlFilters = (plan: Plan): Plan =>
  withSuspected(keepDimensions(plan, (name) => URL_DIMENSIONS.includes(name)))

/**
 * The plan for a list of URLs, such as a sitemap: only the conditions that select URLs. If a mandatory filter has any other
 * condition, no URL passes, because nothing shows that it meets the condition.
 */
export const planForUrlList = (plan: Plan): Plan => {
  const urls = withUrlFilters(plan)
  const decidable = listConditions(plan.mandatory ?? []).every(({ dimension }) => URL_DIMENSIONS.includes(dimension))
  return decidable ? urls : { ...urls, filters: [{ dimension: 'hostname', op: 'is_not_set' }] }
}

/** The plan without conditions on `goal`. Those inside `has_done` and `has_not_done` stay. */
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
const isMandatory = ({ mandatory = [] }: Plan, filter: Filter): boolean => mandatory.includes(filter)

function checkFilters(
  filters: readonly Filter[],
  { audience, mixesAudiences }: Pick<PlanInput, 'audience' | 'mixesAudiences'>,
  field: string,
): void {
  for (const { dimension } of listConditions(filters)) {
    const known = findDimension(dimension, field)
    if (!mixesAudiences) requireDimension(known, audience, field)
  }
  if (audience !== 'human' && filters.some(isBehavioural)) {
    const message = `has_done and has_not_done are only available for audience human, not for ${audience}.`
    throw new ApiError('validation_error', message, field)
  }
}
