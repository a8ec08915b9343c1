import t, { type Test } from 'tap'
import type { Evidence } from '../../../src/capture/hit.js'
import type { SiteSettings } from '../../../src/capture/site.js'
import type { CommitPosition } from '../../../src/storage/commit-position.js'
import { sql } from '../../../src/storage/sql.js'
import { CHROME, FIREFOX } from '../../fixtures/browser-headers.js'
import { memorySaltFile } from '../../fixtures/classifier-stubs.js'
import { createImporter, logLine } from '../../fixtures/importer.js'
import { observation } from '../../fixtures/observations.js'
import { openStore } from '../../fixtures/open-store.js'
import { createTestSalts, startWritePath } from '../../fixtures/write-path.js'

/* A site whose visitors get another id each day, with traffic that was recorded and lines of a log about the same people. */

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const START = Date.UTC(2026, 2, 10, 10)
const SITE: SiteSettings = {
  ...{ id: 1, domains: ['day.example'], timezone: 'UTC', respect_gpc: false },
  ...{ visitor_salt: 'day', excluded_paths: [] },
}
const FROM = { run: '00000000000000aa', sequence: 0, human: 0, agent: 0, drops: {} }
const PEOPLE = [
  ['81.2.69.160', CHROME],
  ['91.64.0.1', FIREFOX],
  ['81.169.145.1', CHROME],
] as const

const view = (at: number, [ip, user_agent]: (typeof PEOPLE)[number], pathname: string): Evidence =>
  observation({ hostname: 'day.example', timestamp: new Date(at).toISOString(), ip, user_agent, pathname })

/** The pages that each person read on a day, as they were recorded and as a log has them; of `/missed` only the log knows. */
const dayOf = (start: number) => {
  const exchanges = PEOPLE.flatMap((person, n) =>
    ['/a', '/b', '/missed'].map((path, m) => ({ person, path, at: start + n * MINUTE + m * 10 * MINUTE })),
  )
  return {
    recorded: exchanges.filter(({ path }) => path !== '/missed').map(({ at, person, path }) => view(at, person, path)),
    lines: exchanges
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, person: [ip, agent], path }) => logLine(at, ip, path, agent)),
  }
}

async function createWorld(t: Test) {
  const store = await openStore(t)
  const clock = { now: START }
  const now = () => clock.now
  const file = memorySaltFile()
  const start = async (from: CommitPosition) => {
    const salts = createTestSalts(now, file)
    const writing = await startWritePath({ store, now, salts, from })
    const importer = await createImporter(t, { store, site: SITE, now, salts, recording: writing })
    return { salts, writing, importer }
  }
  let running = await start(FROM)
  t.teardown(() => running.writing.stop())
  return {
    store,
    async record(at: number, batch: readonly Evidence[]): Promise<void> {
      clock.now = at
      running.salts.expire()
      await running.writing.record(batch)
    },
    async restart(at: number): Promise<void> {
      clock.now = at
      running.salts.expire()
      await running.writing.stop()
      running = await start(running.writing.position())
    },
    async add(at: number, lines: readonly string[]) {
      clock.now = at
      running.salts.expire()
      return (await running.importer.add([lines])).counts
    },
    async visitors(): Promise<number> {
      const [row] = await store.query(sql`select count(distinct visitor_id) as n from events`)
      return Number(row?.n)
    },
  }
}

t.test('a log of a time that was recorded too has the same people where the salt is held', async (t) => {
  const { recorded, lines } = dayOf(START)
  const all = { known: 6, human: 3 }
  type World = Awaited<ReturnType<typeof createWorld>>
  const cases: [(world: World) => ReturnType<World['add']>, visitors: number, own_salts: boolean, why: string][] = [
    [
      async (world) => {
        await world.record(START + HOUR, recorded)
        return world.add(START + 2 * HOUR, lines)
      },
      ...([3, false, 'the salt of today'] as const),
    ],
    [
      async (world) => {
        await world.record(START + HOUR, recorded)
        return world.add(START + DAY, lines)
      },
      ...([3, false, 'that of yesterday, which is kept for late rows'] as const),
    ],
    [
      async (world) => {
        await world.record(START + HOUR, recorded)
        return world.add(START + 3 * DAY, lines)
      },
      ...([6, true, 'that of three days ago is destroyed: what only the log has is of other people'] as const),
    ],
    [
      async (world) => {
        await world.record(START + 5 * DAY, recorded)
        return world.add(START + 5 * DAY + MINUTE, lines)
      },
      ...([3, false, 'delivered five days late, under a salt that is held half an hour'] as const),
    ],
    [
      async (world) => {
        await world.record(START + 5 * DAY, recorded)
        return world.add(START + 5 * DAY + HOUR, lines)
      },
      ...([6, true, 'an hour after this delivery'] as const),
    ],
    [
      async (world) => {
        await world.record(START + HOUR, recorded)
        await world.restart(START + DAY)
        await world.record(START + DAY, [view(START + 5 * HOUR, PEOPLE[0], '/late')])
        return world.add(START + DAY, lines)
      },
      ...([6, true, 'a restart destroyed the salt, and a late row got another'] as const),
    ],
  ]
  for (const [act, visitors, own_salts, why] of cases) {
    const world = await createWorld(t)
    t.match(await act(world), { ...all, own_salts }, why)
    t.equal(await world.visitors(), visitors, why)
  }
})

t.test('an import says that it has people of its own only if it stored some', async (t) => {
  const world = await createWorld(t)
  const [first, second] = [dayOf(START), dayOf(START + 5 * DAY)]
  const known = first.lines.filter((line) => !line.includes('/missed'))
  await world.record(START + HOUR, first.recorded)
  const later = START + 5 * DAY + 2 * HOUR
  t.match(
    await world.add(later, [...known, ...second.lines]),
    { known: 6, human: 9, own_salts: false },
    'all that it stored is of today',
  )
  t.match(await world.add(later, [...first.lines, ...second.lines]), { known: 15, human: 3, own_salts: true })
})
