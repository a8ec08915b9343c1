import { z } from 'zod'
import type { Ask } from '../../query/ask.js'
import { type Blocked, blockedAmong, maybeBlocked } from '../../query/blocked.js'
import {
  ARRIVALS_ARE_A_FLOOR,
  type Citing,
  citationOperators,
  citationTotals,
  VERDICTS,
  verdicts,
} from '../../query/citations.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { raw, type Sql, sql } from '../../sql.js'
import { Arrivals, Count, Operator, Ratio, Reads, row } from '../shapes.js'

const METRICS = ['fetches', 'arrivals', 'ratio']
const OPERATORS = 1000
/** URLs that the policy may block are judged so many at a time, and at most so many times. */
const BATCH = 2000
const BATCHES = 10

/** GET /api/citation-gap/summary (spec 4.5, contract 5): the site's totals, its URLs by verdict, and each operator's share. */
export default defineRead({
  path: '/api/citation-gap/summary',
  summary: 'The citation gap of the whole site: totals, URLs by verdict, operators',
  params: { operator: Operator },
  audience: { only: 'all', either: true },
  data: row({
    ...{ fetches: Reads, arrivals: Arrivals, ratio: Ratio },
    urls: z.record(z.enum(VERDICTS), Count).describe('URLs by verdict.'),
    operators: z.array(
      row({
        operator: z.string().optional().describe('Absent: arrivals from an assistant that only its medium names.'),
        ...{ fetches: Reads, arrivals: Arrivals, ratio: Ratio },
      }),
    ),
  }),
  answer: async (ask, { operator }) => {
    const { dialect } = ask
    const of: Citing = { assistants: ask.assistants, operator }
    const totals = await ask.one(METRICS, (plan) => citationTotals(plan, dialect, of))
    const operators = await ask.list(
      { key: 'operator', order: ['fetches desc', 'arrivals desc'], metrics: METRICS, top: OPERATORS },
      (plan) => citationOperators(plan, dialect, of),
    )
    const judged = await verdicts(ask, of)
    const found = await ask.rows(sql`select verdict, count(*) as n from (${judged(ask.plan)}) v group by verdict`)
    const urls = Object.fromEntries(VERDICTS.map((verdict) => [verdict, 0]))
    for (const { verdict, n } of found) urls[String(verdict)] = Number(n)
    const blocked = await ask.blocked(operator)
    for (const verdict of blocked ? await shut(ask, blocked, judged) : []) {
      urls[verdict] = (urls[verdict] ?? 0) - 1
      urls.blocked = (urls.blocked ?? 0) + 1
    }
    ask.warn(ARRIVALS_ARE_A_FLOOR)
    return { data: { ...totals, urls, operators }, rows: operators.length }
  },
})

/** The verdicts of the URLs that the policy blocks and nothing else does. */
async function shut(ask: Ask, blocked: Blocked, judged: (plan: Plan) => Sql): Promise<string[]> {
  const found: string[] = []
  let after = raw('true')
  for (let batch = 0; batch < BATCHES; batch++) {
    const candidates = await ask.rows(sql`
      select hostname, pathname, verdict from (${judged(ask.plan)}) v
      where verdict <> 'blocked' and ${maybeBlocked(blocked, ask.dialect)} and ${after}
      order by hostname, pathname limit ${BATCH}`)
    const urls = candidates.map(({ hostname, pathname, verdict }) => ({
      ...{ hostname: String(hostname), pathname: String(pathname), verdict: String(verdict) },
    }))
    found.push(...(await blockedAmong(blocked, urls)).map(({ verdict }) => verdict))
    const last = urls.at(-1)
    if (!last || urls.length < BATCH) return found
    after = sql`(hostname, pathname) > (${last.hostname}, ${last.pathname})`
  }
  ask.warn({
    code: 'blocked_not_all_judged',
    message: `More URLs may be blocked by policy than were looked at: ${BATCH * BATCHES}, in the order of their names.`,
  })
  return found
}
