import { z } from 'zod'
import { best } from '../../query/breakdown.js'
import { PAGING } from '../../query/envelope.js'
import { defineRead } from '../../query/read.js'
import { metricsRow } from '../shapes.js'

const place = (what: string) => z.string().optional().describe(`${what}. Absent: not known.`)
const country = place('ISO 3166-1 alpha-2')

/** GET /api/stats/locations (spec 4.2): of agents, and of both together, only the country is known. */
export default defineRead({
  path: '/api/stats/locations',
  summary: 'Countries, regions and cities',
  params: { limit: PAGING.limit },
  data: z.object({
    countries: z.array(metricsRow({ country })),
    regions: z
      .array(metricsRow({ country, region: place('Region') }))
      .optional()
      .describe('Of people alone.'),
    cities: z
      .array(metricsRow({ country, region: place('Region'), city: place('City') }))
      .optional()
      .describe('Of people alone.'),
  }),
  answer: async (ask, { limit }) => {
    const countries = await best(ask, ['country'], limit)
    if (ask.plan.audience !== 'human') return { data: { countries }, rows: countries.length }
    const regions = await best(ask, ['country', 'region'], limit)
    const cities = await best(ask, ['country', 'region', 'city'], limit)
    return { data: { countries, regions, cities }, rows: countries.length + regions.length + cities.length }
  },
})
