import t from 'tap'
import { z } from 'zod'
import { rehearsalRoute } from '../../src/api/rehearsal/route.js'
import { Rehearsed } from '../../src/api/rehearsal/shape.js'
import type { DecidingRule } from '../../src/rules/rule.js'
import type { Store } from '../../src/storage/store.js'
import { openStore } from '../fixtures/open-store.js'
import { agentRow } from '../fixtures/rows.js'

/** Noon in Berlin, on the day after its clocks went back. */
const NOW = new Date('2026-10-26T11:00:00Z')
const at = (iso: string) => new Date(`2026-10-${iso}Z`)

type Body = Record<string, unknown>

/** Asks the route, as the operator. */
async function rehearse(
  store: Pick<Store, 'query' | 'stream' | 'dialect'>,
  body: Body,
  own: readonly DecidingRule[] = [],
  sitemaps: readonly string[] = [],
): Promise<Rehearsed> {
  const site = { id: 1, org: 1, name: 'One', timezone: 'Europe/Berlin', visitor_salt: 'month' as const }
  const settings = { version: 1, domains: [], currency: 'EUR', excluded_paths: [], respect_gpc: false, sections: [] }
  const managed = { ...site, ...settings }
  const route = rehearsalRoute({
    store,
    now: () => NOW,
    catalog: [],
    sites: { get: async (id: number) => (id === 1 ? managed : undefined), list: async () => [managed] },
    rulesOf: async () => ({ rules: own, sitemaps }),
  })
  if (!('run' in route)) throw new Error('not a route with a handler')
  const request = new Request('http://localhost/api/rules/rehearsal', { method: 'POST', body: JSON.stringify(body) })
  const call = { principal: { kind: 'operator' as const }, access: 'stats:read' as const, ip: '', params: {} }
  const response = await route.run({
    ...call,
    ...{ request, at: NOW, query: new URLSearchParams(), dispatch: async () => new Response() },
  })
  if (!(response instanceof Response)) throw new Error('no response')
  return z.object({ data: Rehearsed }).parse(await response.json()).data
}

t.test('an identity asked for passes the first fetch of an address', async (t) => {
  const store = await openStore(t)
  const proven = { ip_hash: 4n, verification: 'ranges', verified: true }
  await store.append({
    events: [],
    agent_events: [
      agentRow({ timestamp: at('25T08:00:00') }),
      agentRow({ timestamp: at('25T08:00:01'), ...proven }),
      agentRow({ timestamp: at('25T08:00:02'), ...proven }),
    ],
  })
  const rules = [{ agents: ['gptbot'], identity: ['verified'], action: 'block' }]
  const {
    fetches,
    rules: [rule],
  } = await rehearse(store, { site: 1, range: '7d', rules })
  t.same([fetches, rule?.matches, rule?.would], [3, 1, { fetches: 1, bytes: 1234, duration_ms: 5 }])
})
