import { z } from 'zod'
import { blankPages, PAGE_PROBLEMS, refusedAgents } from '../query/blank-pages.js'
import { columnsMatch } from '../query/key-match.js'
import { defineRead } from '../query/read.js'
import { Count, Fetches, groupByUrl, Instant } from './shapes.js'

const URL_KEY = ['hostname', 'pathname']
const Length = Count.describe('Characters of the text without white space.')
const Line = z.string().optional().describe('The first line of the text.')

/** GET /api/blank-pages: pages that programs find empty, refused or replaced by a notice, by the readers at stake. */
export default defineRead({
  path: '/api/blank-pages',
  summary: 'Pages that are empty without scripts, that say "not found" with status 200, or that refuse agents only',
  params: {},
  list: true,
  audience: { only: 'all', mixesAudiences: true },
  data: z.array(
    z.object({
      hostname: z.string(),
      pathname: z.string(),
      problems: z
        .array(z.enum(PAGE_PROBLEMS))
        .describe(
          '`empty_shell`: the served HTML has hardly any text, the browser shows five times as much; `written_by_scripts`: the browser shows twice as much; `not_found`, `consent`, `challenge`: a short page that says so with status 200; `agents_refused`: agents get 401, 402, 403 or 451, people the page.',
        ),
      readers: Count.describe('Visits in the window that began on the page after a search engine or an AI assistant.'),
      views: Count.describe('Pageviews by people in the window that were delivered.'),
      fetches: Fetches,
      refusals: Count.describe('Fetches in the window that ended 401, 402, 403 or 451 and that no rule refused.'),
      refused: z.array(z.object({ agent_id: z.string(), name: z.string(), refusals: Count })),
      served: z
        .object({
          seen: Instant.describe('The last sample of a response.'),
          text_length: Length,
          headings: Count,
          links: Count,
          lang: z.string().optional(),
          canonical: z.string().optional().describe('As written in the page.'),
          title: z.string().optional(),
          first_line: Line,
        })
        .optional()
        .describe('The HTML as served. Absent: no response was sampled, as for imported and shipped rows.'),
      living: z
        .object({ seen: Instant, text_length: Length, headings: Count, links: Count, first_line: Line })
        .optional()
        .describe(
          'The document that the tracker described after its scripts ran. Absent: no tracker, or more than 3,000 elements.',
        ),
    }),
  ),
  run: async (context) => {
    const page = await context.list(
      {
        key: URL_KEY,
        order: ['readers desc', 'views desc', 'fetches desc'],
        metrics: ['readers', 'fetches'],
        compare: false,
      },
      blankPages,
    )
    if (page.length === 0) return { data: [], rows: 0 }
    const refused = groupByUrl(
      await context.rows(refusedAgents(context.plan, columnsMatch(URL_KEY, page))),
      ({ agent_id, refusals }) => ({ agent_id, name: context.agentNames(String(agent_id)).name, refusals }),
    )
    const data = page.map((row) => ({
      hostname: row.hostname,
      pathname: row.pathname,
      problems: PAGE_PROBLEMS.filter((problem) => Number(row[problem]) === 1),
      ...{ readers: row.readers, views: row.views, fetches: row.fetches, refusals: row.refusals },
      refused: refused(row),
      ...describe('served', row.last_seen, {
        ...{ text_length: row.text_length, headings: row.headings, links: row.links },
        ...{ lang: row.lang, canonical: row.canonical, title: row.title, first_line: row.first_line },
      }),
      ...describe('living', row.living_seen, {
        ...{ text_length: row.living_text_length, headings: row.living_headings, links: row.living_links },
        first_line: row.living_line,
      }),
    }))
    return { data, rows: data.length }
  },
})

/** One side of a page, without what is not known of it; nothing if it was never seen. */
const describe = (name: 'served' | 'living', seen: unknown, facts: Readonly<Record<string, unknown>>) => {
  if (!(seen instanceof Date)) return {}
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null && value !== '')
  return { [name]: { seen: seen.toISOString(), ...Object.fromEntries(known) } }
}
