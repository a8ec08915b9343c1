import fc from 'fast-check'
import t from 'tap'
import { assignSessions, lateRowWindows, settleSessions, type UnplacedRow } from '../../src/ingest/late-rows.js'
import { SessionMemory, type StoredSession, startSession } from '../../src/ingest/session-memory.js'
import type { VisitorIds } from '../../src/ingest/visitor-ids.js'
import type { Arrival, EventRow } from '../../src/rows.js'
import { eventRow } from '../fixtures/rows.js'

const MINUTE = 60_000
const HALF_HOUR = 30 * MINUTE
const DAY = 86_400_000

const arrivalAt = (entry_page: string): Arrival => ({
  entry_page,
  referrer: null,
  source: null,
  channel: 'Direct',
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_content: null,
  utm_term: null,
})

/** A late row as the classifier leaves it: of a session of its own. */
function late(minute: number, given: { visitor?: bigint; previous?: bigint; next?: bigint } = {}): UnplacedRow {
  const { visitor = 1n, previous, next } = given
  const { id, start, arrival } = startSession(visitor, minute * MINUTE, arrivalAt(`/${minute}`))
  const row = eventRow({ visitor_id: visitor, timestamp: start, session_id: id, session_start: start, ...arrival })
  return { row, visitor: { visitor_id: visitor, previous, next } }
}

const stored = (first: number, last: number, visitor = 1n): StoredSession => ({
  visitor_id: visitor,
  session_id: startSession(visitor, first * MINUTE, arrivalAt('')).id,
  session_start: new Date(first * MINUTE),
  last_seen: new Date(last * MINUTE),
  arrival: arrivalAt(`/${first}`),
})

t.test('what late rows make of sessions', async (t) => {
  // Stored sessions and late rows in minutes; the sessions that the late rows are of then, as [first, last, how many
  // were parts of it], their entry pages being those of their first minute.
  type Case = [[number, number][], number[], [number, number, number][], string]
  const cases: Case[] = [
    [[], [5], [[5, 5, 1]], 'nothing is known: one of its own'],
    [[[10, 20]], [15], [[10, 20, 2]], 'within'],
    [[[10, 20]], [10], [[10, 20, 1]], 'at once with the first, which came before it'],
    [[[10, 20]], [49.999], [[10, 49.999, 2]], 'behind'],
    [[[10, 20]], [50], [[50, 50, 1]], 'half an hour behind is another'],
    [[[40, 50]], [10.001], [[10.001, 50, 2]], 'before'],
    [[[40, 50]], [10], [[10, 10, 1]], 'half an hour before is another'],
    [
      [
        [0, 10],
        [50, 60],
      ],
      [30],
      [[0, 60, 3]],
      'between two that it makes one',
    ],
    [
      [
        [0, 10],
        [60, 70],
      ],
      [35],
      [[0, 70, 3]],
      'just so',
    ],
    [
      [
        [0, 10],
        [70, 75],
      ],
      [35],
      [[0, 35, 2]],
      'it reaches only the first',
    ],
    [
      [
        [0, 10],
        [70, 75],
      ],
      [41],
      [[41, 75, 2]],
      'it reaches only the second',
    ],
    [
      [
        [0, 10],
        [90, 95],
      ],
      [35, 62],
      [[0, 95, 4]],
      'several bridge what one does not',
    ],
    [
      [
        [0, 10],
        [50, 60],
        [100, 110],
      ],
      [30, 80],
      [[0, 110, 5]],
      'three become one',
    ],
    [
      [],
      [0, 25, 50, 100],
      [
        [0, 50, 3],
        [100, 100, 1],
      ],
      'late rows among themselves',
    ],
    [
      [
        [0, 10],
        [200, 210],
      ],
      [5, 205],
      [
        [0, 10, 2],
        [200, 210, 2],
      ],
      'two that stay two',
    ],
  ]
  for (const [known, minutes, expected, why] of cases) {
    const unplaced = minutes.map((minute) => late(minute))
    const rows = unplaced.map(({ row }) => row)
    const settled = settleSessions(
      rows,
      unplaced,
      known.map(([first, last]) => stored(first, last)),
    )
    const found = settled.map(({ session_start, last_seen, was }) => [
      session_start.getTime() / MINUTE,
      last_seen.getTime() / MINUTE,
      was.size,
    ])
    t.strictSame(found, expected, why)
    assignSessions(rows, settled)
    for (const session of settled) {
      const first = session.session_start.getTime() / MINUTE
      t.equal(session.arrival.entry_page, `/${first}`)
      t.equal(
        session.session_id,
        startSession(1n, first * MINUTE, arrivalAt('')).id,
        'the id that it would have in order',
      )
    }
    for (const { session_start, session_id, timestamp, entry_page } of rows) {
      const session = settled.find((one) => one.session_id === session_id)
      t.ok(session && session.session_start <= timestamp && timestamp <= session.last_seen)
      t.match(session, { session_start, arrival: { entry_page } })
    }
  }
})

t.test('two visitors are two, and one over a change of salts is one', async (t) => {
  const spans = (unplaced: UnplacedRow[], known: StoredSession[]) =>
    settleSessions(
      unplaced.map(({ row }) => row),
      unplaced,
      known,
    ).map(({ session_start, last_seen, visitors }) => [
      session_start.getTime() / MINUTE,
      last_seen.getTime() / MINUTE,
      [...visitors],
    ])
  const other = stored(10, 20, 2n)
  t.strictSame(spans([late(15)], [other]), [[15, 15, [1n]]])
  t.strictSame(spans([late(5, { next: 2n })], [other]), [[5, 20, [1n, 2n]]], 'an old row, and what followed')
  t.strictSame(spans([late(25, { previous: 2n })], [other]), [[10, 25, [2n, 1n]]], 'a new row, and what was before')
  t.strictSame(
    spans([late(25, { previous: 2n, next: 3n })], [other, stored(40, 50, 3n), stored(20, 22, 4n)]),
    [[10, 50, [2n, 1n, 3n]]],
    'and on',
  )
  // Both are of the session that went over the change, and neither row knows the other's id.
  const [old, next] = [stored(40, 40), { ...stored(40, 70, 2n), session_id: stored(40, 40).session_id }]
  t.strictSame(
    spans([late(15), late(99, { visitor: 2n })], [old, next, stored(100, 110, 2n)]),
    [[15, 110, [1n, 2n]]],
    'what late rows of both ids make of it is one, too',
  )
  const asked = lateRowWindows([
    late(100, { visitor: 5n, next: 6n }),
    late(50, { previous: 2n }),
    late(120),
    late(135),
    late(200),
  ])
  t.strictSame(
    asked.map(({ visitor_id, from, to }) => [visitor_id, from / MINUTE, to / MINUTE]),
    [
      [1n, 20, 80],
      [2n, 20, 80],
      [5n, 70, 130],
      [6n, 70, 130],
      [1n, 90, 165],
      [1n, 170, 230],
    ],
    'the store is asked of each id, and of no stretch twice',
  )
})

t.test('rows of the batch that were placed count too, and go along', async (t) => {
  const row = (minute: number, first: number) => {
    const { session_id, session_start, arrival } = stored(first, first)
    return eventRow({ visitor_id: 1n, timestamp: new Date(minute * MINUTE), session_id, session_start, ...arrival })
  }
  const stranger = eventRow({ visitor_id: 9n, session_id: 9n })
  const unplaced = [late(25)]
  const rows = [...unplaced.map(({ row }) => row), row(40, 40), row(45, 40), row(100, 100), stranger]
  const settled = settleSessions(rows, unplaced, [stored(0, 10)])
  assignSessions(rows, settled)
  t.strictSame(
    rows.map(({ entry_page }) => entry_page),
    ['/0', '/0', '/0', '/100', '/'],
  )
  t.match(settled, [{ last_seen: new Date(45 * MINUTE) }])
  t.equal(stranger.session_id, 9n)

  // The next id's row is not asked about, but it is of a session that is: memory must hear of it.
  const old = stored(40, 50)
  const later = eventRow({
    visitor_id: 2n,
    timestamp: new Date(60 * MINUTE),
    session_id: old.session_id,
    session_start: old.session_start,
    ...old.arrival,
  })
  const first = [late(15)]
  const all = [...first.map(({ row }) => row), later]
  const [session] = settleSessions(all, first, [old])
  assignSessions(all, session ? [session] : [])
  t.match(later, { entry_page: '/15', session_start: new Date(15 * MINUTE) })
  t.strictSame([...(session?.visitors ?? [])], [1n, 2n])
  t.strictSame(session?.last_seen, new Date(60 * MINUTE))
})

/** When one hit of a person happened and when it arrived, in milliseconds. */
interface Hit {
  person: number
  at: number
  arrives: number
}

/** Visits around two midnights, whose hits arrive at once, a little late, or up to a day late. */
const hits: fc.Arbitrary<Hit[]> = fc
  .array(
    fc.record({
      person: fc.integer({ min: 1, max: 2 }),
      // From the hit before: within a session, at its very edge, and beyond.
      gap: fc.constantFrom(
        0,
        1,
        60_000,
        20 * MINUTE,
        HALF_HOUR - 1,
        HALF_HOUR,
        40 * MINUTE,
        3 * 60 * MINUTE,
        9 * 60 * MINUTE,
      ),
      delay: fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: 0, max: 5_000 }) },
        { weight: 3, arbitrary: fc.integer({ min: 0, max: 2 * 60 * MINUTE }) },
        { weight: 2, arbitrary: fc.integer({ min: 0, max: DAY - 1 }) },
      ),
    }),
    { minLength: 2, maxLength: 25 },
  )
  .map((steps) => {
    const clock = new Map<number, number>()
    return steps.map(({ person, gap, delay }) => {
      const at = (clock.get(person) ?? DAY - 2 * 60 * MINUTE + person) + gap
      clock.set(person, at)
      return { person, at, arrives: at + delay }
    })
  })

/** What each hit's session is, had all come in order: a recount that shares nothing with what is tested. */
function inOrder(arrived: readonly Hit[]): { start: number; page: string }[] {
  const truth: { start: number; page: string }[] = []
  const byTime = arrived.map((hit, index) => ({ ...hit, index })).sort((a, b) => a.at - b.at || a.index - b.index)
  const open = new Map<number, { start: number; page: string; last: number }>()
  for (const { person, at, index } of byTime) {
    let session = open.get(person)
    if (session === undefined || at - session.last >= HALF_HOUR) session = { start: at, page: `/${index}`, last: at }
    session.last = at
    open.set(person, session)
    truth[index] = { start: session.start, page: session.page }
  }
  return truth
}

/** Everything but the engine: memory, a list for a store, ids that change at midnight, restarts. */
function record(
  arrived: readonly Hit[],
  sizes: readonly number[],
  restarts: readonly boolean[],
  limit: number,
): EventRow[] {
  const store: EventRow[] = []
  const salts = new Set<number>()
  let now = 0
  const memory = () => new SessionMemory({ now: () => now, limit })
  let sessions = memory()
  const known = (rows: readonly EventRow[]): StoredSession[] => {
    const groups = new Map<string, StoredSession>()
    for (const { visitor_id, session_id, session_start, timestamp, ...row } of rows) {
      const key = `${visitor_id} ${session_id}`
      const group = groups.get(key)
      if (group === undefined)
        groups.set(key, {
          visitor_id,
          session_id,
          session_start,
          last_seen: timestamp,
          arrival: arrivalAt(row.entry_page ?? ''),
        })
      else if (group.last_seen < timestamp) group.last_seen = timestamp
    }
    return [...groups.values()]
  }
  let index = 0
  for (let batch = 0; index < arrived.length; batch++) {
    const part = arrived
      .slice(index, index + (sizes[batch % sizes.length] ?? 1))
      .map((hit, n) => ({ hit, page: `/${index + n}` }))
    index += part.length
    now = Math.max(...part.map(({ hit }) => hit.arrives))
    if (restarts[batch % restarts.length]) {
      sessions = memory()
      const running = store.filter(({ timestamp }) => timestamp.getTime() > now - HALF_HOUR)
      sessions.restore(known(running), now - HALF_HOUR)
    }
    const rows: EventRow[] = []
    const unplaced: UnplacedRow[] = []
    for (const { hit, page } of part.sort((a, b) => a.hit.at - b.hit.at)) {
      const day = Math.floor(hit.at / DAY)
      salts.add(day)
      const idOf = (other: number) => (salts.has(other) ? BigInt(hit.person * 1_000 + other) : undefined)
      const who: VisitorIds = {
        visitor_id: idOf(day) ?? 0n,
        previous: hit.at - day * DAY < HALF_HOUR ? idOf(day - 1) : undefined,
        next: (day + 1) * DAY - hit.at < HALF_HOUR ? idOf(day + 1) : undefined,
      }
      const placed = sessions.join(who, hit.at, () => arrivalAt(page))
      const { id, start, arrival } = placed ?? startSession(who.visitor_id, hit.at, arrivalAt(page))
      const row = eventRow({
        visitor_id: who.visitor_id,
        timestamp: new Date(hit.at),
        session_id: id,
        session_start: start,
        ...arrival,
        pathname: page,
      })
      rows.push(row)
      if (placed === undefined) unplaced.push({ row, visitor: who })
    }
    if (unplaced.length > 0) {
      const windows = lateRowWindows(unplaced)
      const near = store.filter(({ visitor_id, timestamp }) =>
        windows.some(
          (window) =>
            window.visitor_id === visitor_id && timestamp.getTime() > window.from && timestamp.getTime() < window.to,
        ),
      )
      const settled = settleSessions(rows, unplaced, known(near))
      assignSessions([...rows, ...store], settled)
      sessions.settle(settled)
    }
    store.push(...rows)
  }
  return store
}

t.test('whatever comes late, in whatever batches: the same sessions as in order', async (t) => {
  const runs = Number(process.env.RUNS ?? 2_000)
  let lateRows = 0
  fc.assert(
    fc.property(
      hits,
      fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
      fc.constantFrom(2, 4, 1_000),
      (all, sizes, restarts, limit) => {
        const arrived = [...all].sort((a, b) => a.arrives - b.arrives)
        const truth = inOrder(arrived)
        lateRows += arrived.filter((hit, i) => arrived.slice(0, i).some(({ at }) => at > hit.at)).length
        const ids = new Map<string, bigint>()
        for (const row of record(arrived, sizes, restarts, limit)) {
          const expected = truth[Number(row.pathname.slice(1))]
          const person = String(row.visitor_id).slice(0, 1)
          const key = `${person} ${expected?.start}`
          const id = ids.get(key) ?? row.session_id
          ids.set(key, id)
          if (
            row.session_start.getTime() !== expected?.start ||
            row.entry_page !== expected.page ||
            row.session_id !== id
          )
            throw new Error(
              `${row.pathname}: ${row.session_start.getTime()} ${row.entry_page}, not ${expected?.start} ${expected?.page}`,
            )
        }
        return new Set(ids.values()).size === ids.size
      },
    ),
    { numRuns: runs },
  )
  t.ok(lateRows > runs, `${lateRows} rows out of order`)
})
