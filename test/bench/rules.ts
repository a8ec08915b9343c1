import { createServer } from 'node:http'
import { loadCatalog } from '../../src/agents/catalog.js'
import type { ArrivingRequest } from '../../src/capture/decision.js'
import { DecidingRule } from '../../src/rules/rule.js'
import type { LiveRules } from '../../src/site/rules/live-rules.js'
import { portOf, startProxy } from '../site/proxy/fixtures/sockets.js'
import { manyRules, PERSON, startRules } from '../site/rules/fixtures/fifty-rules.js'
import { load } from './load.js'

const AGENT = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)'
const ROUNDS = 50
const REQUESTS = 20_000

/**
 * Microseconds of a decision about a person and about an agent, with fifty rules active and without any, and requests a second of
 * the proxy with both. The aims are 2 µs for a person and 5 µs for an agent. The least of 50 rounds, for other work on the
 * machine only ever adds.
 */
export async function run(): Promise<void> {
  const sets = {
    'no rule': startRules([]),
    'fifty rules': startRules(siteRules()),
    'fifty rules, most of them about this agent': startRules(manyRules(50)),
  }
  const table: Record<string, Record<string, number>> = {}
  await throughput(sets['no rule'])
  for (const [name, rules] of Object.entries(sets))
    table[name] = {
      person_us: decisionCost(rules, PERSON),
      agent_us: decisionCost(rules, AGENT),
      requests_a_second: await throughput(rules),
    }
  console.table(table)
}

/** Returns rules as a site has them: forty about one agent each, eight about sections, a budget, and a general one. */
function siteRules(): DecidingRule[] {
  const agents = loadCatalog().agents.filter(({ id }) => id !== 'gptbot')
  return [
    ...agents.slice(0, 40).map(({ id }) => ({ agents: [id] })),
    ...Array.from({ length: 8 }, (_, n) => ({ purposes: ['training'], paths: [`/section-${n}/**`, `/**/*.t${n}`] })),
    { purposes: ['training'], budget: { limit: 1e9, unit: 'fetches', per: 'hour', by: 'agent' }, action: 'limit' },
    { paths: ['/**'], action: 'gone' },
  ].map((fields, n) => DecidingRule.parse({ id: n + 1, name: `rule ${n}`, action: 'block', state: 'on', ...fields }))
}

function decisionCost(rules: LiveRules, userAgent: string): number {
  const requests = Array.from(
    { length: REQUESTS },
    (_, n): ArrivingRequest => ({
      // Strings as they come off a connection: no two requests share one.
      user_agent: Buffer.from(userAgent).toString(),
      method: 'GET',
      host: 'site.example',
      target: `/articles/2026/some-page-${n % 2_000}?page=2`,
      ip: `192.0.2.${n % 250}`,
      accept: 'text/html',
      isSigned: false,
      at: 1_790_000_000_000 + n,
      canWait: true,
    }),
  )
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const from = performance.now()
    for (const one of requests) rules.decide?.(one)
    best = Math.min(best, performance.now() - from)
  }
  return Math.round((best / REQUESTS) * 1e6) / 1e3
}

/** People's requests a second through the proxy in this process. */
async function throughput(rules: LiveRules): Promise<number> {
  const origin = createServer((_, res) => void res.end('x'.repeat(1_024)))
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port, records } = await startProxy(portOf(origin), { rules })
  const { requests, seconds } = await load(port, { path: '/1024', size: 1_024, connections: 16, ms: 4_000 })
  records.length = 0
  await proxy.close(0)
  origin.close()
  origin.closeAllConnections()
  return Math.round(requests / seconds)
}
