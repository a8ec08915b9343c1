import { z } from 'zod'
import { rehearsalRoute } from '../../src/api/rehearsal/route.js'
import { createRehearsalRunner } from '../../src/api/rehearsal/run.js'
import { Rehearsed } from '../../src/api/rehearsal/shape.js'
import { DecidingRule } from '../../src/rules/rule.js'
import type { Store } from '../../src/storage/store.js'

/** Noon in Berlin, on the day after its clocks went back. */
const NOW = new Date('2026-10-26T11:00:00Z')
export const at = (iso: string) => new Date(`2026-10-${iso}Z`)

type Body = Record<string, unknown>

/** Asks the route, as the operator. */
export async function rehearse(
  store: Pick<Store, 'query' | 'stream' | 'dialect'>,
  body: Body,
  own: readonly DecidingRule[] = [],
  sitemaps: readonly string[] = [],
  signal?: AbortSignal,
): Promise<Rehearsed> {
  const site = { id: 1, org: 1, name: 'One', timezone: 'Europe/Berlin', visitor_salt: 'month' as const }
  const settings = { version: 1, domains: [], currency: 'EUR', excluded_paths: [], respect_gpc: false, sections: [] }
  const managed = { ...site, ...settings }
  const run = createRehearsalRunner({
    store,
    now: () => NOW,
    catalog: [],
    sites: { get: async (id: number) => (id === 1 ? managed : undefined), list: async () => [managed] },
  })
  const route = rehearsalRoute(
    run,
    async () => ({ stored: own, sitemaps }),
    () => {},
  )
  if (!('run' in route)) throw new Error('not a route with a handler')
  const request = new Request('http://localhost/api/rules/rehearsal', {
    ...{ method: 'POST', body: JSON.stringify(body) },
    ...(signal && { signal }),
  })
  const call = { principal: { kind: 'operator' as const }, access: 'stats:read' as const, ip: '', params: {} }
  const response = await route.run({
    ...call,
    ...{ request, at: NOW, query: new URLSearchParams(), dispatch: async () => new Response() },
  })
  if (!(response instanceof Response)) throw new Error('no response')
  return z.object({ data: Rehearsed }).parse(await response.json()).data
}

export const rule = (id: number, given: Partial<DecidingRule>): DecidingRule => ({
  ...DecidingRule.parse({ id, name: `Rule ${id}`, action: 'block' }),
  ...given,
})
const limit = (budget: DecidingRule['budget']): Partial<DecidingRule> => ({ action: 'limit', budget })
/** Lists of rules over the random rows, with the reason why each is here. */
export const LISTS: readonly (readonly [why: string, rules: readonly DecidingRule[]])[] = [
  ['one agent', [rule(1, { agents: ['gptbot'] })]],
  ['paths, methods and an exception', [rule(1, { paths: ['/docs/*'], methods: ['GET'], except: ['bytespider'] })]],
  ['any agent spares search engines and feed readers', [rule(1, { paths: ['/docs/**', '/'] })]],
  [
    'the first rule decides, allow too; the last is shadowed',
    [
      rule(1, { operators: ['OpenAI'], paths: ['/docs/**'], action: 'allow' }),
      rule(2, { purposes: ['training', 'search'] }),
      rule(3, { agents: ['googlebot'], paths: ['/blog/*'], state: 'on', refuse_search_engines: true }),
    ],
  ],
  [
    'an identity',
    [rule(1, { agents: ['gptbot', 'googlebot', 'codex-cli', 'other'], identity: ['verified', 'unverifiable'] })],
  ],
  ['a strict identity', [rule(1, { identity: ['spoofed'], strict: true, state: 'on' })]],
  ['what robots.txt disallows, until a moment', [rule(1, { disallowed: true, until: '2026-10-25T12:00:00Z' })]],
  ['fetches of an agent in an hour', [rule(1, limit({ limit: 3, unit: 'fetches', per: 'hour', by: 'agent' }))]],
  [
    'bytes count once though a strict rule waits',
    [
      rule(1, limit({ limit: 9_000, unit: 'bytes', per: 'day', by: 'address' })),
      rule(2, { agents: ['gptbot'], identity: ['spoofed'], strict: true }),
    ],
  ],
  [
    'budgets of addresses and operators, and a rule between that takes from neither',
    [
      rule(1, { ...limit({ limit: 4, unit: 'fetches', per: 'day', by: 'address' }), agents: ['gptbot', 'bytespider'] }),
      rule(2, { purposes: ['training'], paths: ['/blog/**'], identity: ['verified', 'spoofed'] }),
      rule(3, {
        ...limit({ limit: 9_000, unit: 'bytes', per: 'hour', by: 'operator' }),
        operators: ['OpenAI', 'Google'],
      }),
    ],
  ],
]
/** Two days that begin before the clocks of Berlin go back, and end after it. */
export const WINDOW = {
  ...{ start: at('23T22:00:00'), end: at('25T23:00:00') },
  days: ['2026-10-24', '2026-10-25'],
}
export const QUESTION = { site: 1, start: '2026-10-24', end: '2026-10-25' }
