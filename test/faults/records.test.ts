import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { dataDir, eventually, freePort } from '../fixtures/instance.js'
import { seeded } from '../fixtures/random.js'
import { storeOptions } from '../fixtures/store.js'

/*
 * The attack: kill -9 of the instance, or of its worker alone, while clients create, change and delete objects at the same
 * time. A client whose connection breaks does not know the outcome of its write. The attack succeeds if an acknowledged
 * write is missing, if a write exists twice or in part, if an id of a deleted object is given again, or if the audit log
 * differs from the writes that took effect.
 */

/** The full run has `RECORDS_WRITES=1000`. */
const WRITES = Number(process.env.RECORDS_WRITES ?? 60)
const KILLS = Math.max(3, Math.round(WRITES / 60))

interface Answer {
  status: number
  data: unknown
}
const Body = z.object({ data: z.unknown() })

/** Sends a request through the control socket; undefined if the connection broke and the outcome is unknown. */
function ask(data: string, method: string, path: string, body?: unknown): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = text === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request({ socketPath: join(data, 'control.sock'), method, path, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => resolve(undefined))
      response.on('end', () => {
        const all = Buffer.concat(chunks).toString()
        const parsed = all.startsWith('{') ? Body.safeParse(JSON.parse(all)) : undefined
        resolve({ status: response.statusCode ?? 0, data: parsed?.data?.data })
      })
    })
    sent.on('error', () => resolve(undefined))
    sent.end(text)
  })
}

/** A real instance with its worker, in a process group of its own. */
async function begin(data: string): Promise<ChildProcess> {
  const args = ['serve', '--host', '127.0.0.1', '--port', `${await freePort()}`, '--data', data, '--offline']
  const child = spawn(process.execPath, ['dist/bin/readership.js', ...args], { detached: true, stdio: 'ignore' })
  // A process group of its own would outlive a test that times out.
  process.once('exit', () => child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'))
  await eventually('the instance answers', async () => (await ask(data, 'GET', '/healthz'))?.status === 200)
  return child
}
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal)
  await exited
}

/** One object as its client knows it: acknowledged writes, and writes with an unknown outcome. */
interface Known {
  kind: 'goals' | 'segments' | 'keys' | 'sites'
  id: number | undefined
  /** The names that it may have now; `undefined` means that it does not exist. */
  names: (string | undefined)[]
}
const Listed = z.array(
  z.object({ id: z.int(), name: z.string(), version: z.int().optional(), revoked_at: z.string().optional() }),
)
const Made = z.object({ id: z.int() })

const PATHS = { goals: '/api/goals', segments: '/api/segments', keys: '/api/keys', sites: '/api/sites' } as const
const bodyOf = (kind: Known['kind'], name: string) =>
  ({
    goals: { site: 1, name, type: 'page', match: { op: 'is', value: '/x' } },
    segments: { site: 1, name, filters: [{ dimension: 'country', op: 'is', value: 'DE' }], shared: true },
    keys: { name },
    sites: { name, domains: [`${name}.example`] },
  })[kind]

/** Creates, changes and deletes objects one after the other until it is stopped; `acknowledged` counts the writes. */
function lane(data: string, prefix: string, random: () => number) {
  const all: Known[] = []
  let acknowledged = 0
  let made = 0
  const done = (answer: Answer | undefined) => {
    if (answer !== undefined && answer.status < 300) acknowledged += 1
    return answer !== undefined && answer.status < 300
  }
  const create = async () => {
    const draw = random()
    const kind = draw < 0.6 ? 'goals' : draw < 0.85 ? 'segments' : draw < 0.95 ? 'keys' : 'sites'
    const name = `${prefix}${made++}`
    const one: Known = { kind, id: undefined, names: [undefined, name] }
    all.push(one)
    const answer = await ask(data, 'POST', PATHS[kind], bodyOf(kind, name))
    if (!done(answer)) return
    one.id = Made.parse(answer?.data).id
    one.names = [name]
  }
  const change = async (one: Known) => {
    const [name] = one.names
    const next = `${prefix}${made++}`
    one.names = [name, next]
    if (done(await ask(data, 'PATCH', `${PATHS[one.kind]}/${one.id}`, { name: next }))) one.names = [next]
  }
  const remove = async (one: Known) => {
    const [name] = one.names
    one.names = [name, undefined]
    if (done(await ask(data, 'DELETE', `${PATHS[one.kind]}/${one.id}`))) one.names = [undefined]
  }
  return {
    all,
    acknowledged: () => acknowledged,
    async step() {
      const sure = all.filter(({ id, names }) => id !== undefined && names.length === 1 && names[0] !== undefined)
      const one = sure[Math.floor(random() * sure.length)]
      const draw = random()
      if (one === undefined || draw < 0.5 || one.kind === 'sites') return create()
      if (draw < 0.8 && one.kind !== 'keys') return change(one)
      return remove(one)
    },
  }
}
type Lane = ReturnType<typeof lane>

/** Compares the stored objects with what their clients know, and resolves their unknown outcomes. */
async function compare(t: Test, data: string, lanes: readonly Lane[], when: string): Promise<void> {
  for (const kind of ['goals', 'segments', 'keys', 'sites'] as const) {
    const list = await ask(data, 'GET', `${PATHS[kind]}${kind === 'goals' || kind === 'segments' ? '?site=1' : ''}`)
    const there = Listed.parse(list?.data).filter(({ revoked_at }) => revoked_at === undefined)
    const names = there.map(({ name }) => name)
    if (new Set(names).size !== names.length) t.fail(`${when}: ${kind} are there twice: ${names.join()}`)
    const known = new Set<string>()
    for (const one of lanes.flatMap(({ all }) => all).filter((one) => one.kind === kind)) {
      const found = there.filter(({ id, name }) => (one.id === undefined ? one.names.includes(name) : id === one.id))
      const [first] = found
      if (found.length > 1 || !one.names.includes(first?.name))
        t.fail(`${when}: ${kind} ${one.id} may be ${one.names.join(' or ')}, and is ${found.map((f) => f.name).join()}`)
      one.names = [first?.name]
      if (first) one.id = first.id
      if (first) known.add(first.name)
    }
    const strange = names.filter((name) => !known.has(name) && /^[a-z]\d+$/.test(name))
    if (strange.length > 0) t.fail(`${when}: nobody made ${kind} ${strange.join()}`)
  }
  t.pass(when)
}

/** The audit log has one line for each write that took effect, and no other. */
async function audited(t: Test, data: string): Promise<number> {
  const records = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
  try {
    for (const [table, one] of [
      ['goals', 'goal'],
      ['segments', 'segment'],
    ] as const) {
      const rows =
        await records.query(sql`select count(*) filter (where g.id is null or l.changes <> g.version - 1) as wrong
        from (select object_id::integer as id, count(*) filter (where action = 'change') as changes,
            count(*) filter (where action = 'delete') as deletes
          from audit where object = ${one} and object_id is not null group by 1) l
        full join (select id, version from query_table(${table})) g on g.id = l.id
        where l.deletes is distinct from 1 and (l.id is not null or g.version <> 1)`)
      t.strictSame(rows, [{ wrong: 0 }], `${table}: changes`)
      const totals = await records.query(sql`select
        (select count(*) from audit where object = ${one} and action = 'create')
        - (select count(*) from audit where object = ${one} and action = 'delete')
        - (select count(*) from query_table(${table})) as difference`)
      t.strictSame(totals, [{ difference: 0 }], `${table}: made less deleted are there`)
      const twice = await records.query(sql`select object_id from audit where object = ${one} and action = 'delete'
        group by object_id having count(*) > 1`)
      t.strictSame(twice, [], `${table}: none deleted twice`)
    }
    const [log] = await records.query(sql`select count(*) as n, count(distinct id) as ids, max(id) as last from audit`)
    t.ok(log?.n === log?.ids && log?.n === log?.last, 'the log is numbered without a gap')
    return Number(log?.n)
  } finally {
    await records.close()
  }
}

const run = async (lanes: readonly Lane[], until: () => boolean) => {
  await Promise.all(
    lanes.map(async (one) => {
      while (!until()) await one.step()
    }),
  )
}

const Status = z.object({ store: z.object({ state: z.string(), worker: z.object({ pid: z.int() }).optional() }) })
const storeOf = async (data: string) => Status.parse((await ask(data, 'GET', '/control/status'))?.data).store

t.test('kill -9 during management writes: every acknowledged write is stored, once and completely', async (t) => {
  const data = dataDir(t)
  const random = seeded(20261121)
  const lanes = ['a', 'b', 'c'].map((prefix) => lane(data, prefix, random))
  const acknowledged = () => lanes.reduce((sum, one) => sum + one.acknowledged(), 0)
  const restarts: number[] = []
  for (let round = 0; round <= KILLS; round++) {
    const began = Date.now()
    const child = await begin(data)
    t.teardown(() => end(child, 'SIGKILL'))
    restarts.push(Date.now() - began)
    await compare(t, data, lanes, `round ${round}: ${acknowledged()} acknowledged`)
    const enough = Math.ceil((WRITES * (round + 1)) / (KILLS + 1))
    if (round === KILLS) {
      await run(lanes, () => acknowledged() >= WRITES)
      await compare(t, data, lanes, 'the end')
      await t.test('if only the worker is killed, a write fails cleanly or is done once', async (t) => {
        const moments = seeded(7)
        for (let kill = 1; kill <= 3; kill++) {
          const before = acknowledged()
          let killed = false
          const killing = async () => {
            while (acknowledged() < before + 10) await sleep(5)
            const { worker } = await storeOf(data)
            if (worker === undefined) throw new Error('no worker')
            await sleep(moments() * 40)
            process.kill(worker.pid, 'SIGKILL')
            killed = true
            await sleep(50)
          }
          await Promise.all([run(lanes, () => killed), killing()])
          await eventually('the store is open again', async () => (await storeOf(data)).state === 'ready')
          await compare(t, data, lanes, `kill ${kill}`)
          // A failed write is repeated under the same name: the object exists once.
          const [goal] = lanes.flatMap(({ all }) => all).filter(({ kind, names }) => kind === 'goals' && names[0])
          const again = await ask(data, 'POST', '/api/goals', bodyOf('goals', goal?.names[0] ?? ''))
          t.equal(again?.status, 409, 'what was done is there for who tries again')
        }
      })
      await end(child, 'SIGTERM')
      break
    }
    let killed = false
    const kill = async () => {
      while (acknowledged() < enough) await sleep(5)
      // At any moment of a write.
      await sleep(random() * 60)
      killed = true
      await end(child, 'SIGKILL')
    }
    await Promise.all([run(lanes, () => killed), kill()])
  }
  const deeds = await audited(t, data)
  t.comment(`${acknowledged()} acknowledged, ${KILLS} kills, ${deeds} in the log; starts of ${restarts.join(', ')} ms`)
})
