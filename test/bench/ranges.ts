import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { loadCatalog } from '../../src/agents/catalog.js'
import { createVerifier } from '../../src/agents/claim-check.js'
import { createPrefixSet } from '../../src/agents/ranges/prefix-set.js'
import { parseAddress, parsePrefix } from '../../src/base/address.js'

const PREFIXES = 50_000
const LOOKUPS = 2_000_000

/** A small generator, the same each run. */
function random(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const nanoseconds = (times: number, work: (i: number) => unknown): number => {
  let found = 0
  for (let i = 0; i < times / 10; i++) if (work(i)) found++
  const begun = performance.now()
  for (let i = 0; i < times; i++) if (work(i)) found++
  const ms = performance.now() - begun
  if (found < 0) throw new Error('never')
  return (ms * 1e6) / times
}

/** `npm run bench -- ranges`: an address among 50,000 prefixes, half of them IPv6, and a whole check of a claim. */
export async function run(): Promise<void> {
  const next = random(1)
  const four = () => `${1 + next(223)}.${next(256)}.${next(256)}.${next(256)}`
  const six = () =>
    `2${next(0x1000).toString(16).padStart(3, '0')}:${next(65_536).toString(16)}:${next(65_536).toString(16)}::${next(65_536).toString(16)}`
  const texts = Array.from({ length: PREFIXES }, (_, i) =>
    i % 2 ? `${six()}/${32 + next(33)}` : `${four()}/${16 + next(17)}`,
  )
  const prefixes = texts.map(parsePrefix).filter((one) => one !== undefined)
  const begun = performance.now()
  const set = createPrefixSet(prefixes)
  const built = performance.now() - begun
  const ips = Array.from({ length: 4_096 }, (_, i) => (i % 2 ? six() : four()))
  const addresses = ips.map(parseAddress).filter((one) => one !== undefined)
  const among = (kind: 'ipv4' | 'ipv6') => {
    const list = addresses.filter((address) => address.kind() === kind)
    return nanoseconds(LOOKUPS, (i) => set.has(list[i % list.length] ?? ipaddr.parse('0.0.0.0'))).toFixed(0)
  }
  const ofFour = ips.filter((ip) => isIPv4(ip))
  const parsing = (parse: (ip: string) => unknown) =>
    nanoseconds(LOOKUPS / 4, (i) => parse(ofFour[i % ofFour.length] ?? '')).toFixed(0)
  const verifier = createVerifier({
    ranges: { lookUp: (_agent, address) => (set.has(address) ? 'inside' : 'outside') },
  })
  const gptbot = loadCatalog().get('gptbot')
  const requests = ips.map((ip) => ({ method: 'GET', hostname: 'a.com', pathname: '/', ip }))
  const checks = nanoseconds(LOOKUPS / 4, (i) =>
    verifier.check(gptbot, requests[i % requests.length] ?? { method: '', hostname: '', pathname: '', ip: '' }, 0),
  )
  console.table({
    'built, ms': built.toFixed(0),
    prefixes: set.count,
    'lookup of IPv4, ns': among('ipv4'),
    'lookup of IPv6, ns': among('ipv6'),
    'parsing of IPv4, ns': parsing(parseAddress),
    'parsing of IPv4 by ipaddr.js after isIPv4, ns': parsing((ip) => (isIPv4(ip) ? ipaddr.IPv4.parse(ip) : undefined)),
    'check of a claim, address parsed, ns': checks.toFixed(0),
  })
}
