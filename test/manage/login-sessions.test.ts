import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { createLoginSessions, MAX_LOGIN_SESSIONS_PER_USER, SESSION_IDLE_MS } from '../../src/manage/login-sessions.js'
import { raw, sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import { seeded } from '../fixtures/random.js'

const from = { agent: 'test', ip: '198.51.100.1' }

async function open(t: Test) {
  const { records } = (await createInProcessEngine(t)).workerClient
  const world = { at: Date.UTC(2026, 10, 22), rows: 0, broken: false }
  const counted: Records = {
    async query(asked) {
      const rows = await records.query(asked)
      world.rows += rows.length
      return rows
    },
    async write(...statements) {
      await records.write(...statements)
      if (world.broken) throw new Error('nobody knows')
    },
  }
  let tokens = 0
  const random = () => createHash('sha256').update(`${tokens++}`).digest()
  const make = () => createLoginSessions({ records: counted, now: () => new Date(world.at), random })
  return { records, world, sessions: make(), make }
}

t.test('the cache equals the table whatever sessions begin and end', async (t) => {
  const { records, world, sessions, make } = await open(t)
  const random = seeded(20261122)
  const tokens: string[] = []
  const idOf = async (token: string | undefined, of = sessions) => {
    try {
      return (await of.authenticate(token ?? '')).id
    } catch {
      return undefined
    }
  }
  const deeds = new Map<string, () => Promise<unknown>>([
    ['begin', async () => tokens.push(await sessions.begin(1 + random.int(3), from))],
    [
      'begin in the place of another',
      async () => {
        const token = tokens[random.int(tokens.length)]
        tokens.push(await sessions.begin(1, { ...from, ...(token === undefined ? {} : { token }) }))
      },
    ],
    [
      'end',
      async () => {
        const id = await idOf(tokens[random.int(tokens.length)])
        if (id !== undefined) await sessions.end([id])
      },
    ],
    [
      'the last ends',
      async () => {
        const id = await idOf(tokens.at(-1))
        if (id !== undefined) await sessions.end([id])
      },
    ],
    [
      'all of one end, in a transaction of another',
      async () => {
        await records.write(sessions.endAllStatement(1 + random.int(3)))
        sessions.invalidate()
      },
    ],
    ['flush', () => sessions.flush()],
    [
      'what is over goes',
      async () => {
        world.at += SESSION_IDLE_MS / 3
        await sessions.flush()
      },
    ],
    [
      'of a write nobody knows',
      async () => {
        world.broken = true
        await sessions.begin(2, from).catch(() => {})
        world.broken = false
      },
    ],
  ])
  const names = [...deeds.keys()]
  let there = 0
  for (let n = 0; n < 120; n++) {
    const name = random() < 0.5 ? 'begin' : (names[random.int(names.length)] ?? '')
    await deeds.get(name)?.()
    const fresh = make()
    for (const token of tokens.slice(-20)) {
      const [expected, found] = [await idOf(token, fresh), await idOf(token)]
      if (expected !== undefined) there++
      if (expected !== found) t.fail(`${n}, ${name}: ${found}, not ${expected}`)
    }
    for (const user of [1, 2, 3]) {
      const [expected, found] = [await fresh.list(user), await sessions.list(user)]
      const ids = (list: typeof found) => list.map(({ id }) => id).sort((a, b) => a - b)
      t.strictSame(ids(found), ids(expected), `${n}, ${name}: those of ${user}`)
    }
  }
  t.ok(there > 300, `${there} were found`)
})

t.test('signing in reads only new rows', async (t) => {
  const { records, world, sessions } = await open(t)
  const many =
    raw(`insert into sessions select i, i % 500, md5(i::varchar), timestamp '2026-11-21', timestamp '2026-11-21',
    'x', 'y' from generate_series(1, 5000) r (i)`)
  await records.write(many, sql`update last_ids set id = 5000 where kind = 'sessions'`)
  await sessions.list(1)
  t.ok(world.rows >= 5_000)
  const rowsOf = async (work: () => Promise<unknown>) => {
    world.rows = 0
    await work()
    await sessions.list(1)
    return world.rows
  }
  let token = ''
  const cases: [why: string, work: () => Promise<unknown>, rows: number][] = [
    ['one more', async () => (token = await sessions.begin(7, from)), 2],
    ['one in its place, and which are left', async () => (token = await sessions.begin(7, { ...from, token })), 3],
    ['its use', async () => sessions.authenticate(token).then(() => sessions.flush()), 0],
    ['one ends', () => sessions.end([4_000]), 2],
    ['the first ends, and all are read', () => sessions.end([1]), 5_000],
  ]
  for (const [why, work, rows] of cases) {
    const read = await rowsOf(work)
    t.ok(read <= rows, `${why}: ${read} rows`)
  }
  for (let n = 0; n < MAX_LOGIN_SESSIONS_PER_USER + 3; n++) token = await sessions.begin(9, from)
  t.equal((await sessions.list(9)).length, MAX_LOGIN_SESSIONS_PER_USER)
  t.ok(await sessions.authenticate(token))
})

t.test('a session is used through several processes', async (t) => {
  const { world, sessions: here, make } = await open(t)
  const there = make()
  const [token, unused] = [await here.begin(1, from), await here.begin(1, from)]
  const began = world.at
  await there.list(1)
  world.at += SESSION_IDLE_MS - 1
  await here.authenticate(token)
  await here.flush()
  world.at += 2
  await there.flush()
  const lastUses = async (of = here) => (await of.list(1)).map(({ last_seen_at }) => last_seen_at.getTime() - began)
  t.strictSame(await lastUses(make()), [SESSION_IDLE_MS - 1], 'one that counts as unused there ends only if it is')
  t.strictSame(await lastUses(there), [SESSION_IDLE_MS - 1], 'which that process learns')
  await t.rejects(there.authenticate(unused), { code: 'unauthorized' })
  world.at += SESSION_IDLE_MS / 2
  await there.authenticate(token)
  world.at += SESSION_IDLE_MS / 3
  await here.authenticate(token)
  await here.flush()
  const latest = world.at - began
  there.reload()
  t.strictSame(await lastUses(there), [latest], 'a later use is taken over')
  await there.flush()
  t.strictSame(await lastUses(make()), [latest], 'and an earlier one is not written over it')
})

t.test('records that had to start afresh have other sessions under the same ids', async (t) => {
  const { records, sessions } = await open(t)
  const before = [await sessions.begin(1, from), await sessions.begin(2, from)]
  for (const token of before) await sessions.authenticate(token)
  await records.write(sql`delete from sessions`, sql`update last_ids set id = 0 where kind = 'sessions'`)
  const after = [await sessions.begin(3, from), await sessions.begin(4, from), await sessions.begin(5, from)]
  for (const token of before) await t.rejects(sessions.authenticate(token), { code: 'unauthorized' })
  t.equal((await sessions.authenticate(after[1] ?? '')).user_id, 4)
})

t.test('after a lost write nothing that was read before counts', async (t) => {
  const { records, sessions } = await open(t)
  const first = await sessions.begin(1, from)
  const lost = await sessions.begin(2, from)
  t.equal((await sessions.authenticate(lost)).user_id, 2)
  // The second write was lost, and its id was given again.
  const token = 'x'.repeat(43)
  const digest = createHash('sha256').update(token).digest('hex')
  await records.write(sql`update sessions set user_id = 3, digest = ${digest} where user_id = 2`)
  sessions.reset()
  await t.rejects(sessions.authenticate(lost), { code: 'unauthorized' })
  t.equal((await sessions.authenticate(token)).user_id, 3)
  t.equal((await sessions.authenticate(first)).user_id, 1)
})
