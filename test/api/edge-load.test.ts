import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createByteBudget } from '../../src/api/byte-budget.js'
import { edgeService, signBody } from '../fixtures/edge-service.js'

/**
 * An attacker tries to use up the memory or the database of the edge endpoint: with many requests, with bodies that are
 * large, slow or never end, with many wrong signatures, or with any bytes that might cause an internal error. Each address
 * has a share of every budget, aborted requests release theirs, and rows are stored whole or not at all.
 */
const service = await edgeService(t)
const { workerClient, send, post, rows, fetched, viewed, fresh, key, seconds, clock, faults, url } = service

const V1 = 'a4431947109bdcf9146e3714d9a317291048991ca961d408407b516f85d1b662'
/** An engine whose commits wait until the test releases them. */
function createWaitingEngine() {
  const releases: (() => void)[] = []
  const record: typeof workerClient.record = async (...args) => {
    await new Promise<void>((resolve) => releases.push(resolve))
    await workerClient.record(...args)
  }
  return { releases, workerClient: { ...workerClient, record } }
}

t.test('load is bounded', async (t) => {
  await t.test('by requests', async (t) => {
    const seen: [number, string][] = []
    let left = 3
    fresh({
      takeRequest: (...counted) => {
        seen.push(counted)
        left -= 1
        return left >= 0
      },
    })
    const row = { site_id: 1, agent_events: [fetched()] }
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await post(row)).status)
    t.strictSame(statuses, [202, 202, 202, 429, 429])
    const limited = await post(row)
    t.match(limited.error, { code: 'rate_limited' })
    t.equal(limited.headers.get('retry-after'), '60')
    t.strictSame(seen.at(-1), [1, '127.0.0.1'])
    const before = seen.length
    await post(row, 'svci_x')
    await send('{}')
    t.equal(seen.length, before, 'refused requests do not count against a site')
    t.equal((await rows()).length, 3)
  })
  await t.test('by signatures', async (t) => {
    fresh({ replay: service.createReplay({ most: 4 }) })
    // Later than every signature in the store.
    clock.now = new Date(clock.now.getTime() + 3_600_000)
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await post({ site_id: 1 })).status)
    t.strictSame(
      statuses,
      [202, 202, 429, 429],
      'a site may use half of the capacity, and no signature is forgotten early',
    )
    clock.now = new Date(clock.now.getTime() + 361_000)
    t.equal((await post({ site_id: 1 })).status, 202, 'and in time they are')
  })
  await t.test('by wrong signatures', async (t) => {
    const missed: string[] = []
    fresh({ rejected: { spent: () => missed.length >= 2, add: (address) => missed.push(address) } })
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await post({ site_id: 1 }, 'svci_x')).status)
    t.strictSame(statuses, [401, 401, 429, 429], 'then no body is read to find that out')
    t.strictSame(missed, ['127.0.0.1', '127.0.0.1'])
  })
  await t.test('by bytes', async (t) => {
    const { releases, workerClient } = createWaitingEngine()
    fresh({ workerClient, budget: createByteBudget({ total: 5_000, each: 3_000 }) })
    const body = { site_id: 1, agent_events: [fetched()], pad: 'x'.repeat(2_000) }
    const waiting = post(body)
    while (releases.length === 0) await sleep(5)
    const refused = await post(body)
    t.match(refused, { status: 503, error: { code: 'database_error' } })
    t.ok(refused.headers.has('retry-after'))
    releases[0]?.()
    t.equal((await waiting).status, 202)
    const next = post(body)
    while (releases.length < 2) await sleep(5)
    releases[1]?.()
    t.equal((await next).status, 202, 'the room is given back')
    t.equal((await rows()).length, 2)
    // An aborted body releases its bytes.
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST /api/log/edge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Service-Signature: t=${Math.floor(Date.now() / 1000)},v1=${V1}\r\nContent-Length: 2900\r\n\r\n${'x'.repeat(2_500)}`,
    )
    await sleep(100)
    socket.destroy()
    await once(socket, 'close')
    await sleep(50)
    const last = post(body)
    while (releases.length < 3) await sleep(5)
    releases[2]?.()
    t.equal((await last).status, 202)
  })
  await t.test('by bytes of one IPv6 network', async (t) => {
    const room = createByteBudget({ total: 100, each: 50 })
    t.ok(room.reserve(50, '2001:db8:1:2::1'))
    t.notOk(room.reserve(1, '2001:db8:1:2:ffff::9'), 'a /64 is one sender, however many addresses it has')
    t.ok(room.reserve(50, '2001:db8:1:3::1'))
    room.release(50, '2001:db8:1:2::9')
    t.ok(room.reserve(50, '2001:db8:1:2::1'))
  })
  await t.test('while rows cannot be stored', async (t) => {
    fresh({
      workerClient: {
        ...workerClient,
        status: () => ({ ...workerClient.status(), state: 'degraded', reason: 'secret' }),
      },
    })
    const answer = await post({ site_id: 1, agent_events: [fetched()] })
    t.equal(answer.status, 503)
    t.notMatch(answer.error?.message, 'secret')
  })
})

t.test('a client that disconnects early can retry', async (t) => {
  const { releases, workerClient } = createWaitingEngine()
  fresh({ workerClient })
  const value = { site_id: 1, batch: { sender: '1'.repeat(16), number: 1 }, agent_events: [fetched()] }
  const body = JSON.stringify(value)
  const leaving = new AbortController()
  const first = send(body, { 'x-service-signature': signBody(key.one, seconds(), body) }, { signal: leaving.signal })
  while (releases.length === 0) await sleep(5)
  leaving.abort()
  await t.rejects(first)
  // The retry waits for the first request, which is stored after all.
  const retry = post(value)
  await sleep(50)
  t.equal(releases.length, 1, 'not both at once')
  releases[0]?.()
  t.match(await retry, { status: 202, data: { agent_events: 1 } })
  t.strictSame(await rows(), ['/agent'])
})

t.test(
  'any body is stored whole or not at all, and never causes an internal error',
  { timeout: 600_000 },
  async (t: Test) => {
    fresh()
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('', '\u0000', '\ud800', 'x'.repeat(20_000), -1, 1e308, Number.MAX_SAFE_INTEGER, null, [], {}),
    )
    const names = [...Object.keys(fetched()), 'referrer', 'query', 'headers', 'response', 'signed', 'language', 'props']
    const changed = (row: object) =>
      fc
        .record({ name: fc.constantFrom(...names, 'verified', '__proto__', 'constructor'), value: odd })
        .map(({ name, value }) => ({ ...row, [name]: value }))
    const list = (row: object) => {
      const some = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(row) }, changed(row)), { maxLength: 3 })
      return fc.oneof({ weight: 4, arbitrary: some }, odd)
    }
    const body = fc.record(
      {
        agent_events: list(fetched()),
        events: list(viewed()),
        hits: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(odd, { maxLength: 3 }), odd),
        batch: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, odd),
      },
      { requiredKeys: [] },
    )
    let stored = 0
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const { status, data } = await post({ site_id: 1, ...value })
        if (status === 202) stored += (data?.agent_events ?? 0) + (data?.events ?? 0)
        return [202, 422].includes(status)
      }),
      { numRuns: 150 },
    )
    const found = (await rows()).length
    t.ok(found > 0 && found <= stored, `${found} rows of ${stored} that were taken`)
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string(), fc.uint8Array()), fc.string(), async (text, header) => {
        const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text)
        const right = await send(bytes, { 'x-service-signature': signBody(key.one, seconds(), bytes) })
        const safe = header.replace(/[^\x20-\x7e]/g, '')
        const wrong = await send(bytes, { 'x-service-signature': safe, authorization: `Bearer ${safe}` })
        return [400, 401, 422].includes(right.status) && wrong.status === 401
      }),
      { numRuns: 80 },
    )
    t.strictSame(faults, [])
  },
)
