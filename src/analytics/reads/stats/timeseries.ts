import { z } from 'zod'
import { GRANULARITIES, raw, type Sql, sql } from '../../../storage/sql.js'
import { bucketKey, listBuckets } from '../../query/buckets.js'
import type { Grouping } from '../../query/grouping.js'
import { groupByBucket, isMeanOverSessions } from '../../query/histories.js'
import {
  agentMetrics,
  DEFAULT_METRIC,
  findMetric,
  hitMetrics,
  isCount,
  metricsBy,
  sessionMetrics,
  VERIFICATION_COUNTS,
} from '../../query/metrics.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { Series } from '../shapes.js'

const SESSION_METRICS = ['sessions', 'bounce', 'duration', 'views_per_session']

/** GET /api/stats/timeseries: one metric in every bucket of the window; sessions count where they started. */
export default defineRead({
  path: '/api/stats/timeseries',
  summary: 'One metric over time',
  params: { metric: z.string().optional().describe('Default `visitors`, for agents `fetches`, for all `pageviews`.') },
  data: z.object({
    metric: z.string(),
    granularity: z.enum(GRANULARITIES),
    buckets: Series,
    comparison: Series.optional(),
  }),
  run: async (context, params) => {
    const { plan } = context
    const { audience, tz, granularity } = plan
    const metric = findMetric(params.metric ?? DEFAULT_METRIC[audience])
    const [present] = context.meaningful([metric])
    const fine = granularity === 'minute' || granularity === 'hour'
    const source = (p: Plan): Sql => {
      const by: Grouping = {
        value: (moment) => bucketKey(moment, p.window, tz, granularity, plan.dialect),
        perHit: fine,
      }
      if (audience === 'all') return metricsBy(p, by)
      if (audience === 'agent') return agentMetrics(p, by, [metric])
      return SESSION_METRICS.includes(metric) ? sessionMetrics(p, by) : hitMetrics(p, by)
    }
    const timesOf = ({ window }: Plan) => listBuckets(window, tz, granularity)
    const series = async (p: Plan) => {
      if (present === undefined) return timesOf(p).map(({ t }) => ({ t: t.toISOString() }))
      const counts = metric === 'verified' ? VERIFICATION_COUNTS : []
      const days = fine ? [] : await context.history.find(p.window, [metric])
      const weight = days.length > 0 && isMeanOverSessions(metric) ? ['sessions'] : []
      const columns = raw([`${metric} as value`, ...counts, ...weight].join(', '))
      const found = await context.rows(sql`select value as bucket, ${columns} from (${source(p)}) b`)
      const values = new Map(found.map(({ bucket, ...row }) => [bucket, row]))
      const zeros = Object.fromEntries([...(isCount(metric) ? ['value'] : []), ...counts].map((name) => [name, 0]))
      const times = timesOf(p)
      const parts = context.recordedBuckets(times, p.window, tz, granularity)
      const imported = groupByBucket(days, times, tz, granularity)
      return times.map(({ t: start, key }, i) => {
        const [t, part] = [start.toISOString(), parts[i]]
        const { sessions, ...row } = values.get(key) ?? {}
        const { value, isWhole } = imported[i]?.addTo({ sessions, [metric]: row.value }, metric) ?? {}
        if (value !== undefined)
          return { t, value, ...(isWhole && part === 'none' ? {} : { partial: true }), imported: true }
        // Rows of a time that was not recorded count: other servers delivered them.
        const isEmpty = isCount(metric) ? !row.value : Object.keys(row).length === 0
        if (part === 'none' && isEmpty) return { t }
        return { t, ...zeros, ...row, ...(part === 'all' ? {} : { partial: true }) }
      })
    }
    if (present === 'visitors') {
      const starts = timesOf(plan).map(({ t }) => t)
      context.warnOfSaltChange(starts.map((start, i) => ({ start, end: starts[i + 1] ?? plan.window.end })))
    }
    const own = await series(plan)
    const comparison = plan.comparison && (await series({ ...plan, window: plan.comparison }))
    return { data: { metric, granularity, buckets: own, ...(comparison ? { comparison } : {}) }, rows: own.length }
  },
})
