import { z } from 'zod'
import { editionCounts, LASTMOD_VERDICTS, rereads } from '../../query/editions.js'
import { defineRead } from '../../query/read.js'
import { sitemapRows } from '../../query/sitemap-rows.js'
import { SAMPLED_PAGES_ONLY } from '../editions.js'
import { Count } from '../shapes.js'

const MAX_AGENTS = 50

/** GET /api/editions/summary: changes of pages, dates of sitemaps, and how soon agents read changed pages again. */
export default defineRead({
  path: '/api/editions/summary',
  summary: 'Changed pages, dates of sitemaps held against changes, and how soon each agent re-reads a changed page',
  params: {},
  compare: 'none',
  audience: { only: 'all', mixesAudiences: true },
  data: z.object({
    pages: Count.describe('Sampled pages.'),
    changed: Count.describe('Pages with a new edition in the window.'),
    varying: Count.describe('Pages whose text differs in each sample.'),
    lastmod: z
      .record(z.enum(LASTMOD_VERDICTS), Count)
      .describe('Pages by how the date of the sitemap agrees with their samples; those without a date are left out.'),
    agents: z
      .array(
        z.object({
          agent_id: z.string(),
          name: z.string(),
          operator: z.string().optional(),
          changes: Count.describe('New editions in the window of pages that the agent had read before.'),
          reread: Count.describe('Those that it has read while they were present.'),
          delay: z
            .number()
            .nonnegative()
            .optional()
            .describe('Median seconds from the first sample of these to its first read. Absent without any.'),
        }),
      )
      .describe('Search and assistant agents of operators that send people; those with most changes first.'),
  }),
  run: async (context) => {
    const { plan, assistants } = context
    const [counts = {}] = await context.rows(editionCounts(plan, await sitemapRows(context, plan)))
    const agents = (await context.rows(rereads(plan, assistants, MAX_AGENTS))).map(
      ({ agent_id, operator, changes, reread, delay }) => ({
        ...{ agent_id, name: context.agentNames(String(agent_id)).name },
        ...(operator === undefined ? {} : { operator }),
        ...{ changes, reread },
        ...(typeof delay === 'number' ? { delay: delay / 1_000 } : {}),
      }),
    )
    context.warn(SAMPLED_PAGES_ONLY)
    const { pages = 0, changed = 0, varying = 0 } = counts
    const lastmod = Object.fromEntries(LASTMOD_VERDICTS.map((verdict) => [verdict, counts[verdict] ?? 0]))
    return { data: { pages, changed, varying, lastmod, agents }, rows: agents.length }
  },
})
