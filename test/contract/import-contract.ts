import fc from 'fast-check'
import type { Test } from 'tap'
import { z } from 'zod'
import type { Evidence } from '../../src/capture/hit.js'
import type { SiteSettings } from '../../src/capture/site.js'
import type { EventStore } from '../../src/storage/event-store.js'
import { sql } from '../../src/storage/sql.js'
import { readStoredHours } from '../../src/worker/import/stored-hours.js'
import { CHROME, FIREFOX } from '../fixtures/browser-headers.js'
import { browserHit } from '../fixtures/hits.js'
import { createImporter, logLine, readRows } from '../fixtures/importer.js'
import { GPTBOT } from '../fixtures/instance.js'
import { observation } from '../fixtures/observations.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { createTestSalts, startWritePath } from '../fixtures/write-path.js'

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const HOST = 'day.example'
const SITE: SiteSettings = {
  id: 1,
  domains: ['day.example'],
  timezone: 'UTC',
  respect_gpc: false,
  visitor_salt: 'day',
  excluded_paths: [],
}
const FROM = { run: '00000000000000aa', sequence: 0, human: 0, agent: 0, drops: {} }
const [ANN, BOB, CAROL, BOT] = ['81.2.69.160', '91.64.0.1', '81.169.145.1', '20.171.206.1'] as const

/** A store with the write path of a process that records, and with imports into it. */
async function createWorld(t: Test, store: EventStore, from: number) {
  const clock = { now: from }
  const now = () => clock.now
  const salts = createTestSalts(now)
  const writing = await startWritePath({ store, now, salts, from: FROM })
  t.teardown(() => writing.stop())
  const importer = await createImporter(t, { store, site: SITE, now, salts, recording: writing })
  return {
    ...{ store, clock, ...importer },
    async record(batch: readonly Evidence[]): Promise<void> {
      salts.expire()
      await writing.record(batch)
    },
  }
}

const SessionRow = z.object({
  pathname: z.string(),
  session_id: z.string(),
  session_start: z.date(),
  entry_page: z.string(),
  utm_source: z.string().nullable(),
})
const readSessions = async (store: EventStore, from: number) =>
  (
    await store.query(sql`select pathname, session_id, session_start, entry_page, utm_source from events
      where timestamp >= ${new Date(from)} order by timestamp, pathname`)
  ).map((row) => SessionRow.parse(row))

/** 10:00 on a day; the site records since then. */
const START = Date.UTC(2026, 2, 10, 10)
const live = (ms: number, ip: string, pathname: string, more: Parameters<typeof observation>[0] = {}) =>
  observation({
    ...{ hostname: HOST, timestamp: new Date(START + ms).toISOString(), ip, pathname, user_agent: CHROME },
    ...more,
  })
const logged = (second: number, ip: string, path: string, agent = CHROME, status = 200) =>
  logLine(START + second * SECOND, ip, path, agent, { status })

/** Exchanges as they were recorded live, each with the line that a server wrote about it. */
const EXCHANGES: readonly [live: Evidence, line: string, why: string][] = [
  [live(400, ANN, '/a'), logged(0, ANN, '/a'), 'a log has whole seconds'],
  [live(300_900, ANN, '/slow', { duration_ms: 3_500 }), logged(304, ANN, '/slow'), 'a line has the time of its end'],
  [live(310_000, ANN, '/slow', { duration_ms: 3_500 }), logged(310, ANN, '/slow'), 'or of its beginning'],
  [live(320_000, BOB, '/b', { user_agent: FIREFOX }), logged(319, BOB, '/b', FIREFOX), 'a clock that goes late'],
  [
    live(330_000, BOB, '/b', { user_agent: FIREFOX, status: 304 }),
    logged(330, BOB, '/b', FIREFOX, 304),
    'not modified',
  ],
  [live(400_100, BOB, '/b', { user_agent: FIREFOX }), logged(400, BOB, '/b', FIREFOX), 'twice in a second'],
  [live(400_200, BOB, '/b', { user_agent: FIREFOX }), logged(400, BOB, '/b', FIREFOX), 'twice in a second'],
  [live(500_000, BOT, '/docs', { user_agent: GPTBOT }), logged(500, BOT, '/docs', GPTBOT), 'an agent'],
  [
    live(501_000, BOT, '/no', { user_agent: GPTBOT, status: 404 }),
    logged(501, BOT, '/no', GPTBOT, 404),
    'an error of an agent',
  ],
  [
    live(502_000, BOT, '/robots.txt', { user_agent: GPTBOT, content_type: 'text/plain' }),
    logged(502, BOT, '/robots.txt', GPTBOT),
    'a file',
  ],
  [
    browserHit({
      ...{ hostname: HOST, pathname: '/cached', ip: ANN, user_agent: CHROME },
      timestamp: new Date(START + 610_300).toISOString(),
    }),
    logged(603, ANN, '/cached'),
    'a page that its browser alone reported, from a cache in front of this server',
  ],
]

/** Lines about the same visitors that this server did not see. */
const MISSED: readonly [line: string, why: string][] = [
  [logged(-20 * 60, ANN, '/before'), 'its session begins earlier'],
  [logged(20 * 60, ANN, '/between'), 'it continues'],
  [logged(60 * 60, ANN, '/after'), 'another session'],
  [logged(304, ANN, '/slow', CHROME, 304), 'another response of the same second'],
  [logged(305, ANN, '/a'), 'the same page again'],
  [logged(400, BOB, '/b', FIREFOX), 'a third time in a second'],
  [logged(500, BOT, '/other', GPTBOT), 'another page of an agent'],
]

/** Imports into a store that records: what was recorded as it happened is recognised, what was not is as if it had been. */
export function importContract<S extends EventStore>(
  t: Test,
  open: (t: Test) => Promise<S>,
  runs: number,
  verify = async (_store: S): Promise<void> => {},
): void {
  t.test('the hours in which a site has rows', async (t) => {
    const store = await open(t)
    const time = (text: string) => new Date(`2026-03-${text}Z`)
    await store.append({
      events: [
        eventRow({ timestamp: time('10T10:59:59.999') }),
        eventRow({ timestamp: time('10T14:00:00'), import_id: 1, import_key: 5n }),
        eventRow({ timestamp: time('10T22:30:00'), site_id: 2 }),
      ],
      agent_events: [agentRow({ timestamp: time('11T10:00:00') })],
    })
    const hours = await readStoredHours(store, 1, Date.UTC(2026, 10, 24))
    for (const [from, to, isOccupied, hasRecorded, hasImported, why] of [
      ['10T09:29:00', '10T09:29:00', false, true, false, 'an hour before, as far as sessions reach no row'],
      ['10T09:30:00', '10T09:30:00', true, true, false, 'within half an hour of a row’s hour'],
      ['10T10:00:00', '10T10:30:00', true, true, false, 'a person’s row'],
      ['10T11:29:59', '10T11:29:59', true, true, false, 'half an hour after'],
      ['10T11:30:00', '10T11:30:00', false, true, false, 'later'],
      ['10T12:30:00', '10T13:00:00', false, false, false, 'no row'],
      ['10T14:59:00', '10T15:00:00', true, false, true, 'an imported row'],
      ['10T22:30:00', '10T22:30:00', false, false, false, 'of another site'],
      ['11T10:30:00', '11T10:30:00', false, true, false, 'an agent’s row has no session'],
    ] as const) {
      const [first, last] = [time(from).getTime(), time(to).getTime()]
      t.equal(hours.isOccupied(first), isOccupied, `a person, ${why}`)
      t.equal(hours.hasRecorded(first, last), hasRecorded, `recorded, ${why}`)
      t.equal(hours.hasImported(first, last), hasImported, `imported, ${why}`)
    }
  })

  t.test('the log of what was recorded adds nothing, and what was missed is joined', async (t) => {
    const world = await createWorld(t, await open(t), START)
    for (const [exchange] of EXCHANGES) {
      world.clock.now = Math.max(world.clock.now, Date.parse(exchange.timestamp))
      await world.record([exchange])
    }
    const recorded = await readRows(world.store)
    const lines = EXCHANGES.map(([, line]) => line)
    for (const [later, why] of [
      [2 * HOUR, 'in the salt period'],
      [4 * DAY, 'after its salt was destroyed'],
    ] as const) {
      world.clock.now = START + later
      await world.record([])
      for (const [, line, what] of EXCHANGES) {
        const { counts } = await world.add([[line]])
        t.match(counts, { human: 0, agent: 0, known: 1 }, `${why}: ${what}`)
      }
      const { counts } = await world.add([lines])
      t.match(counts, { human: 0, agent: 0, known: lines.length, own_salts: false }, why)
      t.strictSame(await readRows(world.store), recorded, why)
    }

    const { id, counts } = await world.add([[...lines, ...MISSED.map(([line]) => line)].sort(byTime)])
    t.match(counts, { human: 6, agent: 1, known: lines.length, own_salts: true }, 'what was missed is added')
    await world.undo(id)
    t.strictSame(await readRows(world.store), recorded)
  })

  t.test('lines that were missed join and prolong sessions', async (t) => {
    const world = await createWorld(t, await open(t), START)
    await world.record([live(0, ANN, '/0', { query: 'utm_source=live' }), live(40 * MINUTE, ANN, '/40')])
    world.clock.now = START + 3 * HOUR
    const before = await readRows(world.store)
    const { id, counts } = await world.add([[-29, 20, 69, 99].map((minute) => logged(minute * 60, ANN, `/${minute}`))])
    t.match(counts, { human: 4, known: 0, own_salts: false })
    const sessions = async () =>
      (await readSessions(world.store, 0)).map(({ pathname, session_start, entry_page, utm_source }) => [
        pathname,
        (session_start.getTime() - START) / MINUTE,
        entry_page,
        utm_source,
      ])
    t.strictSame(
      await sessions(),
      [
        ['/-29', -29, '/-29', null],
        ['/0', -29, '/-29', null],
        ['/20', -29, '/-29', null],
        ['/40', -29, '/-29', null],
        ['/69', -29, '/-29', null],
        ['/99', 99, '/99', null],
      ],
      'five are one, 30 minutes later another begins',
    )
    // The next view that is recorded continues the session as the import left it.
    await world.record([live(85 * MINUTE, ANN, '/85')])
    t.strictSame(new Set((await sessions()).map(([, start]) => start)), new Set([-29]))
    await world.undo(id)
    t.strictSame(await sessions(), [
      ['/0', 0, '/0', 'live'],
      ['/40', 40, '/40', null],
      ['/85', 85, '/85', null],
    ])
    t.strictSame((await readRows(world.store)).length, before.length + 1)
  })

  t.test('random acts, recorded and imported, are as if all had been recorded in order', async (t) => {
    const store = await open(t)
    let base = Date.UTC(2026, 0, 1, 21)
    const world = await createWorld(t, store, base)
    let joined = 0
    const act = fc.record({ person: fc.nat(2), gap: fc.constantFrom(1, 10, 29, 30, 31, 50), isLive: fc.boolean() })
    const acts = fc.array(act, { minLength: 2, maxLength: 14 })
    await fc.assert(
      fc.asyncProperty(acts, fc.nat(14), fc.boolean(), async (given, cut, isSummed) => {
        base += 4 * DAY
        const facts = dateActs(given, base)
        const imported: number[] = []
        const end = (facts.at(-1)?.at ?? base) + SECOND
        for (const part of [facts.slice(0, cut), facts.slice(cut)]) {
          const recorded = part.filter(({ isLive }) => isLive)
          for (const one of recorded) {
            world.clock.now = one.at
            await world.record([toObservation(one)])
          }
          world.clock.now = Math.max(world.clock.now, part === facts ? end : (part.at(-1)?.at ?? base))
          const lines = part.filter(({ isLive }) => !isLive).map(toLine)
          if (lines.length > 0) imported.push((await world.add([lines])).id)
          if (isSummed) await store.aggregate(new Date(world.clock.now + DAY))
        }
        compareSessions(await readSessions(store, base), facts)
        joined += facts.length - new Set(findSessions(facts).values()).size
        for (const id of imported.reverse()) await world.undo(id)
        const left = facts.filter(({ isLive }) => isLive)
        // A row recorded after the import has the campaign of its session as that was then.
        const rows = (await readSessions(store, base)).map((row) => ({ ...row, utm_source: undefined }))
        compareSessions(rows, left)
      }),
      { numRuns: runs, seed: Number(process.env.IMPORT_SEED ?? 20261124), endOnFailure: true },
    )
    t.ok(joined > 2 * runs, `${joined} acts that begin no session`)
    await store.aggregate(new Date(base + 10 * DAY))
    await verify(store)
  })
}

const byTime = (a: string, b: string): number => timeOf(a) - timeOf(b)
const timeOf = (line: string): number => {
  const [, day, time] = /\[(\d+)\/Mar\/2026:([\d:]+)/.exec(line) ?? []
  return Date.parse(`2026-03-${day}T${time}Z`)
}

interface Act {
  person: number
  isLive: boolean
  at: number
  pathname: string
}

const PEOPLE = [
  [ANN, CHROME],
  [BOB, FIREFOX],
  [CAROL, CHROME],
] as const

/** Dates acts, each some minutes after its person's last; the visits begin before midnight, when the salt changes. */
function dateActs(given: readonly { person: number; gap: number; isLive: boolean }[], base: number): Act[] {
  const clocks = [base + 2 * HOUR, base + 2 * HOUR + 5 * MINUTE, base + 2.5 * HOUR]
  return given
    .map(({ person, gap, isLive }, n) => {
      const at = (clocks[person] ?? base) + gap * MINUTE
      clocks[person] = at
      return { person, isLive, at, pathname: `/${n}` }
    })
    .sort((a, b) => a.at - b.at)
}

const personOf = ({ person }: Act) => PEOPLE[person] ?? PEOPLE[0]

const toObservation = (act: Act) => {
  const [ip, user_agent] = personOf(act)
  const timestamp = new Date(act.at).toISOString()
  const query = `utm_source=from${act.pathname.slice(1)}`
  return observation({ hostname: HOST, ip, user_agent, timestamp, pathname: act.pathname, query })
}

const toLine = (act: Act): string => {
  const [ip, agent] = personOf(act)
  return logLine(act.at, ip, `${act.pathname}?utm_source=from${act.pathname.slice(1)}`, agent)
}

/** The first act of each act's session, by the rule. */
function findSessions(acts: readonly Act[]): Map<string, Act> {
  const open = new Map<number, { first: Act; last: number }>()
  const found = new Map<string, Act>()
  for (const act of acts) {
    const before = open.get(act.person)
    const session = before && act.at - before.last < 30 * MINUTE ? before : { first: act, last: act.at }
    session.last = act.at
    open.set(act.person, session)
    found.set(act.pathname, session.first)
  }
  return found
}

/** Throws if sessions are not those of the rule; a row without `utm_source` was left out of that comparison. */
function compareSessions(
  rows: readonly (Omit<z.infer<typeof SessionRow>, 'utm_source'> & { utm_source?: string | null | undefined })[],
  acts: readonly Act[],
): void {
  const expected = findSessions(acts)
  const ids = new Map<Act, string>()
  const wrong = rows.filter(({ pathname, session_id, session_start, entry_page, utm_source }) => {
    const first = expected.get(pathname)
    if (first === undefined) return true
    const id = ids.get(first) ?? session_id
    ids.set(first, id)
    const from = `from${first.pathname.slice(1)}`
    return (
      session_start.getTime() !== first.at ||
      entry_page !== first.pathname ||
      (utm_source !== undefined && utm_source !== from) ||
      session_id !== id
    )
  })
  if (rows.length !== acts.length || wrong.length > 0 || new Set(ids.values()).size !== ids.size)
    throw new Error(
      `${rows.length} rows\nwrong ${JSON.stringify(wrong, null, 1)}\nacts ${JSON.stringify(acts, null, 1)}`,
    )
}
