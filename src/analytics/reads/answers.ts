import { z } from 'zod'
import { MINUTE_MS } from '../../base/time-units.js'
import type { ResultRow } from '../../storage/store.js'
import {
  type AnswerScope,
  answerRows,
  fetchesWithoutReferrers,
  MIN_ARRIVALS_OF_MEDIAN,
  SINGLE_DELAYS,
} from '../query/answers.js'
import { ARRIVALS_ARE_A_LOWER_BOUND } from '../query/citations.js'
import { addCountedPages } from '../query/counted-pages.js'
import { wholeNumber } from '../query/envelope.js'
import { defineRead } from '../query/read.js'
import type { ReadContext } from '../query/read-context.js'
import { Count, comparableRow, Operator, Share } from './shapes.js'

export const ANSWER_METRICS = [
  ...['fetches', 'followed', 'followed_same_page', 'arrivals', 'same_page', 'other_page'],
  ...['not_followed', 'delay', 'stay', 'goals'],
] as const

const Seconds = z.number().nonnegative()
const few = `Absent below ${MIN_ARRIVALS_OF_MEDIAN} arrivals`
/** The figures of live fetches and of the readers who followed. */
export const answerShapes = {
  fetches: Count.optional().describe(
    'Fetches of pages by agents of purpose `assistant`, without spoofed and refused ones, by operators that are known as a source.',
  ),
  followed: Count.optional().describe('Fetches that at least one reader from the same operator followed.'),
  followed_same_page: Count.optional().describe(
    'Fetches that at least one such reader followed at the page of the fetch.',
  ),
  not_followed: Share.optional().describe(
    'Share of fetches after which no reader was seen: an upper bound, because native apps send no referrer.',
  ),
  arrivals: Count.optional().describe(
    'Sessions of people from an assistant, each given to the latest fetch by its operator in the `minutes` before it: of the same page, else of any.',
  ),
  same_page: Count.optional().describe('Arrivals at the page of the fetch.'),
  other_page: Count.optional().describe('Arrivals at another page.'),
  delay: Seconds.optional().describe(`Median seconds from the fetch to the arrival. ${few}, which \`delays\` lists.`),
  delays: z.array(Seconds).optional().describe('The seconds of each arrival, shortest first, where they are few.'),
  stay: Seconds.optional().describe(
    `Median seconds from the first to the last hit of these sessions. ${few}, and through a share link without \`goals\`.`,
  ),
  goals: Count.optional().describe(
    'Goals that these sessions reached, each once a session. Absent: the site has none, or the share link lacks `goals`.',
  ),
}

const GROUPS = {
  page: ['hostname', 'pathname'],
  operator: ['operator'],
  page_operator: ['hostname', 'pathname', 'operator'],
} as const

/** The parameters of both reads about answers. */
export const answerParams = {
  operator: Operator,
  minutes: wholeNumber(60, 1)
    .default(10)
    .describe('Minutes within which a reader follows a fetch, 1 to 60; default 10.'),
}
type AnswerParams = z.output<z.ZodObject<typeof answerParams>>

/** Returns the fetches and arrivals that a request is about. */
export const answerScope = (
  { assistants, hidesVisits }: ReadContext,
  { operator, minutes }: AnswerParams,
): AnswerScope => ({
  assistants: operator === undefined ? assistants : assistants.filter((each) => each.operator === operator),
  limitMs: minutes * MINUTE_MS,
  hidesVisits,
})

/** Returns a row with its few delays as a list, and without the columns that have them. */
export function withDelays(row: ResultRow): ResultRow {
  const few = Number(row.arrivals) < MIN_ARRIVALS_OF_MEDIAN ? SINGLE_DELAYS : []
  const delays = few.flatMap((name) => (typeof row[name] === 'number' ? [row[name] / 1000] : []))
  const shown = Object.entries(row).filter(([name]) => !/^(delay|bin)_/.test(name))
  return { ...Object.fromEntries(shown), ...(delays.length > 0 ? { delays } : {}) }
}

/** Says what the counts cannot see. */
export async function warnOfAnswers(context: ReadContext, scope: AnswerScope): Promise<void> {
  context.warn(ARRIVALS_ARE_A_LOWER_BOUND)
  const [left = {}] = await context.rows(fetchesWithoutReferrers(context.plan, scope))
  const n = Number(left.n ?? 0)
  if (n === 0) return
  const message = `${n} fetches come from access logs without referrers: whether a reader followed is not known, so they are left out.`
  context.warn({ metric: 'fetches', code: 'no_referrers_in_logs', message })
}

/** GET /api/answers: live fetches by assistants, and the readers who came from the same operator soon after. */
export default defineRead({
  path: '/api/answers',
  summary: "Assistants' live fetches and the readers from the same operator who followed, per page or operator",
  params: {
    ...answerParams,
    by: z
      .enum(['page', 'operator', 'page_operator'])
      .default('page')
      .describe('Groups by the page of the fetch, by operator, or by both; default `page`.'),
  },
  list: true,
  audience: { only: 'all', mixesAudiences: true },
  data: z.array(
    comparableRow({
      hostname: z.string().optional(),
      pathname: z.string().optional(),
      operator: z.string().optional(),
      ...answerShapes,
      cited: Count.optional().describe(
        'Citations of the page in the answers of Bing and Copilot, as imported from Bing Webmaster Tools. These three are known by page alone; absent: not in an imported file.',
      ),
      search_clicks: Count.optional().describe(
        'Clicks on the page in results of Google, as imported from Search Console.',
      ),
      search_impressions: Count.optional().describe(
        'Times that results of Google showed the page, AI Overviews among them.',
      ),
    }),
  ),
  run: async (context, params) => {
    const scope = answerScope(context, params)
    const key = GROUPS[params.by]
    const rows = await context.list(
      { key, order: ['followed_same_page desc', 'followed desc', 'fetches desc'], metrics: ANSWER_METRICS },
      (plan) => answerRows(plan, scope, key),
    )
    await warnOfAnswers(context, scope)
    const data = rows.map(withDelays)
    if (params.by !== 'page') return { data, rows: rows.length }
    const counted = await addCountedPages(data, await context.countedPages(), context.plan)
    for (const warning of counted.warnings) context.warn(warning)
    return { data: counted.rows, rows: rows.length }
  },
})
