import t from 'tap'
import { z } from 'zod'
import { loadCatalog } from '../../../src/agents/catalog.js'
import type { DeliveryOutcome } from '../../../src/site/shipping/response-outcome.js'
import { createWebClient } from '../../../src/site/shipping/web/web-client.js'
import { createWebShipper } from '../../../src/site/shipping/web/web-shipper.js'
import { webReadership } from '../../../src/web.js'
import { startCollector } from '../../fixtures/collector.js'
import { agentObservation, observation } from '../../fixtures/observations.js'

const Body = z.object({
  batch: z.object({ sender: z.string(), number: z.int() }),
  agent_events: z.array(z.object({ pathname: z.string() })),
  events: z.array(z.unknown()),
})
const ACCEPTED: DeliveryOutcome = { kind: 'accepted' }
const LATER: DeliveryOutcome = { kind: 'later', why: 'it responded with 500' }

/** A shipper whose collector answers as told, then accepts; sleeping takes no time and moves its clock. */
function open(
  answers: DeliveryOutcome[] = [],
  judge: (paths: string[]) => DeliveryOutcome = () => answers.shift() ?? ACCEPTED,
) {
  const sent: { sender: string; paths: string[]; at: number }[] = []
  const said: string[] = []
  const time = { at: 0 }
  let ids = 0
  const shipper = createWebShipper({
    site: 1,
    agents: loadCatalog().agents,
    async send(body) {
      const { batch, agent_events } = Body.parse(JSON.parse(body))
      const paths = agent_events.map(({ pathname }) => pathname)
      sent.push({ sender: batch.sender, paths, at: time.at })
      return judge(paths)
    },
    now: () => time.at,
    random: () => 1,
    id: () => String(++ids).padStart(16, '0'),
    async sleep(ms) {
      time.at += ms
    },
    log: (message) => said.push(message),
  })
  const record = (...paths: string[]) => {
    for (const pathname of paths) shipper.record(agentObservation({ pathname }))
  }
  return { ...shipper, record, sent, said, time }
}

t.test('rows are sent together, after a second, and once', async (t) => {
  const { record, flush, sent, stats } = open()
  record('/a', '/b')
  await Promise.all([flush(), flush()])
  t.match(sent, [{ sender: '0000000000000001', paths: ['/a', '/b'] }])
  t.equal(sent.length, 1)
  record('/c')
  await flush()
  t.same(sent[1]?.sender, '0000000000000002', 'each delivery has its own sender, so that none waits for another')
  t.match(stats(), { shipped: { agent_events: 3 }, waiting: 0, losses: {} })
})

t.test('a failure with an unknown outcome: the same again under the same name', async (t) => {
  const { record, flush, sent, stats, said } = open([LATER, LATER])
  record('/a')
  await flush()
  // 1 s window; then 500 ms doubled for each try, whole as the random number is 1.
  t.same(
    sent.map(({ sender, at }) => [sender, at]),
    [
      ['0000000000000001', 1_000],
      ['0000000000000001', 2_000],
      ['0000000000000001', 4_000],
    ],
  )
  t.same(said, ['the collector accepts no rows, so they wait in memory: it responded with 500'], 'logged once')
  t.match(stats(), { shipped: { agent_events: 1 }, waiting: 0 })
  t.equal(stats().trouble, undefined)
})

t.test('after four attempts rows wait for a later flush, and flushes pause', async (t) => {
  const { record, flush, sent, stats, time } = open([LATER, LATER, LATER, LATER])
  record('/a')
  await flush()
  t.equal(sent.length, 4)
  t.match(stats(), { waiting: 1, trouble: 'it responded with 500' })
  record('/b')
  await flush()
  t.equal(sent.length, 4, 'nothing is sent during the pause')
  time.at += 20_000
  await flush()
  t.same(
    sent.slice(4).map(({ sender, paths }) => [sender, paths]),
    [
      ['0000000000000001', ['/a']],
      ['0000000000000002', ['/b']],
    ],
    'the old batch under its old sender, then the new one',
  )
})

t.test('Retry-After and a denied key pause all flushes at once', async (t) => {
  const rows: [DeliveryOutcome, number, string][] = [
    [
      { kind: 'later', why: 'it responded with 429', after: 60_000 },
      75_000,
      'the delay of Retry-After and up to a quarter more',
    ],
    [{ kind: 'denied', why: 'it responded with 401', key: true }, 12_500, 'ten seconds, and up to a quarter more'],
  ]
  for (const [outcome, pause, why] of rows) {
    const { record, flush, sent, time } = open([outcome])
    record('/a')
    await flush()
    t.equal(sent.length, 1)
    time.at = 1_000 + pause - 1_001
    await flush()
    t.equal(sent.length, 1, why)
    await flush()
    t.equal(sent.length, 2, why)
  }
})

t.test('only the row that the collector refuses is lost', async (t) => {
  const judge = (paths: string[]): DeliveryOutcome =>
    paths.includes('/poison') ? { kind: 'refused', why: 'it responded with 422' } : ACCEPTED
  const { record, flush, stats, said } = open([], judge)
  record('/a', '/b', '/poison', '/c', '/d')
  await flush()
  t.match(stats(), { shipped: { agent_events: 4 }, waiting: 0, losses: { refused: 1 } })
  t.same(said, ['the collector refused a row, which is lost: it responded with 422'])
})

t.test('memory is bounded: the oldest rows are deleted and counted', async (t) => {
  const { record, flush, sent, stats } = open()
  for (let n = 0; n < 5_001; n++) record(`/${n}`)
  t.match(stats(), { waiting: 4_901, losses: { memory_full: 100 } })
  await flush()
  t.equal(sent[0]?.paths[0], '/100')
  t.ok(sent.every(({ paths }) => paths.length <= 500))
  t.match(stats(), { shipped: { agent_events: 4_901 }, waiting: 0 })
  const large = open()
  // 8,388,608 characters: of rows of some 8,250 about 1,016, and a hundred go at once.
  for (let n = 0; n < 2_000; n++) large.record(`/${n}${'x'.repeat(8_000)}`)
  t.ok(large.stats().waiting <= 1_040 && large.stats().waiting > 900, `${large.stats().waiting} rows`)
})

t.test('observations without a row and invalid observations are counted', async (t) => {
  const web = webReadership({ collector: 'http://127.0.0.1:1', ingest_key: 'k' })
  web.record(observation({ content_type: 'image/png' }))
  web.record(observation({ headers: { 'sec-purpose': 'prefetch' } }))
  web.record(observation({ duration_ms: Number.NaN }))
  t.match(web.stats(), { waiting: 0, losses: { not_a_page: 1, prefetch: 1, fault: 1 } })
  const { flush, sent } = open()
  await flush()
  t.same(sent, [], 'nothing waits: nothing is sent')
})

t.test('a wrong option gives one line that names it', async (t) => {
  const good = { collector: 'https://stats.example.com/r', ingest_key: 'k' }
  const rows: [object, RegExp | undefined][] = [
    [good, undefined],
    [{ ...good, site: 0 }, /^readership: site must be 1 or more$/],
    [{ ...good, collector: 'stats.example.com' }, /^readership: collector must be an http or https URL/],
    [{ ...good, collector: 'https://u:p@stats.example.com' }, /^readership: collector must have no/],
    [{ ...good, ingest_key: '' }, /^readership: ingest_key must be one word$/],
    [{ ...good, ingest_key: undefined }, /^readership: ingest_key must be a text$/],
    [
      { ...good, ingestkey: 'k' },
      /^readership: ingestkey is not an option of webReadership; did you mean ingest_key\?$/,
    ],
    [
      { ...good, token: 'k' },
      /^readership: token is not an option of webReadership\. The options are collector, site, ingest_key, log\.$/,
    ],
  ]
  for (const [options, message] of rows) {
    const make = () => Reflect.apply(webReadership, undefined, [options])
    if (message === undefined) t.doesNotThrow(make)
    else t.throws(make, { message })
  }
})

t.test('each attempt has a signature of its own time', async (t) => {
  const KEY = 'ingest_ключ'
  const time = { at: Date.parse('2026-11-21T10:00:00.000Z') }
  const collector = await startCollector({
    key: KEY,
    now: () => time.at,
    fault: ({ attempt, res }) => {
      if (attempt > 1) return undefined
      res.writeHead(503, { 'retry-after': '7' }).end('x'.repeat(200_000))
      return true
    },
  })
  t.teardown(collector.stop)
  const send = createWebClient(`${collector.url}/`, KEY, () => time.at)
  const body = JSON.stringify({
    site_id: 1,
    batch: { sender: '0123456789abcdef', number: 1 },
    agent_events: [{ pathname: '/ü' }],
    events: [],
  })
  t.match(await send(body), { kind: 'later', after: 7_000 })
  time.at += 1_000
  t.same(await send(body), ACCEPTED)
  t.equal(new Set(collector.attempts.map(({ signature }) => signature)).size, 2)
  const nobody = createWebClient('http://127.0.0.1:1', KEY, () => time.at)
  t.match(await nobody(body), { kind: 'later' }, 'no server listens')
})
