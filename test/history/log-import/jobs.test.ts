import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import t from 'tap'
import { VERDICTS } from '../../../src/agents/verdict.js'
import { receiveUpload } from '../../../src/app/instance/receive-upload.js'
import { directory } from '../../fixtures/files.js'
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
  START,
} from '../../fixtures/import-jobs.js'

/** Tests what the site's process and the worker do when commands stop in the middle, or two come at once. */

t.test('a running import is stopped and undone, and its command goes on no more', async (t) => {
  const { jobs, gate, count, stateOf, untilGone } = await createImportWorld(t)
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
  const { jobs, clock, count, stateOf, untilGone } = await createImportWorld(t)
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
    const { jobs, count, stateOf, untilGone } = await createImportWorld(t, { verdict })
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
  const { jobs, gate, count, stateOf, untilGone } = await createImportWorld(t)
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
  const { jobs, clock, stateOf, callWorker } = await createImportWorld(t)
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

t.test('an upload that would be refused after it is refused before its body is read', async (t) => {
  const { jobs, gate, untilGone } = await createImportWorld(t)
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
  const { jobs, data } = await createImportWorld(t, { stall_timeout_ms: 100 })
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

t.test('an upload onto a disk that hangs ends, and does not blame the client', async (t) => {
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) })
  const written = receiveUpload(body, join(directory(t), 'log'), {
    stall_timeout_ms: 50,
    open: () => new Writable({ write() {} }),
  })
  await t.rejects(written, { code: 'database_error', message: /^The disk took fewer than 65536 bytes/ })
})

t.test('what a killed process has left of uploads is removed at the start, also by a reader', async (t) => {
  const data = directory(t)
  mkdirSync(join(data, 'uploads.tmp'))
  writeFileSync(join(data, 'uploads.tmp', 'left'), 'a line\n')
  const { jobs } = await createImportWorld(t, { data })
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

t.test('nothing is aggregated while lines of the past are stored', async (t) => {
  const { jobs, clock, isStoringPast } = await createImportWorld(t)
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
  const { jobs, data } = await createImportWorld(t, { min_free_disk: Number.MAX_SAFE_INTEGER })
  const upload = jobs.upload(ABOUT, new Blob(['a line\n']).stream(), READ, AUDIT)
  await t.rejects(upload, { code: 'database_error', message: 'The disk has no room for the log.' })
  t.strictSame(readdirSync(join(data, 'uploads.tmp')), [])
})

t.test('a log of few lines reads few rows, however long it is', async (t) => {
  const { jobs, found } = await createImportWorld(t)
  const first = await jobs.begin(ABOUT, AUDIT)
  await jobs.lines(first, batchOf(1_000), NOTHING_READ)
  await jobs.end(first, NOTHING_READ, 'done')
  const second = await jobs.begin(ABOUT, AUDIT)
  found.rows = 0
  t.match(await jobs.lines(second, batchOf(1_000, 333), NOTHING_READ), { agent: 0, known: 4 })
  t.equal(found.rows, 4)
})
