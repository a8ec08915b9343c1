import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { z } from 'zod'
import { createRandom } from '../../examples/dice.js'
import { createHistory, deliverHistory } from '../../examples/history.js'
import { startSite } from '../../examples/site/server.js'

const DAY_MS = 86_400_000
const UNTIL = Date.parse('2026-11-20T12:00:00Z')
const [BASE, CHATGPT] = ['http://localhost:8080', 'https://chatgpt.com/']

const Vitals = z.object({ t: z.literal('web_vitals'), e: z.object({ lcp: z.number() }) })

t.test('the made-up past has an event for each view', async (t) => {
  const site = await startSite({ port: 0, base: BASE })
  t.teardown(() => site.close())
  const made = { base: BASE, origin: site.url, pages: site.pages, tracked: true, until: UNTIL }
  const rows = await createHistory({ days: 75, people: 40, agents: 20, random: createRandom(8), ...made })
  const daysAgo = (at: number) => Math.floor(UNTIL / DAY_MS) - Math.floor(at / DAY_MS)
  const fetches = rows.filter(({ list }) => list === 'agent_events')
  const claimed = (name: string, network: string, day: number) =>
    fetches.filter(
      ({ at, row }) =>
        daysAgo(at) === day && `${row.user_agent}`.includes(name) && `${row.ip}`.startsWith(`${network}.`),
    )

  const spoofed = [3, 4, 5].map((day) => claimed('GPTBot', '45.148.10', day).length)
  t.ok((spoofed[1] ?? 0) > 3 * Math.max(spoofed[0] ?? 0, spoofed[2] ?? 0), `a spoofed wave: ${spoofed} fetches`)

  const paths = claimed('AhrefsBot', '54.36.148', 6).map(({ row }) => row.pathname)
  t.ok(
    paths.includes('/robots.txt') && paths.includes('/proofs'),
    'a verified agent reads robots.txt and what it forbids',
  )
  t.notOk(
    fetches.some(
      ({ at, row }) => daysAgo(at) !== 6 && `${row.user_agent}`.includes('AhrefsBot') && row.pathname === '/proofs',
    ),
    'on no other day',
  )

  const midnight = Math.floor(UNTIL / DAY_MS - 66) * DAY_MS
  const night = [
    [-3, 2],
    [2, 9],
    [9, 12],
  ].map((hours) => {
    const [from = 0, to = 0] = hours.map((hour) => midnight + hour * 3_600_000)
    return rows.some(({ at }) => at >= from && at < to)
  })
  t.same(night, [true, false, true], 'a night in which nothing was recorded')

  const views = rows.filter(({ list }) => list === 'events')
  const decaying = (from: number, to: number) =>
    views.filter(({ at, row }) => row.pathname === '/articles/two-bulges' && daysAgo(at) >= from && daysAgo(at) < to)
      .length
  t.ok(decaying(45, 75) > 3 * decaying(0, 30), `a page decays: ${decaying(45, 75)} → ${decaying(0, 30)} pageviews`)

  const sent = views.filter(({ row }) => row.referrer === 'https://tidewire.example/')
  t.same(
    [...new Set(sent.map(({ at, row }) => `${daysAgo(at)} ${row.pathname}`))].sort(),
    ['12 /articles/fog-signals', '13 /articles/fog-signals'],
    'a news site sends people to one article for two days',
  )
  const viewsOn = (day: number) => views.filter(({ at }) => daysAgo(at) === day).length
  t.ok(viewsOn(13) > 1.5 * viewsOn(20), `which is a spike: ${viewsOn(20)} pageviews a week before, ${viewsOn(13)} then`)

  const disguised = views.filter(({ row }) => `${row.user_agent}`.includes('Chrome/72.'))
  t.ok(
    disguised.length > 50 && disguised.every(({ row }) => `${row.ip}`.startsWith('49.12.7.')),
    `scripts with a browser's user agent, on rented servers: ${disguised.length} pageviews`,
  )

  const visitors = new Map<string, { keen: boolean; bought: boolean }>()
  for (const { row } of views) {
    const who = `${row.ip} ${row.user_agent}`
    const { keen = false, bought = false } = visitors.get(who) ?? {}
    visitors.set(who, { keen: keen || row.referrer === CHATGPT, bought: bought || row.pathname === '/thank-you' })
  }
  const rate = (sent: boolean) => {
    const group = [...visitors.values()].filter(({ keen }) => keen === sent)
    return group.filter(({ bought }) => bought).length / group.length
  }
  t.ok(rate(true) > 3 * rate(false), `an assistant sends buyers: ${rate(true)} of them, ${rate(false)} of the others`)

  const median = (from: number, to: number) => {
    const values = rows.flatMap(({ at, row: { payload } }) => {
      const vitals = Vitals.safeParse(payload)
      return vitals.success && daysAgo(at) >= from && daysAgo(at) < to ? [vitals.data.e.lcp] : []
    })
    return values.sort((a, b) => a - b)[values.length >> 1] ?? 0
  }
  t.ok(median(21, 75) > 1.4 * median(0, 20), `a deployment: LCP ${median(21, 75)} → ${median(0, 20)} ms`)
})

t.test('a delivery that the busy store refuses is sent again, and a wrong one is not', async (t) => {
  const rows: [statuses: number[], error: string | undefined, why: string][] = [
    [[202], undefined, 'stored at once'],
    [[503, 503, 429, 503, 202], undefined, 'the store hangs for a while'],
    [[503, 401], 'no such key', 'waiting does not help'],
  ]
  for (const [statuses, expected, why] of rows) {
    const left = [...statuses]
    const bodies = new Set<string>()
    const server = createServer(async (req, res) => {
      bodies.add(await text(req))
      res.writeHead(left.shift() ?? 500, { 'retry-after': '0' }).end('{"error":{"message":"no such key"}}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const admin = `http://127.0.0.1:${z.object({ port: z.number() }).parse(server.address()).port}`
    const entry = { at: UNTIL, list: 'events', row: { pathname: '/' } } as const
    const delivered = deliverHistory([entry], { admin, key: 'k', progress() {} })
    const error = await delivered.then(
      () => undefined,
      ({ message }: Error) => message,
    )
    t.same([error, left, bodies.size], [expected, [], 1], why)
  }
})
