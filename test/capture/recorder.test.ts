import t from 'tap'
import type { Observation } from '../../src/capture/observation.js'
import { createRecorder, type RecorderOptions } from '../../src/capture/recorder.js'
import { observation, unpackObservations } from '../fixtures/observations.js'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function recorder(given: Partial<RecorderOptions> = {}) {
  const batches: number[] = []
  const said: string[] = []
  let clock = 0
  const made = createRecorder({
    send: async (batch) => {
      batches.push(batch.count)
    },
    now: () => clock,
    log: {
      warn: (_, message) => {
        said.push(message)
      },
    },
    ...given,
  })
  const record = (count: number) => {
    for (let n = 0; n < count; n++) made.record(observation())
  }
  return {
    made,
    batches,
    said,
    record,
    set: (ms: number) => {
      clock = ms
    },
  }
}

t.test('a batch goes out at its size, or at the end of its interval', async (t) => {
  const { made, batches, record } = recorder({ batch: 10, flushIntervalMs: 30 })
  record(25)
  t.strictSame(batches, [10, 10])
  t.equal(made.stats().waiting, 25, 'sent is not yet stored')
  await wait(60)
  t.strictSame(batches, [10, 10, 5])
  t.strictSame(made.stats(), { waiting: 0, drops: {}, on: true })
  await wait(40)
  t.strictSame(batches, [10, 10, 5], 'and nothing when there is nothing')
})

t.test('the defaults are those of the design: 1,000 or 200 ms, 64,000 waiting', async (t) => {
  const { made, batches, record } = recorder({ send: () => new Promise(() => {}) })
  record(70_000)
  t.strictSame(made.stats(), { waiting: 64_000, drops: { queue_full: 6_000 }, on: true })
  t.strictSame(batches, [])
  const quick = recorder()
  quick.record(999)
  t.strictSame(quick.batches, [])
  quick.record(1)
  t.strictSame(quick.batches, [1_000])
  quick.record(1)
  await wait(100)
  t.strictSame(quick.batches, [1_000])
  await wait(160)
  t.strictSame(quick.batches, [1_000, 1])
})

t.test('what waits at the store counts, and makes room once stored', async (t) => {
  let store = () => {}
  const { made, record } = recorder({
    maxWaiting: 10,
    batch: 5,
    send: () =>
      new Promise((resolve) => {
        store = resolve
      }),
  })
  record(12)
  t.match(made.stats(), { waiting: 10, drops: { queue_full: 2 } })
  store()
  await wait(0)
  t.equal(made.stats().waiting, 5)
  record(6)
  t.match(made.stats(), { waiting: 10, drops: { queue_full: 3 } })
})

t.test('texts bound it too: a stranger decides how long they are', async (t) => {
  const sent: Observation[] = []
  const { made } = recorder({
    send: (batch) => {
      sent.push(...unpackObservations(batch))
      return new Promise(() => {})
    },
  })
  const long = 'x'.repeat(60_000)
  for (let n = 0; n < 20_000; n++)
    made.record(
      observation({
        user_agent: `${n} ${long}`,
        pathname: `/${long}`,
        query: long,
        referrer: long,
        headers: { accept: long },
      }),
    )
  const { waiting, drops } = made.stats()
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

t.test('a heavy batch goes out before it is a thousand; what is no observation is a fault', async (t) => {
  const { made, batches } = recorder()
  for (let n = 0; n < 300; n++) made.record(observation({ query: 'x'.repeat(8_000) }))
  // 1 MB of 8,000 characters and the little else that an observation weighs: between 8,100 and 8,700 bytes.
  t.equal(batches.length, 2)
  t.ok(
    batches.every((count) => count > 120 && count < 130),
    batches.join(),
  )
  // @ts-expect-error: a caller in JavaScript
  t.doesNotThrow(() => made.record(undefined))
  t.strictSame(made.stats().drops, { fault: 1 })
})

t.test('faults are counted; ten in a minute switch it off, and it tries again', async (t) => {
  let broken = true
  const { made, said, record, set } = recorder({
    batch: 1,
    pauseMs: 50,
    send: () => {
      if (broken) throw new Error('thrown at once')
      return Promise.resolve()
    },
  })
  for (let n = 0; n < 9; n++) {
    record(1)
    await wait(0)
  }
  t.strictSame(made.stats(), { waiting: 0, drops: { fault: 9 }, on: true })
  set(60_001)
  record(1)
  await wait(0)
  t.ok(made.stats().on, 'the tenth, more than a minute behind them')
  record(9)
  await wait(0)
  t.strictSame(made.stats(), { waiting: 0, drops: { fault: 19 }, on: false })
  t.match(said, [/off after 10 faults/])
  record(100)
  t.match(made.stats().drops, { recorder_off: 100 })
  broken = false
  await wait(80)
  t.match(said, [/off/, /tried again/])
  record(1)
  await wait(0)
  t.strictSame(made.stats(), { waiting: 0, drops: { fault: 19, recorder_off: 100 }, on: true })
})

t.test('a log that throws, a clock that jumps and a rejection do not reach the site', async (t) => {
  const times = [5e15, -5e15, Number.NaN, 0, 1e9]
  const made = createRecorder({
    send: () => Promise.reject(new Error('no')),
    now: () => times.pop() ?? 0,
    log: {
      warn() {
        throw new Error('the log is broken')
      },
    },
    batch: 1,
    pauseMs: 10,
  })
  for (let n = 0; n < 40; n++) t.doesNotThrow(() => made.record(observation()))
  await wait(30)
  t.equal(made.stats().waiting, 0)
})

t.test('close hands on what waits, and waits for it', async (t) => {
  let stored = 0
  const { made, record } = recorder({
    send: async (batch) => {
      await wait(30)
      stored += batch.count
    },
  })
  record(1_500)
  await made.close()
  t.equal(stored, 1_500)
  record(1)
  t.strictSame(made.stats(), { waiting: 0, drops: { recorder_off: 1 }, on: false })
})
