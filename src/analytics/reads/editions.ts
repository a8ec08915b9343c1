import { z } from 'zod'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { ARRIVALS_ARE_A_LOWER_BOUND } from '../query/citations.js'
import {
  arrivalsByOperator,
  editionRows,
  FOR_PEOPLE,
  LASTMOD_VERDICTS,
  lastReads,
  readingAgents,
} from '../query/editions.js'
import { columnsMatch } from '../query/key-match.js'
import { defineRead } from '../query/read.js'
import type { ReadContext } from '../query/read-context.js'
import { sitemapRows } from '../query/sitemap-rows.js'
import { Count, Instant, urlKey } from './shapes.js'

const URL_KEY = ['hostname', 'pathname']
/** Agents whose editions are shown: the most active of the window. */
const MAX_AGENTS = 30

const State = z
  .enum(['current', 'old', 'never', 'unknown'])
  .describe(
    'From the last read with status 200 or 304. `never`: no read is stored. `unknown`: the read was before the first sample, or between the last sample of the old edition and the first of the new one.',
  )

/** GET /api/editions: which edition of each page each agent has read. */
export default defineRead({
  path: '/api/editions',
  summary: 'Per sampled page: when its text changed, which agents have read the present edition, and readers at stake',
  params: {},
  list: true,
  compare: 'none',
  audience: { only: 'all', mixesAudiences: true },
  data: z.array(
    z.object({
      hostname: z.string(),
      pathname: z.string(),
      title: z.string().optional(),
      changed_at: Instant.optional().describe(
        'The first sample of the present edition. Absent: the text is the same in all samples, or the page varies.',
      ),
      sampled_since: Instant.describe('The first sample that had the present text.'),
      sampled_at: Instant.describe('The last sample that had it.'),
      varies: z
        .literal(true)
        .optional()
        .describe('The text differed in each of several samples in a row: which edition an agent has is not known.'),
      readers: Count.describe('Sessions of people that entered here from an AI assistant in the window.'),
      at_stake: Count.describe(
        'Sessions of those from operators whose search and assistant agents have an older edition, or none.',
      ),
      lastmod: Instant.optional().describe("The date that the site's sitemaps give; absent without one."),
      lastmod_verdict: z
        .enum(LASTMOD_VERDICTS)
        .optional()
        .describe(
          '`missed`: the text changed and the date did not. `unfounded`: the date changed and the text did not. A day of difference is allowed.',
        ),
      operators: z
        .array(
          z.object({
            operator: z.string(),
            readers: Count.describe('Those of the sessions that its assistants sent.'),
            state: State,
            last_read: Instant.optional().describe('The last read by one of its search and assistant agents.'),
          }),
        )
        .describe('Operators whose assistants sent people here, by readers, for pages that do not vary.'),
      agents: z
        .array(
          z.object({
            agent_id: z.string(),
            name: z.string(),
            operator: z.string().optional(),
            state: State,
            last_read: Instant.optional(),
          }),
        )
        .describe(`The ${MAX_AGENTS} agents that read most pages in the window, for pages that do not vary.`),
    }),
  ),
  run: async (context) => {
    const sitemap = await sitemapRows(context, context.plan)
    const page = await context.list(
      {
        key: URL_KEY,
        order: ['at_stake desc', 'changed desc', 'first_seen desc'],
        metrics: ['readers', 'at_stake'],
        compare: false,
      },
      (plan) => editionRows(plan, context.assistants, sitemap),
    )
    const readersOf = await findWhoRead(context, page)
    context.warn(ARRIVALS_ARE_A_LOWER_BOUND)
    context.warn(SAMPLED_PAGES_ONLY)
    return { data: page.map((row) => toPage(row, readersOf(row))), rows: page.length }
  },
})

/** Pages without samples are not in the list, because nothing shows when their texts changed. */
export const SAMPLED_PAGES_ONLY = {
  code: 'sampled_pages_only',
  message:
    'Only pages that the proxy of this instance sampled are included: of imported and shipped rows, and with middleware, no text is known. A change counts from the first sample after it.',
} as const

const instant = (value: unknown) => (value instanceof Date ? value.toISOString() : undefined)

function toPage(row: ResultRow, { operators, agents }: ReturnType<Awaited<ReturnType<typeof findWhoRead>>>) {
  const { hostname, pathname, title, first_seen, last_seen, prior_seen, varying, lastmod, ...rest } = row
  const { readers, at_stake, lastmod_verdict } = rest
  const optional = {
    title,
    changed_at: prior_seen === undefined ? undefined : instant(first_seen),
    varies: varying === 1 ? true : undefined,
    lastmod: instant(lastmod),
    lastmod_verdict,
  }
  return {
    ...{ hostname, pathname, sampled_since: instant(first_seen), sampled_at: instant(last_seen), readers, at_stake },
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    ...(varying === 1 ? { operators: [], agents: [] } : { operators, agents }),
  }
}

/** Returns the edition that an agent or an operator has of a page, by the last read. */
function stateOf({ first_seen, prior_seen }: ResultRow, last: unknown): z.output<typeof State> {
  if (!(last instanceof Date)) return 'never'
  if (first_seen instanceof Date && last >= first_seen) return 'current'
  return prior_seen instanceof Date && last <= prior_seen ? 'old' : 'unknown'
}

/** Returns the function that lists the operators and agents of a page with the edition that each has. */
async function findWhoRead({ plan, rows, assistants, agentNames }: ReadContext, page: readonly ResultRow[]) {
  if (page.length === 0) return () => ({ operators: [], agents: [] })
  const agents = await rows(readingAgents(plan, MAX_AGENTS))
  const urls = columnsMatch(URL_KEY, page)
  const nameOf = (row: ResultRow, of: unknown) => `${urlKey(row)} ${String(of)}`
  const lastOf = async (column: 'agent_id' | 'operator', where: Sql) => {
    const found = await rows(lastReads(plan, column, sql`${urls} and ${where}`))
    return new Map(found.map((row) => [nameOf(row, row[column]), row.last_read]))
  }
  const ids = agents.map(({ agent_id }) => String(agent_id))
  const ofAgents = await lastOf('agent_id', isIn(raw('agent_id'), ids))
  const ofOperators = await lastOf('operator', FOR_PEOPLE)
  const sent = await rows(arrivalsByOperator(plan, assistants, urls))
  return (url: ResultRow) => {
    const whatHas = (last: unknown) => ({
      state: stateOf(url, last),
      ...(last instanceof Date ? { last_read: last.toISOString() } : {}),
    })
    return {
      operators: sent
        .filter((row) => typeof row.operator === 'string' && urlKey(row) === urlKey(url))
        .map(({ operator, arrivals }) => ({ operator: String(operator), readers: Number(arrivals) }))
        .sort((a, b) => b.readers - a.readers || (a.operator < b.operator ? -1 : 1))
        .map((row) => ({ ...row, ...whatHas(ofOperators.get(nameOf(url, row.operator))) })),
      agents: agents.map(({ agent_id, operator }) => ({
        ...{ agent_id: String(agent_id), name: agentNames(String(agent_id)).name },
        ...(operator === undefined ? {} : { operator }),
        ...whatHas(ofAgents.get(nameOf(url, agent_id))),
      })),
    }
  }
}
