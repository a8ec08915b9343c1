import { createServer, type IncomingMessage } from 'node:http'
import t from 'tap'
import { createRandom } from '../../examples/dice.js'
import { startSite } from '../../examples/site/server.js'
import { startTraffic } from '../../examples/traffic.js'
import { createVisits, type Visit } from '../../examples/visits.js'

const PAGES = ['/', '/pricing', '/articles/a', '/articles/b', '/gauge', '/subscribe', '/about']
const stream = (seed: number, count: number): Visit[] => {
  const visits = createVisits(createRandom(seed), { base: 'http://localhost:8080', pages: PAGES })
  return Array.from({ length: count }, () => visits.next())
}

t.test('the same seed gives the same visits', async (t) => {
  const text = (seed: number) => JSON.stringify(stream(seed, 200))
  t.equal(text(7), text(7))
  t.not(text(7), text(8))
})

t.test('visits are of the kinds that a site receives', async (t) => {
  const visits = stream(1, 3000)
  const steps = visits.flatMap((visit) => visit.steps)
  const people = visits.filter((visit) => visit.steps.some((step) => 'sec-fetch-dest' in step.headers))
  const disguised = visits.filter((visit) => visit.isDisguised)
  const seeming = people.length + disguised.length
  t.ok(Math.abs(seeming / visits.length - 0.6) < 0.05, `three to two: ${seeming} of ${visits.length}`)
  const share = disguised.length / seeming
  t.ok(share > 0.03 && share < 0.08, `some of them are disguised scripts: ${disguised.length} of ${seeming}`)

  const names = people.map((visit) => visit.visitor)
  t.ok(new Set(names).size < names.length * 0.8, 'some people come again')
  const odd = visits.filter(
    ({ visitor, steps }) =>
      !steps.every(
        ({ wait, path, headers }) =>
          `${headers['x-forwarded-for']} ${headers['user-agent'] ?? ''}` === visitor &&
          wait >= 0 &&
          path.startsWith('/'),
      ),
  )
  t.same(odd, [], 'every step of a visit is made by its visitor')
  const some = (what: string, test: (step: Visit['steps'][number]) => boolean) => t.ok(steps.some(test), what)
  some('prefetches', ({ headers }) => headers['sec-purpose'] === 'prefetch')
  some('campaigns', ({ path }) => path.includes('utm_campaign='))
  some('forms', ({ method, body }) => method === 'POST' && body !== undefined)
  some('streams that are left', ({ leaveAfter: hold }) => hold !== undefined)
  some('referrals by an assistant', ({ headers }) => headers.referer === 'https://chatgpt.com/')
  some('checks by HEAD', ({ method }) => method === 'HEAD')
  some('no user agent at all', ({ headers }) => !('user-agent' in headers))
  some('Markdown', ({ path }) => path.endsWith('.md'))
  for (const { visitor, steps } of visits) {
    if (!/GPTBot|ClaudeBot|Googlebot|CCBot/.test(visitor) || visitor.startsWith('45.148.10')) continue
    if (steps[0]?.path !== '/robots.txt') t.fail(`${visitor} did not begin with robots.txt`)
    if (visitor.includes('CCBot') && steps.some((step) => step.path !== '/robots.txt')) t.fail('CCBot is shut out')
    const forbidden = /GPTBot|ClaudeBot/.test(visitor) ? ['/proofs', '/pricing'] : ['/proofs']
    if (steps.some((step) => forbidden.includes(step.path))) t.fail(`${visitor} read what robots.txt forbids`)
  }
})

/** Requests as an independent server recorded them. */
interface Seen {
  who: string
  path: string
  tag: string | undefined
}
async function witness(status: (req: IncomingMessage) => number): Promise<{ url: URL; seen: Seen[]; close(): void }> {
  const seen: Seen[] = []
  const server = createServer((req, res) => {
    const header = (name: string) => String(req.headers[name] ?? '')
    seen.push({
      who: `${header('x-forwarded-for')} ${header('user-agent')}`,
      path: req.url ?? '',
      tag: req.headers['if-none-match'],
    })
    req.resume()
    res.writeHead(status(req), { etag: `"${req.url}"` }).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { url: new URL(`http://127.0.0.1:${address.port}`), seen, close: () => server.close() }
}

t.test('a burst, then a stream with conditional requests, until close', async (t) => {
  const origin = await witness((req) => (req.headers['if-none-match'] ? 304 : 200))
  t.teardown(origin.close)
  const expected = stream(3, 60).flatMap((visit) => visit.steps.filter((step) => !step.leaveAfter))
  let early = 0
  const wait = async (_ms: number, signal: AbortSignal) => {
    if (origin.seen.length < expected.length) early++
    await new Promise((done) => setImmediate(done))
    signal.throwIfAborted()
  }
  const traffic = startTraffic({ target: origin.url, pages: PAGES, random: createRandom(3), burst: 60, wait, rate: 2 })
  await traffic.ready
  t.same(
    origin.seen
      .slice(0, expected.length)
      .map(({ path }) => path)
      .sort(),
    expected.map(({ path }) => path).sort(),
    'the burst is the first sixty visits, without the endless answers',
  )
  t.equal(early, 0, 'a burst does not pause')
  while (origin.seen.length < expected.length + 100) await new Promise((done) => setTimeout(done, 5))
  await traffic.close()
  const after = origin.seen.length
  await new Promise((done) => setTimeout(done, 50))
  t.equal(origin.seen.length, after, 'nothing comes after close')
  t.equal(traffic.sent().failed, 0)

  const had = new Set<string>()
  const again = origin.seen.filter(({ who, path, tag }) => {
    const known = had.has(`${who} ${path}`)
    had.add(`${who} ${path}`)
    if (tag && (!known || tag !== `"${path}"`)) t.fail(`${who} cannot have known ${path} as ${tag}`)
    return tag
  })
  t.ok(again.length > 0, 'some pages were known')
})

t.test('an unreachable proxy fails requests, not the demo', async (t) => {
  const gone = await witness(() => 200)
  gone.close()
  const traffic = startTraffic({ target: gone.url, pages: PAGES, random: createRandom(4), burst: 5 })
  await traffic.ready
  t.equal(traffic.sent().failed, traffic.sent().requests)
  await traffic.close()
})

t.test('on the sample site only wrong addresses are missing', async (t) => {
  const site = await startSite({ port: 0 })
  t.teardown(site.close)
  const paths = new Set(
    Array.from({ length: 400 }, () => undefined).flatMap(
      (
        (visits) => () =>
          visits.next().steps.map((step) => step.path)
      )(createVisits(createRandom(5), { base: 'http://localhost:8080', pages: site.pages })),
    ),
  )
  const missing: string[] = []
  for (const path of paths) {
    if (path === '/api/gauge/stream') continue
    const { status } = await fetch(site.url + path, { method: 'HEAD' })
    if (status !== 200) missing.push(`${status} ${path}`)
  }
  t.same(
    missing.filter(
      (line) =>
        !/^404 \/(articles\/(the-lost-essay|issue-zero)|wp-|\.env|\.git|xmlrpc|phpmyadmin|server-status)/.test(line),
    ),
    [],
  )
  t.ok(missing.length > 0, 'and some are')
})
