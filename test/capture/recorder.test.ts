import t from 'tap'
import type { Observation } from '../../src/capture/observation.js'
import { createRecorder, type RecorderOptions } from '../../src/capture/recorder.js'
import { observation, unpackObservations } from '../fixtures/observations.js'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function startRecorder(given: Partial<RecorderOptions> = {}) {
  const batches: number[] = []
  const warnings: string[] = []
  let clock = 0
  const recorder = createRecorder({
    send: async (batch) => {
      batches.push(batch.count)
    },
    now: () => clock,
    log: {
      warn: (_, message) => {
        warnings.push(message)
      },
    },
    ...given,
  })
  const record = (count: number) => {
    for (let n = 0; n < count; n++) recorder.record(observation())
  }
  const setClock = (ms: number) => {
    clock = ms
  }
  return { recorder, batches, warnings, record, setClock }
}

t.test('sends a batch at its size, or at the end of its interval', async (t) => {
  const { recorder, batches, record } = startRecorder({
    batchSize: 10,
    flushIntervalMs: 30,
    unwatchedIntervalMs: 30,
  })
  record(25)
  t.strictSame(batches, [10, 10])
  t.equal(recorder.stats().waiting, 25, 'a batch that was sent is not yet stored')
  await wait(60)
  t.strictSame(batches, [10, 10, 5])
  t.strictSame(recorder.stats(), { waiting: 0, drops: {}, on: true })
  await wait(40)
  t.strictSame(batches, [10, 10, 5], 'sends nothing when nothing waits')
})

t.test('by default sends at 1,000 observations or 200 ms, and lets 64,000 wait', async (t) => {
  const { recorder, batches, record } = startRecorder({ send: () => new Promise(() => {}) })
  record(70_000)
  t.strictSame(recorder.stats(), { waiting: 64_000, drops: { queue_full: 6_000 }, on: true })
  t.strictSame(batches, [])
  const quick = startRecorder()
  quick.record(1)
  await wait(100)
  t.strictSame(quick.batches, [])
  await wait(160)
  t.strictSame(quick.batches, [1])
  quick.record(999)
  t.strictSame(quick.batches, [1])
  quick.record(1)
  t.strictSame(quick.batches, [1, 1_000])
})

t.test('sends one batch a second while no client looks, at once after a rest, and soon while one does', async (t) => {
  let isFollowed = false
  let ahead = 0
  const { recorder, batches, record } = startRecorder({
    now: () => performance.now() + ahead,
    flushIntervalMs: 20,
    unwatchedIntervalMs: 400,
    isFollowed: () => isFollowed,
  })
  const look = async (what: string, given: { read?: boolean; followed?: boolean; rest?: number }, soon: boolean) => {
    ahead += given.rest ?? 0
    isFollowed = given.followed ?? false
    const before = batches.length
    record(1)
    if (given.read) recorder.noteRead()
    await wait(100)
    t.equal(batches.length - before, soon ? 1 : 0, what)
    await recorder.flush()
  }
  await look('the first row', {}, true)
  await look('a row after it', {}, false)
  await look('a row after a rest', { rest: 400 }, true)
  await look('a row that follows, while a client follows the rows', { followed: true }, true)
  await look('a row when the client has left', {}, false)
  await look('a row that waits when a client reads', { read: true }, true)
  await look('a row within five seconds of the read', { rest: 300 }, true)
  await look('a row after them', { rest: 5_000 }, true)
  await look('and the next one', {}, false)
  await look('a row after a clock was set back', { rest: -3_600_000 }, true)

  record(1)
  const polling = setInterval(() => recorder.noteRead(), 5)
  await wait(100)
  clearInterval(polling)
  t.equal(recorder.stats().waiting, 0, 'a client that reads all the time does not put a batch off')
})

t.test('counts what waits for the store, until it is stored', async (t) => {
  let store = () => {}
  const { recorder, record } = startRecorder({
    maxWaiting: 10,
    batchSize: 5,
    send: () =>
      new Promise((resolve) => {
        store = resolve
      }),
  })
  record(12)
  t.match(recorder.stats(), { waiting: 10, drops: { queue_full: 2 } })
  store()
  await wait(0)
  t.equal(recorder.stats().waiting, 5)
  record(6)
  t.match(recorder.stats(), { waiting: 10, drops: { queue_full: 3 } })
})

t.test('bounds the bytes that wait, because clients decide how long texts are', async (t) => {
  const sent: Observation[] = []
  const { recorder } = startRecorder({
    send: (batch) => {
      sent.push(...unpackObservations(batch))
      return new Promise(() => {})
    },
  })
  const long = 'x'.repeat(60_000)
  for (let n = 0; n < 20_000; n++)
    recorder.record(
      observation({
        user_agent: `${n} ${long}`,
        pathname: `/${long}`,
        query: long,
        referrer: long,
        headers: { accept: long },
      }),
    )
  const { waiting, drops } = recorder.stats()
  // 64 MB of at most 41 KB each.
  t.ok(waiting > 1_600 && waiting < 1_700, `${waiting} wait`)
  t.equal(drops.queue_full, 20_000 - waiting)
  t.ok(
    sent.every(({ user_agent, pathname, query, referrer, headers }) =>
      [user_agent, pathname, query, referrer, headers?.accept].every((text) => text?.length === 8_192),
    ),
    'no text is longer than a row could need',
  )
  t.match(sent[1]?.user_agent, /^1 x/)
})

t.test('sends a heavy batch before it has 1,000 rows, and counts what is not an observation as a fault', async (t) => {
  const { recorder, batches } = startRecorder()
  for (let n = 0; n < 300; n++) recorder.record(observation({ query: 'x'.repeat(8_000) }))
  // 1 MB of 8,000 characters and the little else in an observation: between 8,100 and 8,700 bytes each.
  t.equal(batches.length, 2)
  t.ok(
    batches.every((count) => count > 120 && count < 130),
    batches.join(),
  )
  // @ts-expect-error: a caller in JavaScript
  t.doesNotThrow(() => recorder.record(undefined))
  t.strictSame(recorder.stats().drops, { fault: 1 })
})

t.test('counts faults; ten in a minute switch it off until the pause is over', async (t) => {
  let isBroken = true
  const { recorder, warnings, record, setClock } = startRecorder({
    batchSize: 1,
    pauseMs: 50,
    send: () => {
      if (isBroken) throw new Error('thrown at once')
      return Promise.resolve()
    },
  })
  for (let n = 0; n < 9; n++) {
    record(1)
    await wait(0)
  }
  t.strictSame(recorder.stats(), { waiting: 0, drops: { fault: 9 }, on: true })
  setClock(60_001)
  record(1)
  await wait(0)
  t.ok(recorder.stats().on, 'the tenth fault comes more than a minute after the others')
  record(9)
  await wait(0)
  t.strictSame(recorder.stats(), { waiting: 0, drops: { fault: 19 }, on: false })
  t.match(warnings, [/off after 10 faults/])
  record(100)
  t.match(recorder.stats().drops, { recorder_off: 100 })
  isBroken = false
  await wait(80)
  t.match(warnings, [/off/, /on again/])
  record(1)
  await wait(0)
  t.strictSame(recorder.stats(), { waiting: 0, drops: { fault: 19, recorder_off: 100 }, on: true })
})

t.test('a log that throws, a clock that jumps and a rejected send do not reach the site', async (t) => {
  const times = [5e15, -5e15, Number.NaN, 0, 1e9]
  const recorder = createRecorder({
    send: () => Promise.reject(new Error('no')),
    now: () => times.pop() ?? 0,
    log: {
      warn() {
        throw new Error('the log is broken')
      },
    },
    batchSize: 1,
    pauseMs: 10,
  })
  for (let n = 0; n < 40; n++) t.doesNotThrow(() => recorder.record(observation()))
  await wait(30)
  t.equal(recorder.stats().waiting, 0)
})

t.test('close sends what waits, and resolves when it is stored', async (t) => {
  let stored = 0
  const { recorder, record } = startRecorder({
    send: async (batch) => {
      await wait(30)
      stored += batch.count
    },
  })
  record(1_500)
  await recorder.close()
  t.equal(stored, 1_500)
  record(1)
  t.strictSame(recorder.stats(), { waiting: 0, drops: { recorder_off: 1 }, on: false })
})
