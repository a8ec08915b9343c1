import { z } from 'zod'
import { GRANULARITIES } from '../../../storage/sql.js'
import { AUDIENCES, audiencesWith, DIMENSIONS, findDimension } from '../../query/dimensions.js'
import { RANGES } from '../../query/envelope.js'
import { METRIC_INFO, METRICS } from '../../query/metrics.js'
import { OPERATORS, supportsOperator } from '../../query/operators.js'
import { defineStaticRead } from '../../query/read.js'

const Audiences = z.array(z.enum(AUDIENCES))
const shape = z.object({
  dimensions: z.array(
    z.object({
      name: z.string(),
      type: z.enum(['text', 'number', 'boolean', 'flag']).describe('A flag is 0 or 1.'),
      level: z
        .enum(['row', 'session'])
        .describe("`session`: the same on all hits of a session; `row`: each hit's own."),
      audiences: Audiences,
      operators: z.array(z.string()),
      aliases: z.array(z.string()).describe('Other names that are accepted.'),
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

/** GET /api/stats/dimensions: what a client can ask for, built from the tables that the reads use. */
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
