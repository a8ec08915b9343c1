import { Resolver } from 'node:dns/promises'
import t from 'tap'
import { type Agent, loadCatalog } from '../../src/agents/catalog.js'
import { createRdns, type DnsResolver, type RdnsResult } from '../../src/agents/rdns.js'
import { parseAddress } from '../../src/base/address.js'
import { type DnsAnswer, reverseName, serveDns } from '../fixtures/dns.js'

const catalog = loadCatalog()
const agentOf = (id: string): Agent => {
  const agent = catalog.get(id)
  if (!agent) throw new Error(`${id} is not in the catalog`)
  return agent
}
const addressOf = (ip: string) => {
  const address = parseAddress(ip)
  if (!address) throw new Error(`${ip} is not an address`)
  return address
}
const clock = () => performance.now()

t.test('confirms a PTR name that resolves to the address, over a real DNS server', async (t) => {
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
  const rdns = createRdns({ resolver, clock, timeoutMs: 300 })

  const rows: readonly [string, string, RdnsResult, string][] = [
    ['googlebot', '66.249.66.1', 'true', 'a name that resolves to the address'],
    ['googlebot', '::ffff:66.249.66.1', 'true', 'the same address, mapped'],
    ['googlebot', '66.249.66.2', 'false', 'a name that resolves to another address'],
    ['googlebot', '66.249.66.3', 'true', 'capitals, a last dot, a second address'],
    ['googlebot', '66.249.66.4', 'false', 'a name that does not exist'],
    ['googlebot', '66.249.66.5', 'transient', 'a name whose server fails'],
    ['googlebot', '66.249.66.6', 'true', 'the other mask'],
    ['googlebot', '2001:4860:4801:10::1', 'true', 'IPv6'],
    ['googlebot', '192.0.2.1', 'false', 'not on a label boundary'],
    ['googlebot', '192.0.2.2', 'false', 'not at the end'],
    ['googlebot', '192.0.2.3', 'false', 'the suffix alone'],
    ['googlebot', '192.0.2.4', 'false', 'a name of Google, but not of a crawler'],
    ['googlebot', '192.0.2.5', 'false', '* does not match a dot'],
    ['googlebot', '192.0.2.6', 'false', 'the mask matches from the start'],
    ['adsbot-google', '192.0.2.7', 'true', 'special-case crawlers'],
    ['adsbot-google', '192.0.2.8', 'false', 'fetchers for users are other names'],
    ['feedfetcher-google', '192.0.2.8', 'true', 'fetchers for users'],
    ['feedfetcher-google', '192.0.2.7', 'false', 'special-case crawlers are other names'],
    ['feedfetcher-google', '192.0.2.9', 'false', 'not every name of Google'],
    ['google-gemininotebook', '192.0.2.10', 'true', 'its second suffix'],
    ['bingbot', '192.0.2.11', 'true', 'a suffix without masks'],
    ['bingbot', '192.0.2.12', 'false', 'the suffix alone'],
    ['bingbot', '66.249.66.1', 'false', "another operator's name"],
    ['googlebot', '192.0.2.20', 'false', 'the matching name is one of many and resolves to another address'],
    ['googlebot', '192.0.2.21', 'false', 'nine matching names that do not resolve'],
    ['googlebot', '192.0.2.99', 'false', 'no name'],
    ['googlebot', '192.0.2.30', 'transient', 'a server that fails'],
    ['googlebot', '192.0.2.31', 'transient', 'a server that does not answer'],
    ['googlebot', '192.0.2.32', 'transient', 'a server that does not answer for the name'],
  ]
  for (const [id, ip, expected, why] of rows) {
    const begun = clock()
    t.equal(await rdns.lookUp(agentOf(id), addressOf(ip)), expected, `${id} ${ip}: ${why}`)
    t.ok(clock() - begun < 600, `${ip}: in time`)
    t.equal(rdns.lookUp(agentOf(id), addressOf(ip)), expected, `${ip}: cached, and returned at once`)
  }
  t.equal(dns.asked.get(reverseName('192.0.2.99')), 1, 'one query')
  const forward = Array.from({ length: 9 }, (_, i) => dns.asked.get(`crawl-${i}.googlebot.com`) ?? 0)
  t.equal(forward.filter((times) => times > 0).length, 4, 'at most four names are resolved')
  t.equal(rdns.lookUp(agentOf('gptbot'), addressOf('192.0.2.1')), 'false', 'an operator that publishes no names')
})

/** A resolver whose answers the test gives one by one. */
function createManualResolver() {
  const waiting: { ip: string; answer: (names: string[]) => void; fail: (error: Error) => void }[] = []
  const resolver: DnsResolver = {
    resolvePtr: (name) =>
      new Promise((answer, fail) => {
        const ip = name.split('.').slice(0, 4).reverse().join('.')
        waiting.push({ ip, answer, fail })
      }),
    resolve4: async (name) => [name.replace(/^crawl-|\.googlebot\.com$/g, '').replaceAll('-', '.')],
    resolve6: async () => [],
  }
  return { resolver, waiting }
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

t.test('bounds its queue, shares lookups and lets cached results expire', async (t) => {
  const { resolver, waiting } = createManualResolver()
  let now = 0
  const rdns = createRdns({ resolver, clock: () => now, timeoutMs: 60_000, maxConcurrent: 2, maxQueued: 3 })
  const googlebot = agentOf('googlebot')
  const ask = (ip: string) => rdns.lookUp(googlebot, addressOf(ip))
  const asked = ['1.0.0.1', '1.0.0.2', '1.0.0.3', '1.0.0.4', '1.0.0.5'].map(ask)
  t.equal(ask('1.0.0.6'), 'transient', 'the queue is full')
  t.equal(ask('1.0.0.1'), asked[0], 'the same lookup runs once')
  t.equal(
    rdns.lookUp(agentOf('googlebot-image'), addressOf('1.0.0.1')),
    asked[0],
    'also for an agent with the same name rule',
  )
  await nextTurn()
  t.equal(waiting.length, 2, 'two lookups run')
  const answer = (ip: string) =>
    waiting.find((one) => one.ip === ip)?.answer([`crawl-${ip.replaceAll('.', '-')}.googlebot.com`])
  answer('1.0.0.1')
  t.equal(await asked[0], 'true')
  await nextTurn()
  t.same(
    waiting.map(({ ip }) => ip),
    ['1.0.0.1', '1.0.0.2', '1.0.0.3'],
    'the next in the queue starts',
  )
  t.type(ask('1.0.0.6'), Promise, 'the queue has a free place again')
  for (const ip of ['1.0.0.2', '1.0.0.3', '1.0.0.4', '1.0.0.5', '1.0.0.6']) {
    answer(ip)
    await nextTurn()
    await nextTurn()
  }
  t.same(await Promise.all(asked), ['true', 'true', 'true', 'true', 'true'])

  const hour = 3_600_000
  now = 24 * hour - 1
  t.equal(ask('1.0.0.1'), 'true', 'a positive result is cached for a day')
  now = 24 * hour + 1
  t.type(ask('1.0.0.1'), Promise, 'and not longer')
  await nextTurn()
  waiting.at(-1)?.answer([])
  t.equal(await ask('1.0.0.1'), 'false')
  now += hour - 1
  t.equal(ask('1.0.0.1'), 'false', 'a negative result is cached for an hour')
  now += 2
  t.type(ask('1.0.0.1'), Promise)
  await nextTurn()
  waiting.at(-1)?.fail(new Error('ESERVFAIL'))
  t.equal(await ask('1.0.0.1'), 'transient')
  now += 300_000 - 1
  t.equal(ask('1.0.0.1'), 'transient', 'a failure is cached for five minutes')
  now += 2
  const last = ask('1.0.0.1')
  t.type(last, Promise)
  await nextTurn()
  waiting.at(-1)?.answer([])
  t.equal(await last, 'false')
})

t.test('returns transient after the timeout if the DNS never answers, and leaks no timer', async (t) => {
  const { resolver, waiting } = createManualResolver()
  const rdns = createRdns({ resolver, clock, timeoutMs: 100, maxConcurrent: 2, maxQueued: 10 })
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const begun = clock()
  const ips = Array.from({ length: 8 }, (_, i) => `1.0.0.${i}`)
  const answers = await Promise.all(ips.map((ip) => rdns.lookUp(agentOf('googlebot'), addressOf(ip))))
  t.same(
    answers,
    ips.map(() => 'transient'),
  )
  t.ok(clock() - begun < 1_000, 'all lookups share one timeout')
  t.equal(timers(), before, 'no timer is left')
  waiting[0]?.answer(['crawl-1-0-0-0.googlebot.com'])
  await nextTurn()
  await nextTurn()
  t.equal(rdns.lookUp(agentOf('googlebot'), addressOf('1.0.0.0')), 'true', 'a late answer is cached')
  const next = rdns.lookUp(agentOf('googlebot'), addressOf('2.0.0.1'))
  await nextTurn()
  waiting.at(-1)?.answer(['crawl-2-0-0-1.googlebot.com'])
  t.equal(await next, 'true', 'lookups that timed out free their slots')
})
