import { z } from 'zod'
import { topCombinations } from '../../query/breakdown.js'
import { PAGING_SHAPE } from '../../query/envelope.js'
import { METRICS } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import type { ReadContext } from '../../query/read-context.js'
import { metricsRow } from '../shapes.js'

const placeShape = (what: string) => z.string().optional().describe(`${what}. Absent: unknown.`)
const country = placeShape('ISO 3166-1 alpha-2')

const NO_CITY_DATA =
  'No row has a city: name a file of regions and cities with --geoip; rows before that stay without one.'
/** The most rows of a read: one for each country fits in. */
const MAX_ROWS = 1000

/** Returns the best regions or cities; none if no row has one, instead of a list of countries without them. */
async function topPlaces(context: ReadContext, place: 'region' | 'city', limit: number) {
  const names = place === 'region' ? ['country', 'region'] : ['country', 'region', 'city']
  const isNamed = (row: Readonly<Record<string, unknown>>) => row[place] !== undefined
  const top = await topCombinations(context, names, limit)
  if (top.some(isNamed)) return top
  // The best rows may be countries alone while a later one has a name.
  const all = top.length < limit ? [] : await topCombinations(context, names, MAX_ROWS)
  return all.some(isNamed) ? top : []
}

/** GET /api/stats/locations: for agents and for `all`, only countries. */
export default defineRead({
  path: '/api/stats/locations',
  summary: 'Countries, regions and cities',
  params: { limit: PAGING_SHAPE.limit },
  data: z.object({
    countries: z.array(metricsRow({ country })),
    regions: z
      .array(metricsRow({ country, region: placeShape('Region') }))
      .optional()
      .describe('People only. Empty if no row has a region.'),
    cities: z
      .array(metricsRow({ country, region: placeShape('Region'), city: placeShape('City') }))
      .optional()
      .describe('People only. Empty if no row has a city.'),
  }),
  run: async (context, { limit }) => {
    context.meaningful(METRICS.human)
    const countries = await topCombinations(context, ['country'], limit)
    if (context.plan.audience !== 'human') {
      const message = 'Absent, because agents are located by country only.'
      for (const metric of ['regions', 'cities']) context.warn({ metric, code: 'not_for_audience', message })
      return { data: { countries }, rows: countries.length }
    }
    const regions = await topPlaces(context, 'region', limit)
    const cities = await topPlaces(context, 'city', limit)
    if (cities.length === 0 && countries.length > 0)
      context.warn({ metric: 'cities', code: 'no_city_data', message: NO_CITY_DATA })
    return { data: { countries, regions, cities }, rows: countries.length + regions.length + cities.length }
  },
})
