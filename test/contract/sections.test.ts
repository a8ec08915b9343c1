import { runRead } from '../../src/analytics/query/prepare-read.js'
import { reads } from '../../src/analytics/reads/index.js'
import type { EventStore } from '../../src/storage/event-store.js'
import { filterQuery } from '../fixtures/ask-reads.js'
import { generateRows } from '../fixtures/generated-sessions.js'
import { openStore } from '../fixtures/open-store.js'
import { checkOnClickHouse, openOn } from './on-clickhouse.js'

const SECTIONS = ['/docs/*/b', '/d*', "/it's", '/100%*', '/*"*']
const where = (op: string, value?: string) => ({ dimension: 'section', op, ...(value === undefined ? {} : { value }) })
const FILTERS = [
  ...[where('is', '/d*'), where('is_not', '/docs/*/b'), where('is_set'), where('is_not_set')],
  ...[where('matches', '^/[d1]'), where('matches_wildcard', '/**'), where('contains', '%'), where('is', '/docs/*')],
]

/** Both engines put every path into the same section. */
checkOnClickHouse((t, server) => {
  t.test('sections are the same on both engines', async (t) => {
    const rows = generateRows({ seed: 20261128, sessions: 120, agents: 120 })
    const stores = [await openStore(t), await openOn(t, server)]
    for (const store of stores) await store.append(rows)
    const ask = async (store: EventStore, path: string, query: string, sections: readonly string[]) => {
      const read = reads.find((each) => each.path === path)
      if (!read) throw new Error(path)
      const { data } = await runRead(read, new URLSearchParams(`site=1&range=12mo&limit=1000&${query}`), {
        ...{ store, now: () => new Date('2026-11-01T12:34:56.789Z'), segment: async () => undefined },
        ...{ catalog: [], assistants: [] },
        site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true, sections }),
      })
      return JSON.stringify(data, (_, each) => (typeof each === 'number' ? Number(each.toPrecision(10)) : each))
    }
    // The second time from aggregates, in which more than 50 sections take two numbers.
    for (const more of [[], Array.from({ length: 50 }, (_, i) => `/docs/${i}`)]) {
      for (const audience of ['human', 'agent', 'all'])
        for (const filters of [
          '',
          ...FILTERS.slice(0, more.length > 0 ? 1 : undefined).map((one) => filterQuery(one)),
        ]) {
          const query = `audience=${audience}&dimension=section&compare=previous${filters}`
          const [duckdb = '', clickhouse] = await Promise.all(
            stores.map((store) => ask(store, '/api/stats/breakdown', query, [...SECTIONS, ...more])),
          )
          t.equal(clickhouse, duckdb, `${more.length} more: ${decodeURIComponent(query)}`)
        }
      for (const store of stores) await store.aggregate(new Date('2026-11-01T10:34:56.789Z'))
    }
  })
})
