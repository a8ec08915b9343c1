import { z } from 'zod'
import { GRANULARITIES, raw, type Sql, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { familyOf, SUSPICION_FAMILIES, SUSPICION_SIGNALS } from '../../../storage/suspicion-signals.js'
import { bucketKey, listBuckets } from '../../query/buckets.js'
import { sourceRows, storedColumn, whereClause } from '../../query/conditions.js'
import { findDimension } from '../../query/dimensions.js'
import { TOTAL } from '../../query/grouping.js'
import { metricsBy } from '../../query/metrics.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import type { ReadContext } from '../../query/read-context.js'
import { Count, Instant, Pageviews, Partial, Share, Visits } from '../shapes.js'

/** The most pages, sources and countries that are listed. */
const MAX_ROWS = 10

const SuspectedPageviews = Count.describe('Suspected pageviews among them.')
const counts = { pageviews: Pageviews, suspected_pageviews: SuspectedPageviews }
const listShape = z
  .array(z.object({ value: z.string().optional().describe('Absent: views without a value.'), ...counts, share: Share }))
  .describe(`At most ${MAX_ROWS} with a suspected view, those with most of them first.`)

/** GET /api/stats/suspected: agents among people, as far as signals of two families show them. */
export default defineRead({
  path: '/api/stats/suspected',
  summary: "People's views that agents may have made, with what speaks against them: a lower bound",
  params: {},
  audience: { only: 'human' },
  compare: 'none',
  data: z.object({
    pageviews: Pageviews.optional(),
    suspected_pageviews: SuspectedPageviews.optional(),
    share: Share.optional().describe('`suspected_pageviews` / `pageviews`; absent without a view.'),
    sessions: Visits.optional(),
    suspected_sessions: Count.optional().describe(
      'Sessions with a suspected hit: `suspected=exclude` leaves them out.',
    ),
    signals: z
      .array(
        z.object({
          ...{ signal: z.string(), family: z.enum(SUSPICION_FAMILIES), meaning: z.string() },
          pageviews: Count.optional().describe('Pageviews of people that it speaks against, alone or with others.'),
          suspected_pageviews: SuspectedPageviews.optional(),
        }),
      )
      .describe('All that can speak against a visitor. A view is suspected if signals of two families do.'),
    pages: listShape,
    sources: listShape,
    countries: listShape,
    granularity: z.enum(GRANULARITIES),
    buckets: z.array(
      z.object({
        t: Instant,
        pageviews: Pageviews.optional().describe('Absent if nothing was recorded.'),
        suspected_pageviews: SuspectedPageviews.optional(),
        partial: Partial,
      }),
    ),
  }),
  run: async (context) => {
    context.warn({ code: 'suspected_is_a_floor', message: FLOOR })
    const totals = (of: (plan: Plan) => Plan) =>
      context.one(['pageviews', 'sessions'], (plan) => metricsBy(of(plan), TOTAL, ['pageviews', 'sessions']))
    const all = await totals((plan) => plan)
    const suspected = await totals(onlySuspected)
    const totalCounts = {
      ...numbersOf({ pageviews: all.pageviews, suspected_pageviews: suspected.pageviews }),
      ...numbersOf({ sessions: all.sessions, suspected_sessions: suspected.sessions }),
    }
    const pageviews = Number(all.pageviews ?? 0)
    const data = {
      ...totalCounts,
      ...(pageviews > 0 ? { share: Number(suspected.pageviews ?? 0) / pageviews } : {}),
      signals: await countSignals(context, all.pageviews !== undefined),
      pages: await topValues(context, 'pathname'),
      sources: await topValues(context, 'source'),
      countries: await topValues(context, 'country'),
      granularity: context.plan.granularity,
      buckets: await countBuckets(context),
    }
    return { data, rows: data.signals.length }
  },
})

const FLOOR =
  'A lower bound: an agent that drives a real browser on a home network is not seen. Views from access logs and from other servers are judged by what these have of the request, often without its headers.'

const numbersOf = (row: ResultRow): ResultRow =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))

const onlySuspected = (plan: Plan): Plan => ({
  ...plan,
  filters: [...plan.filters, { dimension: 'suspected', op: 'is', value: true }],
})

/** Counts people's views in the window by a value. Rows that are older than the column are not suspected. */
const countViews = (plan: Plan, value: Sql): Sql => sql`
  select ${value} as value, count(*) as pageviews, count(*) filter (where coalesce(suspected, false)) as suspected_pageviews
  from ${sourceRows('events', plan)} as e where ${whereClause(plan)} and kind = 'pageview' group by value`

async function topValues(context: ReadContext, name: string) {
  const dimension = findDimension(name, 'dimension')
  const rows = await context.list(
    {
      key: 'value',
      order: ['suspected_pageviews desc', 'pageviews desc'],
      metrics: ['pageviews', 'suspected_pageviews'],
      limit: MAX_ROWS,
      compare: false,
    },
    (plan) =>
      sql`select * from (${countViews(plan, storedColumn(dimension, plan.dialect))}) v where suspected_pageviews > 0`,
  )
  return rows.map((row) => ({ ...row, share: Number(row.suspected_pageviews) / Number(row.pageviews) }))
}

async function countBuckets(context: ReadContext) {
  const { window, tz, granularity, dialect } = context.plan
  const key = bucketKey(raw('timestamp'), window, tz, granularity, dialect)
  const counted = new Map((await context.rows(countViews(context.plan, key))).map(({ value, ...row }) => [value, row]))
  const times = listBuckets(window, tz, granularity)
  const parts = context.recordedBuckets(times, window, tz, granularity)
  return times.map(({ t, key }, i) => {
    const row = counted.get(key)
    if (parts[i] === 'none' && row === undefined) return { t: t.toISOString() }
    const zeros = { pageviews: 0, suspected_pageviews: 0 }
    return { t: t.toISOString(), ...zeros, ...row, ...(parts[i] === 'all' ? {} : { partial: true }) }
  })
}

/** Counts the views that each signal speaks against. Few sets of signals occur, so they are divided here. */
async function countSignals(context: ReadContext, isRecorded: boolean) {
  const sets = await context.rows(sql`
    select * from (${countViews(context.plan, raw('suspected_by'))}) s where value is not null`)
  return SUSPICION_SIGNALS.map(({ name, meaning }) => {
    const spoken = sets.filter(({ value }) => String(value).split(',').includes(name))
    const sum = (column: keyof typeof counts) => spoken.reduce((total, row) => total + Number(row[column]), 0)
    const views = isRecorded ? { pageviews: sum('pageviews'), suspected_pageviews: sum('suspected_pageviews') } : {}
    return { signal: name, family: familyOf(name), meaning, ...views }
  })
}
