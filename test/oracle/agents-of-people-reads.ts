import type { Rows } from '../../src/storage/rows.js'
import { expectSteps } from './chain-reads.js'
import { type AnswerRow, withComparison } from './compare.js'
import type { ExpectedAnswer, ExpectedRead, QuestionOptions } from './expected-reads.js'
import { recount } from './recount.js'
import { type Question, siteView } from './site-rows.js'

/** The answers of people's reads for agents: fetches by user agent and by method, and the names of funnels. */

const METRICS = [
  ...['fetches', 'pageviews', 'agents', 'verified', 'verified_fetches'],
  ...['spoofed', 'indeterminate', 'unverifiable', 'bytes'],
]
/** Reads whose `data` is a list, and that have nothing for agents. */
const EMPTY_LISTS = ['sessions', 'visitors', 'goals', 'errors']

/** Returns the answer of a people's read about agents. */
export function expectOfAgents(
  { path }: ExpectedRead,
  rows: Rows,
  now: Question,
  then: Question | undefined,
  more: QuestionOptions,
): ExpectedAnswer {
  const { funnels = [], pick } = more
  const by = (dimension: string, name: string, fixed: AnswerRow, only?: string): AnswerRow[] => {
    const of = (q: Question) =>
      recount(rows, q)
        .breakdown(dimension)
        .filter(({ key }) => only === undefined || key === only)
        .map(({ key, metrics }): AnswerRow => ({ [name]: key, ...fixed, ...metrics }))
    return withComparison(of(now), then && of(then), [name], METRICS)
  }
  if (path === 'journeys/steps') return expectSteps(siteView(rows, now), pick)
  if (path === 'devices') return { params: 'limit=1000', data: { user_agents: by('user_agent', 'user_agent', {}) } }
  if (path === 'events') {
    const only = [undefined, 'GET', 'POST', 'nothing'][pick % 4]
    const all = by('method', 'name', { kind: 'fetch' }, only)
    return { params: `limit=1000${only === undefined ? '' : `&name=${only}`}`, data: all, total: all.length }
  }
  if (path === 'funnel/{id}') {
    const asked = funnels[pick % funnels.length]
    if (!asked) return { params: '', data: 'not_found', pathWords: { id: '99' } }
    return { params: '', data: { id: asked.id, name: asked.name }, pathWords: { id: String(asked.id) } }
  }
  return { params: '', data: EMPTY_LISTS.includes(path) ? [] : {} }
}
