import { type Dialect, join, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { sourceRows, whereClause, withLooseReports } from './conditions.js'
import type { Dimension } from './dimensions.js'
import { dimensionColumn } from './group-by-dimension.js'
import type { Plan } from './plan.js'

export const VITALS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const
type Vital = (typeof VITALS)[number]
/** The upper bound of good, and the bound beyond which it is poor: milliseconds, `cls` without a unit (web.dev). */
const THRESHOLDS: Record<Vital, readonly [good: number, poor: number]> = {
  lcp: [2500, 4000],
  cls: [0.1, 0.25],
  inp: [200, 500],
  fcp: [1800, 3000],
  ttfb: [800, 1800],
}
export const RATINGS = ['good', 'needs-improvement', 'poor'] as const

const QUANTILES = { p50: 0.5, p75: 0.75, p95: 0.95 }
const FIGURES = [...Object.keys(QUANTILES), 'samples']
/** Each figure of each vital is a column of its own, so that it is compared like any metric. */
export const VITAL_METRICS = VITALS.flatMap((vital) => FIGURES.map((figure) => `${vital}_${figure}`))

/** Selects the hits with a measurement: `value` (of the dimension, or 0) and each vital. */
export const vitalSamples = (plan: Plan, dimension?: Dimension): Sql => {
  const own = VITALS.map((vital) => raw(vital))
  const some = VITALS.map((vital) => raw(`${vital} is not null`))
  return sql`
    select ${dimension ? dimensionColumn(dimension, plan) : raw('0')} as value, ${join(own, ', ')}
    from ${sourceRows('events', plan, plan.filters, dimension, withLooseReports(plan))} as e
    where ${whereClause(plan)} and (${join(some, ' or ')})`
}

/**
 * Selects `value, hits` and the figures of each vital from `vitalSamples`. Rounded, because interpolation gives values
 * like 4699.999999999999.
 */
export const vitalFigures = (from: Sql, dialect: Dialect): Sql => {
  const ps = Object.values(QUANTILES)
  const taken = VITALS.map((vital) => {
    const own = raw(vital)
    return sql`${dialect.quantiles(own, ps)} as ${own}_at, count(${own}) as ${own}_samples`
  })
  const named = VITALS.flatMap((vital) => [
    ...Object.keys(QUANTILES).map((p, i) => raw(`round(${vital}_at[${i + 1}], 6) as ${vital}_${p}`)),
    raw(`${vital}_samples`),
  ])
  return sql`
    select value, hits, ${join(named, ', ')}
    from (select value, count(*) as hits, ${join(taken, ', ')} from (${from}) m group by value) f`
}

/** Groups a row of figures, with its comparison, by vital. Each vital that was measured is rated by its p75. */
export function groupByVital({ comparison, change, ...own }: ResultRow): ResultRow {
  const measured = measuredVitals(own)
  const rated = Object.entries(figuresOf(own, measured)).map(([vital, of]) => [
    vital,
    { ...of, rating: rate(vital, of.p75) },
  ])
  return {
    ...Object.fromEntries(rated),
    ...(comparison === undefined ? {} : { comparison: figuresOf(comparison, measuredVitals(comparison)) }),
    ...(change === undefined ? {} : { change: figuresOf(change, measured) }),
  }
}

const measuredVitals = (row: unknown): Vital[] => {
  const values = new Map(Object.entries(Object(row)))
  return VITALS.filter((vital) => Number(values.get(`${vital}_samples`) ?? 0) > 0)
}

/** The figures of these vitals; a vital without figures is left out. */
function figuresOf(row: unknown, vitals: readonly Vital[]): Record<string, Record<string, number>> {
  const values = new Map(Object.entries(Object(row)))
  return Object.fromEntries(
    vitals.flatMap((vital) => {
      const of = FIGURES.flatMap((figure) => {
        const value = values.get(`${vital}_${figure}`)
        return typeof value === 'number' ? [[figure, value] as const] : []
      })
      return of.length === 0 ? [] : [[vital, Object.fromEntries(of)]]
    }),
  )
}

function rate(vital: string, p75 = 0): (typeof RATINGS)[number] {
  const name = VITALS.find((each) => each === vital)
  const [good, poor] = name ? THRESHOLDS[name] : [Infinity, Infinity]
  return p75 <= good ? 'good' : p75 <= poor ? 'needs-improvement' : 'poor'
}
