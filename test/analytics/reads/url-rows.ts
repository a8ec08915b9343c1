import t from 'tap'
import { listAgents, loadCatalog } from '../../../src/agents/catalog.js'
import { type ReadDependencies, runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import { ASSISTANT_NAMES } from '../../../src/base/assistants.js'
import type { Rows } from '../../../src/storage/rows.js'
import { join, sql } from '../../../src/storage/sql.js'
import { openStore } from '../../fixtures/open-store.js'

/** Small sites, counted by hand; test/oracle/url-reads.test.ts recounts a large one. */
const NOW = new Date('2026-11-20T12:00:00Z')
export const day = (n: number, hour = 0) => new Date(Date.UTC(2026, 9, 1 + n, hour))
/** Two windows of 30 days end here; rows of `BEFORE` are in the earlier one. */
const WINDOW = 'site=1&start=2026-10-21T00:00:00Z&end=2026-11-20T00:00:00Z'
export const IN = day(30)
export const BEFORE = day(5)

export const common: Omit<ReadDependencies, 'store'> = {
  now: () => NOW,
  site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: (hostname) => hostname === 'example.com' }),
  segment: async () => undefined,
  catalog: listAgents(loadCatalog()),
  assistants: ASSISTANT_NAMES,
}
export async function asker(
  rows: Rows,
  given: Partial<ReadDependencies> = {},
  sitemap: readonly (readonly [string, string])[] = [],
) {
  const store = await openStore(t)
  await store.append(rows)
  const urls = sitemap.map(([hostname, pathname]) => sql`(${hostname}, ${pathname}, null)`)
  if (urls.length > 0) await store.query(sql`insert into sitemap_urls values ${join(urls, ', ')}`)
  return async (path: string, more = '') => {
    const read = reads.find((each) => each.path === `/api/${path}`)
    if (!read) throw new Error(path)
    const answer = await runRead(read, new URLSearchParams(`${WINDOW}&${more}`), { ...common, store, ...given })
    const parsed = read.data.safeParse(answer.data)
    t.ok(parsed.success, `${path} has the shape it declares ${parsed.error ?? ''}`)
    return answer
  }
}
export const times = <R>(n: number, row: (i: number) => R): R[] => Array.from({ length: n }, (_, i) => row(i))
export const proven = { verified: true, verification: 'ranges' }
export const spoofed = { verified: false, verification: 'spoofed' }
export const user = { agent_id: 'chatgpt-user', operator: 'OpenAI', purpose: 'assistant' }
export const search = { agent_id: 'bingbot', operator: 'Microsoft', purpose: 'search' }
export const all = (...worlds: Partial<Rows>[]): Rows => ({
  events: worlds.flatMap(({ events = [] }) => events),
  agent_events: worlds.flatMap(({ agent_events = [] }) => agent_events),
})

/** Replaces parts of the row with this path; does nothing if there is no such row. */
export const rowsWith = (data: unknown, wanted: { pathname: string; [name: string]: unknown }): unknown[] =>
  (Array.isArray(data) ? data : []).some((row) => row.pathname === wanted.pathname)
    ? (Array.isArray(data) ? data : []).map((row) => (row.pathname === wanted.pathname ? wanted : {}))
    : ['there is no such row', wanted]
