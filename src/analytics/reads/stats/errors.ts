import { z } from 'zod'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { bucketKey, listBuckets } from '../../query/buckets.js'
import { sourceRows, whereClause, withLooseReports } from '../../query/conditions.js'
import { keyMatches } from '../../query/key-match.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import type { ReadContext } from '../../query/read-context.js'
import { Count, comparableRow, formatInstants, Instant } from '../shapes.js'

const METRICS = ['count', 'visitors', 'sessions'] as const
/** Points of a sparkline: enough for a month of days. */
const MAX_SPARKLINE_POINTS = 31

/** GET /api/stats/errors: JavaScript errors, grouped by fingerprint. */
export default defineRead({
  path: '/api/stats/errors',
  summary: 'Errors by fingerprint, with a sparkline',
  params: {},
  list: true,
  audience: peopleOnly('/api/agents/breakdown?dimension=status'),
  data: z.array(
    comparableRow({
      fingerprint: z.string().describe('The same for one type, normalised message and top frame.'),
      message: z.string().describe('From the latest occurrence.'),
      type: z.string(),
      frame: z
        .string()
        .optional()
        .describe('The top of the stack at the latest occurrence; absent if the browser sent none.'),
      count: Count,
      visitors: Count.describe('Distinct visitors with this error.'),
      sessions: Count.describe('Distinct sessions with this error.'),
      first_seen: Instant.describe('In the window, like `last_seen`.'),
      last_seen: Instant,
      pathname: z.string().describe('The page with the most occurrences.'),
      sparkline: z
        .array(Count.nullable())
        .describe(
          `Its count over the window, in buckets of \`granularity\`, joined to at most ${MAX_SPARKLINE_POINTS} points; null for a point in which nothing was recorded.`,
        ),
    }),
  ),
  run: async (context) => {
    const page = await context.list(
      { key: 'fingerprint', order: ['count desc', 'visitors desc'], metrics: METRICS },
      (plan) => errorRows(plan),
    )
    if (page.length === 0) return { data: [], rows: 0 }
    const where = await topPages(context, page)
    const lines = await sparklines(context, page)
    const data = page.map((error) => ({
      ...formatInstants(error),
      pathname: where.get(error.fingerprint),
      sparkline: lines(error.fingerprint),
    }))
    return { data, rows: data.length }
  },
})

/** Selects the errors in the window: `fingerprint, type, message, frame` and columns of the hit. */
const errorHits = (plan: Plan): Sql => {
  const of = (key: 'fingerprint' | 'type' | 'message' | 'frame') =>
    sql`${plan.dialect.jsonText(raw('error'), key)} as ${raw(key)}`
  return sql`
    select ${of('fingerprint')}, ${of('type')}, ${of('message')}, ${of('frame')}, timestamp, visitor_id, session_id, pathname
    from ${sourceRows('events', plan, plan.filters, undefined, withLooseReports(plan))} as e
    where ${whereClause(plan)} and kind = 'error' and error is not null`
}

const errorRows = (plan: Plan): Sql => {
  const last = plan.dialect.lastBy(plan.dialect.tuple([raw('message'), raw('frame')]), raw('(timestamp, message)'))
  const of = (position: number) => plan.dialect.tupleMember(raw('last_thrown'), position)
  return sql`
    select fingerprint, type, ${of(1)} as message, ${of(2)} as frame, count, visitors, sessions, first_seen, last_seen
    from (
      select fingerprint, max(type) as type, ${last} as last_thrown, count(*) as count,
        count(distinct visitor_id) as visitors, count(distinct session_id) as sessions, min(timestamp) as first_seen,
        max(timestamp) as last_seen
      from (${errorHits(plan)}) t group by fingerprint) g`
}

/** The path at which each of these errors occurred most; of equals the first by name. */
async function topPages({ plan, rows: query }: ReadContext, page: readonly ResultRow[]) {
  const pathnames = await query(sql`
    select fingerprint, pathname from (
      select fingerprint, pathname,
        row_number() over (partition by fingerprint order by count(*) desc, pathname) as nth
      from (${errorHits(plan)}) t where ${keyMatches(['fingerprint'], page)} group by fingerprint, pathname) p
    where nth = 1`)
  return new Map(pathnames.map(({ fingerprint, pathname }) => [fingerprint, pathname]))
}

/** The counts over the window of each of these errors, by fingerprint. */
async function sparklines(context: ReadContext, page: readonly ResultRow[]) {
  const { plan } = context
  const { window, tz, granularity } = plan
  const times = listBuckets(window, tz, granularity)
  const together = Math.ceil(times.length / MAX_SPARKLINE_POINTS)
  const points = new Map(times.map(({ key }, i) => [key, Math.floor(i / together)]))
  const empty: (number | null)[] = Array.from({ length: Math.ceil(times.length / together) }, () => null)
  context.recordedBuckets(times, window, tz, granularity).forEach((part, i) => {
    if (part !== 'none') empty[Math.floor(i / together)] = 0
  })
  const rows = await context.rows(sql`
    select fingerprint, ${bucketKey(raw('timestamp'), window, tz, granularity, plan.dialect)} as bucket, count(*) as n
    from (${errorHits(plan)}) t where ${keyMatches(['fingerprint'], page)} group by fingerprint, bucket`)
  const lines = new Map<unknown, (number | null)[]>()
  for (const { fingerprint, bucket, n } of rows) {
    const line = lines.get(fingerprint) ?? [...empty]
    lines.set(fingerprint, line)
    const point = points.get(Number(bucket))
    if (point !== undefined) line[point] = (line[point] ?? 0) + Number(n)
  }
  return (fingerprint: unknown) => lines.get(fingerprint) ?? []
}
