import { z } from 'zod'
import { findDimension } from '../query/dimensions.js'
import { MEANING, METRICS, type Metric } from '../query/metrics.js'

/** The shape of one metric: counts are there always, the rest where there is something to say. */
const shapeOf = (metric: Metric): z.ZodType => {
  const { type, meaning } = MEANING[metric]
  const number = type === 'count' || type === 'bytes' ? z.int().nonnegative() : z.number().nonnegative()
  return (type === 'share' ? number.max(1) : number).optional().describe(meaning)
}
export const metricShapes = (metrics: readonly Metric[]): z.ZodRawShape =>
  Object.fromEntries(metrics.map((name) => [name, shapeOf(name)]))

/** A row and, when a comparison is asked for, its metrics in the other window and the relative change. */
export const row = <S extends z.ZodRawShape>(own: S) =>
  z.object({
    ...own,
    comparison: z.record(z.string(), z.number()).optional().describe('The same metrics of the window compared with.'),
    change: z.record(z.string(), z.number()).optional().describe('Relative: 0.5 is half as many again.'),
  })

/** A row with the metrics of whichever audience is asked about. */
export const metricsRow = <S extends z.ZodRawShape>(own: S) =>
  row({ ...own, ...metricShapes([...METRICS.human, ...METRICS.agent]) })

/** A dimension's value in a row. */
const Value = z.union([z.string(), z.number(), z.boolean()])
export const metricsRows = z.array(metricsRow({ value: Value.optional().describe('Absent: the hits that have none.') }))

export const DimensionName = z
  .string()
  .transform((name) => findDimension(name, 'dimension').name)
  .describe('A dimension of the audience; GET /api/stats/dimensions lists them.')
export const Instant = z.iso.datetime()
export const Series = z.array(z.object({ t: Instant, value: z.number().optional() }))
export const Count = z.int().nonnegative()
export const Share = z.number().min(0).max(1)
