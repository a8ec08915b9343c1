import { z } from 'zod'
import { topCombinations } from '../../query/breakdown.js'
import { PAGING_SHAPE } from '../../query/envelope.js'
import { METRICS } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { metricsRow } from '../shapes.js'

const placeShape = (what: string) => z.string().optional().describe(`${what}. Absent: unknown.`)
const country = placeShape('ISO 3166-1 alpha-2')

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
      .describe('People only.'),
    cities: z
      .array(metricsRow({ country, region: placeShape('Region'), city: placeShape('City') }))
      .optional()
      .describe('People only.'),
  }),
  run: async (context, { limit }) => {
    context.meaningful(METRICS.human)
    const countries = await topCombinations(context, ['country'], limit)
    if (context.plan.audience !== 'human') {
      const message = 'Absent, because agents are located by country only.'
      for (const metric of ['regions', 'cities']) context.warn({ metric, code: 'not_for_audience', message })
      return { data: { countries }, rows: countries.length }
    }
    const regions = await topCombinations(context, ['country', 'region'], limit)
    const cities = await topCombinations(context, ['country', 'region', 'city'], limit)
    return { data: { countries, regions, cities }, rows: countries.length + regions.length + cities.length }
  },
})
