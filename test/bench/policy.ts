import { loadCatalog } from '../../src/agents/catalog.js'
import { compileRobots } from '../../src/agents/policy/compiled-robots.js'
import { createPolicy } from '../../src/agents/policy/policy.js'
import { createSiteLookup } from '../../src/capture/site.js'
import { createClassifier } from '../../src/worker/ingest/classifier.js'
import { openPlaceLookup } from '../../src/worker/ingest/place/place-lookup.js'
import { SessionMemory } from '../../src/worker/ingest/session-memory.js'
import { noPolicyJudge, noVerifier } from '../fixtures/classifier-stubs.js'
import { agentObservation } from '../fixtures/observations.js'
import { type Random, seeded } from '../fixtures/random.js'

const PATHS = 100_000
const OCTETS = 500 * 1024

/**
 * Issue 3, show 6: 100,000 paths judged against robots.txt files of 500 KiB, all different and then from 1,000 again and
 * again, and beside it the rest of what the worker does for a fetch.
 */
export async function run(): Promise<void> {
  const catalog = loadCatalog()
  const gptbot = catalog.get('gptbot')
  const googlebot = catalog.get('googlebot')
  const random = seeded(1)
  const distinct = Array.from({ length: PATHS }, (_, n) => `${path(random)}/${n}`)
  const few = Array.from({ length: 1000 }, (_, n) => `${path(random)}/${n}`)
  const repeated = Array.from({ length: PATHS }, () => few[random.int(few.length)] ?? '/')

  const table: Record<string, Record<string, string | number>> = {}
  for (const [name, wild] of [
    ['prefixes alone', 0],
    ['one rule in ten with *', 0.1],
    ['every rule with *', 1],
  ] as const) {
    const body = file(seeded(2), wild)
    const read = timed(1, () => compileRobots(body, 'rfc'))
    const policy = createPolicy({ hostname: 'example.com', robots: { status: 200, body } })
    const first = timed(1, () => policy.allows(gptbot, '/'))
    timed(1, () => policy.allows(googlebot, '/'))
    const judge = (agent: typeof gptbot, targets: readonly string[]) =>
      timed(targets.length, () => {
        for (const target of targets) policy.allows(agent, target)
      })
    const disallowed = distinct.filter((target) => !policy.allows(gptbot, target).allowed).length
    table[name] = {
      rules: policy.groupOf(gptbot).rules,
      'read ms': (read / 1000).toFixed(1),
      'compile ms': (first / 1000).toFixed(1),
      'distinct us': judge(gptbot, distinct).toFixed(2),
      'google us': judge(googlebot, distinct).toFixed(2),
      'repeated us': judge(gptbot, repeated).toFixed(2),
      'disallowed %': ((100 * disallowed) / PATHS).toFixed(1),
    }
  }
  console.log(`${PATHS} paths against robots.txt of ${OCTETS} octets, microseconds of processor time each:`)
  console.table(table)

  const { classify } = createClassifier({
    catalog,
    places: openPlaceLookup(),
    siteOf: createSiteLookup([
      { id: 1, domains: [], timezone: 'UTC', respect_gpc: false, visitor_salt: 'month', excluded_paths: [] },
    ]),
    salts: { at: () => ({ secret: Buffer.alloc(32), previous: null, next: null }) },
    sessions: new SessionMemory({ now: Date.now }),
    verifier: noVerifier,
    policyJudge: noPolicyJudge,
    log: console.error,
  })
  const observations = repeated.map((pathname) => agentObservation({ pathname }))
  const cost = timed(PATHS, () => classify(observations))
  console.log(`classifying a fetch without judging it: ${cost.toFixed(2)} microseconds of processor time`)
}

/** Microseconds of processor time for each of `count`: of the clock's, others on the machine would take their share. */
function timed(count: number, work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

const WORDS = [
  'news',
  'shop',
  'blog',
  'item',
  'user',
  'archive',
  'search',
  'tag',
  'api',
  'media',
  'docs',
  'en',
] as const
const path = (random: Random): string =>
  Array.from(
    { length: 1 + random.int(4) },
    () => `/${random.of(WORDS)}${random.int(3) === 0 ? random.int(100) : ''}`,
  ).join('')

/** Groups of a few agents and one of most rules for `*`; of its rules a share `wild` with `*`. */
function file(random: Random, wild: number): string {
  const lines = ['User-agent: CCBot', 'Disallow: /', '', 'User-agent: *']
  let octets = lines.join('\n').length
  while (octets < OCTETS - 80) {
    const end = random() < 0.2 ? '$' : ''
    const rule =
      random() < wild
        ? `/*${random.of(WORDS)}${random.int(1000)}${random.of(['/', '?', '*.', '='])}${random.of(WORDS)}${end}`
        : `${path(random)}/${random.int(10_000)}${end}`
    const line = `${random.int(5) === 0 ? 'Allow' : 'Disallow'}: ${rule}`
    lines.push(line)
    octets += line.length + 1
  }
  return lines.join('\n')
}
