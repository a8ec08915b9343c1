import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openPrivateFile, type PrivateFile } from '../../../src/base/private-file.js'
import { SaltStore, saltPeriodOf } from '../../../src/worker/ingest/salts.js'
import { hashAddress, hashVisitorId } from '../../../src/worker/ingest/visitor-ids.js'

const MINUTE = 60_000
const at = (text: string) => Date.parse(text)

t.test('salt periods follow the UTC calendar', async (t) => {
  const rows: ['day' | 'week' | 'month' | 'never', string, string, string, string, string][] = [
    ['day', '2026-11-21T23:59:59.999Z', 'day 2026-11-21', '2026-11-21', '2026-11-22', 'a day'],
    ['week', '2026-11-21T12:00:00Z', 'week 2026-11-16', '2026-11-16', '2026-11-23', 'weeks start on Monday'],
    ['week', '2026-11-16T00:00:00Z', 'week 2026-11-16', '2026-11-16', '2026-11-23', 'at its very start'],
    ['week', '2026-11-15T23:59:59Z', 'week 2026-11-09', '2026-11-09', '2026-11-16', 'a Sunday ends one'],
    ['month', '2026-12-31T23:59:59Z', 'month 2026-12-01', '2026-12-01', '2027-01-01', 'across the year'],
    ['month', '2024-02-29T12:00:00Z', 'month 2024-02-01', '2024-02-01', '2024-03-01', 'in a leap year'],
    ['day', '1969-12-31T12:00:00Z', 'day 1969-12-31', '1969-12-31', '1970-01-01', 'before 1970'],
  ]
  for (const [policy, instant, key, start, end, why] of rows)
    t.strictSame(saltPeriodOf(policy, at(instant)), { key, start: at(start), end: at(end) }, why)
  t.equal(saltPeriodOf('never', 0).end, Number.POSITIVE_INFINITY)
})

/** Creates a salt file in memory and a clock to set. */
function createSaltWorld(start: string) {
  const state = {
    text: undefined as string | undefined,
    now: at(start),
    writes: 0,
    fails: false,
    logged: [] as string[],
  }
  const file: PrivateFile = {
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

t.test('a salt lasts for its period, across restarts, and is destroyed with it', async (t) => {
  const { state, open } = createSaltWorld('2026-11-21T10:00:00Z')
  const salts = open()
  const { secret, previous } = salts.at('day', state.now)
  t.equal(secret.length, 32)
  t.equal(previous, null)
  t.equal(salts.at('day', at('2026-11-21T23:59:59.999Z')).next, null, 'the next salt does not exist yet')
  t.strictSame(salts.at('day', at('2026-11-21T23:59:59.999Z')).secret, secret, 'to the last millisecond')
  t.strictSame(open().at('day', state.now).secret, secret, 'after a restart')
  t.match(state.text, secret.toString('base64'), 'in the file')
  t.notSame(salts.at('month', state.now).secret, secret, 'another policy, another salt')

  state.now = at('2026-11-22T00:00:00Z')
  salts.expire()
  t.notMatch(state.text, secret.toString('base64'), 'destroyed the moment its period ends')
  const next = salts.at('day', state.now)
  t.notSame(next.secret, secret)
  t.strictSame(next.previous, secret, 'known while a session may continue across midnight')
  t.strictSame(salts.at('day', state.now - 1).secret, secret, 'a late row')
  t.equal(salts.at('day', at('2026-11-22T00:30:00Z')).previous, null, 'not later')
  t.strictSame(salts.at('day', at('2026-11-22T00:29:59.999Z')).previous, secret, 'for a late row')
  t.equal(salts.at('day', at('2026-11-21T23:30:00Z')).next, null)
  t.strictSame(salts.at('day', at('2026-11-21T23:30:00.001Z')).next, next.secret, 'a visit that may have continued')

  state.now = at('2026-11-22T23:59:59.999Z')
  salts.expire()
  t.strictSame(salts.at('day', at('2026-11-21T12:00:00Z')).secret, secret, 'known while late rows may come')
  t.notMatch(state.text, secret.toString('base64'), 'in memory only')
  state.now = at('2026-11-23T00:00:00Z')
  salts.expire()
  t.notSame(salts.at('day', at('2026-11-21T23:59:00Z')).secret, secret, 'then it leaves memory')
  t.equal(open().at('day', state.now).previous, null, 'and is unknown after a restart')
})

t.test('late rows of a period forgotten in a restart share one salt', async (t) => {
  const { state, open } = createSaltWorld('2026-11-22T01:00:00Z')
  const salts = open()
  const { secret } = salts.at('day', at('2026-11-21T23:00:00Z'))
  const { secret: present, previous } = salts.at('day', at('2026-11-22T00:10:00Z'))
  t.strictSame(previous, secret)
  state.now = at('2026-11-22T23:00:00Z')
  salts.expire()
  t.strictSame(salts.at('day', at('2026-11-21T23:40:00Z')).secret, secret, 'after a long time without late rows')
  t.strictSame(salts.at('day', at('2026-11-21T23:40:00Z')).next, present)
  t.notMatch(state.text, secret.toString('base64'))
})

t.test('a period may end without visitors, or while nothing runs', async (t) => {
  const { state, open } = createSaltWorld('2026-11-21T10:00:00Z')
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
  t.strictSame(open().at('never', state.now).secret, forever, 'policy never keeps it')
})

t.test('salts of periods long past never reach the file', async (t) => {
  const { state, open } = createSaltWorld('2026-11-21T10:00:00Z')
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
  t.notSame(
    salts.at('month', at('2026-10-31T12:00:00Z')).secret.toString('hex'),
    months.get('2026-10'),
    'then destroyed',
  )
})

t.test('works without a file that fails or cannot be parsed', async (t) => {
  const { state, open } = createSaltWorld('2026-11-21T10:00:00Z')
  state.fails = true
  const salts = open()
  const { secret } = salts.at('day', state.now)
  t.strictSame(salts.at('day', state.now).secret, secret, 'works from memory')
  t.match(state.logged, [/could not be written/])
  state.fails = false
  salts.expire()
  t.match(state.text, secret.toString('base64'), 'written once it is possible')
  for (const text of ['', 'junk', '{"salts":{"day 2026-11-21":{"secret":5}}}']) {
    state.text = text
    state.logged = []
    t.equal(open().at('day', state.now).secret.length, 32)
    t.match(state.logged, [/cannot be parsed/], JSON.stringify(text))
  }
})

t.test('only its owner may read the file, and it is replaced whole', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'readership-salt-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'salts.json')
  const file = openPrivateFile(path)
  t.equal(file.read(), undefined, 'no file yet')
  writeFileSync(path, 'old', { mode: 0o644 })
  file.write('new')
  t.equal(file.read(), 'new')
  t.equal(readFileSync(path, 'utf8'), 'new')
  t.equal(statSync(path).mode & 0o777, 0o600, 'even if the old file was readable by others')
  t.strictSame(readdirSync(folder), ['salts.json'], 'nothing else is left')
})

t.test('visitor ids depend on site, address, user agent and salt', async (t) => {
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
    [hashVisitorId(salt, 15, '', 'UA'), 'parts are kept apart'],
    [hashAddress(salt, 1, '5'), 'visitor ids and address hashes differ'],
  ] as const)
    t.not(different, id, why)
})
