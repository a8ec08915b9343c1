import { z } from 'zod'
import { listColumnNames } from '../storage/columns.js'
import { foldCase, isIn, join, raw, type Sql, sql } from '../storage/sql.js'
import type { Store } from '../storage/store.js'
import type { TailRow } from '../worker-client/protocol.js'
import type { WorkerClient } from '../worker-client/worker-client.js'
import { createRowStream, omitNull, type TailSource } from './row-stream.js'

/** The query of `/control/tail`. */
export const TailQuery = z.object({
  /** Number of recent rows before the live ones. */
  n: z.coerce.number().int().min(0).max(10_000).default(50),
  audience: z.enum(['human', 'agent', 'all']).default('all'),
  /** An agent's id or operator, in any case. Leaves out people. */
  agent: z.string().min(1).optional(),
  /** Prefix of the path. */
  path: z.string().min(1).optional(),
  /** `1`: only fetches that robots.txt disallowed at the time. */
  violations: z.enum(['0', '1']).default('0'),
  /** `0`: recent rows only. */
  follow: z.enum(['0', '1']).default('1'),
})
export type TailQuery = z.infer<typeof TailQuery>

/** Streams rows as NDJSON: the recent ones of `sites`, then each row as it is committed, until the reader disconnects. */
export const createTailStream = (
  workerClient: Pick<WorkerClient, 'events'> & TailSource,
  query: TailQuery,
  sites: readonly number[],
): ReadableStream<Uint8Array> =>
  createRowStream({
    workerClient,
    readRecent: async () => (query.n === 0 ? [] : recentRows(workerClient.events, query, sites)),
    matches: (row) => matchesTailQuery(query, row),
    format: formatLine,
    formatMissed: (missed) => formatLine({ missed }),
    follow: query.follow === '1',
  })

const formatLine = (value: unknown): string => `${JSON.stringify(value, omitNull)}\n`

const matchesTailQuery = (query: TailQuery, row: TailRow): boolean => {
  if (query.audience !== 'all' && query.audience !== row.audience) return false
  if (query.path !== undefined && !row.pathname.startsWith(query.path)) return false
  if (query.violations === '1' && (row.audience !== 'agent' || row.robots_allowed !== false)) return false
  if (query.agent === undefined) return true
  const agent = foldCase(query.agent)
  return row.audience === 'agent' && [row.agent_id, row.operator].some((name) => foldCase(name) === agent)
}

/** Reads the last rows of these sites, oldest first, with the filters of `matchesTailQuery` in SQL. */
async function recentRows(events: Pick<Store, 'query' | 'dialect'>, query: TailQuery, sites: readonly number[]) {
  const { path, n, agent } = query
  const { dialect } = events
  const violations = query.violations === '1'
  const lastRows = (table: 'events' | 'agent_events', audience: 'human' | 'agent', conditions: readonly Sql[]) => {
    const ofPath = path === undefined ? [] : [dialect.startsWith(raw('pathname'), sql`${path}`)]
    return sql`
    select ${audience} as audience, ${raw(listColumnNames(table).join(', '))} from ${raw(table)}
    where ${join([isIn(raw('site_id'), sites), ...conditions, ...ofPath], ' and ')}
    order by timestamp desc limit ${n}`
  }
  const isAgent = (name: string) => sql`${dialect.lower(raw(name))} = ${foldCase(agent ?? '')}`
  const queries: Sql[] = []
  if (query.audience !== 'agent' && agent === undefined && !violations) queries.push(lastRows('events', 'human', []))
  if (query.audience !== 'human')
    queries.push(
      lastRows('agent_events', 'agent', [
        ...(violations ? [raw('not robots_allowed')] : []),
        ...(agent === undefined ? [] : [sql`(${isAgent('agent_id')} or ${isAgent('operator')})`]),
      ]),
    )
  const rows = (await Promise.all(queries.map((statement) => events.query(statement)))).flat()
  return rows.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp)).slice(-n)
}
