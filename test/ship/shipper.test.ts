import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Fault, startCollector } from '../fixtures/collector.js'
import { directory } from '../fixtures/files.js'
import { eventually } from '../fixtures/instance.js'
import { agentObservation, observation } from '../fixtures/observations.js'
import { createFastTime, fetches, KEY, ship } from '../fixtures/shipping.js'

/** A shipper and a collector over a real socket, through everything that goes wrong between two machines. */

const answers =
  (status: number): Fault =>
  ({ res }) => {
    res.writeHead(status).end()
    return true
  }
const numbers = (count: number) => Array.from({ length: count }, (_, n) => `/${n}`)

t.test('rows are shipped, signed, by one sender in rising numbers, and leave the disk', async (t) => {
  const collector = await startCollector({ key: KEY })
  const spool = directory(t)
  const shipper = await ship(spool, collector.url, { site: 7 })
  t.teardown(async () => {
    await shipper.close()
    await collector.stop()
  })
  shipper.record(agentObservation({ pathname: '/0' }))
  shipper.record(observation({ pathname: '/1', headers: { 'accept-language': 'de' } }))
  shipper.record(observation({ pathname: '/style.css', content_type: 'text/css' }))
  shipper.hit({ timestamp: '2026-11-21T12:00:00.000Z', ip: '203.0.113.9', user_agent: 'x', payload: { s: 7, u: 'u' } })
  await eventually('the first delivery', () => collector.deliveries.length === 1)
  for (const row of fetches(60, '/again/')) shipper.record(row)
  await eventually('all of the rest', () => collector.paths().length === 63)
  await eventually('the end of it', () => shipper.stats().waiting + shipper.stats().spool_bytes === 0)

  const [first, ...others] = collector.deliveries
  t.equal(first?.site_id, 7)
  t.match(first, {
    agent_events: [{ pathname: '/0', method: 'GET', bytes: 1234, conditional: 0, ip: '203.0.113.7' }],
    events: [{ pathname: '/1', headers: { 'accept-language': 'de' } }],
    hits: [{ ip: '203.0.113.9', payload: { s: 7, u: 'u' } }],
  })
  t.equal(others[0]?.batch.sender, first?.batch.sender)
  t.same(
    collector.deliveries.map(({ batch }) => batch.number),
    others.length === 1 ? [3, 63] : [3, 53, 63],
    'by the number of its last row',
  )
  const starts = collector.attempts.map(({ at }) => at)
  // Sent 105 ms apart; where the machine is slow one that arrives late is nearer to the next.
  for (const [n, at] of starts.entries())
    if (n > 0) t.ok(at - (starts[n - 1] ?? 0) > 20, 'not one right after the other')
  t.match(shipper.stats(), {
    state: 'ready',
    shipped: { agent_events: 61, events: 1, hits: 1 },
    waiting: 0,
    spool_bytes: 0,
    losses: { not_a_page: 1 },
  })
  const files = readdirSync(spool).filter((name) => name.startsWith('rows-'))
  for (const name of files) t.equal(statSync(join(spool, name)).size, 0, 'no address stays on the disk')
})

t.test('after a 429 the shipper sends less often', async (t) => {
  const time = createFastTime()
  const at: number[] = []
  const collector = await startCollector({
    key: KEY,
    now: time.now,
    fault({ attempt, res }) {
      if (attempt > 2) at.push(time.now())
      else res.writeHead(429, { 'retry-after': '60' }).end()
      return attempt > 2 ? undefined : true
    },
  })
  const shipper = await ship(directory(t), collector.url, time)
  for (let n = 0; n < 6; n++) {
    shipper.record(agentObservation({ pathname: `/${n}` }))
    await eventually('its delivery', () => collector.paths().length === n + 1)
  }
  const gaps = at.slice(1).map((one, n) => one - (at[n] ?? 0))
  t.equal(gaps.length, 5)
  t.ok(
    gaps.every((ms) => ms >= 419),
    `four times 105 ms behind two such answers: ${gaps}`,
  )
  await shipper.close()
  await collector.stop()
})

t.test('after an hour without a collector every row arrives, in order and in full batches', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({ key: KEY, now: time.now })
  await collector.stop()
  const shipper = await ship(directory(t), collector.url, time)
  for (let n = 0; n < 1_200; n++) {
    shipper.record(agentObservation({ pathname: `/${n}` }))
    if (n % 100 === 0) await sleep(2)
  }
  const began = time.now()
  await eventually('an hour', () => time.now() - began > 3_600_000)
  t.match(shipper.stats(), { state: 'ready', trouble: /cannot be reached \(ECONNREFUSED\)/, waiting: 1_200 })
  const waits = time.slept.filter((ms) => ms >= 1_000)
  t.ok(
    waits.every((ms) => ms <= 10_000),
    'ten seconds at most between two attempts: it is not there, and so has nothing to bear',
  )
  t.equal(shipper.log.lines.filter(({ level }) => level === 'warn').length, 1, 'said once')
  await collector.start()
  await eventually('all rows', () => collector.paths().length === 1_200)
  t.same(collector.paths(), numbers(1_200))
  t.ok(collector.deliveries.length <= 5, `${collector.deliveries.length} requests for what waited`)
  t.match(shipper.log.said(), /accepts rows again/)
  await shipper.close()
  await collector.stop()
})

t.test(
  'whatever the collector does: every row once, the same rows under the same number, each attempt signed afresh',
  async (t) => {
    const time = createFastTime()
    const hang: Fault = () => true
    const status =
      (code: number, headers: Record<string, string> = {}, text = ''): Fault =>
      ({ res }) => {
        res.writeHead(code, headers).end(text)
        return true
      }
    const faults: [string, number, Fault, { waits?: (ms: number) => boolean; trouble: RegExp }][] = [
      ['500', 3, status(500), { trouble: /responded with 500/ }],
      [
        '503 with a wait',
        1,
        status(503, { 'retry-after': '120' }),
        { trouble: /503/, waits: (ms) => ms >= 121_000 && ms <= 122_000 },
      ],
      [
        '429 with a wait',
        2,
        status(429, { 'retry-after': '60' }),
        { trouble: /429/, waits: (ms) => ms >= 61_000 && ms <= 65_000 },
      ],
      [
        '429 with a date',
        1,
        ({ res }) => {
          res.writeHead(429, { 'retry-after': new Date(time.now() + 90_000).toUTCString() }).end()
          return true
        },
        { trouble: /429/, waits: (ms) => ms >= 89_000 && ms <= 98_000 },
      ],
      [
        'a page of somebody else',
        1,
        status(200, { 'content-type': 'text/html' }, '<p>Welcome to the Wi-Fi'),
        { trouble: /200.*not from a readership/ },
      ],
      ['202 and garbage', 1, status(202, {}, 'OK'), { trouble: /not from a readership/ }],
      [
        'a redirect',
        1,
        status(307, { location: 'http://127.0.0.1:9/' }),
        {
          trouble: /a redirect to http:\/\/127\.0\.0\.1:9\/, which is not followed/,
          waits: (ms) => ms >= 30_000 && ms <= 60_000,
        },
      ],
      ['404', 1, status(404), { trouble: /404/, waits: (ms) => ms >= 30_000 && ms <= 60_000 }],
      ['no answer at all', 1, hang, { trouble: /did not respond in time/ }],
      [
        'a connection cut',
        2,
        ({ res }) => {
          res.destroy()
          return true
        },
        { trouble: /cannot be reached/ },
      ],
      [
        'an answer cut in its middle',
        1,
        ({ res }) => {
          res.writeHead(202, { 'content-length': '100' }).write('{"data":')
          setTimeout(() => res.destroy(), 5)
          return true
        },
        { trouble: /cannot be reached/ },
      ],
      [
        'committed, and the answer lost',
        2,
        ({ res, commit }) => {
          commit()
          res.destroy()
          return true
        },
        { trouble: /cannot be reached/ },
      ],
      [
        'committed, and 500',
        1,
        ({ res, commit }) => {
          commit()
          res.writeHead(500).end()
          return true
        },
        { trouble: /500/ },
      ],
    ]
    const collector = await startCollector({ key: KEY, now: time.now })
    const shipper = await ship(directory(t), collector.url, { ...time, patience: 2_000 })
    t.teardown(async () => {
      await shipper.close()
      await collector.stop()
    })
    let sent = 0
    for (const [name, times, fault, { trouble, waits }] of faults) {
      let left = times
      const before = collector.attempts.length
      const slept = time.slept.length
      collector.setFault((request) => (left-- > 0 ? fault(request) : undefined))
      for (let n = 0; n < 20; n++) shipper.record(agentObservation({ pathname: `/${sent++}` }))
      await eventually(`the trouble: ${name}`, () => trouble.test(shipper.log.said()))
      await eventually(name, () => shipper.stats().waiting === 0)
      t.same(collector.paths(), numbers(sent), name)
      const tries = collector.attempts.slice(before, before + times + 1)
      t.equal(new Set(tries.map(({ body }) => body)).size, 1, `${name}: the same body each time`)
      t.equal(new Set(tries.map(({ signature }) => signature)).size, times + 1, `${name}: another signature each time`)
      if (waits) t.equal(time.slept.slice(slept).filter((ms) => waits(ms)).length >= times, true, `${name}: waited for`)
    }
    t.notMatch(JSON.stringify(shipper.log.lines), KEY, 'the key is in no line of the log')
  },
)

t.test('a 409 for a repeated signature counts as accepted', async (t) => {
  const collector = await startCollector({
    key: KEY,
    fault: ({ res, commit }) => {
      commit()
      res.writeHead(409, { 'content-type': 'application/json' }).end('{"error":{"code":"conflict","message":"No."}}')
      return true
    },
  })
  const shipper = await ship(directory(t), collector.url)
  for (const row of fetches(3)) shipper.record(row)
  await eventually('done', () => shipper.stats().waiting === 0 && collector.attempts.length > 0)
  t.equal(collector.attempts.length, 1)
  await shipper.close()
  await collector.stop()
})

t.test('refused rows are stored without the address; the others are delivered', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({ key: KEY, now: time.now })
  const spool = directory(t)
  const shipper = await ship(spool, collector.url, time)
  const bad = [0, 1, 250, 399]
  collector.setFault(answers(500))
  for (let n = 0; n < 400; n++)
    shipper.record(agentObservation({ pathname: bad.includes(n) ? `/poison${n}` : `/${n}` }))
  await eventually('all wait', () => shipper.stats().waiting === 400 && collector.attempts.length > 0)
  collector.setFault(undefined)
  await eventually('the rest', () => shipper.stats().waiting === 0)
  const expected = numbers(400).filter((_, n) => !bad.includes(n))
  t.same(collector.paths(), expected)
  t.ok(collector.attempts.length < 100, `${collector.attempts.length} attempts`)
  t.match(shipper.stats(), { losses: { refused: 4 }, shipped: { agent_events: 396 } })
  const aside = readFileSync(join(spool, 'refused.ndjson'), 'utf8').trim().split('\n')
  t.equal(aside.length, 4)
  t.match(JSON.parse(aside[0] ?? ''), { list: 'agent_events', why: /422.*pathname/, row: { pathname: '/poison0' } })
  t.notMatch(aside.join(), /203\.0\.113/, 'no address')
  await shipper.close()
  await collector.stop()
})

t.test('a collector that refuses every row is asked slowly', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({
    key: KEY,
    now: time.now,
    fault: answers(400),
  })
  const shipper = await ship(directory(t), collector.url, time)
  for (const row of fetches(500)) shipper.record(row)
  await eventually('that it is noticed', () => /consecutive rows/.test(shipper.log.said()))
  const began = time.now()
  await eventually('ten minutes', () => time.now() - began > 600_000)
  const refused = () => shipper.stats().losses.refused ?? 0
  t.ok(refused() < 200, `${refused()} of 500 set aside in ten minutes more`)
  await eventually('the others to wait', () => shipper.stats().waiting + refused() === 500)
  await shipper.close()
  await collector.stop()
})

t.test('a wrong key is logged once, a new key is used at once, and a wrong clock is named', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({ key: KEY, now: time.now })
  let key = 'an old one'
  let renewals = 0
  const shipper = await ship(directory(t), collector.url, {
    ...time,
    key: {
      current: () => key,
      reload() {
        renewals += 1
        if (renewals < 3) return false
        key = KEY
        return true
      },
    },
  })
  for (const row of fetches(3)) shipper.record(row)
  await eventually('delivered', () => collector.paths().length === 3)
  const errors = shipper.log.lines.filter(({ level }) => level === 'error')
  t.match(errors, [{ message: /401 unauthorized/ }])
  t.equal(errors.length, 1)
  t.equal(collector.attempts.length, 4)

  // This machine's clock goes 7 minutes ahead of the collector's, whose answers are dated.
  time.advance(420_000)
  collector.setFault(({ res }) => {
    res.writeHead(401, { date: new Date(time.now() - 420_000).toUTCString() }).end()
    return true
  })
  shipper.record(agentObservation())
  await eventually('that it is said', () => /clock is 7 min fast compared with the collector/.test(shipper.log.said()))
  await shipper.close()
  await collector.stop()
})

t.test('a spool over its limit deletes the oldest rows and counts them', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({ key: KEY, now: () => time.now() })
  await collector.stop()
  const spool = directory(t)
  const shipper = await ship(spool, collector.url, { ...time, spool_limit: 400_000 })
  for (let n = 0; n < 8_000; n++) {
    shipper.record(agentObservation({ pathname: `/${n}` }))
    if (n % 50 === 49) await sleep(2)
  }
  await eventually('all is written', () => (shipper.stats().losses.spool_full ?? 0) > 0)
  await sleep(50)
  const { spool_bytes } = shipper.stats()
  // One file is dropped at a time: 25,000 bytes and the batch that crossed them, which is large where the machine is slow.
  t.ok(spool_bytes <= 400_000 && spool_bytes > 50_000, `${spool_bytes} bytes of 400,000`)
  await collector.start()
  await eventually('what is left', () => shipper.stats().waiting === 0)
  const got = collector.paths()
  const dropped = shipper.stats().losses.spool_full ?? 0
  // The rows of the delivery under way are in memory, and go first.
  t.equal(got.length + dropped, 8_000, 'every row arrived or was counted')
  t.same(got.slice(-100), numbers(8_000).slice(-100), 'the newest are there')
  await shipper.close()
  await collector.stop()
})

t.test('rows wait in memory and are shipped from there while the disk accepts none', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({ key: KEY, now: time.now })
  const shipper = await ship(directory(t), collector.url, { ...time, min_free_disk: Number.MAX_SAFE_INTEGER })
  for (const row of fetches(700)) shipper.record(row)
  await eventually('delivered', () => collector.paths().length === 700)
  t.same(collector.paths(), numbers(700))
  t.match(shipper.stats(), { state: 'degraded', reason: /cannot be written to disk: less than/ })
  collector.setFault(answers(500))
  for (const row of fetches(70_000)) shipper.record(row)
  t.ok((shipper.stats().losses.memory_full ?? 0) >= 6_000, 'the oldest of more than memory holds are dropped')
  t.ok(shipper.stats().waiting <= 64_000)
  await shipper.close()
  t.ok((shipper.stats().losses.closed ?? 0) > 0)
  await collector.stop()
})

t.test('close ships rows within its bound, and the next start continues with the rest', async (t) => {
  const collector = await startCollector({ key: KEY })
  const spool = directory(t)
  const first = await ship(spool, collector.url)
  for (const row of fetches(1_000)) first.record(row)
  await first.close()
  t.equal(collector.paths().length, 1_000, 'sent')
  first.record(agentObservation())
  t.equal(first.stats().losses.closed, 1)
  await collector.stop()

  const second = await ship(spool, collector.url)
  for (const row of fetches(10, '/second/')) second.record(row)
  await eventually('the trouble', () => second.stats().trouble !== undefined)
  const began = performance.now()
  await second.close()
  t.ok(performance.now() - began < 4_000, 'a collector that is away is not waited for')
  t.match(second.log.said(), /rows wait on disk to be shipped after the next start/)

  await collector.start()
  const third = await ship(spool, collector.url)
  t.match(third.log.said(), /rows of the previous run wait/)
  await eventually('the rest', () => collector.paths().length === 1_010)
  await third.close()
  t.equal(new Set(collector.paths()).size, 1_010)
  t.ok(existsSync(join(spool, 'progress')))
  await collector.stop()
})

t.test('a spool belongs to one process', async (t) => {
  const spool = directory(t)
  const shipper = await ship(spool, 'http://127.0.0.1:9')
  await t.rejects(ship(spool, 'http://127.0.0.1:9'), { message: new RegExp(`${spool} is in use by another process`) })
  await shipper.close()
  const again = await ship(spool, 'http://127.0.0.1:9')
  await again.close()
})

t.test('record never throws, whatever its argument', async (t) => {
  const shipper = await ship(directory(t), 'http://127.0.0.1:9')
  const wrong: unknown[] = [
    undefined,
    null,
    1,
    {},
    { ...agentObservation(), user_agent: 1 },
    { ...agentObservation(), bytes: 'x' },
  ]
  wrong.push({ ...agentObservation(), timestamp: 'yesterday' }, { ...agentObservation(), headers: { accept: 1 } })
  const record: (value: never) => void = shipper.record
  for (const value of wrong) Reflect.apply(record, undefined, [value])
  let deep: unknown = {}
  for (let n = 0; n < 100_000; n++) deep = { deep }
  shipper.hit({ timestamp: '2026-11-21T12:00:00.000Z', ip: '', user_agent: '', payload: deep })
  t.equal(shipper.stats().losses.fault, 9)
  t.equal(shipper.stats().waiting, 0)
  await shipper.close()
})
