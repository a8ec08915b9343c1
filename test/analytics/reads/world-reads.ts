import t from 'tap'
import { type ReadDependencies, runRead } from '../../../src/analytics/query/prepare-read.js'
import { createRecordingLookup, type Gap } from '../../../src/analytics/query/recording.js'
import { reads } from '../../../src/analytics/reads/index.js'
import type { Rows } from '../../../src/storage/rows.js'
import type { Sql } from '../../../src/storage/sql.js'
import { openStore } from '../../fixtures/open-store.js'
import { NOW } from '../../fixtures/world.js'

const german = [{ dimension: 'country', op: 'is' as const, value: 'DE' }]
export const gptbot = {
  ...{ agent_id: 'gptbot', name: 'GPTBot', operator: 'OpenAI', purpose: 'training' },
  respects_robots: 'yes' as const,
  docs_url: 'undocumented',
}
const docs = { type: 'page' as const, match: { op: 'matches_wildcard', value: '/docs**' } }
const bought = { type: 'event' as const, match: { op: 'is', value: 'signup' } }
export const deps: Omit<ReadDependencies, 'store'> = {
  now: () => NOW,
  site: async (id) =>
    id < 3
      ? {
          id,
          timezone: 'Europe/Berlin',
          visitor_salt: 'day',
          owns: (hostname) => (hostname === 'two.example') === (id === 2),
        }
      : undefined,
  segment: async (id, site) => (id === 'german' && site === 1 ? german : undefined),
  goals: async () => [
    { id: 1, name: 'Docs', ...docs },
    { id: 2, name: 'Bought', ...bought, revenue: { property: 'price', currency: 'EUR' } },
    { id: 3, name: 'Read', type: 'scroll', match: { op: 'gte', value: 50 } },
    { id: 4, name: 'Stayed', type: 'duration', match: { op: 'gte', value: 60 } },
  ],
  funnel: async (_, site) => ({
    ...{
      id: 1,
      name: 'Shop',
      steps: [
        { label: 'Docs', ...docs },
        { label: 'Bought', ...bought },
      ],
    },
    ...(site === 1 ? { window_minutes: 30 } : {}),
  }),
  catalog: [
    { ...gptbot, docs_url: 'https://openai.com/gptbot', robots_token: 'GPTBot', verification: ['ranges'] },
    {
      docs_url: 'undocumented',
      agent_id: 'nobody',
      name: 'Nobody',
      operator: 'None',
      purpose: 'seo',
      respects_robots: 'unknown',
      verification: [],
    },
  ],
  assistants: [{ source: 'ChatGPT', operator: 'OpenAI' }],
}
/** Returns a function that asks reads about these rows; everything since a site's first row is recorded but the gaps. */
export async function asker(rows: Rows, gaps: readonly Gap[] = [], more: Pick<ReadDependencies, 'history'> = {}) {
  const store = await openStore(t)
  await store.append(rows)
  const lookup = { query: (statement: Sql) => store.query(statement), gaps: async () => gaps, clock: () => 0 }
  const recording = createRecordingLookup(lookup)
  return (path: string, query: string) => {
    const read = reads.find((each) => each.path === `/api/${path}`)
    if (!read) throw new Error(path)
    return runRead(read, new URLSearchParams(query), { ...deps, store, recording, ...more }, WORDS)
  }
}
/** The words in reads' paths: a session that both sites have. */
export const WORDS = { id: '0000000000000001' }
export const filters = (value: unknown) => `&filters=${encodeURIComponent(JSON.stringify(value))}`
export const is = (dimension: string, value: unknown) => ({ dimension, op: 'is', value })

/** 25 October in Berlin has 25 hours, from 22:00 to 23:00 UTC. */
export const DAY = 'site=1&range=yesterday'

export const row = { bounce: 0, duration: 960, views_per_session: 2, events: 0 }
