import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { z } from 'zod'
import type { ClaimCheck } from '../../src/agents/claim-check.js'
import { VERDICTS } from '../../src/agents/verdict.js'
import { createImportJobs } from '../../src/instance/import-jobs.js'
import { createBatch } from '../../src/log-import/batch.js'
import { sql } from '../../src/sql.js'
import { directory } from '../fixtures/files.js'
import { createImporter } from '../fixtures/importer.js'
import { GPTBOT } from '../fixtures/instance.js'
import { openStore } from '../fixtures/open-store.js'
import { createTestSalts } from '../fixtures/write-path.js'

/** Tests what the site's process and the worker do when commands stop in the middle, or two come at once. */

const START = Date.UTC(2026, 10, 24)
const SITE = {
  ...{ id: 1, domains: ['a.example'], timezone: 'UTC', respect_gpc: false },
  ...{ visitor_salt: 'day' as const, excluded_paths: [] },
}
/** A second organisation with a site of its own, and a third site of the first. */
const SITES = new Map([
  [1, { ...SITE, org: 1 }],
  [2, { ...SITE, id: 2, domains: ['b.example'], org: 2 }],
  [3, { ...SITE, id: 3, domains: ['c.example'], org: 1 }],
])
const AUDIT = { by: { kind: 'operator', name: 'operator' }, org: 1, at: new Date('2026-11-24T00:00:00Z') } as const
const ABOUT = {
  ...{ site: 1, source: 'access.log', format: null, total: null },
  options: { dry_run: false, verify_now: false, host: 'a.example', robots: null },
}
const READ = { format: undefined, tz: 'UTC', data_paths: undefined }
const NOTHING_READ = { lines: 0, broken: 0, not_pages: 0, data_lines: 0, bytes: 0 }
const SILENT_MS = 61_000
const Step = z.object({ import: z.int() })

/** A batch of so many requests of an agent, a second apart; of them each `step`th. */
function batchOf(count: number, step = 1): string {
  const { batch, add } = createBatch()
  for (let n = 0; n < count; n += step)
    add({
      ...{ time: START - 86_400_000 + n * 1_000, address: '20.171.206.1', host: '', method: 'GET', target: `/${n}` },
      ...{
        status: 200,
        bytes: 1,
        duration_ms: null,
        referrer: '',
        user_agent: GPTBOT,
        type: '',
        page: true,
        headers: null,
        log: 0,
      },
    })
  return JSON.stringify(batch)
}

/** Jobs over a real store. `gate` holds back calls of the worker by that name; `verdict` is that of each agent. */
async function createWorld(
  t: Test,
  {
    verdict,
    data = directory(t),
    rows_per_step,
    aroundCall = (_name, _argument, work) => work(),
    ...limits
  }: {
    min_free_disk?: number
    stall_timeout_ms?: number
    data?: string
    verdict?: ClaimCheck
    rows_per_step?: number
    /** Runs around each call of the worker. */
    aroundCall?: (name: string, argument: unknown, work: () => Promise<unknown>) => Promise<unknown>
  } = {},
) {
  const store = await openStore(t)
  const lookUp = store.lookUp.bind(store)
  const found = { rows: 0 }
  store.lookUp = async (query) => {
    const rows = await lookUp(query)
    found.rows += rows.length
    return rows
  }
  const clock = { now: START }
  const now = () => clock.now
  const gate: { name: string; opens: Promise<void> } = { name: '', opens: Promise.resolve() }
  const { imports, callWorker, isStoringPast } = await createImporter(t, {
    ...{ store, site: SITE, sites: [...SITES.values()], now, salts: createTestSalts(now) },
    ...(rows_per_step !== undefined && { rows_per_step }),
    ...(verdict && { verifier: { signer: () => undefined, check: () => verdict } }),
  })
  const log = { info() {}, warn() {}, error() {} }
  const jobs = createImportJobs({
    ...{ imports, data, ...limits, log, now: () => new Date(clock.now), orgOf: async (site) => SITES.get(site)?.org },
    engine: {
      async call(name, argument) {
        if (name === gate.name) await gate.opens
        return aroundCall(name, argument, () => callWorker(name, argument))
      },
    },
  })
  const count = async () => (await store.query(sql`select count(*) as n from agent_events`))[0]?.n
  const countOf = async (site: number) =>
    (await store.query(sql`select count(*) as n from agent_events where site_id = ${site}`))[0]?.n
  const stateOf = async (id: number) => (await imports.get(1, id))?.state
  const untilGone = async (id: number) => {
    while ((await imports.get(1, id)) !== undefined) await new Promise(setImmediate)
  }
  return { jobs, imports, clock, gate, count, countOf, stateOf, untilGone, callWorker, isStoringPast, data, found }
}

/** Holds back calls of that name until the returned function is called. */
function hold(gate: { name: string; opens: Promise<void> }, name: string): () => void {
  let open = () => {}
  Object.assign(gate, { name, opens: new Promise<void>((resolve) => (open = resolve)) })
  return open
}

t.test('a running import is stopped and undone, and its command goes on no more', async (t) => {
  const { jobs, gate, count, stateOf, untilGone } = await createWorld(t)
  const id = await jobs.begin(ABOUT, AUDIT)
  await jobs.lines(id, batchOf(3), NOTHING_READ)
  t.same([await stateOf(id), await count()], ['running', 3])
  const open = hold(gate, 'remove_import')
  await jobs.undo({ site: 1, id, source: 'access.log' }, AUDIT)
  await t.rejects(jobs.lines(id, batchOf(5), NOTHING_READ), { code: 'conflict', message: /no longer runs/ })
  await t.rejects(jobs.end(id, NOTHING_READ, 'failed'), { code: 'conflict' })
  t.equal(await stateOf(id), 'removing', 'the end of its command changes nothing')
  open()
  await untilGone(id)
  t.same(await count(), 0)
})

t.test('while an import runs no other one is undone, until its command was silent for a minute', async (t) => {
  const { jobs, clock, count, stateOf, untilGone } = await createWorld(t)
  const [ended, id] = [await jobs.begin(ABOUT, AUDIT), 2]
  await jobs.lines(ended, batchOf(2), NOTHING_READ)
  await jobs.end(ended, NOTHING_READ, 'done')
  t.equal(await jobs.begin(ABOUT, AUDIT), id)
  await jobs.lines(id, batchOf(3), NOTHING_READ)
  await t.rejects(jobs.undo({ site: 1, id: ended, source: 'access.log' }, AUDIT), {
    code: 'conflict',
    message: 'Import 2 of site 1 runs since 2026-11-24T00:00:00Z: an organisation imports one log at a time.',
  })
  clock.now += SILENT_MS
  await jobs.undo({ site: 1, id: ended, source: 'access.log' }, AUDIT)
  t.equal(await stateOf(id), 'failed')
  await t.rejects(jobs.lines(id, batchOf(5), NOTHING_READ), { code: 'conflict' }, 'a command that was only halted')
  await untilGone(ended)
  t.same(await count(), 1)
})

t.test('a batch that waits for verification when its import is undone or ends is not stored', async (t) => {
  for (const how of ['undone', 'ended'] as const) {
    let confirm = (_verdict: typeof VERDICTS.unverifiable) => {}
    const later = new Promise<typeof VERDICTS.unverifiable>((resolve) => (confirm = resolve))
    const verdict = { now: VERDICTS.indeterminate, later }
    const { jobs, count, stateOf, untilGone } = await createWorld(t, { verdict })
    const about = { ...ABOUT, options: { ...ABOUT.options, verify_now: true } }
    const id = await jobs.begin(about, AUDIT)
    const waiting = t.rejects(jobs.lines(id, batchOf(3), NOTHING_READ), { code: 'conflict' }, how)
    if (how === 'undone') {
      await jobs.undo({ site: 1, id, source: 'access.log' }, AUDIT)
      await untilGone(id)
    } else await jobs.end(id, NOTHING_READ, 'failed')
    const next = await jobs.begin(ABOUT, AUDIT)
    confirm(VERDICTS.unverifiable)
    await waiting
    t.same(await count(), 0, how)
    t.match(await jobs.lines(next, batchOf(2), NOTHING_READ), { agent: 2, known: 0 }, 'the next import goes on')
    t.equal(await stateOf(next), 'running')
  }
})

t.test('no import begins while one is undone: lines whose rows leave would be known', async (t) => {
  const { jobs, gate, count, stateOf, untilGone } = await createWorld(t)
  const id = await jobs.begin(ABOUT, AUDIT)
  await jobs.lines(id, batchOf(3), NOTHING_READ)
  await jobs.end(id, NOTHING_READ, 'done')
  const open = hold(gate, 'remove_import')
  await jobs.undo({ site: 1, id, source: 'access.log' }, AUDIT)
  t.equal(await stateOf(id), 'removing')
  await t.rejects(jobs.begin(ABOUT, AUDIT), { code: 'conflict' })
  await t.rejects(jobs.begin({ ...ABOUT, options: { ...ABOUT.options, dry_run: true } }, AUDIT), { code: 'conflict' })
  open()
  await untilGone(id)
  const again = await jobs.begin(ABOUT, AUDIT)
  t.match(await jobs.lines(again, batchOf(3), NOTHING_READ), { agent: 3, known: 0 })
  t.same(await count(), 3)
})

t.test('of two that begin at once one runs, and another that was silent ends', async (t) => {
  const { jobs, clock, stateOf, callWorker } = await createWorld(t)
  const secret = Buffer.alloc(32, 7).toString('base64')
  const { options } = ABOUT
  const begin = (id: number) => callWorker('import_begin', { id, org: 1, site: 1, secret, options })
  const [first, second] = await Promise.allSettled([begin(8), begin(9)])
  t.match([first, second], [{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'conflict' } }])
  clock.now += SILENT_MS
  const id = await jobs.begin(ABOUT, AUDIT)
  t.equal(await stateOf(id), 'running')
  await t.rejects(callWorker('import_lines', { id: 8, text: batchOf(1) }), { code: 'conflict' })
})

/** A body that has no bytes yet. `wasRead` says whether they were asked for. */
function createBody() {
  const body = { wasRead: false, fail: (_error: Error) => {} }
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        body.fail = (error) => controller.error(error)
      },
      pull() {
        body.wasRead = true
      },
    },
    { highWaterMark: 0 },
  )
  return Object.assign(body, { stream })
}

t.test('an upload that would be refused after it is refused before its body is read', async (t) => {
  const { jobs, gate, untilGone } = await createWorld(t)
  const isRefused = async (
    why: string,
    error: { code: string; field?: string; message?: RegExp },
    read: { format: string | undefined; tz: string; data_paths: undefined } = READ,
  ) => {
    const body = createBody()
    await t.rejects(jobs.upload(ABOUT, body.stream, read, AUDIT), error, why)
    t.notOk(body.wasRead, why)
  }
  await isRefused('no format', { code: 'validation_error', field: 'format' }, { ...READ, format: 'nothing' })
  const id = await jobs.begin(ABOUT, AUDIT)
  await isRefused('another import', { code: 'conflict', message: /^Import 1 of site 1 runs since/ })
  const open = hold(gate, 'remove_import')
  await jobs.undo({ site: 1, id, source: 'access.log' }, AUDIT)
  await isRefused('an undo', { code: 'conflict', message: /being undone/ })
  open()
  await untilGone(id)
  const first = createBody()
  const upload = jobs.upload(ABOUT, first.stream, READ, AUDIT)
  await isRefused('another upload', { code: 'conflict', message: /being uploaded/ })
  while (!first.wasRead) await new Promise(setImmediate)
  first.fail(new Error('the client left'))
  await t.rejects(upload, { message: 'the client left' })
})

t.test('an upload whose client leaves or stalls ends, and leaves nothing', async (t) => {
  const { jobs, data } = await createWorld(t, { stall_timeout_ms: 100 })
  for (const [why, error] of [
    ['leaves', { message: 'the client left' }],
    ['stalls', { code: 'bad_request', message: /stalled/ }],
  ] as const) {
    const body = createBody()
    const upload = jobs.upload(ABOUT, body.stream, READ, AUDIT)
    if (why === 'leaves') setTimeout(() => body.fail(new Error('the client left')), 20)
    await t.rejects(upload, error, why)
    t.strictSame(readdirSync(join(data, 'uploads.tmp')), [])
  }
})

t.test('what a killed process has left of uploads is removed at the start, also by a reader', async (t) => {
  const data = directory(t)
  mkdirSync(join(data, 'uploads.tmp'))
  writeFileSync(join(data, 'uploads.tmp', 'left'), 'a line\n')
  const { jobs } = await createWorld(t, { data })
  while (existsSync(join(data, 'uploads.tmp'))) await new Promise(setImmediate)
  const body = createBody()
  const upload = jobs.upload(ABOUT, body.stream, READ, AUDIT)
  const isBegun = () => existsSync(join(data, 'uploads.tmp')) && readdirSync(join(data, 'uploads.tmp')).length > 0
  while (!isBegun()) await new Promise(setImmediate)
  await jobs.resume()
  t.equal(readdirSync(join(data, 'uploads.tmp')).length, 1, 'a worker that starts again leaves running uploads')
  body.fail(new Error('the client left'))
  await t.rejects(upload)
})

t.test('nothing is summed up while lines of the past are stored', async (t) => {
  const { jobs, clock, isStoringPast } = await createWorld(t)
  const LAST_LINE = START - 86_400_000
  t.equal(isStoringPast(), false, 'no import')
  const id = await jobs.begin(ABOUT, AUDIT)
  t.equal(isStoringPast(), true, 'one that has just begun')
  await jobs.lines(id, batchOf(1), NOTHING_READ)
  for (const [at, expected, why] of [
    [START, true, 'a line of the day before'],
    [START + SILENT_MS, false, 'its command is silent'],
    [LAST_LINE + 7_199_000, false, 'a log that is followed: its sessions may go on'],
    [LAST_LINE + 7_201_000, true, 'they are over'],
  ] as const) {
    clock.now = at
    t.equal(isStoringPast(), expected, why)
  }
  clock.now = START
  await jobs.end(id, NOTHING_READ, 'done')
  t.equal(isStoringPast(), false, 'it has ended')
})

t.test('an upload leaves --min-free-disk to the store', async (t) => {
  const { jobs, data } = await createWorld(t, { min_free_disk: Number.MAX_SAFE_INTEGER })
  const upload = jobs.upload(ABOUT, new Blob(['a line\n']).stream(), READ, AUDIT)
  await t.rejects(upload, { code: 'database_error', message: 'The disk has no room for the log.' })
  t.strictSame(readdirSync(join(data, 'uploads.tmp')), [])
})

t.test('a log of few lines reads few rows, however long it is', async (t) => {
  const { jobs, found } = await createWorld(t)
  const first = await jobs.begin(ABOUT, AUDIT)
  await jobs.lines(first, batchOf(1_000), NOTHING_READ)
  await jobs.end(first, NOTHING_READ, 'done')
  const second = await jobs.begin(ABOUT, AUDIT)
  found.rows = 0
  t.match(await jobs.lines(second, batchOf(1_000, 333), NOTHING_READ), { agent: 0, known: 4 })
  t.equal(found.rows, 4)
})

const OF_B = { ...ABOUT, site: 2, options: { ...ABOUT.options, host: 'b.example' } }
const AUDIT_B = { ...AUDIT, org: 2 }
/** Words that would tell one organisation about another: ids and times of its imports, and its sites. */
const TELLS = /Import \d|site \d|\d{4}-\d\d/

t.test('organisations import side by side, one log of each at a time', async (t) => {
  const { jobs, countOf, stateOf, imports } = await createWorld(t)
  const a = await jobs.begin(ABOUT, AUDIT)
  await jobs.lines(a, batchOf(3), NOTHING_READ)
  const b = await jobs.begin(OF_B, AUDIT_B)
  t.equal(await stateOf(a), 'running', "another organisation's import does not end it")
  for (const [about, audit] of [
    [ABOUT, AUDIT],
    [{ ...ABOUT, site: 3 }, AUDIT],
    [OF_B, AUDIT_B],
  ] as const)
    await t.rejects(jobs.begin(about, audit), { code: 'conflict', message: /an organisation imports one log/ })
  for (const [id, n] of [
    [b, 4],
    [a, 5],
    [b, 6],
  ] as const)
    t.match(await jobs.lines(id, batchOf(n), NOTHING_READ), { dropped: 0 })
  t.same([await countOf(1), await countOf(2)], [8, 10], 'each row is of its site')
  await jobs.end(a, NOTHING_READ, 'done')
  await jobs.end(b, NOTHING_READ, 'done')
  t.strictSame([await stateOf(a), (await imports.get(2, b))?.state], ['done', 'done'])
  const trials = { ...ABOUT.options, dry_run: true }
  const [trial, other] = [
    await jobs.begin({ ...ABOUT, options: trials }, AUDIT),
    await jobs.begin({ ...OF_B, options: { ...trials, host: 'b.example' } }, AUDIT_B),
  ]
  t.ok(trial < 0 && other < 0 && trial !== other, 'two trials are told apart')
  t.match(await jobs.lines(trial, batchOf(1), NOTHING_READ), { known: 1 })
  t.match(await jobs.lines(other, batchOf(7), NOTHING_READ), { known: 6, agent: 1 })
})

t.test('an undo of one organisation stops no import of another, and the reverse', async (t) => {
  const { jobs, gate, countOf, untilGone, imports } = await createWorld(t)
  const a = await jobs.begin(ABOUT, AUDIT)
  await jobs.lines(a, batchOf(3), NOTHING_READ)
  await jobs.end(a, NOTHING_READ, 'done')
  const b = await jobs.begin(OF_B, AUDIT_B)
  const open = hold(gate, 'remove_import')
  await jobs.undo({ site: 1, id: a, source: 'access.log' }, AUDIT)
  t.match(await jobs.lines(b, batchOf(2), NOTHING_READ), { agent: 2 })
  await jobs.end(b, NOTHING_READ, 'done')
  const again = await jobs.begin(OF_B, AUDIT_B)
  await jobs.end(again, NOTHING_READ, 'done')
  await jobs.undo({ site: 2, id: b, source: 'access.log' }, AUDIT_B)
  await t.rejects(jobs.begin(ABOUT, AUDIT), { code: 'conflict', message: 'An import is being undone.' })
  open()
  await untilGone(a)
  while ((await imports.get(2, b)) !== undefined) await new Promise(setImmediate)
  t.same([await countOf(1), await countOf(2)], [0, 0])
})

t.test(
  'undos take turns, step by step: live rows wait for one step, and no organisation for all of another',
  async (t) => {
    const steps: number[] = []
    let running = 0
    const { jobs, imports, countOf } = await createWorld(t, {
      rows_per_step: 1,
      async aroundCall(name, argument, work) {
        if (name !== 'remove_import') return work()
        t.equal(++running, 1, 'one step at a time')
        const found = await work().finally(() => running--)
        steps.push(Step.parse(argument).import)
        return found
      },
    })
    const add = async (about: typeof ABOUT, audit: typeof AUDIT | typeof AUDIT_B, count: number) => {
      const id = await jobs.begin(about, audit)
      await jobs.lines(id, batchOf(count), NOTHING_READ)
      await jobs.end(id, NOTHING_READ, 'done')
      return { site: about.site, id, source: 'access.log' }
    }
    const [first, second] = [
      await add(ABOUT, AUDIT, 3),
      await add({ ...ABOUT, site: 3, options: { ...ABOUT.options, host: 'c.example' } }, AUDIT, 3),
    ]
    const other = await add(OF_B, AUDIT_B, 3)
    await Promise.all([jobs.undo(first, AUDIT), jobs.undo(second, AUDIT), jobs.undo(other, AUDIT_B)])
    while ((await imports.listUnfinished()).length > 0) await new Promise(setImmediate)
    t.same([await countOf(1), await countOf(2), await countOf(3)], [0, 0, 0])
    const of = (one: { id: number }) => steps.flatMap((id, at) => (id === one.id ? [at] : []))
    t.ok(of(first).length >= 3 && of(other).length >= 3, `${steps}`)
    const queue = [first, second].toSorted((a, b) => (of(a)[0] ?? 0) - (of(b)[0] ?? 0))
    t.ok(
      (of(queue[1] ?? first)[0] ?? 0) > (of(queue[0] ?? first).at(-1) ?? 0),
      'of one organisation one after the other',
    )
    t.ok((of(other).at(-1) ?? 0) < steps.length - 3, 'two organisations in turns')
  },
)

t.test('an upload of one organisation stops none of another, and no message tells of it', async (t) => {
  const { jobs, imports } = await createWorld(t)
  const first = createBody()
  const upload = jobs.upload(ABOUT, first.stream, READ, AUDIT)
  while (!first.wasRead) await new Promise(setImmediate)
  const log = `203.0.113.7 - - [23/Nov/2026:00:00:04 +0000] "GET / HTTP/1.1" 200 5 "-" "${GPTBOT}"\n`
  const second = await jobs.upload(OF_B, new Blob([log]).stream(), READ, AUDIT_B)
  while ((await imports.get(2, second.id))?.state === 'running') await new Promise(setImmediate)
  t.match(await imports.get(2, second.id), { state: 'done', agent: 1 })
  await t.rejects(jobs.upload({ ...ABOUT, site: 3 }, createBody().stream, READ, AUDIT), { code: 'conflict' }, 'its own')
  first.fail(new Error('the client left'))
  await t.rejects(upload)
})

t.test('as many imports as the worker holds in memory, and no message tells of them', async (t) => {
  const { callWorker, clock } = await createWorld(t)
  const secret = Buffer.alloc(32, 7).toString('base64')
  const begin = (org: number) => callWorker('import_begin', { id: org, org, site: 1, secret, options: ABOUT.options })
  for (let org = 1; org <= 8; org++) await begin(org)
  for (const refused of [begin(9), callWorker('import_stop', { id: null, org: 9 })])
    await t.rejects(refused, { code: 'rate_limited', message: /^Too many organisations import logs/ })
  await begin(9).catch(({ message }) => t.notMatch(message, TELLS))
  clock.now += SILENT_MS
  await begin(9)
  t.pass('those whose commands were stopped make room')
})

t.test('an upload that trickles ends', async (t) => {
  const { jobs, data } = await createWorld(t, { stall_timeout_ms: 100 })
  let sent = 0
  const trickle = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      sent += 1
      controller.enqueue(Uint8Array.of(32))
    },
  })
  await t.rejects(jobs.upload(ABOUT, trickle, READ, AUDIT), {
    code: 'bad_request',
    message: /^The upload stalled: fewer than 65536 bytes arrived in 0\.1 seconds\.$/,
  })
  t.ok(sent > 0, 'bytes kept coming')
  t.strictSame(readdirSync(join(data, 'uploads.tmp')), [])
})
