import { z } from 'zod'
import type { ResultRow } from '../../storage/store.js'
import { blankPages, PAGE_PROBLEMS, refusedAgents } from '../query/blank-pages.js'
import { columnsMatch } from '../query/key-match.js'
import { defineRead } from '../query/read.js'
import { Count, Fetches, groupByUrl, Instant } from './shapes.js'

const URL_KEY = ['hostname', 'pathname']
/** Orders the pages that only say "not found" after those that people read in full. */
const ONLY_NOT_FOUND = `${PAGE_PROBLEMS.filter((name) => name !== 'not_found').join(' + ')} = 0`
/** A page as one kind of client got it. */
const Document = z.object({
  seen: Instant.describe('The last time that it was seen.'),
  text_length: Count.describe('Characters of the text without white space.'),
  headings: Count,
  links: Count,
  first_line: z.string().optional().describe('The first line of the text.'),
})

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
          '`empty_shell`: the served HTML has hardly any text, the browser shows five times as much; `written_by_scripts`: the browser shows twice as much; `not_found`, `consent`, `challenge`: a short page that says so with status 200; `other_text`: agents get another text than people, three times in turn; `agents_refused`: agents get 401, 402, 403 or 451, people the page; without `served` these people may be signed in.',
        ),
      readers: Count.describe('Visits in the window that began on the page after a search engine or an AI assistant.'),
      views: Count.describe('Pageviews by people in the window that were delivered.'),
      fetches: Fetches,
      refusals: Count.describe('Fetches in the window that ended 401, 402, 403 or 451 and that no rule refused.'),
      refused: z.array(z.object({ agent_id: z.string(), name: z.string(), refusals: Count })),
      served: Document.extend({
        lang: z.string().optional(),
        canonical: z.string().optional().describe('As written in the page.'),
        title: z.string().optional(),
      })
        .optional()
        .describe('The HTML as served. Absent: no response was sampled, as for imported and shipped rows.'),
      living: Document.optional().describe(
        'The document that the tracker described after its scripts ran. Absent: no tracker, or more than 3,000 elements.',
      ),
      served_to_agents: Document.optional().describe('For `other_text`: the HTML as agents get it.'),
    }),
  ),
  run: async (context) => {
    const page = await context.list(
      {
        key: URL_KEY,
        order: [ONLY_NOT_FOUND, 'readers desc', 'views desc', 'fetches desc'],
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
      ...describe('served', row, '', [row.last_seen, row.first_line], {
        ...{ lang: row.lang, canonical: row.canonical, title: row.title },
      }),
      ...describe('living', row, 'living_', [row.living_seen, row.living_line]),
      ...(row.other_text === 1 && describe('served_to_agents', row, 'agent_', [row.agent_seen, row.agent_line])),
    }))
    return { data, rows: data.length }
  },
})

/** Returns a page as one kind of client got it, without what is not known; nothing if it was never seen. */
function describe(name: string, row: ResultRow, prefix: string, [seen, first_line]: unknown[], more: ResultRow = {}) {
  if (!(seen instanceof Date)) return {}
  const numbers = ['text_length', 'headings', 'links'].map((fact) => [fact, row[prefix + fact]])
  const known = Object.entries({ ...more, first_line }).filter(([, text]) => typeof text === 'string' && text !== '')
  return { [name]: { seen: seen.toISOString(), ...Object.fromEntries([...numbers, ...known]) } }
}
