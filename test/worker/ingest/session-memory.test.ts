import t from 'tap'
import { SessionMemory } from '../../../src/worker/ingest/session-memory.js'
import { arrivalAt } from '../../fixtures/arrivals.js'

const MINUTE = 60_000

type OtherIds = { previous?: bigint; next?: bigint }
const tryJoin = (
  sessions: SessionMemory,
  visitor_id: bigint,
  minute: number,
  page = `/${minute}`,
  others: OtherIds = {},
) => sessions.join({ visitor_id, previous: others.previous, next: others.next }, minute * MINUTE, () => arrivalAt(page))
/** Returns the session of a hit; throws if memory cannot tell. */
const mustJoin = (sessions: SessionMemory, visitor: bigint, minute: number, page?: string, previous?: bigint) => {
  const session = tryJoin(sessions, visitor, minute, page, previous === undefined ? {} : { previous })
  if (session === undefined) throw new Error(`memory cannot place minute ${minute}`)
  return session
}
/** Returns whether memory places a hit. If not, settles it as in service, with a store that has nothing near. */
const isPlaced = (sessions: SessionMemory, visitor: bigint, minute: number, page?: string) => {
  if (tryJoin(sessions, visitor, minute, page)) return true
  sessions.settle([settled(visitor, minute, minute, page ?? '/', [], [visitor])])
  return false
}
const settled = (id: bigint, first: number, last: number, page: string, was: bigint[], visitors = [1n]) => ({
  session_id: id,
  session_start: new Date(first * MINUTE),
  last_seen: new Date(last * MINUTE),
  arrival: arrivalAt(page),
  visitors: new Set(visitors),
  was: new Set([id, ...was]),
})

t.test('joins a hit to the right session', async (t) => {
  // Minutes of one visitor's hits in the order they arrive, and the number of the session each must join: 0 where
  // memory cannot tell, since a late hit may change what is stored.
  const rows: [number[], number[], string][] = [
    [[0, 10, 35, 64], [1, 1, 1, 1], 'less than 30 minutes after the last'],
    [[0, 30], [1, 2], 'a session ends after 30 minutes without a hit'],
    [[0, 29.999], [1, 1], 'and not before'],
    [[0, 0, 10, 10], [1, 1, 1, 1], 'at once'],
    [[0, 20, 10, 49], [1, 1, 1, 1], 'out of order, within'],
    [[20, 0], [1, 0], 'before the first: the session begins earlier now'],
    [[20, 0, 49], [1, 0, 1], 'and memory waits to be told'],
    [[0, 100, 5], [1, 2, 0], 'a late hit of the session before'],
    [[0, 100, 5, 110, 30], [1, 2, 0, 2, 0], 'which goes on meanwhile'],
    [[600, 605, 540, 545, 550, 610], [1, 1, 0, 0, 0, 1], 'a clock set back an hour and forth again'],
    [[0, 40, 22], [1, 2, 0], 'one that makes two sessions one'],
  ]
  for (const [minutes, expected, why] of rows) {
    const sessions = new SessionMemory({ now: () => 0 })
    const ids: bigint[] = []
    const numbers = minutes.map((minute) => {
      const session = tryJoin(sessions, 7n, minute)
      if (session === undefined) return 0
      if (!ids.includes(session.id)) ids.push(session.id)
      return ids.indexOf(session.id) + 1
    })
    t.strictSame(numbers, expected, why)
  }
})

t.test('the first hit fixes a session’s start and arrival, until an earlier hit is settled', async (t) => {
  const sessions = new SessionMemory({ now: () => 0 })
  const first = mustJoin(sessions, 1n, 10, '/landing')
  for (const [minute, page] of [
    [11, '/next'],
    [10.5, '/late'],
  ] as const) {
    const { start, arrival, id } = mustJoin(sessions, 1n, minute, page)
    t.equal(start.getTime(), 10 * MINUTE)
    t.equal(arrival.entry_page, '/landing')
    t.equal(id, first.id)
  }
  t.not(mustJoin(sessions, 2n, 10).id, first.id, 'another visitor, another session')
  t.equal(mustJoin(new SessionMemory({ now: () => 5 }), 1n, 10).id, first.id, 'the same rows give the same ids')
  t.ok(first.id >= 0n && first.id < 1n << 64n, 'an unsigned word of 64 bits')

  sessions.settle([settled(5n, 2, 10, '/earlier', [first.id])])
  const now = mustJoin(sessions, 1n, 40)
  t.match(now, { id: 5n, start: new Date(2 * MINUTE), arrival: { entry_page: '/earlier' } })
  t.equal(now.key, first.id, 'the key stays the same')
  t.equal(mustJoin(sessions, 1n, 3).id, 5n, 'an instant before the old start is now within the session')
})

t.test('remembers settled sessions that reach into memory, and no others', async (t) => {
  const sessions = new SessionMemory({ now: () => 100 * MINUTE })
  sessions.restore([], 70 * MINUTE)
  const rows: [number, boolean, string][] = [
    [99, false, 'a stored session may have lasted until minute 70'],
    [100, true, 'no stored session reaches here'],
    [69, false, 'older than memory'],
  ]
  for (const [minute, known, why] of rows)
    t.equal(tryJoin(sessions, 10n + BigInt(minute), minute) !== undefined, known, why)

  sessions.settle([settled(5n, 60, 80, '/a', []), settled(6n, 20, 70, '/b', [], [2n])])
  t.equal(mustJoin(sessions, 1n, 99).id, 5n, 'it ended after the horizon')
  t.not(mustJoin(sessions, 2n, 100).id, 6n)
  t.equal(sessions.size, 3, 'a session that ended before it is not kept')
  sessions.settle([settled(7n, 10, 20, '/old', [])])
  t.equal(mustJoin(sessions, 1n, 110).id, 5n, 'an older session does not replace the last')
  sessions.settle([settled(8n, 150, 160, '/new', [])])
  t.equal(mustJoin(sessions, 1n, 170).id, 8n, 'a newer session does')
})

t.test('a session that lost stored rows goes on as it is, and one without rows is gone', async (t) => {
  const cases: [minute: number, was: 'own' | 'other', now: boolean, joins: 'now' | 'own' | 'new', why: string][] = [
    [49, 'own', true, 'now', '29 minutes after the last row that stays'],
    [50, 'own', true, 'new', '30 minutes after it, and 5 after the one that left'],
    [50, 'own', false, 'new', 'no row stays'],
    [50, 'other', true, 'own', 'the rows are those of an earlier session'],
  ]
  for (const [minute, was, now, joins, why] of cases) {
    const sessions = new SessionMemory({ now: () => 0 })
    sessions.restore([], -60 * MINUTE)
    const { id: own, key } = mustJoin(sessions, 1n, 0)
    mustJoin(sessions, 1n, 20)
    mustJoin(sessions, 1n, 45)
    const replacement = { session_id: 9n, session_start: new Date(20 * MINUTE), last_seen: new Date(20 * MINUTE) }
    sessions.replace([
      {
        visitor_id: 1n,
        was: was === 'own' ? own : 5n,
        now: now ? { ...replacement, arrival: arrivalAt('/20') } : undefined,
      },
      { visitor_id: 2n, was: own, now: undefined },
    ])
    const found = mustJoin(sessions, 1n, minute)
    t.equal(found.id, joins === 'now' ? 9n : joins === 'own' ? own : found.id, why)
    t.equal(found.start.getTime() / MINUTE, { now: 20, own: 0, new: minute }[joins], why)
    if (joins !== 'new') t.equal(found.key, key, 'what memory knows of the visit stays')
  }
})

t.test('a restart splits no session', async (t) => {
  const before = new SessionMemory({ now: () => 0 })
  const { id, start } = mustJoin(before, 1n, 10, '/landing')
  const after = new SessionMemory({ now: () => 0 })
  const [session_start, last_seen] = [new Date(10 * MINUTE), new Date(25 * MINUTE)]
  after.restore([{ visitor_id: 1n, session_id: id, session_start, last_seen, arrival: arrivalAt('/landing') }], 0)
  const again = mustJoin(after, 1n, 54, '/later')
  t.equal(again.id, id)
  t.strictSame(again.start, start)
  t.equal(again.arrival.entry_page, '/landing')
  t.not(mustJoin(after, 1n, 90).id, id, 'the timeout applies after a restart')
})

t.test('a change of salts does not split a visit', async (t) => {
  const sessions = new SessionMemory({ now: () => 0 })
  const { id } = mustJoin(sessions, 1n, 0)
  t.equal(mustJoin(sessions, 2n, 5, '/x', 1n).id, id, 'found under the id of the previous period')
  t.equal(mustJoin(sessions, 2n, 10, '/x').id, id, 'and under the new id from then on')
  t.equal(mustJoin(sessions, 1n, 2, '/x').id, id, 'a late row of the old period too')
  t.not(mustJoin(sessions, 4n, 50, '/x', 1n).id, id, 'not when the visit was over')
  t.not(mustJoin(sessions, 6n, 5, '/x', 5n).id, id, 'not a session of another visitor')
  t.equal(tryJoin(sessions, 8n, 1, '/x', { next: 9n }), undefined, 'a late row may go on under the next id')
  t.equal(mustJoin(sessions, 1n, 1).id, id)
  t.equal(tryJoin(sessions, 1n, 1, '/x', { next: 2n })?.id, id, 'a hit within the session changes nothing')
})

t.test('memory is bounded, and sessions in use stay', async (t) => {
  let now = 0
  const sessions = new SessionMemory({ now: () => now, limit: 1000 })
  const { id } = mustJoin(sessions, 1n, 0)
  for (let i = 2n; i < 20_000n; i++) {
    isPlaced(sessions, i, Number(i) / 1000)
    if (i % 100n === 0n) t.equal(mustJoin(sessions, 1n, Number(i) / 1000).id, id, 'a session with regular hits')
  }
  t.ok(sessions.size > 500 && sessions.size <= 1000, `${sessions.size} sessions`)
  t.ok(isPlaced(sessions, 19_999n, 20), 'the latest sessions are known')
  t.notOk(isPlaced(sessions, 2n, 20), 'forgotten sessions are not placed')
  for (let i = 0; i < 3; i++) {
    now += 41 * MINUTE
    isPlaced(sessions, 99_999n, now / MINUTE)
  }
  t.ok(sessions.size <= 2, 'some time later only current sessions remain')
  t.ok(mustJoin(sessions, 3n, now / MINUTE), 'a visitor who returns after that is new')
  now -= 1000 * MINUTE
  for (let i = 0; i < 3; i++) {
    tryJoin(sessions, 100_000n + BigInt(i), now / MINUTE)
    now += 41 * MINUTE
  }
  t.ok(sessions.size <= 4, 'also with a clock that was set back')
})

t.test('one clock far ahead sends other hits to the store for a day, not forever', async (t) => {
  let now = 0
  const sessions = new SessionMemory({ now: () => now })
  mustJoin(sessions, 1n, 1_000_000)
  for (let i = 0; i < 3; i++) {
    now += 41 * MINUTE
    tryJoin(sessions, 2n, now / MINUTE)
  }
  t.equal(tryJoin(sessions, 3n, now / MINUTE), undefined, 'for a day')
  now += 86_400_000
  t.ok(tryJoin(sessions, 4n, now / MINUTE))
})

t.test('sessions restored at start move the horizon when they are forgotten', async (t) => {
  const sessions = new SessionMemory({ now: () => 100 * MINUTE, limit: 2 })
  const at = (minute: number) => new Date(minute * MINUTE)
  const open = [1n, 2n, 3n].map((id) => ({
    visitor_id: id,
    session_id: id,
    session_start: at(80),
    last_seen: at(90 + Number(id)),
    arrival: arrivalAt('/'),
  }))
  sessions.restore(open, 70 * MINUTE)
  t.equal(tryJoin(sessions, 1n, 101), undefined, 'it had a hit at 91')
  t.equal(tryJoin(sessions, 1n, 121), undefined)
})

t.test('long texts leave space for fewer sessions', async (t) => {
  const sessions = new SessionMemory({ now: () => 0, texts: 1_000_000 })
  for (let visitor = 1n; visitor <= 2_000n; visitor++)
    isPlaced(sessions, visitor, Number(visitor) / 1000, `/${'x'.repeat(1_999)}`)
  t.ok(sessions.size > 200 && sessions.size <= 510, `${sessions.size} of 2,000 characters in a million`)
})
