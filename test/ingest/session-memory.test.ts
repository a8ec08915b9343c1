import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createRecentCache, memoize } from '../../src/cache.js'
import { openSaltFile, type SaltFile, SaltStore, saltPeriodOf } from '../../src/ingest/salts.js'
import { SessionMemory } from '../../src/ingest/session-memory.js'
import { hashAddress, hashVisitorId } from '../../src/ingest/visitor-ids.js'
import type { Arrival } from '../../src/rows.js'

const MINUTE = 60_000
const at = (text: string) => Date.parse(text)

const arrival = (entry_page: string): Arrival => ({
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
type OtherIds = { previous?: bigint; next?: bigint }
const tryJoin = (
  sessions: SessionMemory,
  visitor_id: bigint,
  minute: number,
  page = `/${minute}`,
  others: OtherIds = {},
) => sessions.join({ visitor_id, previous: others.previous, next: others.next }, minute * MINUTE, () => arrival(page))
/** The session of a hit that memory can tell of. */
const mustJoin = (sessions: SessionMemory, visitor: bigint, minute: number, page?: string, previous?: bigint) => {
  const session = tryJoin(sessions, visitor, minute, page, previous === undefined ? {} : { previous })
  if (session === undefined) throw new Error(`memory cannot tell of minute ${minute}`)
  return session
}
/** The same as it goes on in service: of what memory cannot tell the store says that nothing is near. */
const isPlaced = (sessions: SessionMemory, visitor: bigint, minute: number, page?: string) => {
  if (tryJoin(sessions, visitor, minute, page)) return true
  sessions.settle([settled(visitor, minute, minute, page ?? '/', [], [visitor])])
  return false
}
const settled = (id: bigint, first: number, last: number, page: string, was: bigint[], visitors = [1n]) => ({
  session_id: id,
  session_start: new Date(first * MINUTE),
  last_seen: new Date(last * MINUTE),
  arrival: arrival(page),
  visitors: new Set(visitors),
  was: new Set([id, ...was]),
})

t.test('which session a hit belongs to', async (t) => {
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

t.test('the first hit fixes what the session is, until an earlier one is settled', async (t) => {
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
  t.equal(now.key, first.id, 'for what counts signals it is the same session')
  t.equal(mustJoin(sessions, 1n, 3).id, 5n, 'what was before the first lies within now')
})

t.test('what is settled is remembered where memory must know it, and nothing else', async (t) => {
  const sessions = new SessionMemory({ now: () => 100 * MINUTE })
  sessions.restore([], 70 * MINUTE)
  const rows: [number, boolean, string][] = [
    [99, false, 'the session of an hour ago may have lasted until 70'],
    [100, true, 'no session that anything is stored of reaches here'],
    [69, false, 'older than memory'],
  ]
  for (const [minute, known, why] of rows)
    t.equal(tryJoin(sessions, 10n + BigInt(minute), minute) !== undefined, known, why)

  sessions.settle([settled(5n, 60, 80, '/a', []), settled(6n, 20, 70, '/b', [], [2n])])
  t.equal(mustJoin(sessions, 1n, 99).id, 5n, 'it ended after the horizon')
  t.not(mustJoin(sessions, 2n, 100).id, 6n)
  t.equal(sessions.size, 3, 'what ended before it takes no room')
  sessions.settle([settled(7n, 10, 20, '/old', [])])
  t.equal(mustJoin(sessions, 1n, 110).id, 5n, 'an older one is not in the way of the last')
  sessions.settle([settled(8n, 150, 160, '/new', [])])
  t.equal(mustJoin(sessions, 1n, 170).id, 8n, 'a newer one is the last')
})

t.test('a restart splits no session', async (t) => {
  const before = new SessionMemory({ now: () => 0 })
  const { id, start } = mustJoin(before, 1n, 10, '/landing')
  const after = new SessionMemory({ now: () => 0 })
  const [session_start, last_seen] = [new Date(10 * MINUTE), new Date(25 * MINUTE)]
  after.restore([{ visitor_id: 1n, session_id: id, session_start, last_seen, arrival: arrival('/landing') }], 0)
  const again = mustJoin(after, 1n, 54, '/later')
  t.equal(again.id, id)
  t.strictSame(again.start, start)
  t.equal(again.arrival.entry_page, '/landing')
  t.not(mustJoin(after, 1n, 90).id, id, 'the timeout holds')
})

t.test('a change of salts does not split a visit', async (t) => {
  const sessions = new SessionMemory({ now: () => 0 })
  const { id } = mustJoin(sessions, 1n, 0)
  t.equal(mustJoin(sessions, 2n, 5, '/x', 1n).id, id, 'the id of the period before leads to it')
  t.equal(mustJoin(sessions, 2n, 10, '/x').id, id, 'and the new one from then on')
  t.equal(mustJoin(sessions, 1n, 2, '/x').id, id, 'a late row of the old period too')
  t.not(mustJoin(sessions, 4n, 50, '/x', 1n).id, id, 'not when the visit was over')
  t.not(mustJoin(sessions, 6n, 5, '/x', 5n).id, id, 'not of somebody else')
  t.equal(tryJoin(sessions, 8n, 1, '/x', { next: 9n }), undefined, 'a late row may go on under the next id')
  t.equal(mustJoin(sessions, 1n, 1).id, id)
  t.equal(tryJoin(sessions, 1n, 1, '/x', { next: 2n })?.id, id, 'where it lies within, it changes nothing')
})

t.test('memory is bounded, and what is in use stays', async (t) => {
  let now = 0
  const sessions = new SessionMemory({ now: () => now, limit: 1000 })
  const { id } = mustJoin(sessions, 1n, 0)
  for (let i = 2n; i < 20_000n; i++) {
    isPlaced(sessions, i, Number(i) / 1000)
    if (i % 100n === 0n) t.equal(mustJoin(sessions, 1n, Number(i) / 1000).id, id, 'one that is hit again and again')
  }
  t.ok(sessions.size > 500 && sessions.size <= 1000, `${sessions.size} sessions`)
  t.ok(isPlaced(sessions, 19_999n, 20), 'the last are known')
  t.notOk(isPlaced(sessions, 2n, 20), 'of those that made room memory does not tell')
  for (let i = 0; i < 3; i++) {
    now += 41 * MINUTE
    isPlaced(sessions, 99_999n, now / MINUTE)
  }
  t.ok(sessions.size <= 2, 'some time later only the living')
  t.ok(mustJoin(sessions, 3n, now / MINUTE), 'who comes back when that is over is new')
  now -= 1000 * MINUTE
  for (let i = 0; i < 3; i++) {
    tryJoin(sessions, 100_000n + BigInt(i), now / MINUTE)
    now += 41 * MINUTE
  }
  t.ok(sessions.size <= 4, 'and a clock set back does not stop that')
})

t.test('one clock far ahead does not send the others to the store for ever', async (t) => {
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

t.test('what a start told of is known to have been, when it makes room', async (t) => {
  const sessions = new SessionMemory({ now: () => 100 * MINUTE, limit: 2 })
  const at = (minute: number) => new Date(minute * MINUTE)
  const open = [1n, 2n, 3n].map((id) => ({
    visitor_id: id,
    session_id: id,
    session_start: at(80),
    last_seen: at(90 + Number(id)),
    arrival: arrival('/'),
  }))
  sessions.restore(open, 70 * MINUTE)
  t.equal(tryJoin(sessions, 1n, 101), undefined, 'it had a hit at 91')
  t.equal(tryJoin(sessions, 1n, 121), undefined)
})

t.test('long texts make room for fewer sessions', async (t) => {
  const sessions = new SessionMemory({ now: () => 0, texts: 1_000_000 })
  for (let visitor = 1n; visitor <= 2_000n; visitor++)
    isPlaced(sessions, visitor, Number(visitor) / 1000, `/${'x'.repeat(1_999)}`)
  t.ok(sessions.size > 200 && sessions.size <= 510, `${sessions.size} of 2,000 characters in a million`)
})

t.test('recent values', async (t) => {
  const recent = createRecentCache<string, number>(4)
  for (const [i, key] of ['a', 'b', 'c'].entries()) recent.set(key, i)
  t.equal(recent.get('a'), 0, 'asked for, so kept')
  for (const [i, key] of ['d', 'e'].entries()) recent.set(key, i)
  t.equal(recent.get('b'), undefined, 'not asked for, so gone')
  recent.delete('e')
  t.equal(recent.get('e'), undefined)
  t.ok(recent.size <= 4)
  let worked = 0
  const twice = memoize(100, (key) => ({ key, worked: ++worked }))
  t.equal(twice('a'), twice('a'))
  t.equal(worked, 1)
})

t.test('periods of the UTC calendar', async (t) => {
  const rows: ['day' | 'week' | 'month' | 'never', string, string, string, string, string][] = [
    ['day', '2026-11-21T23:59:59.999Z', 'day 2026-11-21', '2026-11-21', '2026-11-22', 'a day'],
    ['week', '2026-11-21T12:00:00Z', 'week 2026-11-16', '2026-11-16', '2026-11-23', 'weeks start on Monday'],
    ['week', '2026-11-16T00:00:00Z', 'week 2026-11-16', '2026-11-16', '2026-11-23', 'at its very start'],
    ['week', '2026-11-15T23:59:59Z', 'week 2026-11-09', '2026-11-09', '2026-11-16', 'a Sunday ends one'],
    ['month', '2026-12-31T23:59:59Z', 'month 2026-12-01', '2026-12-01', '2027-01-01', 'over the year'],
    ['month', '2024-02-29T12:00:00Z', 'month 2024-02-01', '2024-02-01', '2024-03-01', 'in a leap year'],
    ['day', '1969-12-31T12:00:00Z', 'day 1969-12-31', '1969-12-31', '1970-01-01', 'before 1970'],
  ]
  for (const [policy, instant, key, start, end, why] of rows)
    t.strictSame(saltPeriodOf(policy, at(instant)), { key, start: at(start), end: at(end) }, why)
  t.equal(saltPeriodOf('never', 0).end, Number.POSITIVE_INFINITY)
})

/** A file in memory, and a clock to set. */
function world(start: string) {
  const state = {
    text: undefined as string | undefined,
    now: at(start),
    writes: 0,
    fails: false,
    logged: [] as string[],
  }
  const file: SaltFile = {
    read: () => state.text,
    write(text) {
      if (state.fails) throw new Error('disk full')
      state.text = text
      state.writes++
    },
  }
  let n = 0
  const open = () =>
    new SaltStore({
      file,
      now: () => state.now,
      random: (bytes) => Buffer.alloc(bytes, ++n),
      log: (message) => state.logged.push(message),
    })
  return { state, open }
}

t.test('a salt lasts for its period, over restarts, and goes with it', async (t) => {
  const { state, open } = world('2026-11-21T10:00:00Z')
  const salts = open()
  const { secret, previous } = salts.at('day', state.now)
  t.equal(secret.length, 32)
  t.equal(previous, null)
  t.equal(salts.at('day', at('2026-11-21T23:59:59.999Z')).next, null, 'nobody knows the next one')
  t.strictSame(salts.at('day', at('2026-11-21T23:59:59.999Z')).secret, secret, 'to the last millisecond')
  t.strictSame(open().at('day', state.now).secret, secret, 'over a restart')
  t.match(state.text, secret.toString('base64'), 'in the file')
  t.notSame(salts.at('month', state.now).secret, secret, 'another policy, another salt')

  state.now = at('2026-11-22T00:00:00Z')
  salts.expire()
  t.notMatch(state.text, secret.toString('base64'), 'destroyed the moment its period ends')
  const next = salts.at('day', state.now)
  t.notSame(next.secret, secret)
  t.strictSame(next.previous, secret, 'known for as long as a session may run over midnight')
  t.strictSame(salts.at('day', state.now - 1).secret, secret, 'a row that comes late')
  t.equal(salts.at('day', at('2026-11-22T00:30:00Z')).previous, null, 'no longer')
  t.strictSame(salts.at('day', at('2026-11-22T00:29:59.999Z')).previous, secret, 'for a row that comes late, again')
  t.equal(salts.at('day', at('2026-11-21T23:30:00Z')).next, null)
  t.strictSame(salts.at('day', at('2026-11-21T23:30:00.001Z')).next, next.secret, 'whose visit may have gone on')

  state.now = at('2026-11-22T23:59:59.999Z')
  salts.expire()
  t.strictSame(salts.at('day', at('2026-11-21T12:00:00Z')).secret, secret, 'known as long as rows may come late')
  t.notMatch(state.text, secret.toString('base64'), 'in memory only')
  state.now = at('2026-11-23T00:00:00Z')
  salts.expire()
  t.notSame(salts.at('day', at('2026-11-21T23:59:00Z')).secret, secret, 'then it is gone from memory')
  t.equal(open().at('day', state.now).previous, null, 'and a restart knows it no more')
})

t.test('late rows of a period that a restart forgot have one salt still', async (t) => {
  const { state, open } = world('2026-11-22T01:00:00Z')
  const salts = open()
  const { secret } = salts.at('day', at('2026-11-21T23:00:00Z'))
  const { secret: present, previous } = salts.at('day', at('2026-11-22T00:10:00Z'))
  t.strictSame(previous, secret)
  state.now = at('2026-11-22T23:00:00Z')
  salts.expire()
  t.strictSame(salts.at('day', at('2026-11-21T23:40:00Z')).secret, secret, 'however long none came')
  t.strictSame(salts.at('day', at('2026-11-21T23:40:00Z')).next, present)
  t.notMatch(state.text, secret.toString('base64'))
})

t.test('the period may end while nobody visits, or while nothing runs', async (t) => {
  const { state, open } = world('2026-11-21T10:00:00Z')
  const { secret } = open().at('day', state.now)
  state.now = at('2026-11-25T10:00:00Z')
  const salts = open()
  t.notMatch(state.text, secret.toString('base64'), 'gone at the next start')
  const later = salts.at('day', state.now).secret
  state.now = at('2026-11-26T10:00:00Z')
  salts.at('day', state.now)
  t.notMatch(state.text, later.toString('base64'), 'gone with the first row after it, at the latest')
  const forever = salts.at('never', state.now).secret
  state.now = at('2036-11-26T10:00:00Z')
  t.strictSame(open().at('never', state.now).secret, forever, 'unless it is to stay')
})

t.test('rows of periods long past have a salt that no file ever holds', async (t) => {
  const { state, open } = world('2026-11-21T10:00:00Z')
  const salts = open()
  salts.at('month', state.now)
  const written = state.text
  const months = new Map<string, string>()
  for (let day = 0; day < 90; day++) {
    const instant = at('2026-08-23T12:00:00Z') + day * 86_400_000
    // A replay takes its time.
    state.now += 4 * MINUTE
    const month = new Date(instant).toISOString().slice(0, 7)
    const secret = salts.at('month', instant).secret.toString('hex')
    t.equal(months.get(month) ?? secret, secret, `stable within ${month}`)
    months.set(month, secret)
  }
  t.equal(new Set(months.values()).size, 4, 'August to November')
  t.equal(state.text, written)
  state.now += 31 * MINUTE
  salts.expire()
  t.notSame(salts.at('month', at('2026-10-31T12:00:00Z')).secret.toString('hex'), months.get('2026-10'), 'then gone')
})

t.test('a file that fails or makes no sense stops nobody', async (t) => {
  const { state, open } = world('2026-11-21T10:00:00Z')
  state.fails = true
  const salts = open()
  const { secret } = salts.at('day', state.now)
  t.strictSame(salts.at('day', state.now).secret, secret, 'works from memory')
  t.match(state.logged, [/could not be written/])
  state.fails = false
  salts.expire()
  t.match(state.text, secret.toString('base64'), 'written when it can be')
  for (const text of ['', 'junk', '{"salts":{"day 2026-11-21":{"secret":5}}}']) {
    state.text = text
    state.logged = []
    t.equal(open().at('day', state.now).secret.length, 32)
    t.match(state.logged, [/cannot be parsed/], JSON.stringify(text))
  }
})

t.test('the file is its owner’s alone, and whole', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'readership-salt-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'salts.json')
  const file = openSaltFile(path)
  t.equal(file.read(), undefined, 'none yet')
  writeFileSync(path, 'old', { mode: 0o644 })
  file.write('new')
  t.equal(file.read(), 'new')
  t.equal(readFileSync(path, 'utf8'), 'new')
  t.equal(statSync(path).mode & 0o777, 0o600, 'even where the old one was not')
  t.strictSame(readdirSync(folder), ['salts.json'], 'nothing else is left')
})

t.test('ids are of site, address, user agent and salt', async (t) => {
  const [salt, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const id = hashVisitorId(salt, 1, '5', 'UA')
  t.equal(hashVisitorId(salt, 1, '5', 'UA'), id)
  // By Python: hashlib.sha256(('01' * 32 + 'visitor\x001\x005\x00UA').encode()).hexdigest()[:16]
  t.equal(id.toString(16).padStart(16, '0'), 'acc290cef05a12f7')
  for (const [different, why] of [
    [hashVisitorId(other, 1, '5', 'UA'), 'salt'],
    [hashVisitorId(salt, 2, '5', 'UA'), 'site'],
    [hashVisitorId(salt, 1, '6', 'UA'), 'address'],
    [hashVisitorId(salt, 1, '5', 'UB'), 'user agent'],
    [hashVisitorId(salt, 15, '', 'UA'), 'no part runs into the next'],
    [hashAddress(salt, 1, '5'), 'what it is for'],
  ] as const)
    t.not(different, id, why)
})
