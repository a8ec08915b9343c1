import { z } from 'zod'
import { raw, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { type Dimension, findDimension, requireDimension } from '../../query/dimensions.js'
import { keyMatches } from '../../query/key-match.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import type { ReadContext } from '../../query/read-context.js'
import { groupByVital, RATINGS, VITAL_METRICS, VITALS, vitalFigures, vitalSamples } from '../../query/vitals.js'
import { DimensionName, DimensionValue } from '../shapes.js'

const vitalShapes = (shape: z.ZodType) => Object.fromEntries(VITALS.map((vital) => [vital, shape.optional()]))
const figure = z.number().nonnegative()
const comparedShape = z.object(vitalShapes(z.record(z.string(), z.number()))).optional()
const figureShapes = {
  ...vitalShapes(
    z
      .object({
        p50: figure,
        p75: figure,
        p95: figure,
        samples: z.int().positive().describe('Pageviews that it was measured in.'),
        rating: z.enum(RATINGS).describe('Of `p75`.'),
      })
      .describe('Milliseconds; `cls` has no unit. Absent: not measured.'),
  ),
  comparison: comparedShape.describe('The same figures in the window compared with.'),
  change: comparedShape.describe('Relative: 0.5 is an increase by half.'),
}

/** GET /api/stats/performance: Web Vitals as browsers measured them, in total and by one dimension. */
export default defineRead({
  path: '/api/stats/performance',
  summary: 'LCP, CLS, INP, FCP and TTFB: p50, p75 and p95',
  params: { dimension: DimensionName.optional() },
  list: true,
  audience: peopleOnly('/api/agents/overview'),
  data: z.object({
    ...figureShapes,
    rows: z
      .array(z.object({ value: DimensionValue.optional().describe('Absent: hits without a value.'), ...figureShapes }))
      .optional()
      .describe("A page of the dimension's values, most hits first; absent if no dimension is requested."),
  }),
  run: async (context, { dimension: name }) => {
    const dimension = name === undefined ? undefined : findDimension(name, 'dimension')
    if (dimension) requireDimension(dimension, context.plan.audience, 'dimension')
    const {
      value: _,
      hits: __,
      ...found
    } = await context.one(VITAL_METRICS, (plan) => vitalFigures(vitalSamples(plan), plan.dialect))
    const total = groupByVital(found)
    warnOfMissingVitals(context, total)
    if (!dimension) return { data: total, rows: 1 }
    const values = await dimensionRows(context, dimension)
    return { data: { ...total, rows: values }, rows: values.length }
  },
})

/**
 * Selects the page's values first, by count: quantiles keep every sample in memory, and there may be a million paths.
 */
async function dimensionRows(context: ReadContext, dimension: Dimension): Promise<ResultRow[]> {
  const named = dimension.optional ? raw('value is not null') : raw('true')
  const order = ['hits desc']
  const page = await context.list(
    { key: 'value', order, metrics: [], compare: false },
    (plan) => sql`
      select value, count(*) as hits from (${vitalSamples(plan, dimension)}) m where ${named} group by value`,
  )
  if (page.length === 0) return []
  const rows = await context.list({ key: 'value', order, metrics: VITAL_METRICS, limit: page.length }, (plan) => {
    const shown = sql`select * from (${vitalSamples(plan, dimension)}) m where ${keyMatches(['value'], page)}`
    return vitalFigures(shown, plan.dialect)
  })
  return rows.map(({ value, hits: _, ...own }) => ({
    ...(value === undefined ? {} : { value }),
    ...groupByVital(own),
  }))
}

function warnOfMissingVitals(context: ReadContext, total: ResultRow): void {
  const code = 'no_vitals_data'
  const missing = VITALS.filter((vital) => total[vital] === undefined)
  if (missing.length === VITALS.length) context.warn({ code, message: 'No browser reported Web Vitals.' })
  else for (const metric of missing) context.warn({ metric, code, message: `No browser reported ${metric}.` })
}
