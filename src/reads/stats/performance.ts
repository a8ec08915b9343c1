import { z } from 'zod'
import { type Ask, isOneOf } from '../../query/ask.js'
import { type Dimension, findDimension, requireDimension } from '../../query/dimensions.js'
import { defineRead } from '../../query/read.js'
import { byVital, figures, measurements, RATINGS, VITAL_METRICS, VITALS } from '../../query/vitals.js'
import { raw, sql } from '../../sql.js'
import type { ResultRow } from '../../store.js'
import { DimensionName, Value } from '../shapes.js'

const each = (shape: z.ZodType) => Object.fromEntries(VITALS.map((vital) => [vital, shape.optional()]))
const figure = z.number().nonnegative()
const compared = z.object(each(z.record(z.string(), z.number()))).optional()
const measured = {
  ...each(
    z
      .object({
        ...{ p50: figure, p75: figure, p95: figure, samples: z.int().positive() },
        rating: z.enum(RATINGS).describe('Of `p75`.'),
      })
      .describe('Milliseconds, `cls` without a unit. Absent: not measured.'),
  ),
  comparison: compared.describe('The same figures of the window compared with.'),
  change: compared.describe('Relative: 0.5 is half as much again.'),
}

/** GET /api/stats/performance (spec 4.4): Web Vitals as browsers measured them, of all hits and by one dimension. */
export default defineRead({
  path: '/api/stats/performance',
  summary: 'LCP, CLS, INP, FCP and TTFB: p50, p75 and p95',
  params: { dimension: DimensionName.optional() },
  list: true,
  audience: { unless_asked: 'human', among: ['human'] },
  data: z.object({
    ...measured,
    rows: z
      .array(z.object({ value: Value.optional().describe('Absent: the hits that have none.'), ...measured }))
      .optional()
      .describe("A page of the dimension's values, most measured first; absent where no dimension is asked for."),
  }),
  answer: async (ask, { dimension: name }) => {
    const { dialect } = ask
    const dimension = name === undefined ? undefined : findDimension(name, 'dimension')
    if (dimension) requireDimension(dimension, ask.plan.audience, 'dimension')
    const {
      value: _,
      hits: __,
      ...found
    } = await ask.one(VITAL_METRICS, (plan) => figures(measurements(plan, dialect), dialect))
    const total = byVital(found)
    warnOfMissing(ask, total)
    if (!dimension) return { data: total, rows: 1 }
    const values = await valuesOf(ask, dimension)
    return { data: { ...total, rows: values }, rows: values.length }
  },
})

/** The page's values first, by a count alone: quantiles hold every sample, and there may be a million paths. */
async function valuesOf(ask: Ask, dimension: Dimension): Promise<ResultRow[]> {
  const { dialect } = ask
  const named = dimension.optional ? raw('value is not null') : raw('true')
  const order = ['hits desc']
  const page = await ask.list(
    { key: 'value', order, metrics: [], compared: false },
    (plan) => sql`
      select value, count(*) as hits from (${measurements(plan, dialect, dimension)}) m where ${named} group by value`,
  )
  if (page.length === 0) return []
  const found = await ask.list({ key: 'value', order, metrics: VITAL_METRICS, top: page.length }, (plan) => {
    const shown = sql`select * from (${measurements(plan, dialect, dimension)}) m where ${isOneOf(['value'], page)}`
    return figures(shown, dialect)
  })
  return found.map(({ value, hits: _, ...own }) => ({ ...(value === undefined ? {} : { value }), ...byVital(own) }))
}

function warnOfMissing(ask: Ask, total: ResultRow): void {
  const code = 'no_vitals_data'
  const missing = VITALS.filter((vital) => total[vital] === undefined)
  if (missing.length === VITALS.length) ask.warn({ code, message: 'No browser reported Web Vitals.' })
  else for (const metric of missing) ask.warn({ metric, code, message: `No browser reported ${metric}.` })
}
