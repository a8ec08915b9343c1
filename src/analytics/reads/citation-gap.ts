import { z } from 'zod'
import { filterBlocked } from '../query/blocked-urls.js'
import { ARRIVALS_ARE_A_LOWER_BOUND, CITATION_VERDICTS, citationVerdicts } from '../query/citations.js'
import { defineRead } from '../query/read.js'
import { Arrivals, comparableRow, Operator, PageReads, Ratio } from './shapes.js'

/** GET /api/citation-gap: fetches for answers and arrivals from assistants, per URL. */
export default defineRead({
  path: '/api/citation-gap',
  summary: 'Per URL: fetches for answers, arrivals from assistants, ratio, verdict',
  params: { operator: Operator },
  list: true,
  audience: { only: 'all', mixesAudiences: true },
  data: z.array(
    comparableRow({
      hostname: z.string(),
      pathname: z.string(),
      fetches: PageReads,
      arrivals: Arrivals,
      ratio: Ratio,
      verdict: z
        .enum(CITATION_VERDICTS)
        .describe(
          "The first that applies; ratios are compared with the site's median. `twin`: the Markdown form of a page that was read.",
        ),
    }),
  ),
  run: async (context, { operator }) => {
    const judged = citationVerdicts(context, { assistants: context.assistants, operator })
    const page = await context.list(
      {
        key: ['hostname', 'pathname'],
        order: ['fetches desc', 'arrivals desc'],
        metrics: ['fetches', 'arrivals', 'ratio'],
      },
      judged,
    )
    const blocked = await context.blockedUrls(operator)
    const urls = page.map((url) => ({ hostname: String(url.hostname), pathname: String(url.pathname), url }))
    const shut = new Set(blocked ? (await filterBlocked(blocked, urls)).map(({ url }) => url) : [])
    context.warn(ARRIVALS_ARE_A_LOWER_BOUND)
    return { data: page.map((url) => (shut.has(url) ? { ...url, verdict: 'blocked' } : url)), rows: page.length }
  },
})
