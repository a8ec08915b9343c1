import { raw, sql } from '../sql.js'
import type { Ask } from './ask.js'
import { findDimension, requireDimension } from './dimensions.js'
import { byDimension, METRICS, metricsBy } from './metrics.js'

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
