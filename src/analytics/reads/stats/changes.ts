import { z } from 'zod'
import { GRANULARITIES } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { bucketEnds, listBuckets } from '../../query/buckets.js'
import type { Window } from '../../query/calendar.js'
import {
  type ChangedValue,
  fewestParts,
  findCause,
  isWithinChance,
  NAMED_SHARE,
  type Totals,
} from '../../query/cause.js'
import { type ComparedTimes, findComparedTimes } from '../../query/compared-times.js'
import {
  CHANGE_DIMENSIONS,
  type ChangeOptions,
  MAX_FALLS,
  MAX_RISES,
  PAGE_OF,
  selectChanges,
} from '../../query/contributions.js'
import { defineRead } from '../../query/read.js'
import { requireOneReadership } from '../../query/read-audience.js'
import type { ReadContext } from '../../query/read-context.js'
import { intersect } from '../../query/recording.js'
import { Count, Instant, Partial as PartialBucket, Share } from '../shapes.js'

/** The least share of the window that was recorded in both windows. */
const MIN_COMPARED = 0.5
/** The most buckets that are named as the times of a cause. */
const MAX_TIMES = 3

const Difference = z.int().describe('`now` minus `before`.')
const countShapes = { now: Count, before: Count, difference: Difference }
const Value = z.object({
  value: z.string().optional().describe('Absent: without a value, as a visit without a campaign.'),
  name: z.string().optional().describe('The name of an agent, from the catalogue.'),
  spoofed: z.literal(true).optional().describe('Others read in the name of the agent.'),
  ...countShapes,
})

/** GET /api/stats/changes: what rose and fell against the other window, as differences that add up. */
export default defineRead({
  path: '/api/stats/changes',
  summary: 'Pages, sections, sources, agents, countries and campaigns that rose and fell most',
  params: {},
  compare: 'required',
  usesSections: true,
  data: z.object({
    measure: z
      .enum(['sessions', 'pageviews'])
      .describe(
        'Counted are visits of people (`sessions`), or reads of agents (`pageviews`). Each has one value of each dimension.',
      ),
    compared: Share.describe(
      'Share of the window whose hours were recorded in both windows; only these are compared. Below 0.5 nothing is.',
    ),
    verdict: z
      .enum(['cause', 'spread', 'chance', 'unknown'])
      .describe(
        '`cause`: one value explains at least 30 % of the change. `spread`: none does. `chance`: the change is as small as chance makes it. `unknown`: too little was recorded in both windows.',
      ),
    now: Count.optional().describe('Absent, like every other number, if the verdict is `unknown`.'),
    before: Count.optional(),
    difference: Difference.optional(),
    cause: Value.extend({
      dimension: z.string(),
      excess: z.number().describe('Its difference without its part of the total change by the factor of the total.'),
      page: Value.optional().describe('The page that holds at least 80 % of it.'),
      times: z
        .array(z.object({ t: Instant, difference: Difference }))
        .optional()
        .describe(`The fewest buckets, at most ${MAX_TIMES}, that hold at least 80 % of it.`),
    }).optional(),
    granularity: z.enum(GRANULARITIES),
    buckets: z
      .array(
        z.object({
          t: Instant,
          now: Count.optional().describe('Absent if nothing of the bucket is compared.'),
          before: Count.optional().describe('At the same distance from the start of the other window.'),
          difference: Difference.optional(),
          partial: PartialBucket,
        }),
      )
      .describe('Their differences make the difference of the total.'),
    dimensions: z.array(
      z
        .object({
          dimension: z.string(),
          rose: z.array(Value).describe(`At most ${MAX_RISES}, the greatest first.`),
          fell: z.array(Value).describe(`At most ${MAX_FALLS}, the greatest first.`),
          others: z
            .object({ values: Count.describe('The number of all other values.'), ...countShapes })
            .describe('The total without the named values.'),
        })
        .describe('The differences of `rose`, `fell` and `others` make the difference of the total.'),
    ),
  }),
  run: async (context) => {
    const { plan, recording, now } = context
    const { window, granularity } = plan
    const audience = requireOneReadership(plan.audience)
    const comparison = plan.comparison ?? window
    const times = findComparedTimes(window, comparison, recording, now)
    const measure = audience === 'human' ? 'sessions' : 'pageviews'
    const nothing = { measure, compared: times.share, verdict: 'unknown', granularity, buckets: [], dimensions: [] }
    for (const each of [window, comparison]) context.recorded(each)
    if (times.share < MIN_COMPARED) {
      const message = `Only ${Math.floor(times.share * 100)} % of the window was recorded in both windows, so nothing is compared.`
      context.warn({ metric: 'difference', code: 'too_little_compared', message })
      return { data: nothing, rows: 0 }
    }
    const lastBucket = listBuckets(window, plan.tz, granularity).at(-1)?.key ?? 0
    const options = { plan, comparison, times, lastBucket }
    const rows = await context.rows(selectChanges(options, CHANGE_DIMENSIONS[audience]))
    const buckets = countBuckets(rows, options)
    const totals = sumOf(buckets)
    const cause = isWithinChance(totals)
      ? undefined
      : findCause(rows.filter(({ excess }) => Number(excess) === 1).map(toValue), totals)
    const nameOf = (value: ChangedValue) => showValue(value, context)
    const dimensions = CHANGE_DIMENSIONS[audience].map(({ name }) => ({
      dimension: name,
      ...divide(
        rows.filter(({ dimension }) => dimension === name),
        totals,
        nameOf,
      ),
    }))
    const data = {
      ...nothing,
      verdict: cause ? 'cause' : isWithinChance(totals) ? 'chance' : 'spread',
      ...withDifference(totals),
      ...(cause ? { cause: await describeCause(context, cause, options) } : {}),
      buckets,
      dimensions,
    }
    return { data, rows: dimensions.reduce((sum, { rose, fell }) => sum + rose.length + fell.length, 0) }
  },
})

/** A bucket; without numbers if nothing of it is compared. */
interface ChangedBucket extends Partial<Totals & { readonly difference: number }> {
  readonly t: string
  readonly partial?: true
}

const withDifference = ({ now, before }: Totals) => ({ now, before, difference: now - before })

const sumOf = (parts: readonly (Partial<Totals> & object)[]): Totals => ({
  now: parts.reduce((sum, { now = 0 }) => sum + now, 0),
  before: parts.reduce((sum, { before = 0 }) => sum + before, 0),
})

const toValue = ({ dimension, value, spoofed, n_now, n_before }: ResultRow): ChangedValue => ({
  dimension: String(dimension),
  value: value === undefined ? undefined : String(value),
  spoofed: Number(spoofed) === 1,
  now: Number(n_now),
  before: Number(n_before),
})

/** A value as the answer shows it. */
const showValue = ({ dimension, value, spoofed, ...totals }: ChangedValue, context: ReadContext) => ({
  ...(value === undefined ? {} : { value }),
  ...(dimension === 'agent_id' ? { name: context.agentNames(String(value)).name } : {}),
  ...(spoofed ? { spoofed: true } : {}),
  ...withDifference(totals),
})

/** Every bucket of the window with what was counted in it, and at the same distance before. */
function countBuckets(rows: readonly ResultRow[], { plan, times }: ChangeOptions): ChangedBucket[] {
  const { window, tz, granularity } = plan
  const all = listBuckets(window, tz, granularity)
  const ends = bucketEnds(all, tz, granularity)
  const counted = new Map(rows.filter(({ dimension }) => dimension === 'bucket').map((row) => [Number(row.value), row]))
  return all.map(({ t: start, key }, i) => {
    const end = ends[i] ?? window.end
    const t = start.toISOString()
    const compared = lengthWithin({ start, end }, times)
    if (compared === 0) return { t }
    const { n_now = 0, n_before = 0 } = counted.get(key) ?? {}
    const isWhole = compared === end.getTime() - start.getTime()
    return {
      t,
      ...withDifference({ now: Number(n_now), before: Number(n_before) }),
      ...(isWhole ? {} : { partial: true as const }),
    }
  })
}

/** Milliseconds of a time that are compared. */
const lengthWithin = (time: Window, times: ComparedTimes): number =>
  times.now.reduce((sum, part) => {
    const { start, end } = intersect(part, time)
    return sum + Math.max(0, end.getTime() - start.getTime())
  }, 0)

/** Divides the total by a dimension: the named values, and all others as one. */
function divide<V>(rows: readonly ResultRow[], totals: Totals, show: (value: ChangedValue) => V) {
  const named = (rank: 'rise' | 'fall', most: number, direction: 1 | -1) =>
    rows
      .filter((row) => Number(row[rank]) <= most && (Number(row.n_now) - Number(row.n_before)) * direction > 0)
      .toSorted((a, b) => Number(a[rank]) - Number(b[rank]))
      .map(toValue)
  const [rose, fell] = [named('rise', MAX_RISES, 1), named('fall', MAX_FALLS, -1)]
  const sum = sumOf([...rose, ...fell])
  const others = withDifference({ now: totals.now - sum.now, before: totals.before - sum.before })
  const values = Number(rows[0]?.n_values ?? 0) - rose.length - fell.length
  return { rose: rose.map(show), fell: fell.map(show), others: { values, ...others } }
}

/** Adds to the cause the page and the times that hold most of it, from a second statement about the cause alone. */
async function describeCause(context: ReadContext, cause: ChangedValue & { excess: number }, options: ChangeOptions) {
  const page = options.plan.audience === 'agent' ? PAGE_OF.agent : PAGE_OF.human
  const pages = cause.dimension === page ? [] : [{ name: page }]
  const rows = await context.rows(selectChanges(options, pages, cause))
  const change = cause.now - cause.before
  const rank = change > 0 ? 'rise' : 'fall'
  const best = rows.filter((row) => row.dimension === page && Number(row[rank]) === 1).map(toValue)[0]
  const isMost = best !== undefined && (best.now - best.before) / change >= NAMED_SHARE
  const times = fewestParts(
    countBuckets(rows, options).flatMap(({ t, difference }) => (difference === undefined ? [] : [{ t, difference }])),
    change,
    MAX_TIMES,
  )
  const { excess, dimension } = cause
  return {
    dimension,
    ...showValue(cause, context),
    excess,
    ...(isMost ? { page: showValue(best, context) } : {}),
    ...(times.length > 0 ? { times } : {}),
  }
}
