import { Resolver } from 'node:dns/promises'
import t from 'tap'
import { parseAddress } from '../../src/address.js'
import { type Agent, loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import { createVerifier } from '../../src/agents/claim-check.js'
import type { RangeLookup } from '../../src/agents/ranges/ranges.js'
import { createRdns, type DnsResolver, type RdnsResult } from '../../src/agents/rdns.js'
import type { SignatureCheck } from '../../src/agents/signature/signatures.js'
import { VERDICTS, type VerifiableRequest } from '../../src/agents/verdict.js'
import { type DnsAnswer, reverseName, serveDns } from '../fixtures/dns.js'

const catalog = loadCatalog()
const agentOf = (id: string): Agent => {
  const agent = catalog.get(id)
  if (!agent) throw new Error(`${id} is not in the catalog`)
  return agent
}
const addressOf = (ip: string) => {
  const address = parseAddress(ip)
  if (!address) throw new Error(`${ip} is no address`)
  return address
}
const clock = () => performance.now()

t.test('forward-confirmed reverse DNS, over a real server', async (t) => {
  const many = Array.from({ length: 40 }, (_, i) => `host-${i}.example.net`)
  const table = new Map<string, DnsAnswer>()
  const at = (ip: string, ptr: readonly string[], forward: Record<string, DnsAnswer> = {}) => {
    table.set(reverseName(ip), { ptr })
    for (const [name, said] of Object.entries(forward)) table.set(name, said)
  }
  const crawl = 'crawl-66-249-66-1.googlebot.com'
  at('66.249.66.1', [crawl], { [crawl]: { a: ['66.249.66.1'] } })
  at('66.249.66.2', ['crawl-66-249-66-2.googlebot.com'], { 'crawl-66-249-66-2.googlebot.com': { a: ['1.1.1.1'] } })
  at('66.249.66.3', ['CRAWL-66-249-66-3.GoogleBot.COM.'], {
    'crawl-66-249-66-3.googlebot.com': { a: ['9.9.9.9', '66.249.66.3'] },
  })
  at('66.249.66.4', ['crawl-gone.googlebot.com'])
  at('66.249.66.5', ['crawl-down.googlebot.com'], { 'crawl-down.googlebot.com': 'servfail' })
  at('66.249.66.6', ['geo-crawl-1-2-3-4.geo.googlebot.com'], {
    'geo-crawl-1-2-3-4.geo.googlebot.com': { a: ['66.249.66.6'] },
  })
  at('2001:4860:4801:10::1', ['crawl-v6.googlebot.com'], {
    'crawl-v6.googlebot.com': { a: ['66.249.66.9'], aaaa: ['2001:4860:4801:10::1'] },
  })
  const self = (name: string, ip: string) => at(ip, [name], { [name.toLowerCase()]: { a: [ip] } })
  self('crawl-1.evilgooglebot.com', '192.0.2.1')
  self('crawl-1.googlebot.com.attacker.net', '192.0.2.2')
  self('googlebot.com', '192.0.2.3')
  self('www.googlebot.com', '192.0.2.4')
  self('crawl-1.x.googlebot.com', '192.0.2.5')
  self('xcrawl-1.googlebot.com', '192.0.2.6')
  self('rate-limited-proxy-1.google.com', '192.0.2.7')
  self('google-proxy-1.google.com', '192.0.2.8')
  self('mail.google.com', '192.0.2.9')
  self('1-2-3-4.gae.googleusercontent.com', '192.0.2.10')
  self('msnbot-1.search.msn.com', '192.0.2.11')
  self('search.msn.com', '192.0.2.12')
  at('192.0.2.20', [...many, crawl])
  at(
    '192.0.2.21',
    Array.from({ length: 9 }, (_, i) => `crawl-${i}.googlebot.com`),
  )
  table.set(reverseName('192.0.2.30'), 'servfail')
  table.set(reverseName('192.0.2.31'), 'silence')
  at('192.0.2.32', ['crawl-mute.googlebot.com'], { 'crawl-mute.googlebot.com': 'silence' })
  const dns = await serveDns(t, table)
  const resolver = new Resolver({ timeout: 5_000, tries: 1 })
  resolver.setServers(dns.servers)
  t.teardown(() => resolver.cancel())
  const rdns = createRdns({ resolver: resolver, clock, timeoutMs: 300 })

  const rows: readonly [string, string, RdnsResult, string][] = [
    ['googlebot', '66.249.66.1', 'true', 'a name that leads back'],
    ['googlebot', '::ffff:66.249.66.1', 'true', 'the same address, mapped'],
    ['googlebot', '66.249.66.2', 'false', 'a name that leads elsewhere'],
    ['googlebot', '66.249.66.3', 'true', 'capitals, a last dot, a second address'],
    ['googlebot', '66.249.66.4', 'false', 'a name that is not there'],
    ['googlebot', '66.249.66.5', 'transient', 'a name whose server fails'],
    ['googlebot', '66.249.66.6', 'true', 'the other mask'],
    ['googlebot', '2001:4860:4801:10::1', 'true', 'IPv6'],
    ['googlebot', '192.0.2.1', 'false', 'not on a label boundary'],
    ['googlebot', '192.0.2.2', 'false', 'not at the end'],
    ['googlebot', '192.0.2.3', 'false', 'the suffix alone'],
    ['googlebot', '192.0.2.4', 'false', "Google's, and no crawler's"],
    ['googlebot', '192.0.2.5', 'false', 'the star does not cross a dot'],
    ['googlebot', '192.0.2.6', 'false', 'the mask begins at the beginning'],
    ['adsbot-google', '192.0.2.7', 'true', 'special-case crawlers'],
    ['adsbot-google', '192.0.2.8', 'false', 'which are not fetchers for users'],
    ['feedfetcher-google', '192.0.2.8', 'true', 'fetchers for users'],
    ['feedfetcher-google', '192.0.2.7', 'false', 'which are no special-case crawlers'],
    ['feedfetcher-google', '192.0.2.9', 'false', 'nor all of Google'],
    ['google-gemininotebook', '192.0.2.10', 'true', 'its second suffix'],
    ['bingbot', '192.0.2.11', 'true', 'a suffix without masks'],
    ['bingbot', '192.0.2.12', 'false', 'the suffix alone'],
    ['bingbot', '66.249.66.1', 'false', "another operator's name"],
    ['googlebot', '192.0.2.20', 'false', 'one of many names, that leads elsewhere'],
    ['googlebot', '192.0.2.21', 'false', 'nine that would do'],
    ['googlebot', '192.0.2.99', 'false', 'no name'],
    ['googlebot', '192.0.2.30', 'transient', 'a server that fails'],
    ['googlebot', '192.0.2.31', 'transient', 'a server that says nothing'],
    ['googlebot', '192.0.2.32', 'transient', 'and says nothing of the name'],
  ]
  for (const [id, ip, expected, why] of rows) {
    const begun = clock()
    t.equal(await rdns.lookUp(agentOf(id), addressOf(ip)), expected, `${id} ${ip}: ${why}`)
    t.ok(clock() - begun < 600, `${ip}: in time`)
    t.equal(rdns.lookUp(agentOf(id), addressOf(ip)), expected, `${ip}: remembered, and said at once`)
  }
  t.equal(dns.asked.get(reverseName('192.0.2.99')), 1, 'asked once')
  const forward = Array.from({ length: 9 }, (_, i) => dns.asked.get(`crawl-${i}.googlebot.com`) ?? 0)
  t.equal(forward.filter((times) => times > 0).length, 4, 'of many names four are looked up')
  t.equal(rdns.lookUp(agentOf('gptbot'), addressOf('192.0.2.1')), 'false', 'an operator without names')
})

/** A DNS that answers when it is told to. */
function createHeldPromise() {
  const waiting: { ip: string; answer: (names: string[]) => void; fail: (error: Error) => void }[] = []
  const names: DnsResolver = {
    resolvePtr: (name) =>
      new Promise((answer, fail) => {
        const ip = name.split('.').slice(0, 4).reverse().join('.')
        waiting.push({ ip, answer, fail })
      }),
    resolve4: async (name) => [name.replace(/^crawl-|\.googlebot\.com$/g, '').replaceAll('-', '.')],
    resolve6: async () => [],
  }
  return { names, waiting }
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

t.test('the queue: bounded, shared, forgotten in time', async (t) => {
  const { names, waiting } = createHeldPromise()
  let now = 0
  const rdns = createRdns({ resolver: names, clock: () => now, timeoutMs: 60_000, maxConcurrent: 2, maxQueued: 3 })
  const googlebot = agentOf('googlebot')
  const ask = (ip: string) => rdns.lookUp(googlebot, addressOf(ip))
  const asked = ['1.0.0.1', '1.0.0.2', '1.0.0.3', '1.0.0.4', '1.0.0.5'].map(ask)
  t.equal(ask('1.0.0.6'), 'transient', 'the queue is full')
  t.equal(ask('1.0.0.1'), asked[0], 'the same question is asked once')
  t.equal(
    rdns.lookUp(agentOf('googlebot-image'), addressOf('1.0.0.1')),
    asked[0],
    'also for an agent of the same names',
  )
  await nextTurn()
  t.equal(waiting.length, 2, 'two under way')
  const answer = (ip: string) =>
    waiting.find((one) => one.ip === ip)?.answer([`crawl-${ip.replaceAll('.', '-')}.googlebot.com`])
  answer('1.0.0.1')
  t.equal(await asked[0], 'true')
  await nextTurn()
  t.same(
    waiting.map(({ ip }) => ip),
    ['1.0.0.1', '1.0.0.2', '1.0.0.3'],
    'the next has its turn',
  )
  t.type(ask('1.0.0.6'), Promise, 'there is room again')
  for (const ip of ['1.0.0.2', '1.0.0.3', '1.0.0.4', '1.0.0.5', '1.0.0.6']) {
    answer(ip)
    await nextTurn()
    await nextTurn()
  }
  t.same(await Promise.all(asked), ['true', 'true', 'true', 'true', 'true'])

  const hour = 3_600_000
  now = 24 * hour - 1
  t.equal(ask('1.0.0.1'), 'true', 'a day')
  now = 24 * hour + 1
  t.type(ask('1.0.0.1'), Promise, 'and no longer')
  await nextTurn()
  waiting.at(-1)?.answer([])
  t.equal(await ask('1.0.0.1'), 'false')
  now += hour - 1
  t.equal(ask('1.0.0.1'), 'false', 'an hour')
  now += 2
  t.type(ask('1.0.0.1'), Promise)
  await nextTurn()
  waiting.at(-1)?.fail(new Error('ESERVFAIL'))
  t.equal(await ask('1.0.0.1'), 'transient')
  now += 300_000 - 1
  t.equal(ask('1.0.0.1'), 'transient', 'five minutes')
  now += 2
  const last = ask('1.0.0.1')
  t.type(last, Promise)
  await nextTurn()
  waiting.at(-1)?.answer([])
  t.equal(await last, 'false')
})

t.test('a DNS that never answers costs its time and nothing else', async (t) => {
  const { names, waiting } = createHeldPromise()
  const rdns = createRdns({ resolver: names, clock, timeoutMs: 100, maxConcurrent: 2, maxQueued: 10 })
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const begun = clock()
  const ips = Array.from({ length: 8 }, (_, i) => `1.0.0.${i}`)
  const answers = await Promise.all(ips.map((ip) => rdns.lookUp(agentOf('googlebot'), addressOf(ip))))
  t.same(
    answers,
    ips.map(() => 'transient'),
  )
  t.ok(clock() - begun < 1_000, 'all of them in the time of one')
  t.equal(timers(), before, 'no timer is left')
  waiting[0]?.answer(['crawl-1-0-0-0.googlebot.com'])
  await nextTurn()
  await nextTurn()
  t.equal(rdns.lookUp(agentOf('googlebot'), addressOf('1.0.0.0')), 'true', 'an answer that came late is remembered')
  const next = rdns.lookUp(agentOf('googlebot'), addressOf('2.0.0.1'))
  await nextTurn()
  waiting.at(-1)?.answer(['crawl-2-0-0-1.googlebot.com'])
  t.equal(await next, 'true', 'the turns of those that gave up are free')
})

const request = (ip = '192.0.2.1'): VerifiableRequest => ({ method: 'GET', hostname: 'site.test', pathname: '/', ip })
const AT = Date.parse('2026-11-21T12:00:00Z')
const never: Promise<never> = new Promise(() => {})

t.test('the verdict, from what each way says', async (t) => {
  const entry = (id: string, more: Record<string, unknown>) => ({
    id,
    name: id,
    operator: id === 'sibling' ? 'signed' : id,
    purpose: 'search',
    ua_tokens: [id],
    ua_match: 'token',
    robots_only: false,
    honors_wildcard_group: true,
    respects_robots: 'unknown',
    client_side: false,
    status: 'active',
    ...more,
  })
  const ranges = { ranges_url: 'https://x.test/r.json', ranges_format: 'prefixes-json' }
  const rdns = { rdns_suffixes: ['.x.test'] }
  const signs = { web_bot_auth: { signature_agent: 'x.test', directory: null, status: 'documented' } }
  const agents = new Map(
    parseCatalog(
      JSON.stringify({
        meta: { generated: '2026-11-21' },
        agents: [
          entry('nothing', {}),
          entry('client', { ...ranges, ...rdns, ...signs, client_side: true }),
          entry('listed', ranges),
          entry('named', rdns),
          entry('both', { ...ranges, ...rdns }),
          entry('signed', signs),
          entry('sibling', {}),
          entry('all', { ...ranges, ...rdns, ...signs }),
        ],
      }),
    ).agents.map((agent) => [agent.id, agent]),
  )
  type Way = [
    signature: SignatureCheck['state'],
    signer: string | undefined,
    list: RangeLookup,
    name: RdnsResult | 'pending' | 'offline',
  ]
  const rows: readonly [string, Way, keyof typeof VERDICTS, string][] = [
    ['nothing', ['none', undefined, 'none', 'true'], 'unverifiable', 'nothing is published'],
    ['client', ['none', undefined, 'none', 'true'], 'unverifiable', 'runs on the machines of its users'],
    ['listed', ['none', undefined, 'inside', 'false'], 'ranges', 'inside'],
    ['listed', ['none', undefined, 'outside', 'true'], 'spoofed', 'outside'],
    ['listed', ['none', undefined, 'unknown', 'false'], 'indeterminate', 'no list, or a stale one'],
    ['listed', ['none', undefined, 'silent', 'false'], 'indeterminate', 'a page that may not name all'],
    ['listed', ['invalid', 'signed', 'inside', 'false'], 'ranges', "another's bad signature is nothing to it"],
    ['listed', ['invalid', undefined, 'outside', 'false'], 'spoofed', 'nor does it help'],
    ['listed', ['undecidable', undefined, 'outside', 'false'], 'spoofed', 'a signature of one who does not sign'],
    ['listed', ['pending', undefined, 'outside', 'false'], 'spoofed', 'not even waited for'],
    ['named', ['none', undefined, 'none', 'true'], 'rdns', 'confirmed'],
    ['named', ['none', undefined, 'none', 'false'], 'spoofed', 'refuted'],
    ['named', ['none', undefined, 'none', 'transient'], 'indeterminate', 'no answer'],
    ['named', ['none', undefined, 'none', 'pending'], 'indeterminate', 'not yet'],
    ['named', ['none', undefined, 'none', 'offline'], 'indeterminate', 'no DNS'],
    ['both', ['none', undefined, 'inside', 'false'], 'ranges', 'one way is enough'],
    ['both', ['none', undefined, 'outside', 'true'], 'rdns', 'the other is too'],
    ['both', ['none', undefined, 'outside', 'false'], 'spoofed', 'both refute'],
    ['both', ['none', undefined, 'outside', 'transient'], 'indeterminate', 'DNS might confirm'],
    ['both', ['none', undefined, 'outside', 'pending'], 'indeterminate', 'DNS may yet'],
    ['both', ['none', undefined, 'unknown', 'false'], 'indeterminate', 'the list might confirm'],
    ['both', ['none', undefined, 'unknown', 'true'], 'rdns', 'the list is not needed'],
    ['both', ['none', undefined, 'silent', 'false'], 'spoofed', 'the page did not, DNS refutes'],
    ['both', ['none', undefined, 'silent', 'transient'], 'indeterminate', 'neither'],
    ['signed', ['valid', 'signed', 'none', 'false'], 'web_bot_auth', 'signed'],
    ['signed', ['valid', 'sibling', 'none', 'false'], 'web_bot_auth', "by another agent of the operator's"],
    ['sibling', ['valid', 'signed', 'none', 'false'], 'web_bot_auth', 'the same the other way round'],
    ['signed', ['valid', 'listed', 'none', 'false'], 'unverifiable', 'by someone else'],
    ['signed', ['none', undefined, 'none', 'false'], 'unverifiable', 'not signed, and nothing else to ask'],
    ['signed', ['invalid', 'signed', 'none', 'false'], 'spoofed', 'a false signature'],
    ['signed', ['invalid', undefined, 'none', 'false'], 'spoofed', 'a false signature of nobody known'],
    ['signed', ['invalid', 'listed', 'none', 'false'], 'unverifiable', "someone else's false signature"],
    ['signed', ['undecidable', 'signed', 'none', 'false'], 'indeterminate', 'no keys'],
    ['signed', ['pending', 'signed', 'none', 'false'], 'indeterminate', 'no keys yet'],
    ['all', ['none', undefined, 'outside', 'false'], 'spoofed', 'not all that it fetches is signed'],
    ['all', ['valid', 'all', 'outside', 'false'], 'web_bot_auth', 'the signature comes first'],
    ['all', ['invalid', 'all', 'inside', 'false'], 'ranges', 'a bad signature is outweighed'],
    ['all', ['invalid', 'all', 'outside', 'true'], 'rdns', 'also by DNS'],
    ['all', ['invalid', 'all', 'unknown', 'false'], 'indeterminate', 'the list might confirm'],
    ['all', ['undecidable', 'all', 'outside', 'false'], 'indeterminate', 'the signature might confirm'],
    ['all', ['pending', 'all', 'inside', 'pending'], 'ranges', 'nothing to wait for'],
  ]
  for (const [id, [state, signer, list, name], expected, why] of rows) {
    const verifier = createVerifier({
      signatures: {
        check: () => ({ state, agent: signer === undefined ? undefined : agents.get(signer), later: never }),
      },
      ranges: { lookUp: () => list },
      ...(name !== 'offline' && { rdns: { lookUp: () => (name === 'pending' ? never : name) } }),
    })
    const { now, later } = verifier.check(agents.get(id), request(), AT)
    t.same(now, VERDICTS[expected], `${id} ${state} ${list} ${name}: ${why}`)
    const awaited = (name === 'pending' && agents.get(id)?.rdns_suffixes) || (state === 'pending' && id !== 'listed')
    t.equal(later !== undefined, Boolean(awaited) && expected === 'indeterminate', `${why}: whether there is a later`)
  }
  const verifier = createVerifier({ ranges: { lookUp: () => 'inside' }, rdns: { lookUp: () => 'true' } })
  t.same(verifier.check(undefined, request(), AT), { now: VERDICTS.unverifiable }, 'an agent in no catalog')
  for (const ip of ['', 'nonsense', '1.2.3', '127.1'])
    t.same(verifier.check(agents.get('both'), request(ip), AT), { now: VERDICTS.indeterminate }, `no address: "${ip}"`)
  t.same(verifier.check(agents.get('nothing'), request(''), AT), { now: VERDICTS.unverifiable })

  const laters: readonly [
    string,
    SignatureCheck | 'none',
    RangeLookup,
    RdnsResult | undefined,
    keyof typeof VERDICTS,
  ][] = [
    ['both', 'none', 'outside', 'true', 'rdns'],
    ['both', 'none', 'outside', 'false', 'spoofed'],
    ['both', 'none', 'outside', 'transient', 'indeterminate'],
    ['both', 'none', 'unknown', 'false', 'indeterminate'],
    ['all', { state: 'valid', agent: agents.get('all') }, 'outside', 'false', 'web_bot_auth'],
    ['all', { state: 'invalid', agent: agents.get('all') }, 'outside', 'false', 'spoofed'],
    ['all', { state: 'undecidable', agent: agents.get('all') }, 'outside', 'false', 'indeterminate'],
    ['all', { state: 'invalid', agent: agents.get('all') }, 'outside', 'true', 'rdns'],
  ]
  for (const [id, signature, list, name, expected] of laters) {
    const later = signature === 'none' ? undefined : Promise.resolve(signature)
    const pending = createVerifier({
      signatures: { check: () => ({ state: later ? 'pending' : 'none', agent: later && agents.get(id), later }) },
      ranges: { lookUp: () => list },
      rdns: { lookUp: async () => name ?? 'transient' },
    })
    const checked = pending.check(agents.get(id), request(), AT)
    t.same(checked.now, VERDICTS.indeterminate)
    t.same(await checked.later, VERDICTS[expected], `${id}: later ${list} ${name} ${later ? 'signed' : ''}`)
  }
  const broken = createVerifier({
    ranges: { lookUp: () => 'none' },
    rdns: { lookUp: () => Promise.reject(new Error('x')) },
  })
  t.same(await broken.check(agents.get('named'), request(), AT).later, VERDICTS.indeterminate, 'it never rejects')
})
