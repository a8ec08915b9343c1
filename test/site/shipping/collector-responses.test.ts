import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Fault, respondWith, startCollector } from '../../fixtures/collector.js'
import { directory } from '../../fixtures/files.js'
import { eventually } from '../../fixtures/instance.js'
import { agentObservation } from '../../fixtures/observations.js'
import { createFastTime, fetches, KEY, numberedPaths, ship } from '../../fixtures/shipping.js'

/** A shipper and a collector over a real socket: how the shipper reacts to each response and each broken connection. */

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
    `four times 105 ms after two such responses: ${gaps}`,
  )
  await shipper.close()
  await collector.stop()
})

t.test(
  'whatever the collector does: every row once, the same rows under the same number, each attempt signed afresh',
  async (t) => {
    const time = createFastTime()
    const hang: Fault = () => true
    const faults: [string, number, Fault, { waits?: (ms: number) => boolean; trouble: RegExp }][] = [
      ['500', 3, respondWith(500), { trouble: /responded with 500/ }],
      [
        '503 with a wait',
        1,
        respondWith(503, { 'retry-after': '120' }),
        { trouble: /503/, waits: (ms) => ms >= 121_000 && ms <= 122_000 },
      ],
      [
        '429 with a wait',
        2,
        respondWith(429, { 'retry-after': '60' }),
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
        'a page of another server',
        1,
        respondWith(200, { 'content-type': 'text/html' }, '<p>Welcome to the Wi-Fi'),
        { trouble: /200.*not from a readership/ },
      ],
      ['202 and garbage', 1, respondWith(202, {}, 'OK'), { trouble: /not from a readership/ }],
      [
        'a redirect',
        1,
        respondWith(307, { location: 'http://127.0.0.1:9/' }),
        {
          trouble: /a redirect to http:\/\/127\.0\.0\.1:9\/, which is not followed/,
          waits: (ms) => ms >= 30_000 && ms <= 60_000,
        },
      ],
      ['404', 1, respondWith(404), { trouble: /404/, waits: (ms) => ms >= 30_000 && ms <= 60_000 }],
      ['no response', 1, hang, { trouble: /did not respond in time/ }],
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
        'a response cut in the middle',
        1,
        ({ res }) => {
          res.writeHead(202, { 'content-length': '100' }).write('{"data":')
          setTimeout(() => res.destroy(), 5)
          return true
        },
        { trouble: /cannot be reached/ },
      ],
      [
        'committed, and the response lost',
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
      t.same(collector.paths(), numberedPaths(sent), name)
      const tries = collector.attempts.slice(before, before + times + 1)
      t.equal(new Set(tries.map(({ body }) => body)).size, 1, `${name}: the same body each time`)
      t.equal(new Set(tries.map(({ signature }) => signature)).size, times + 1, `${name}: another signature each time`)
      if (waits)
        t.equal(
          time.slept.slice(slept).filter((ms) => waits(ms)).length >= times,
          true,
          `${name}: the delay is respected`,
        )
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
  collector.setFault(respondWith(500))
  for (let n = 0; n < 400; n++)
    shipper.record(agentObservation({ pathname: bad.includes(n) ? `/poison${n}` : `/${n}` }))
  await eventually('all wait', () => shipper.stats().waiting === 400 && collector.attempts.length > 0)
  collector.setFault(undefined)
  await eventually('the rest', () => shipper.stats().waiting === 0)
  const expected = numberedPaths(400).filter((_, n) => !bad.includes(n))
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

t.test('rows are sent slowly to a collector that refuses every row', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({
    key: KEY,
    now: time.now,
    fault: respondWith(400),
  })
  const shipper = await ship(directory(t), collector.url, time)
  for (const row of fetches(500)) shipper.record(row)
  await eventually('that it is noticed', () => /consecutive rows/.test(shipper.log.said()))
  const began = time.now()
  await eventually('ten minutes', () => time.now() - began > 600_000)
  const refused = () => shipper.stats().losses.refused ?? 0
  t.ok(refused() < 200, `${refused()} of 500 set aside in another ten minutes`)
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

  // The clock of this machine goes 7 minutes ahead of the collector's, whose responses are dated.
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
