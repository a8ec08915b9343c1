import t from 'tap'
import {
  assignSessions,
  lateRowWindows,
  settleSessions,
  type UnplacedRow,
} from '../../../src/worker/ingest/late-rows.js'
import { type StoredSession, startSession } from '../../../src/worker/ingest/session-memory.js'
import { arrivalAt } from '../../fixtures/arrivals.js'
import { eventRow } from '../../fixtures/rows.js'

const MINUTE = 60_000

/** Returns a late row as the classifier leaves it, in a session of its own. */
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

t.test('late rows extend, move and join sessions', async (t) => {
  // Stored sessions and late rows in minutes; the sessions that the late rows are of then, as [first, last, how many
  // were parts of it], their entry pages being those of their first minute.
  type Case = [[number, number][], number[], [number, number, number][], string]
  const cases: Case[] = [
    [[], [5], [[5, 5, 1]], 'nothing stored: a session of its own'],
    [[[10, 20]], [15], [[10, 20, 2]], 'within a session'],
    [[[10, 20]], [10], [[10, 20, 1]], 'at the same time as the first row'],
    [[[10, 20]], [49.999], [[10, 49.999, 2]], 'after a session'],
    [[[10, 20]], [50], [[50, 50, 1]], 'half an hour after it is another session'],
    [[[40, 50]], [10.001], [[10.001, 50, 2]], 'before a session'],
    [[[40, 50]], [10], [[10, 10, 1]], 'half an hour before it is another session'],
    [
      [
        [0, 10],
        [50, 60],
      ],
      [30],
      [[0, 60, 3]],
      'between two sessions, which become one',
    ],
    [
      [
        [0, 10],
        [60, 70],
      ],
      [35],
      [[0, 70, 3]],
      'between two sessions, just near enough',
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
      'two sessions that stay two',
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

t.test('keeps visitors apart, and joins one visitor across a change of salts', async (t) => {
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
    'and both',
  )
  // Both are of the session that went over the change, and neither row knows the other's id.
  const [old, next] = [stored(40, 40), { ...stored(40, 70, 2n), session_id: stored(40, 40).session_id }]
  t.strictSame(
    spans([late(15), late(99, { visitor: 2n })], [old, next, stored(100, 110, 2n)]),
    [[15, 110, [1n, 2n]]],
    'late rows under both ids give one session, too',
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
    'the store is asked about each id, and about no period twice',
  )
})

t.test('rows of the batch that memory placed count too, and move with their session', async (t) => {
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
