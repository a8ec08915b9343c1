import { loadCatalog } from '../../src/agents/catalog.js'
import { createIdentify } from '../../src/agents/identify.js'
import { memoize } from '../../src/base/cache.js'
import { createSuspicion } from '../../src/worker/ingest/suspicion.js'
import { browsers, crawlers, recallTable } from '../fixtures/recall.js'

/**
 * Issue 3, show 5: microseconds to identify a user agent that is new, and one that is remembered, as the write path
 * does; and what suspicion costs a row. The least of 50 rounds, for other
 * work on the machine only ever adds. `--recall` prints the table of recall instead.
 */
export async function run(args: string[] = []): Promise<void> {
  if (args.includes('--recall')) {
    process.stdout.write(recallTable())
    return
  }
  const people = browsers()['user-agents'] ?? []
  const agents = crawlers.flatMap(({ instances }) => instances)
  const identify = createIdentify(loadCatalog())
  const table: Record<string, { count: number; distinct_us: number; repeated_us: number }> = {}
  for (const [name, list] of Object.entries({ agents, people })) {
    const who = memoize(8192, (userAgent) => ({ agent: identify(userAgent) }))
    for (const userAgent of list) who(userAgent)
    // Strings as they come off a connection: no two requests share one.
    const fresh = () => list.map((userAgent) => Buffer.from(userAgent).toString())
    table[name] = {
      count: list.length,
      distinct_us: least(list.length, fresh, (userAgent) => identify(userAgent)),
      repeated_us: least(list.length, fresh, (userAgent) => who(userAgent)),
    }
  }
  console.table(table)
  console.log(`suspicion: ${suspicionCost(people)} µs a row`)
}

const ROUNDS = 50

function least<T>(count: number, make: () => readonly T[], work: (one: T) => unknown): number {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const list = make()
    const from = performance.now()
    for (const one of list) work(one)
    best = Math.min(best, performance.now() - from)
  }
  return Math.round((best / count) * 1e6) / 1e3
}

/** Views by 3,000 visitors, with the headers that Chrome sends. */
function suspicionCost(people: readonly string[]): number {
  const headers = {
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8',
    'accept-language': 'en-GB,en;q=0.9',
    'accept-encoding': 'gzip, deflate, br, zstd',
    'sec-ch-ua': '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"',
    'sec-fetch-site': 'none',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  }
  const suspicion = createSuspicion()
  let seen = 0
  const views = () =>
    Array.from({ length: 5_000 }, (_, n) => ({
      visitor_id: BigInt(n % 3_000),
      previous: undefined,
      session: BigInt(n % 3_000),
      at: 1_700_000_000_000 + seen++ * 10,
      hostname: 'example.com',
      pathname: `/articles/2026/some-page-${n % 2_000}`,
      user_agent: Buffer.from(people[n % people.length] ?? '').toString(),
      headers,
      asn: n % 20 ? 3320 : 16509,
      ip: `81.2.${(n >> 8) % 12}.${n % 256}`,
      head_form: '2myzpuae',
    }))
  return least(5_000, views, (view) => suspicion.judge(view))
}
