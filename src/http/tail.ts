import { z } from 'zod'
import type { Engine } from '../engine/engine.js'
import type { TailRow } from '../engine/protocol.js'
import { join, raw, type Sql, sql } from '../sql.js'
import type { Store } from '../store.js'

/** What `/control/tail` understands. */
export const TailQuery = z.object({
  /** Recent rows before the live ones. */
  n: z.coerce.number().int().min(0).max(10_000).default(50),
  audience: z.enum(['human', 'agent', 'all']).default('all'),
  /** An agent's id or operator, in any case; people have none. */
  agent: z.string().min(1).optional(),
  /** What the path starts with. */
  path: z.string().min(1).optional(),
  /** `1`: only fetches of what robots.txt disallowed at the time. */
  violations: z.enum(['0', '1']).default('0'),
  /** `0`: the recent rows, and no live ones. */
  follow: z.enum(['0', '1']).default('1'),
})
export type TailQuery = z.infer<typeof TailQuery>

/** Lines that may wait for a slow reader; beyond it rows are left out and the reader is told how many. */
const MAX_WAITING_LINES = 2_000

/** Rows as newline-delimited JSON: the recent ones, then each as it is committed, until the reader leaves. */
export function createTailStream(
  engine: Pick<Engine, 'events' | 'tail'>,
  query: TailQuery,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let stop = () => {}
  let missed = 0
  return new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        const send = (value: unknown) => controller.enqueue(encoder.encode(`${JSON.stringify(value, omitNull)}\n`))
        const live = (row: TailRow) => {
          if (!matchesTailQuery(query, row)) return
          if ((controller.desiredSize ?? 0) <= 0) {
            missed++
            return
          }
          if (missed > 0) send({ missed })
          missed = 0
          send(row)
        }
        // Listened to from before the question, so that no row falls between the recent and the live.
        let early: TailRow[] | undefined = []
        if (query.follow === '1')
          stop = engine.tail((row) => {
            if (!early) live(row)
            else if (early.length < MAX_WAITING_LINES) early.push(row)
            else missed++
          })
        try {
          const recent = query.n === 0 ? [] : await recentRows(engine.events, query)
          for (const row of recent) send(row)
          const sent = new Set(recent.map(rowKey))
          const waiting = early.filter((row) => !sent.has(rowKey(row)))
          early = undefined
          for (const row of waiting) live(row)
        } catch (error) {
          stop()
          throw error
        }
        if (query.follow === '0') controller.close()
      },
      cancel() {
        stop()
      },
    },
    { highWaterMark: MAX_WAITING_LINES },
  )
}

/** What is not known is absent (contract 3), never null. */
const omitNull = (_: string, value: unknown): unknown => value ?? undefined

/** Two rows with the same key are one row, seen in the store and live. */
const rowKey = (row: Record<string, unknown>): string =>
  JSON.stringify([
    row.timestamp,
    row.visitor_id,
    row.ip_hash,
    row.user_agent,
    row.pathname,
    row.status,
    row.duration_ms,
  ])

const matchesTailQuery = (query: TailQuery, row: TailRow): boolean => {
  if (query.audience !== 'all' && query.audience !== row.audience) return false
  if (query.path !== undefined && !row.pathname.startsWith(query.path)) return false
  if (query.violations === '1' && (row.audience !== 'agent' || row.robots_allowed !== false)) return false
  if (query.agent === undefined) return true
  const agent = query.agent.toLowerCase()
  return row.audience === 'agent' && [row.agent_id, row.operator].some((name) => name.toLowerCase() === agent)
}

/** The last rows, oldest first: the same filters as `wanted`, in SQL. */
async function recentRows(events: Pick<Store, 'query' | 'dialect'>, query: TailQuery) {
  const { agent, path, n } = query
  const violations = query.violations === '1'
  const last = (table: Sql, audience: 'human' | 'agent', more: readonly Sql[]) => sql`
    select ${audience} as audience, * from ${table}
    where ${join([raw('true'), ...more, ...(path === undefined ? [] : [events.dialect.startsWith(raw('pathname'), sql`${path}`)])], ' and ')}
    order by timestamp desc limit ${n}`
  const asked = [
    ...(query.audience === 'agent' || agent !== undefined || violations ? [] : [last(raw('events'), 'human', [])]),
    ...(query.audience === 'human'
      ? []
      : [
          last(raw('agent_events'), 'agent', [
            ...(violations ? [raw('not robots_allowed')] : []),
            ...(agent === undefined
              ? []
              : [sql`(lower(agent_id) = ${agent.toLowerCase()} or lower(operator) = ${agent.toLowerCase()})`]),
          ]),
        ]),
  ]
  const rows = (await Promise.all(asked.map((question) => events.query(question)))).flat()
  return rows.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp)).slice(-n)
}
