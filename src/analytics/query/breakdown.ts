import { raw, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { findDimension, requireDimension } from './dimensions.js'
import { groupByDimension } from './group-by-dimension.js'
import { combineDimensions, selectParts } from './grouping.js'
import { agentsOfPaths } from './late-metrics.js'
import { METRICS, type Metric, metricsBy } from './metrics.js'
import type { Plan } from './plan.js'
import type { ReadContext } from './read-context.js'

/** The order of rows, per audience. */
const RANKING = {
  human: ['visitors desc', 'pageviews desc', 'sessions desc'],
  agent: ['fetches desc'],
  all: ['pageviews desc'],
}

/**
 * Returns the values of one dimension with the audience's metrics, sorted. Hits without a value have a row of their
 * own, so rows add up; dimensions that only some hits are meant to have leave that row out. `more`: `last_seen` of agents.
 */
export async function breakdown(context: ReadContext, name: string, more: readonly 'last_seen'[] = []) {
  const { audience } = context.plan
  const dimension = findDimension(name, 'dimension')
  requireDimension(dimension, audience, 'dimension')
  const named = dimension.optional ? raw(' where value is not null') : raw('')
  const metrics: readonly string[] = METRICS[audience]
  const late = audience === 'agent' && dimension.name === 'pathname' ? agentsOfPaths('value') : undefined
  const early = metrics.filter((metric) => !late?.metrics.includes(metric))
  const data = await context.list(
    { key: 'value', order: RANKING[audience], metrics, late },
    (plan) => sql`select * from (${metricsBy(plan, groupByDimension(dimension, plan), [...early, ...more])}) v${named}`,
  )
  return { data, rows: data.length }
}

/**
 * Returns the `limit` best combinations of some dimensions' values, each under its dimension's name. A value is absent
 * for hits that have none, so rows add up. `of` narrows the plan.
 */
export function topCombinations(
  context: ReadContext,
  names: readonly string[],
  limit: number,
  metrics: readonly Metric[] = METRICS[context.plan.audience],
  of: (plan: Plan) => Plan = (plan) => plan,
): Promise<ResultRow[]> {
  const dimensions = names.map((name) => findDimension(name, 'dimension'))
  const [only, ...more] = dimensions
  const by = groupByDimension(
    only && more.length === 0 ? only : combineDimensions(dimensions, context.plan.dialect),
    context.plan,
  )
  const named = only && more.length === 0 ? raw(`value as ${only.name}`) : selectParts(dimensions, context.plan.dialect)
  return context.list(
    { key: names, order: RANKING[context.audience], metrics, limit },
    (plan) => sql`select ${named}, ${raw(metrics.join(', '))} from (${metricsBy(of(plan), by, metrics)}) v`,
  )
}
