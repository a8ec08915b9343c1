import { z } from 'zod'
import { AUDIENCES, audiencesWith, DIMENSIONS, findDimension } from '../../query/dimensions.js'
import { RANGES } from '../../query/envelope.js'
import { METRIC_INFO, METRICS } from '../../query/metrics.js'
import { OPERATORS, supportsOperator } from '../../query/operators.js'
import { defineStaticRead } from '../../query/read.js'
import { GRANULARITIES } from '../../sql.js'

const Audiences = z.array(z.enum(AUDIENCES))
const shape = z.object({
  dimensions: z.array(
    z.object({
      name: z.string(),
      type: z.enum(['text', 'number', 'boolean', 'flag']).describe('A flag is 0 or 1.'),
      level: z
        .enum(['row', 'session'])
        .describe("A hit's own, or its session's, the same on all of the session's hits."),
      audiences: Audiences,
      operators: z.array(z.string()),
      aliases: z.array(z.string()).describe('Names that are taken too.'),
    }),
  ),
  operators: z.array(z.object({ name: z.string(), negative: z.boolean(), aliases: z.array(z.string()) })),
  groups: z.array(z.string()),
  metrics: z.array(z.object({ name: z.string(), audiences: Audiences, type: z.string(), meaning: z.string() })),
  audiences: Audiences,
  ranges: z.array(z.enum(RANGES)),
  granularities: z.array(z.enum(GRANULARITIES)),
})

const dimensions = [...DIMENSIONS, findDimension('prop:<key>', 'dimension')].map((d) => ({
  name: d.name,
  type: d.type,
  level: d.level,
  audiences: audiencesWith(d),
  operators: OPERATORS.filter((o) => supportsOperator(o, d)).map((o) => o.name),
  aliases: d.name.startsWith('prop:') ? ['props:<key>', 'event:props:<key>'] : [...d.aliases],
}))

const metrics = Object.entries(METRIC_INFO).map(([name, { type, meaning }]) => ({
  name,
  audiences: AUDIENCES.filter((audience) => METRICS[audience].some((metric) => metric === name)),
  type,
  meaning,
}))

/** GET /api/stats/dimensions (contract 4): what can be asked, for a machine to read; drawn from the tables that answer. */
export default defineStaticRead(
  { path: '/api/stats/dimensions', summary: 'Dimensions, operators, metrics and audiences', data: shape },
  {
    data: {
      dimensions,
      operators: OPERATORS.map(({ name, negative, aliases }) => ({ name, negative, aliases: [...aliases] })),
      groups: ['and', 'or', 'not', 'has_done', 'has_not_done'],
      metrics,
      audiences: [...AUDIENCES],
      ranges: [...RANGES],
      granularities: [...GRANULARITIES],
    },
    rows: dimensions.length,
  },
)
