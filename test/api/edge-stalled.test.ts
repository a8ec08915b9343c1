import t from 'tap'
import { createByteBudget } from '../../src/api/byte-budget.js'
import { createUnconfirmed } from '../../src/api/edge/unconfirmed.js'
import { ApiError } from '../../src/base/errors.js'
import { edgeService, signBody } from '../fixtures/edge-service.js'

/**
 * The attack: the store accepts a delivery and does not finish it, on a full disk or a stopped worker. The sender is told
 * 503, or gives up, and signs the same body again. The attack succeeds if a sender waits for ever, if rows of one delivery are
 * stored twice, or if an acknowledged delivery is not stored.
 */
const service = await edgeService(t)
const { workerClient, send, rows, fetched, fresh, key, seconds, clock, edge } = service

/** A store whose commits wait for `release`, which stores them or refuses them. */
function stalling() {
  const waiting: (() => void)[] = []
  let isStalled = true
  return {
    workerClient: {
      ...workerClient,
      record: async (...one: Parameters<typeof workerClient.record>) => {
        if (isStalled) await new Promise<void>((resolve) => waiting.push(resolve))
        return workerClient.record(...one)
      },
    },
    waiting: () => waiting.length,
    release() {
      isStalled = false
      for (const go of waiting.splice(0)) go()
    },
  }
}

/** The timers of deadlines, which `expire` ends. */
function makeDeadlines() {
  const timers = new Set<() => void>()
  return {
    after: (_: number, run: () => void) => {
      timers.add(run)
      return () => timers.delete(run)
    },
    count: () => timers.size,
    expire() {
      for (const end of timers) end()
      timers.clear()
    },
  }
}

const until = async (holds: () => boolean | Promise<boolean>) => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10))
}
const deliver = (body: string, init: RequestInit = {}) => {
  clock.now = new Date(clock.now.getTime() + 1_000)
  return send(body, { 'x-service-signature': signBody(key.one, seconds(), body) }, init)
}
const make = (pathname: string, more: object = {}) =>
  JSON.stringify({ site_id: 1, agent_events: [fetched({ pathname })], ...more })

t.test('a delivery that is not stored in time is 503, and its repeat is confirmed once', async (t) => {
  const store = stalling()
  const time = makeDeadlines()
  fresh({ workerClient: store.workerClient, after: time.after })
  const [plain, numbered] = [make('/a'), make('/n', { batch: { sender: '0'.repeat(16), number: 1 } })]
  for (const [body, waiting, why] of [
    [plain, 1, 'the first'],
    [plain, 1, 'a repeat while the first waits'],
    [numbered, 2, 'with a number'],
    [numbered, 2, 'its repeat'],
  ] as const) {
    const answer = deliver(body)
    await until(() => store.waiting() === waiting && time.count() > 0)
    time.expire()
    const refused = await answer
    t.match(refused, { status: 503, error: { code: 'database_error', message: /Send this body again/ } }, why)
    t.equal(refused.headers.get('retry-after'), '5')
  }
  t.equal(store.waiting(), 2, 'repeats hand nothing over')
  store.release()
  await until(async () => (await rows()).length === 2)
  for (const [body, expected, why] of [
    [plain, ['/a', '/n'], 'the repeat of rows that are stored by now'],
    [numbered, ['/a', '/n'], 'of a numbered delivery'],
    [plain, ['/a', '/a', '/n'], 'after it was confirmed, the same body is another delivery'],
    [numbered, ['/a', '/a', '/n'], 'a number never is'],
  ] as const) {
    t.equal((await deliver(body)).status, 202, why)
    t.strictSame(await rows(), expected, why)
  }
})

t.test('the repeat of a sender that left before its response is confirmed too', async (t) => {
  const store = stalling()
  fresh({ workerClient: store.workerClient })
  const body = make('/left')
  const leaving = new AbortController()
  const left = t.rejects(deliver(body, { signal: leaving.signal }))
  await until(() => store.waiting() === 1)
  leaving.abort()
  await left
  const repeat = deliver(body)
  store.release()
  t.equal((await repeat).status, 202, 'it waited for the first')
  t.strictSame(await rows(), ['/left'])
  const same = signBody(key.one, seconds(), body)
  t.match(await send(body, { 'x-service-signature': same }), { status: 409, error: { message: /its rows are stored/ } })
})

t.test('two equal deliveries at the same moment that both get their 202 are both stored', async (t) => {
  const store = stalling()
  fresh({ workerClient: store.workerClient })
  const body = make('/two')
  const both = [deliver(body), deliver(body)]
  await until(() => store.waiting() === 1)
  store.release()
  t.strictSame(
    (await Promise.all(both)).map(({ status }) => status),
    [202, 202],
  )
  t.strictSame(await rows(), ['/two', '/two'])
})

t.test('a delivery that was not stored after all is stored by its repeat', async (t) => {
  const time = makeDeadlines()
  let fail = (_: Error) => {}
  const failing = new Promise<never>((_, reject) => {
    fail = reject
  })
  let isRecording = false
  const record = () => {
    isRecording = true
    return failing
  }
  fresh({ workerClient: { ...workerClient, record }, after: time.after })
  const body = make('/lost')
  const answer = deliver(body)
  await until(() => isRecording)
  time.expire()
  t.equal((await answer).status, 503)
  fail(new ApiError('database_error', 'The store closed before these rows were stored.'))
  edge.workerClient = workerClient
  t.equal((await deliver(body)).status, 202)
  t.strictSame(await rows(), ['/lost'])
})

t.test('bodies that wait count until their rows are stored', async (t) => {
  const store = stalling()
  const time = makeDeadlines()
  fresh({
    workerClient: store.workerClient,
    after: time.after,
    budget: createByteBudget({ total: 3_000, each: 3_000 }),
  })
  const [body, other] = ['/big', '/other'].map((pathname) => make(pathname, { pad: 'x'.repeat(2_000) }))
  const answer = deliver(body ?? '')
  await until(() => store.waiting() === 1)
  time.expire()
  t.match(await answer, { status: 503, error: { message: /not stored yet/ } })
  t.match(await deliver(other ?? ''), { status: 503, error: { message: /Too many rows/ } })
  store.release()
  await until(async () => (await deliver(other ?? '')).status === 202)
  t.strictSame(
    (await rows()).filter((row) => row === '/big'),
    ['/big'],
  )
})

t.test('of unconfirmed bodies the latest are known', async (t) => {
  const unconfirmed = createUnconfirmed(2)
  for (const body of ['a', 'b', 'a', 'c']) unconfirmed.add(body)
  t.strictSame(['a', 'b', 'c'].map(unconfirmed.has), [true, false, true])
  unconfirmed.delete('a')
  t.strictSame(['a', 'b', 'c'].map(unconfirmed.has), [false, false, true])
})
