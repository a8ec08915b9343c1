import t from 'tap'
import { retryDelayMs } from '../../../src/manage/notify/notices.js'
import type { Records } from '../../../src/storage/store.js'
import { alertDeliveries, START } from '../../fixtures/alert-deliveries.js'
import { deed } from '../../fixtures/audit-context.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { receiver } from '../../fixtures/receiver.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

t.test('a failing receiver is retried at growing intervals and then given up', async (t) => {
  const { received, url } = await receiver(t, (_, res) => res.writeHead(500).end())
  const { add, next, list, logged } = await alertDeliveries(t, [{ type: 'webhook', target: url }])
  await add()
  const waits = [await next(), await next(), await next(), await next(), await next(), await next(), await next()]
  t.same(waits, [0, 30, 120, 600, 3_600, 21_600, undefined])
  t.equal(received.length, 6)
  t.equal(
    new Set(received.map(({ headers }) => headers['x-service-delivery'])).size,
    1,
    'every attempt has the same delivery key',
  )
  t.equal(
    new Set(received.map(({ headers }) => headers['x-service-signature'])).size,
    6,
    'every attempt has its own signature',
  )
  t.match(await list(), [{ state: 'failed', attempts: 6, last_error: 'the receiver returned status 500' }])
  t.same(logged, [])
})

t.test('delays vary by a tenth; Retry-After is respected up to a day', (t) => {
  t.equal(
    retryDelayMs(1, () => 0.5, 1_000),
    30_000,
  )
  t.equal(
    retryDelayMs(1, () => 0.5, 365 * 24 * HOUR),
    24 * HOUR,
  )
  t.equal(
    retryDelayMs(1, () => 0),
    27_000,
  )
  t.equal(
    retryDelayMs(1, () => 1),
    33_000,
  )
  t.equal(
    retryDelayMs(2, () => 0.5),
    2 * MINUTE,
  )
  t.equal(
    retryDelayMs(5, () => 0.5),
    6 * HOUR,
  )
  t.end()
})

t.test('one site, one channel or one fault does not hold up the others', async (t) => {
  let hung = 0
  const slow = await receiver(t, () => hung++)
  const { received, url } = await receiver(t, (_, res) => res.end())
  const channels = Array.from({ length: 8 }, (_, i) => ({ type: 'webhook' as const, target: `${slow.url}?${i}` }))
  const { records, alerts, deliverer, notice, id, outbox } = await alertDeliveries(t, [
    ...channels,
    { type: 'webhook', target: url },
    { type: 'webhook', target: `${url}?of-another-site` },
  ])
  const both = async (of: number, taken: number) => {
    for (let i = 0; i < 200 && (hung < of || received.length < taken); i++)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await deliverer.pass()
    await new Promise((resolve) => setTimeout(resolve, 30))
    return [hung, received.length]
  }
  await records.write(...[0, 1, 2, 3].flatMap((i) => notice(i)), ...notice(8), ...notice(9, 2))
  await deliverer.pass()
  t.same(
    await both(2, 2),
    [2, 2],
    'a site has two deliveries to one receiver at a time; other receivers are not held up',
  )
  await records.write(...[4, 5, 6, 7].flatMap((i) => notice(i, 10 + i)))
  await deliverer.pass()
  t.same(await both(4, 2), [4, 2], 'four at a time in all, and a delivery under way is not started again')
  await alerts.delete(id, deed)
  t.equal((await outbox.list({ alert: id })).length, 10)
})

t.test('a result that cannot be written does not cause a second delivery', async (t) => {
  const { workerClient } = await createInProcessEngine(t)
  let broken = false
  const records: Records = {
    query: (query) => workerClient.records.query(query),
    write: (...statements) => (broken ? Promise.reject(new Error('full')) : workerClient.records.write(...statements)),
  }
  const { received, url } = await receiver(t, (_, res) => {
    broken = true
    res.end()
  })
  const { add, run, list, logged } = await alertDeliveries(t, [{ type: 'webhook', target: url }], {
    workerClient: { records },
  })
  await add()
  await run()
  await run()
  await run()
  t.equal(received.length, 1)
  t.match(await list(), [{ state: 'sending' }])
  t.not(logged.length, 0)
  broken = false
  await run()
  t.match(await list(), [{ state: 'done', attempts: 1 }], 'the result is written once the store accepts it')
  t.equal(received.length, 1)
})

t.test('after a crash a delivery in doubt is sent again with the same key', async (t) => {
  const { workerClient } = await createInProcessEngine(t)
  const { received, url } = await receiver(t, (n, res) => n > 0 && res.end())
  const first = await alertDeliveries(t, [{ type: 'webhook', target: url }], { workerClient })
  await first.add()
  await first.deliverer.pass()
  for (let i = 0; i < 100 && received.length < 1; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  const second = await alertDeliveries(t, [{ type: 'webhook', target: url }], { workerClient, alert: first.id })
  await second.run()
  t.same(
    received.map(({ headers }) => headers['x-service-delivery']),
    ['alert:1:x:0', 'alert:1:x:0'],
  )
  t.match(await second.list(), [{ state: 'done', attempts: 2 }])
})

t.test('a removed channel receives nothing', async (t) => {
  const { received, url } = await receiver(t, (_, res) => res.end())
  const { add, run, list, alerts, id } = await alertDeliveries(t, [{ type: 'webhook', target: url }])
  await add()
  await alerts.change(id, async (now) => ({ ...now, channels: [{ type: 'email', target: 'a@example.com' }] }), deed)
  await run()
  t.match(await list(), [{ state: 'failed', last_error: /no longer a channel/ }])
  await alerts.delete(id, deed)
  t.equal(received.length, 0)
})

t.test('finished deliveries are kept for 30 days, at most a thousand a site', async (t) => {
  const { records, outbox, run, notice, list } = await alertDeliveries(t, [{ type: 'email', target: 'a@example.com' }])
  await records.write(...notice(0))
  await run()
  await outbox.prune(new Date(START + 30 * 24 * HOUR - 1))
  t.equal((await list()).length, 1)
  await outbox.prune(new Date(START + 30 * 24 * HOUR + 1))
  t.equal((await list()).length, 0)
})
