import { existsSync, mkdirSync, readdirSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { createMetrics } from '../../../src/api/metrics.js'
import { checkBackups } from '../../../src/app/cli/doctor-files.js'
import { formatSum, listBackups, listOwnBackups, openArchive } from '../../../src/storage/backup/archive.js'
import { createBackups } from '../../../src/storage/backup/backups.js'
import { findLastBackup } from '../../../src/storage/backup/kept-backups.js'
import { createBackupSchedule } from '../../../src/storage/backup/schedule.js'
import { createBackupApi } from '../../../src/storage/backup/take.js'
import { writeDirectory } from '../../../src/storage/backup/write-archive.js'
import { readOrigin } from '../../../src/storage/migrate/read-records.js'
import { assertEqual } from '../../fixtures/assert-equal.js'
import { command } from '../../fixtures/command.js'
import { fillStores, openFilesAt, openPairAt, readAllRecords, readEvents } from '../../fixtures/copied-store.js'
import { directory } from '../../fixtures/files.js'
import { eventually } from '../../fixtures/instance.js'
import { agentRow } from '../../fixtures/rows.js'

/** A time of the machine's own clock, in November 2026. */
const at = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute)

interface Given {
  target?: string
  keep?: number
  min_free_disk?: number
  losses?: readonly unknown[]
}

/** A schedule over a store that is open in this process; `clock.now` is its clock. */
async function openSchedule(t: Test, data: string, given: Given = {}) {
  const { target = directory(t), keep = 7, min_free_disk = 0, losses = [] } = given
  const { events, records } = await openPairAt(data)
  t.teardown(async () => {
    await events.close()
    await records.close()
  })
  const clock = { now: at(24, 14) }
  const now = () => clock.now
  const api = createBackupApi({
    ...{ events, records, data, now, version: '1', min_free_disk: 0 },
    freeDisk: () => 2 ** 40,
  })
  const calls: string[] = []
  const call = async (name: string, argument?: unknown): Promise<unknown> => {
    calls.push(name)
    return name === 'take_backup'
      ? api.take_backup(argument)
      : name === 'backup_progress'
        ? api.backup_progress()
        : api.drop_backup()
  }
  const backups = createBackups({ call, isShared: false }, { list: () => losses })
  const errors: string[] = []
  const log = { info() {}, error: (_: object, message: string) => void errors.push(message) }
  const recordsBorn = () => readOrigin(records)
  const start = () =>
    createBackupSchedule({ directory: target, keep, data, min_free_disk }, { backups, recordsBorn, now, log })
  return { events, records, backups, clock, calls, errors, target, start, schedule: start() }
}

const readAll = async ({ events, records }: Pick<Awaited<ReturnType<typeof openFilesAt>>, 'events' | 'records'>) => {
  const { sessions: _, tokens: __, ...rest } = await readAllRecords(records)
  return { events: await readEvents(events), records: rest }
}

t.test('a backup each night, of which the newest two are kept and can be restored', async (t) => {
  const data = directory(t)
  await fillStores(data)
  const { events, records, clock, errors, target, start, schedule } = await openSchedule(t, data, { keep: 2 })
  const append = () => events.append({ events: [], agent_events: [agentRow({ timestamp: clock.now })] })
  const states: Awaited<ReturnType<typeof readAll>>[] = []
  const nights: [now: Date, isTaken: boolean, kept: number, why: string][] = [
    [at(24, 14), true, 1, 'the first one soon after the start'],
    [at(24, 14, 1), false, 1, 'a minute later'],
    [at(25, 2, 59), false, 1, 'before the quiet hour'],
    [at(25, 3), true, 2, 'in the first night'],
    [at(25, 3, 1), false, 2, 'a minute later'],
    [at(26, 9), true, 2, 'in the morning, because the machine slept in the night'],
    [at(27, 2, 59), false, 2, 'not again before the next night'],
  ]
  for (const [now, isTaken, kept, why] of nights) {
    clock.now = now
    await append()
    await schedule.tick()
    const names = readdirSync(target).sort()
    t.equal(names.length, kept, `${why}: ${names.length} are there`)
    const name = `readership-${now.toISOString().replace(/:|\./g, '-')}`
    t.equal(names.at(-1) === name, isTaken, why)
    if (isTaken) states.push(await readAll({ events, records }))
  }
  t.same(errors, [])
  t.match(schedule.status(), { last: { taken_at: at(26, 9).toISOString() }, failures: 0, failure: undefined })
  t.notOk(existsSync(join(data, 'backup.tmp')), 'nothing is left in the data directory')

  const restarted = start()
  await restarted.tick()
  t.equal(readdirSync(target).length, 2, 'a start in the same night takes none')
  t.same(restarted.status().last, schedule.status().last, 'and knows the last one')

  const ages: [now: Date, state: string, says: RegExp][] = [
    [at(28, 9), 'ok', / is 2 d 0 h old$/],
    [at(28, 9, 1), 'warn', / is 2 d 0 h old$/],
  ]
  for (const [now, state, says] of ages) {
    t.match(await checkBackups({ backup_dir: target }, undefined, now.getTime()), [{ state, says }], 'at rest')
    t.match(await checkBackups({}, schedule.status(), now.getTime()), [{ state, says }], 'while it runs')
  }
  const failure = { at: clock.now.toISOString(), says: 'no disk', mend: 'Buy one.' }
  t.match(await checkBackups({}, { ...schedule.status(), failure }, clock.now.getTime()), [
    { state: 'fail', says: /is 17 h 59 m old; the last try failed: no disk$/, mend: 'Buy one.' },
  ])

  for (const [i, path] of (await listBackups(target)).entries()) {
    const to = directory(t)
    const { code, stderr } = await command('restore', path, '--data', to)
    t.equal(code, 0, stderr)
    const restored = await openFilesAt(to)
    assertEqual(t, await readAll(restored), states[i + 1], `what the store had: ${basename(path)}`)
    await restored.close()
  }
})

t.test('a failure is shown with its mend, and tried again an hour later', async (t) => {
  const [data, place] = [directory(t), directory(t)]
  await fillStores(data)
  writeFileSync(join(place, 'file'), '')
  const rows: [given: Given, says: RegExp, mend: RegExp, why: string][] = [
    [{ target: join(place, 'none') }, /none cannot be used \(ENOENT\)$/, /^Create it, mount its disk/, 'no directory'],
    [{ target: join(place, 'file') }, /\(ENOTDIR\)$/, /^Name a directory/, 'a file'],
    [{ target: join(place, 'file/below') }, /\(ENOTDIR\)$/, /^Name a directory/, 'below a file'],
    [{ min_free_disk: 9e17 }, /needs 900\.0 PB with --min-free-disk\.$/, /^Free space on its disk/, 'a full disk'],
    [{ losses: [1] }, /Stored data was lost here: see/, /tried again each hour/, 'a store that is not whole'],
  ]
  for (const [given, says, mend, why] of rows)
    await t.test(why, async (t) => {
      const { clock, errors, target, schedule } = await openSchedule(t, data, given)
      await schedule.tick()
      t.match(schedule.status(), { failures: 1, failure: { at: clock.now.toISOString(), says, mend } })
      t.equal(schedule.status().last, undefined)
      clock.now = at(24, 14, 59)
      await schedule.tick()
      t.equal(errors.length, 1, 'not before')
      clock.now = at(24, 15)
      await schedule.tick()
      t.equal(errors.length, 2)
      t.match(errors[0], /^the backup to .* failed and is tried again in an hour$/)
      t.same(existsSync(target) && target !== join(place, 'file') ? readdirSync(target) : [], [], 'nothing is left')
      t.notOk(existsSync(join(data, 'backup.tmp')))
    })
  const target = join(place, 'none')
  const { clock, schedule } = await openSchedule(t, data, { target })
  await schedule.tick()
  mkdirSync(target)
  clock.now = at(24, 15)
  await schedule.tick()
  t.match(schedule.status(), { last: { taken_at: clock.now.toISOString() }, failures: 1, failure: undefined }, 'mended')
  const { text } = await createMetrics({
    health: () => ({ state: 'ready', rows: { human: 0, agent: 0 }, drops: {}, restarts: 0, flush_ms: [] }),
    ...{ recorder: () => ({ waiting: 0, drops: {}, on: true }), isWriter: () => true, proxy: () => undefined },
    backups: schedule.status,
  }).render()
  const { manifest } = await openArchive((await listBackups(target))[0] ?? '')
  const bytes = manifest.members.reduce((sum, member) => sum + member.bytes, 0)
  for (const line of [
    `readership_backup_last_success_timestamp_seconds ${clock.now.getTime() / 1000}`,
    `readership_backup_bytes ${bytes}`,
    'readership_backup_failures_total 1',
  ])
    t.ok(text.split('\n').includes(line), line)
})

t.test('a backup that is not whole does not count, and what a killed process left is deleted', async (t) => {
  const data = directory(t)
  await fillStores(data)
  const { clock, target, schedule } = await openSchedule(t, data, { keep: 2 })
  for (const day of [24, 25]) {
    clock.now = at(day, 14)
    await schedule.tick()
  }
  const [first = '', second = ''] = await listBackups(target)
  // A file of records belongs to one backup alone.
  truncateSync(join(second, 'control/sites.parquet'), 100)
  const [old, recent] = [`${first}.part`, `${second}.part`]
  for (const path of [old, recent]) mkdirSync(join(path, 'events'), { recursive: true })
  utimesSync(old, at(24, 16), at(24, 16))
  utimesSync(recent, at(26, 2), at(26, 2))
  t.match(await findLastBackup(target), { taken_at: at(24, 14).toISOString() }, 'the last whole one')
  clock.now = at(26, 17)
  await schedule.tick()
  const [third = ''] = (await listBackups(target)).slice(-1)
  t.same(readdirSync(target).sort(), [first, second, recent, third].map((path) => basename(path)).sort())
  clock.now = at(27, 17)
  await schedule.tick()
  t.same((await listBackups(target)).slice(0, 1), [third], 'two whole ones make all older ones superfluous')
})

t.test('two readerships back up to one directory, and each counts, links to and deletes its own', async (t) => {
  const target = directory(t)
  const both: Awaited<ReturnType<typeof openSchedule>>[] = []
  for (const agents of [1, 2]) {
    const data = directory(t)
    await fillStores(data, { sessions: 0, agents })
    both.push(await openSchedule(t, data, { target, keep: 2 }))
  }
  for (const day of [24, 25, 26])
    for (const [minute, { clock, schedule }] of both.entries()) {
      clock.now = at(day, 14, minute)
      await schedule.tick()
    }
  const paths = await listBackups(target)
  t.same(
    paths.map((path) => basename(path)),
    [25, 26].flatMap((day) =>
      [0, 1].map((minute) => `readership-${at(day, 14, minute).toISOString().replace(/:|\./g, '-')}`),
    ),
  )
  for (const [minute, { errors, records, schedule }] of both.entries()) {
    t.same(errors, [])
    t.equal(schedule.status().last?.taken_at, at(26, 14, minute).toISOString())
    const own = await listOwnBackups(target, await readOrigin(records))
    t.same(own, [paths[2 + minute], paths[minute]])
    const { manifest } = await openArchive(own[0] ?? '')
    const part = manifest.members.find(({ table }) => table === 'agent_events')?.name ?? ''
    t.equal(statSync(join(own[0] ?? '', part)).nlink, 2, 'rows that both of its backups have are stored once')
  }
})

t.test('a backup belongs to the readership whose records were created at its moment', async (t) => {
  const target = directory(t)
  const path = join(target, 'readership-2026-11-24T03-00-00-000Z')
  mkdirSync(path)
  const facts = {
    taken_at: '2026-11-24T03:00:00.000Z',
    readership: '1',
    duckdb: '1',
    schema: { events: 1, control: 1 },
    store_bytes: 1,
  }
  const rows: [inManifest: object | undefined, asked: string | undefined, isOwn: boolean, why: string][] = [
    [{ records_born: 'a' }, 'a', true, 'its own'],
    [{ records_born: 'b' }, 'a', false, "another readership's"],
    [{ records_born: 'b' }, undefined, true, 'no readership asks'],
    [{}, 'a', true, 'a backup from before manifests had the moment'],
    [undefined, 'a', true, 'a damaged manifest'],
  ]
  for (const [inManifest, asked, isOwn, why] of rows) {
    const text = JSON.stringify({ ...facts, ...inManifest, format: 1, members: [] })
    writeFileSync(join(path, 'manifest.json'), text)
    writeFileSync(join(path, 'manifest.json.sha256'), inManifest ? formatSum(text) : '')
    t.same(await listOwnBackups(target, asked), isOwn ? [path] : [], why)
  }
})

t.test('a stop gives up what is being written', async (t) => {
  const data = directory(t)
  await fillStores(data)
  const { backups, calls, errors, target, schedule } = await openSchedule(t, data)
  const ticking = schedule.tick()
  await eventually('the worker reads', () => calls.includes('take_backup'))
  await schedule.stop()
  await ticking
  t.same(readdirSync(target), [])
  t.same(errors, [], 'which is not a failure')
  await schedule.tick()
  t.equal(calls.filter((name) => name === 'take_backup').length, 1, 'and none is taken after it')
  for await (const line of backups.take([])) {
    if (!('taken' in line)) continue
    const files = { taken: line.taken, directory: join(data, 'backup.tmp') }
    const onBytes = () => {
      throw new Error('stopped')
    }
    await t.rejects(writeDirectory(files, { target, base: undefined, onBytes }), /^stopped$/)
    t.same(readdirSync(target), [], 'nothing is left of the first files')
  }
})

t.test('a server refuses backups that it could not take', async (t) => {
  const data = directory(t)
  const rows: [flags: string[], message: RegExp, why: string][] = [
    [['--backup-dir', data], /--backup-dir names the data directory itself/, 'among the files of the store'],
    [
      ['--backup-dir', '/b', '--store', 'clickhouse://h/d', '--control', 'postgres://h/d'],
      /--backup-dir: This readership keeps its data on servers: .* pg_dump/,
      'servers',
    ],
  ]
  for (const [flags, message, why] of rows) {
    const { code, stderr } = await command('serve', '--data', data, ...flags)
    t.match({ code, stderr }, { code: 2, stderr: message }, why)
    t.equal(stderr.trim().split('\n').length, 1, stderr)
  }
})
