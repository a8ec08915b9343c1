import fc from 'fast-check'
import t from 'tap'
import type { EventRow } from '../../../src/storage/rows.js'
import {
  assignSessions,
  lateRowWindows,
  settleSessions,
  type UnplacedRow,
} from '../../../src/worker/ingest/late-rows.js'
import { SessionMemory, type StoredSession, startSession } from '../../../src/worker/ingest/session-memory.js'
import type { VisitorIds } from '../../../src/worker/ingest/visitor-ids.js'
import { arrivalAt } from '../../fixtures/arrivals.js'
import { eventRow } from '../../fixtures/rows.js'

const MINUTE = 60_000
const HALF_HOUR = 30 * MINUTE
const DAY = 86_400_000

/** A person's hit: when it happened and when it arrived, in milliseconds. */
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

/** Returns each hit's session as if all had come in order: a recount that shares no code with what is tested. */
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

/** Simulates everything but the engine: memory, a list as store, ids that change at midnight, restarts. */
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

t.test('late hits in any batches give the same sessions as hits in order', async (t) => {
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
