import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import {
  ABOUT,
  AUDIT,
  batchOf,
  createBody,
  createImportWorld,
  hold,
  NOTHING_READ,
  READ,
  SILENT_MS,
} from '../../fixtures/import-jobs.js'
import { GPTBOT } from '../../fixtures/instance.js'

/** Tests imports of two organisations, and uploads that hold something up. */

const Step = z.object({ import: z.int() })
const OF_B = { ...ABOUT, site: 2, options: { ...ABOUT.options, host: 'b.example' } }
const AUDIT_B = { ...AUDIT, org: 2 }
/** Words that would tell one organisation about another: ids and times of its imports, and its sites. */
const TELLS = /Import \d|site \d|\d{4}-\d\d/

t.test('organisations import side by side, one log of each at a time', async (t) => {
  const { jobs, countOf, stateOf, imports } = await createImportWorld(t)
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
  const { jobs, gate, countOf, untilGone, imports } = await createImportWorld(t)
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
    const { jobs, imports, countOf } = await createImportWorld(t, {
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
  const { jobs, imports } = await createImportWorld(t)
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
  const { callWorker, clock } = await createImportWorld(t)
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
  const { jobs, data } = await createImportWorld(t, { stall_timeout_ms: 100 })
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
