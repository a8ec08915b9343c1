import { join } from 'node:path'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { loadConfig } from '../../src/app/config.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { createRecordingSpans } from '../../src/manage/recording-spans.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { directory } from '../fixtures/files.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import { observation } from '../fixtures/observations.js'
import { storeOptions } from '../fixtures/store.js'

const MINUTE = 60_000
/** Returns the instant that many minutes after ten o’clock. */
const at = (minutes: number) => new Date(Date.UTC(2026, 10, 21, 10) + minutes * MINUTE)

async function open(t: Test) {
  const { workerClient } = await createInProcessEngine(t)
  const world = {
    minute: 0,
    /** Minutes by which the wall clock alone is ahead. */ jumped: 0,
    ready: true,
    isWriter: true,
    rows: 0,
    files: 0,
  }
  const fate = { /** Whether the next write is stored and its response lost. */ lost: false }
  const records: Records = {
    ...workerClient.records,
    async write(...statements) {
      await workerClient.records.write(...statements)
      if (!fate.lost) return
      fate.lost = false
      throw new Error('the store is being opened again')
    },
  }
  let stored = Promise.resolve()
  const begin = () =>
    createRecordingSpans({
      records,
      isWriter: () => world.isWriter,
      ready: () => world.ready,
      settle: () => stored,
      lost: () => ({ rows: world.rows, files: world.files }),
      now: () => at(world.minute + world.jumped),
      clock: () => world.minute * MINUTE,
    })
  let recorded = begin()
  return {
    world,
    records,
    fate,
    /** Lists the minutes of an hour that are not covered. */
    missing: async (start = 0, end = 60) => (await recorded.missingMs({ start: at(start), end: at(end) })) / MINUTE,
    keep: () => recorded.extend(),
    gaps: () => recorded.gaps(),
    /** Starts another process, which has lost nothing yet. */
    restart(minute: number) {
      Object.assign(world, { minute, rows: 0, files: 0 })
      recorded = begin()
    },
    /** Holds back what is observed from now on until the returned function is called. */
    hold() {
      let release = () => {}
      stored = new Promise((resolve) => {
        release = resolve
      })
      return () => release()
    },
    spans: () => records.query(sql`select began, ended from recorded order by began`),
  }
}
type World = Awaited<ReturnType<typeof open>>
/** Extends the span every ten minutes, and at the end. */
async function live({ world, keep }: World, until: number) {
  while (world.minute < until) {
    world.minute = Math.min(until, world.minute + 10)
    await keep()
  }
}

t.test('covers exactly the minutes that are known to be stored', async (t) => {
  const cases: [why: string, missing: number, life: (world: World) => Promise<void>][] = [
    ['a process that runs for the whole window', 0, (one) => live(one, 60)],
    ['no process', 60, async () => {}],
    ['a process that was last heard of after 40 minutes', 20, (one) => live(one, 40)],
    [
      'the time between two processes is missing',
      9,
      async (one) => {
        await live(one, 30)
        one.restart(39)
        await live(one, 60)
      },
    ],
    [
      'the minute in which a process was killed is missing',
      1.5,
      async (one) => {
        await live(one, 30)
        one.restart(31.5)
        await live(one, 61.5)
      },
    ],
    [
      'another process writes in between, and this one takes over within a minute',
      0,
      async (one) => {
        await live(one, 20)
        one.world.isWriter = false
        await one.records.write(sql`insert into recorded values (${at(20)}, ${at(40)}, 'not_running', true)`)
        await live(one, 40)
        await one.keep()
        Object.assign(one.world, { isWriter: true, minute: 40.5 })
        await live(one, 60)
      },
    ],
    [
      'rows that waited for the store and were stored are not missing',
      0,
      async (one) => {
        await live(one, 30)
        one.world.ready = false
        await live(one, 50)
        one.world.ready = true
        await live(one, 60)
      },
    ],
    [
      'rows that waited and were given up are missing',
      30,
      async (one) => {
        await live(one, 30)
        one.world.ready = false
        await live(one, 50)
        Object.assign(one.world, { ready: true, rows: 7 })
        await live(one, 60)
      },
    ],
    [
      'everything before a lost file is missing, because its rows may be of any time',
      40,
      async (one) => {
        await live(one, 10)
        one.restart(12)
        await live(one, 30)
        one.world.files = 1
        await live(one, 60)
      },
    ],
    [
      'everything before a start that gave files up is missing',
      49,
      async (one) => {
        await live(one, 30)
        one.restart(39)
        one.world.files = 1
        await live(one, 60)
      },
    ],
    [
      'the time in which the machine slept is missing',
      29,
      async (one) => {
        await live(one, 20)
        one.world.jumped = 19
        await live(one, 41)
      },
    ],
    [
      'a clock that is set by a second makes nothing missing',
      0,
      async (one) => {
        await live(one, 30)
        one.world.jumped = -1 / 60
        await live(one, 61)
      },
    ],
    [
      'the time between two processes is missing, even if it was unknown whether the first write of a span was stored',
      20,
      async (one) => {
        one.fate.lost = true
        await one.keep().catch(() => {})
        await live(one, 30)
        one.restart(50)
        await live(one, 60)
      },
    ],
    [
      'no moment counts twice after a clock was set back',
      20,
      async (one) => {
        await live(one, 30)
        one.world.jumped = -20
        await live(one, 50)
        one.restart(70)
        await live(one, 80)
      },
    ],
  ]
  for (const [why, missing, life] of cases) {
    const one = await open(t)
    await life(one)
    t.equal(await one.missing(), missing, why)
  }
})

t.test('a process that only reads takes over', async (t) => {
  const cases: [why: string, last: number, gaps: [start: number, end: number][]][] = [
    ['from a writer whose last minute was not written', 39.02, []],
    ['from one that nothing was heard of for longer', 30, [[30, 40.5]]],
  ]
  for (const [why, last, expected] of cases) {
    const one = await open(t)
    await one.records.write(sql`insert into recorded values (${at(0)}, ${at(last)}, 'not_running', true)`)
    one.world.isWriter = false
    one.restart(5.5)
    one.world.rows = 3
    for (const minute of [5.5, 6.5, 40.5]) {
      one.world.minute = minute
      await one.keep()
    }
    const gaps = async () => (await one.gaps()).map(({ start, end }) => [start, end])
    const instants = expected.map(([start, end]) => [at(start), at(end)])
    t.strictSame(await gaps(), instants, `${why}, before`)
    Object.assign(one.world, { isWriter: true, minute: 41 })
    await one.keep()
    await live(one, 60)
    t.strictSame(await gaps(), instants, `${why}, as it is while it writes`)
    t.equal(
      await one.missing(),
      expected.reduce((sum, [start, end]) => sum + end - start, 0),
      why,
    )
  }
})

t.test('a span extends to the time of observation, once the rows are stored', async (t) => {
  const one = await open(t)
  const release = one.hold()
  one.world.minute = 30
  const kept = one.keep()
  one.world.minute = 50
  t.strictSame(await one.spans(), [])
  release()
  await kept
  t.strictSame(await one.spans(), [{ began: at(0), ended: at(30) }])
  await live(one, 60)
  t.strictSame(await one.spans(), [{ began: at(0), ended: at(60) }], 'a store that was slow loses nothing')
  const year = 365 * 24 * 60
  one.restart(year)
  await live(one, year + 1)
  one.restart(2 * year)
  await live(one, 2 * year + 1)
  t.equal((await one.spans()).length, 3, 'spans are kept as long as rows may be')
})

t.test('gaps lie between the spans, and say why', async (t) => {
  const clean = async (one: World) => live(one, 10)
  const gap = (start: number, end: number, reason: string) => ({ start: at(start), end: at(end), reason })
  const cases: [why: string, gaps: object[], life: (world: World) => Promise<void>][] = [
    ['nothing is known of the time before the first process', [], clean],
    [
      'a process that was killed leaves a gap from its last sign of life',
      [gap(10, 14, 'not_running')],
      async (one) => {
        await clean(one)
        one.world.minute = 10.9
        one.restart(14)
        await live(one, 20)
      },
    ],
    [
      'the gap is known before the new process stored anything',
      [gap(10, 14, 'not_running')],
      async (one) => {
        await clean(one)
        one.restart(14)
      },
    ],
    [
      'a restart of 59 seconds is no gap',
      [],
      async (one) => {
        await clean(one)
        one.restart(10 + 59 / 60)
        await live(one, 20)
      },
    ],
    [
      'a restart of 60 seconds is one',
      [gap(10, 11, 'not_running')],
      async (one) => {
        await clean(one)
        one.restart(11)
        await live(one, 20)
      },
    ],
    [
      'losses in minutes that follow each other are one gap, and losses later another, however short',
      [gap(10, 12, 'rows_lost'), gap(13, 13.5, 'rows_lost')],
      async (one) => {
        await clean(one)
        for (const [minute, rows] of [
          [11, 3],
          [12, 5],
          [13, 5],
          [13.5, 6],
        ] as const) {
          Object.assign(one.world, { minute, rows })
          await one.keep()
        }
      },
    ],
    [
      'what a process loses in its first minute is not the time before it',
      [gap(10, 40, 'not_running'), gap(40, 41, 'rows_lost'), gap(51, 70, 'not_running')],
      async (one) => {
        await clean(one)
        one.restart(40)
        Object.assign(one.world, { minute: 41, rows: 1 })
        await one.keep()
        await live(one, 51)
        one.restart(70)
        await live(one, 80)
      },
    ],
    [
      'a machine that slept',
      [gap(10, 60, 'clock_changed')],
      async (one) => {
        await clean(one)
        one.world.jumped = 49
        one.world.minute = 11
        await one.keep()
      },
    ],
    [
      'a file that could not be opened whole leaves the gaps before it known',
      [gap(10, 40, 'not_running'), gap(40, 41, 'rows_lost')],
      async (one) => {
        await clean(one)
        one.restart(40)
        Object.assign(one.world, { minute: 41, files: 1 })
        await one.keep()
      },
    ],
    [
      'a clock that was set back leaves none after it',
      [],
      async (one) => {
        await clean(one)
        one.restart(20)
        await live(one, 21)
        one.world.jumped = -18
        one.world.minute = 22
        await one.keep()
      },
    ],
  ]
  for (const [why, gaps, life] of cases) {
    const one = await open(t)
    await life(one)
    t.strictSame(await one.gaps(), gaps, why)
  }
})

t.test('an instance extends its span when it closes', async (t) => {
  const data = directory(t)
  const flags = { data, domain: ['example.com'], offline: true, min_free_disk: 0 }
  const config = loadConfig({ flags, env: {}, read: () => undefined })
  const before = new Date()
  const instance = await openInstance(config, { log: { info() {}, warn() {}, error() {} } })
  const between = new Date()
  instance.record(observation({ ip: '198.51.100.1', timestamp: new Date().toISOString() }))
  await instance.close()
  const records = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
  t.teardown(() => records.close())
  const [span, ...more] = z
    .array(z.object({ began: z.date(), ended: z.date() }))
    .parse(await records.query(sql`select began, ended from recorded`))
  t.strictSame(more, [])
  t.ok(span && before <= span.began && span.began <= between && between <= span.ended && span.ended <= new Date())
})
