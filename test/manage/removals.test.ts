import t from 'tap'
import { ApiError } from '../../src/base/errors.js'
import { createRemovals, RemovalProgress, type RemovalTarget } from '../../src/manage/removals.js'
import { siteDeletionStatements } from '../../src/manage/sites.js'
import { sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { deed } from '../fixtures/audit-context.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import type { openStore } from '../fixtures/open-store.js'
import { eventRow } from '../fixtures/rows.js'

const DAY = 86_400_000

/** Opens removals over real records and a scripted store; timers run when the test says so. */
async function open(
  t: Parameters<typeof openStore>[0],
  given: {
    isWriter?: () => boolean
    forget?: () => void
    records?: Records
    step: (leaving: RemovalTarget) => RemovalProgress | Error
    days?: () => (number | undefined)[]
    /** The organisations of the sites. */
    orgs?: readonly number[]
    mayRemoveSites?: () => boolean
  },
) {
  const records = given.records ?? (await createInProcessEngine(t)).workerClient.records
  const asked: RemovalTarget[] = []
  const timers = new Map<() => void, number>()
  let time = Date.parse('2026-11-21T10:00:00Z')
  const removals = createRemovals({
    records,
    isWriter: given.isWriter ?? (() => true),
    mayRemoveSites: given.mayRemoveSites ?? (() => true),
    sites: {
      list: async () =>
        (given.days?.() ?? [undefined, 30]).map((retention_days, i) => ({
          ...{
            id: i + 1,
            version: 1,
            org: given.orgs?.[i] ?? 1,
            name: 'x',
            domains: [],
            timezone: 'UTC',
            currency: 'EUR',
            excluded_paths: [],
            sections: [],
          },
          ...{ respect_gpc: false, visitor_salt: 'month' as const },
          ...(retention_days === undefined ? {} : { retention_days }),
        })),
    },
    async remove(leaving) {
      asked.push(leaving)
      const answer = given.step(leaving)
      if (answer instanceof Error) throw answer
      return answer
    },
    forget: async () => void given.forget?.(),
    onSiteDeleted: () => {},
    settle: async () => {},
    now: () => new Date(time),
    after(ms, run) {
      timers.set(run, ms)
      return () => timers.delete(run)
    },
    log: () => {},
  })
  t.teardown(() => removals.close())
  /** Moves the clock by so many milliseconds. */
  const fire = (within: number) => {
    for (const [run, ms] of [...timers]) {
      if (ms > within || !timers.delete(run)) continue
      run()
    }
  }
  const until = async (holds: () => boolean) => {
    for (let n = 0; n < 500 && !holds(); n++) await new Promise((resolve) => setTimeout(resolve, 10))
    if (!holds()) throw new Error(`not within five seconds: ${JSON.stringify(asked)}`)
  }
  const left = () => records.query(sql`select kind, rows from removals where done_at is null order by id`)
  return { removals, records, asked, fire, until, left, later: (ms: number) => (time += ms) }
}
const none: RemovalProgress = { rows: 0, more: false, visitor_ids: [] }
const away = () => new ApiError('database_error', 'The store is being opened again.')

t.test('a failing step is retried and does not hold up others', async (t) => {
  let failing = true
  const { removals, asked, fire, until, left } = await open(t, {
    step: (leaving) =>
      'visitor' in leaving && leaving.visitor.startsWith('a') && failing ? away() : { ...none, rows: 3 },
  })
  const first = removals.erase(1, 'a'.repeat(16), deed)
  const second = await removals.erase(1, 'b'.repeat(16), deed)
  t.match(second, { rows: 3 })
  failing = false
  await until(() => {
    fire(60_000 / 4)
    return asked.length > 2
  })
  t.match(await first, { rows: 3 })
  t.strictSame(await left(), [])
})

t.test('a caller that waits too long gets an error, and the removal goes on', async (t) => {
  let failing = true
  const { removals, fire, until, left, asked } = await open(t, { step: () => (failing ? away() : none) })
  const late = t.rejects(removals.erase(1, 'a'.repeat(16), deed), { code: 'database_error' })
  await until(() => asked.length > 0)
  fire(30_000)
  await late
  t.equal((await left()).length, 1, 'it is written down')
  failing = false
  removals.tick()
  for (let n = 0; n < 200 && (await left()).length > 0; n++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.strictSame(await left(), [])
})

t.test('a process that becomes the writer goes on with removals, and forgets what the one before left', async (t) => {
  let [isWriter, forgotten] = [true, 0]
  const { removals, records, until, asked } = await open(t, {
    isWriter: () => isWriter,
    forget: () => forgotten++,
    step: () => none,
  })
  removals.tick()
  await until(() => forgotten === 1)
  isWriter = false
  await records.write(
    sql`insert into removals (id, site, kind, visitor, requested_at) values (7, 1, 'visitor', 'a', ${new Date()})`,
  )
  removals.tick()
  isWriter = true
  removals.takeOver()
  await until(() => forgotten === 3 && asked.some((target) => 'visitor' in target))
})

t.test('erasures of one organisation do not hold up those of another', async (t) => {
  const steps = new Map<string, number>()
  const { removals, asked } = await open(t, {
    orgs: [1, 2],
    step(leaving) {
      const visitor = 'visitor' in leaving ? leaving.visitor : ''
      steps.set(visitor, (steps.get(visitor) ?? 0) + 1)
      return { ...none, rows: 1, more: (steps.get(visitor) ?? 0) < 30 }
    },
  })
  const [first, second, other] = ['a', 'b', 'c'].map((letter) => letter.repeat(16))
  await Promise.all([
    removals.erase(1, first ?? '', deed),
    removals.erase(1, second ?? '', deed),
    removals.erase(2, other ?? '', deed),
  ])
  const begun = (visitor = '') => asked.findIndex((one) => 'visitor' in one && one.visitor === visitor)
  t.ok(begun(other) < begun(second), `${begun(other)} before ${begun(second)}`)
})

t.test('people come before sites, and a site continues where it was', async (t) => {
  let steps = 0
  const { removals, records, asked, until, left } = await open(t, {
    step: (leaving) => ('visitor' in leaving ? none : { ...none, rows: 10 * ++steps, more: steps < 3 }),
  })
  await records.write(...siteDeletionStatements({ id: 7, domains: ['seven.example'] }, deed.at))
  await removals.erase(1, 'c'.repeat(16), deed)
  await until(() => steps === 3)
  await until(() => asked.length === 4)
  for (let n = 0; n < 200 && (await left()).length > 0; n++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.match(asked[0], { visitor: 'c'.repeat(16) })
  t.match(asked[1], { site: 7, hostnames: ['seven.example'] })
  t.match(await records.query(sql`select rows, hostnames from removals where kind = 'site'`), [
    { rows: 30, hostnames: null },
  ])
})

t.test('expired rows are removed once a day, for sites with a retention', async (t) => {
  const { removals, asked, until, later } = await open(t, { step: () => none })
  removals.tick()
  await until(() => asked.length === 1)
  t.strictSame(asked, [{ site: 2, before: new Date(Date.parse('2026-11-21T10:00:00Z') - 30 * DAY) }])
  later(DAY - 1)
  removals.tick()
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(asked.length, 1, 'not before')
  later(1)
  removals.tick()
  await until(() => asked.length === 2)
})

t.test('while a loss of data waits for a decision, only rows of an erased person are removed', async (t) => {
  let waits = true
  const { removals, records, asked, until } = await open(t, { mayRemoveSites: () => !waits, step: () => none })
  await records.write(...siteDeletionStatements({ id: 7, domains: [] }, deed.at))
  removals.tick()
  await removals.erase(1, 'd'.repeat(16), deed)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.match(asked, [{ visitor: 'd'.repeat(16) }])
  t.equal(asked.length, 1, 'neither a deleted site nor what expired: an older copy may name sites that exist')
  waits = false
  removals.tick()
  await until(() => asked.some(({ site }) => site === 7) && asked.some((one) => 'before' in one))
})

t.test('a retention that is raised during the daily removal takes effect at once', async (t) => {
  let days: (number | undefined)[] = [30, 30, 30]
  const { removals, asked, until } = await open(t, {
    days: () => days,
    step(leaving) {
      // While rows of the first site are removed, the second drops its retention, the third gets sixty days, the first forty.
      if (leaving.site === 1 && days[0] === 30) days = [40, undefined, 60]
      return { ...none, rows: 1, more: leaving.site === 1 && asked.length < 3 }
    },
  })
  removals.tick()
  await until(() => asked.some(({ site }) => site === 3))
  const before = (site: number, days: number) => ({
    site,
    before: new Date(Date.parse('2026-11-21T10:00:00Z') - days * DAY),
  })
  t.strictSame(asked, [before(1, 30), before(1, 40), before(1, 40), before(3, 60)])
})

const ANN = '000000000000000a'
const BOB = '000000000000000b'
/** The point of the interruption: before the store's step, after it, or before the records know of it. */
const CUTS = ['before', 'behind', 'unwritten'] as const

for (const dies of [false, true])
  for (const cut of CUTS)
    t.test(
      `cut off ${cut}, ${dies ? 'by the end of the process' : 'and asked again'}: done once, and counted`,
      async (t) => {
        const { workerClient, commit } = await createInProcessEngine(t)
        const views = (visitor_id: bigint, session_id: bigint, count: number) =>
          commit({ events: Array.from({ length: count }, () => eventRow({ visitor_id, session_id })) })
        await views(10n, 1n, 7)
        await views(11n, 2n, 3)
        let cutting = true
        const at = (place: (typeof CUTS)[number]) => {
          if (!cutting || place !== cut) return
          cutting = false
          throw new Error('the worker died')
        }
        const begin = () => {
          const retries: (() => void)[] = []
          const removals = createRemovals({
            isWriter: () => true,
            records: {
              query: workerClient.records.query,
              async write(...statements) {
                if (statements[0]?.text[0]?.startsWith('update removals')) at('unwritten')
                await workerClient.records.write(...statements)
              },
            },
            mayRemoveSites: () => true,
            sites: { list: async () => [] },
            async remove(leaving) {
              at('before')
              const removed = RemovalProgress.parse(await workerClient.call('remove', leaving))
              at('behind')
              return removed
            },
            forget: async (key) => void (await workerClient.call('forget_removals', key)),
            onSiteDeleted: () => {},
            settle: async () => {},
            now: () => new Date(),
            after(ms, run) {
              if (ms < 30_000) retries.push(run)
              return () => {}
            },
            log: () => {},
          })
          t.teardown(() => removals.close())
          return { removals, retries }
        }
        const until = async (holds: () => Promise<boolean> | boolean) => {
          for (let n = 0; n < 500 && !(await holds()); n++) await new Promise((resolve) => setTimeout(resolve, 10))
        }
        const { removals, retries } = begin()
        const erased = removals.erase(1, ANN, deed)
        await until(() => retries.length > 0)
        if (cut !== 'before') await views(10n, 3n, 2)
        if (dies) {
          removals.close()
          begin().removals.tick()
        } else {
          for (const run of retries) run()
          t.match(await erased, { rows: 7, visitor_ids: [ANN] })
        }
        const done = () =>
          workerClient.records.query(sql`select rows from removals where done_at is not null and visitor is null`)
        const noted = () => workerClient.events.query(sql`select key, visitor_ids from removed`)
        await until(async () => (await done()).length > 0 && (await noted()).length === 0)
        t.strictSame(await done(), [{ rows: 7 }])
        t.strictSame(await noted(), [], 'the store does not keep who it was')
        t.strictSame(
          await workerClient.events.query(sql`select visitor_id, count(*) as n from events group by 1 order by 1`),
          [...(cut === 'before' ? [] : [{ visitor_id: ANN, n: 2 }]), { visitor_id: BOB, n: 3 }],
          'who comes again behind the step is somebody new',
        )
      },
    )
