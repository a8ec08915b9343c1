import { raw, sql } from '../sql.js'
import type { ResultRow } from '../store.js'
import type { Ask } from './ask.js'
import { byDimension } from './by.js'
import { combined, parts } from './combined.js'
import { findDimension, requireDimension } from './dimensions.js'
import { METRICS, type Metric, metricsBy } from './metrics.js'
import type { Plan } from './plan.js'

/** What rows are ranked by: the audience's first metric, then the next. */
const ORDER = {
  human: ['visitors desc', 'pageviews desc', 'sessions desc'],
  agent: ['fetches desc'],
  all: ['pageviews desc'],
}

/**
 * The values of one dimension with the audience's metrics, ranked. The row without a value is of the hits that have
 * none, so that rows add up; dimensions that only some hits are meant to have leave it out.
 */
export async function breakdown(ask: Ask, name: string) {
  const { audience } = ask.plan
  const dimension = findDimension(name, 'dimension')
  requireDimension(dimension, audience, 'dimension')
  const named = dimension.optional ? raw(' where value is not null') : raw('')
  const data = await ask.list(
    { key: 'value', order: ORDER[audience], metrics: METRICS[audience] },
    (plan) => sql`select * from (${metricsBy(plan, ask.dialect, byDimension(dimension, ask.dialect))}) v${named}`,
  )
  return { data, rows: data.length }
}

/**
 * The `limit` best combinations of some dimensions' values, each under its dimension's name: absent where the hits have
 * none, so that rows add up. `of` narrows the hits that are asked about.
 */
export function best(
  ask: Ask,
  names: readonly string[],
  limit: number,
  metrics: readonly Metric[] = METRICS[ask.plan.audience],
  of: (plan: Plan) => Plan = (plan) => plan,
): Promise<ResultRow[]> {
  const { dialect } = ask
  const dimensions = names.map((name) => findDimension(name, 'dimension'))
  const [only, ...more] = dimensions
  const by = byDimension(only && more.length === 0 ? only : combined(dimensions, dialect), dialect)
  const named = only && more.length === 0 ? raw(`value as ${only.name}`) : parts(dimensions, dialect)
  return ask.list(
    { key: names, order: ORDER[ask.plan.audience], metrics, top: limit },
    (plan) => sql`select ${named}, ${raw(metrics.join(', '))} from (${metricsBy(of(plan), dialect, by, metrics)}) v`,
  )
}
