import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { respondWith, startCollector } from '../../fixtures/collector.js'
import { directory } from '../../fixtures/files.js'
import { eventually } from '../../fixtures/instance.js'
import { agentObservation, observation } from '../../fixtures/observations.js'
import { createFastTime, fetches, KEY, numberedPaths, ship } from '../../fixtures/shipping.js'

/** A shipper and a collector over a real socket: rows in memory and in the spool, outages, starts and stops. */

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
    'a batch has the number of its last row',
  )
  const starts = collector.attempts.map(({ at }) => at)
  // Sent 105 ms apart; where the machine is slow one that arrives late is nearer to the next.
  for (const [n, at] of starts.entries()) if (n > 0) t.ok(at - (starts[n - 1] ?? 0) > 20, 'deliveries are spaced')
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
    'at most ten seconds between two attempts, because a collector that is down bears no load',
  )
  t.equal(shipper.log.lines.filter(({ level }) => level === 'warn').length, 1, 'logged once')
  await collector.start()
  await eventually('all rows', () => collector.paths().length === 1_200)
  t.same(collector.paths(), numberedPaths(1_200))
  t.ok(collector.deliveries.length <= 5, `${collector.deliveries.length} requests for what waited`)
  t.match(shipper.log.said(), /accepts rows again/)
  await shipper.close()
  await collector.stop()
})

t.test('a spool over its limit deletes the oldest rows and counts them', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({ key: KEY, now: () => time.now() })
  await collector.stop()
  const spool = directory(t)
  const shipper = await ship(spool, collector.url, { ...time, spool_limit: 4_000_000 })
  // One write holds at most 5,000 rows of 190 bytes. Its file is far below the limit, so that several files are written.
  for (let n = 0; n < 40_000; n++) shipper.record(agentObservation({ pathname: `/${n}` }))
  await eventually('all is written', () => (shipper.stats().losses.spool_full ?? 0) > 0)
  // The oldest file goes after the write that crossed the limit, which takes a while where the machine is slow.
  await eventually('within the limit', () => shipper.stats().spool_bytes <= 4_000_000)
  // One file is dropped at a time: 250,000 bytes and the batch that crossed them.
  t.ok(shipper.stats().spool_bytes > 500_000, `${shipper.stats().spool_bytes} bytes of 4,000,000`)
  await collector.start()
  await eventually('what is left', () => shipper.stats().waiting === 0)
  const got = collector.paths()
  const dropped = shipper.stats().losses.spool_full ?? 0
  // The rows of the delivery under way are in memory, and go first.
  t.equal(got.length + dropped, 40_000, 'every row arrived or was counted')
  t.same(got.slice(-100), numberedPaths(40_000).slice(-100), 'the newest are there')
  await shipper.close()
  await collector.stop()
})

t.test('rows wait in memory and are shipped from there while the disk accepts none', async (t) => {
  const time = createFastTime()
  const collector = await startCollector({ key: KEY, now: time.now })
  const shipper = await ship(directory(t), collector.url, { ...time, min_free_disk: Number.MAX_SAFE_INTEGER })
  for (const row of fetches(700)) shipper.record(row)
  await eventually('delivered and settled', () => shipper.stats().waiting === 0)
  t.same(collector.paths(), numberedPaths(700))
  t.match(shipper.stats(), { state: 'degraded', reason: /cannot be written to disk: less than/ })
  collector.setFault(respondWith(500))
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
