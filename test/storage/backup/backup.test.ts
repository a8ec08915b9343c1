import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { formatSum, openArchive } from '../../../src/storage/backup/archive.js'
import { createBackupApi } from '../../../src/storage/backup/take.js'
import { formatTarHeader, listTar } from '../../../src/storage/backup/tar.js'
import { sql } from '../../../src/storage/sql.js'
import { assertEqual } from '../../fixtures/assert-equal.js'
import { command } from '../../fixtures/command.js'
import { change, fillStores, openFilesAt, openPairAt, readAllRecords, readEvents } from '../../fixtures/copied-store.js'
import { directory } from '../../fixtures/files.js'
import { eventRow } from '../../fixtures/rows.js'

/*
 * Backs data directories up and restores them, through the commands. A backup of a readership that runs is in
 * test/contract/backup.test.ts.
 */

const backUp = (data: string, target: string) => command('backup', target, '--data', data)
const restore = (file: string, data: string) => command('restore', file, '--data', data)

/** Everything that a backup has: sign-ins and one-time links are left out. */
async function readFiles(data: string) {
  const { events, records, close } = await openFilesAt(data)
  const { sessions: _, tokens: __, ...all } = await readAllRecords(records)
  const found = { events: await readEvents(events), records: all }
  await close()
  return found
}

async function readMembers(path: string) {
  const { manifest, close } = await openArchive(path)
  await close()
  return manifest.members
}

async function backedUp(t: Test) {
  const [from, file] = [directory(t), join(directory(t), 'all.tar')]
  await fillStores(from)
  const { code, stderr } = await backUp(from, file)
  t.match({ code, stderr }, { code: 0, stderr: '' })
  return { from, file }
}

t.test('a restored backup has every row and record', async (t) => {
  const { from, file } = await backedUp(t)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.notOk(existsSync(join(from, 'backup.tmp')), 'nothing is left in the data directory')
  const names = (await readMembers(file)).map(({ name }) => name)
  for (const name of ['events/deliveries.parquet', 'control/sites.parquet']) t.ok(names.includes(name), name)
  for (const secret of ['control/sessions.parquet', 'control/tokens.parquet', 'control/salts.parquet'])
    t.notOk(names.includes(secret), `without ${secret}`)

  const to = join(directory(t), 'new')
  t.match(await restore(file, to), { code: 0, stderr: '', stdout: /^Restored [\d,]+ rows and all records/ })
  assertEqual(t, await readFiles(to), await readFiles(from), 'rows and records')
  t.same(readdirSync(to).sort(), ['control.duckdb', 'events.duckdb'], 'without salts')
  const { events, records } = await openPairAt(to)
  t.same(await records.query(sql`select * from losses`), [], 'the files belong together')
  t.same(await records.query(sql`select * from copying`), [])
  await events.close()
  await records.close()
  t.match(await restore(file, to), { code: 1, stderr: /is not empty: name an empty directory/ })
})

t.test('a directory gets what changed, and links to the rest', async (t) => {
  const [from, target] = [directory(t), directory(t)]
  await fillStores(from)
  await backUp(from, target)
  await change(from, async ({ events, records }) => {
    await events.append({ events: [eventRow({ timestamp: new Date('2026-11-21T13:00:00Z') })], agent_events: [] })
    await records.write(sql`update goals set name = 'changed'`)
  })
  const before = await readFiles(from)
  t.match(await backUp(from, target), { code: 0, stdout: /of it new/ })
  const [first = '', second = '', ...more] = readdirSync(target).sort()
  t.same(more, [])
  const linked = (await readMembers(join(target, second)))
    .filter(({ name, file }) => file === 'events' && statSync(join(target, second, name)).nlink === 2)
    .map(({ name }) => name)
  // A month that is over is one part.
  const same = linked.find((name) => /loose_reports-2026-11(-20)?\.parquet/.test(name)) ?? ''
  t.not(same, '', 'a day that is as it was')
  t.notOk(
    linked.some((name) => /\/events-2026-11(-21)?\.parquet/.test(name)),
    'the day that has one more row',
  )
  for (const name of linked) t.equal(statSync(join(target, first, name)).ino, statSync(join(target, second, name)).ino)

  const damaged = join(target, second, same)
  writeFileSync(damaged, flip(readFileSync(damaged), 100))
  t.match(await restore(join(target, first), directory(t)), { code: 1, stderr: new RegExp(same) })
  t.match(await backUp(from, target), { code: 0 }, 'a damaged file is written again')
  const third = join(target, readdirSync(target).sort()[2] ?? '')
  t.equal(statSync(join(third, same)).nlink, 1)
  const to = directory(t)
  t.match(await restore(third, to), { code: 0 })
  assertEqual(t, await readFiles(to), before, 'rows and records')
})

function flip(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ 0x10, at)
  return copy
}

/** Ranges of the bytes that the manifest vouches for, and of the headers before them. */
async function listRanges(file: string) {
  const handle = await open(file)
  const entries = await listTar(handle)
  await handle.close()
  return entries.map(({ start, size }) => ({ from: start - 512, to: start + size }))
}

t.test('every flipped byte and every cut is found, and nothing is restored', async (t) => {
  const { file } = await backedUp(t)
  const bytes = readFileSync(file)
  const [damaged, to] = [join(directory(t), 'damaged.tar'), join(directory(t), 'to')]
  const [member = ''] = (await readMembers(file)).flatMap(({ name, table }) => (table === 'events' ? name : []))
  const named = bytes.indexOf(member) + 512 + 100
  const ranges = await listRanges(file)
  const places: [place: number, why: string, message: RegExp][] = [
    [named, 'a byte of a member', new RegExp(`is damaged: ${member}. Nothing was restored`)],
    [bytes.lastIndexOf('"rows":') + 8, 'a number of the manifest', /manifest\.json is damaged/],
    [5, 'the header of the first member', /is not a tar file/],
    [(ranges[1]?.from ?? 0) + 130, 'a later header', /is damaged after \S+\.parquet/],
  ]
  for (const [place, why, message] of places) {
    writeFileSync(damaged, flip(bytes, place))
    t.match(await restore(damaged, to), { code: 1, stderr: message }, why)
    t.ok(!existsSync(to) || readdirSync(to).length === 0, `${why}: the directory is empty`)
  }
  const total = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
  for (let n = 1; n <= 40; n++) {
    // Zeros between files, and after the last one, are not content: no tar reads them.
    let place = Math.floor((total * n) / 41)
    const range = ranges.find(({ from, to }) => {
      if (place < to - from) return true
      place -= to - from
      return false
    })
    // The check sum of a header may begin with a zero or a space: that is the same number.
    if (place === 148) place++
    writeFileSync(damaged, flip(bytes, (range?.from ?? 0) + place))
    const { code, stderr } = await restore(damaged, to)
    t.equal(code, 1, `byte ${(range?.from ?? 0) + place}: ${stderr}`)
  }
  const end = (ranges.at(-1)?.to ?? 0) - 1
  const cuts: [length: number, message: RegExp][] = [
    [0, /is not a whole backup: manifest\.json is missing/],
    [100, /is not a whole backup: the file is cut off/],
    [512, /is not a whole backup: the file is cut off in \S+\.parquet/],
    [named, /is not a whole backup: the file is cut off in \S+\.parquet/],
    [end, /is not a whole backup: the file is cut off in manifest\.json\.sha256/],
  ]
  for (const [length, message] of cuts) {
    writeFileSync(damaged, bytes.subarray(0, length))
    t.match(await restore(damaged, to), { code: 1, stderr: message }, `${length} bytes`)
  }
})

t.test('what cannot be restored or written is refused in one line', async (t) => {
  const { from, file } = await backedUp(t)
  const newer = directory(t)
  const { manifest } = await openArchive(file)
  const text = JSON.stringify({ ...manifest, readership: '9.0.0', schema: { ...manifest.schema, events: 999 } })
  writeFileSync(join(newer, 'manifest.json'), text)
  writeFileSync(join(newer, 'manifest.json.sha256'), formatSum(text))
  const backups = directory(t)
  const [older, last] = ['2026-11-23', '2026-11-24'].map((day) => join(backups, `readership-${day}T03-00-00-000Z`))
  for (const path of [last, older]) mkdirSync(path ?? '')
  const cases: [args: string[], why: string, message: RegExp][] = [
    [
      ['restore', backups, '--data', directory(t)],
      'several backups',
      new RegExp(
        `^error: ${backups} is a directory of backups; the newest is ${last}: readership restore ${last}$`,
        'm',
      ),
    ],
    [['restore', newer, '--data', directory(t)], 'a newer schema', /newer readership \(9\.0\.0\): restore it with/],
    [['restore', join(newer, 'manifest.json'), '--data', directory(t)], 'another file', /is not a whole backup/],
    [['restore', join(newer, 'none'), '--data', directory(t)], 'no file', /ENOENT/],
    [
      ['restore', directory(t), '--data', directory(t)],
      'an empty directory',
      /is not a whole backup: .*manifest\.json/,
    ],
    [['backup', join(newer, 'none/all.tar'), '--data', from], 'no directory to write in', /none is not a directory/],
    [['backup', from, '--data', from], 'the data directory', /the data directory itself/],
    [['backup', join(newer, 'all.tar'), '--data', directory(t)], 'no data', /No data in/],
  ]
  for (const [args, why, message] of cases) {
    const { code, stderr } = await command(...args)
    t.match({ code, stderr }, { code: /[12]/, stderr: message }, why)
    t.equal(stderr.trim().split('\n').length, 1, `${why}: ${stderr}`)
  }
})

t.test('a killed restore leaves a directory that does not open', async (t) => {
  const { from, file } = await backedUp(t)
  const expected = await readFiles(from)
  const [kills, states] = [4, new Set<string>()]
  for (let n = 0; n < kills; n++) {
    const to = directory(t)
    const child = spawn(process.execPath, ['dist/bin/readership.js', 'restore', file, '--data', to], {
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    const control = join(to, 'control.duckdb')
    while (child.exitCode === null && !existsSync(control)) await sleep(1)
    await Promise.race([ended, sleep((n * 400) / kills)])
    child.kill('SIGKILL')
    await ended
    const state = await openPairAt(to).then(
      async ({ events, records }) => {
        await events.close()
        await records.close()
        return 'complete'
      },
      (error: unknown) => String(error),
    )
    states.add(state)
    if (state === 'complete') assertEqual(t, await readFiles(to), expected, 'all of it')
    else t.match(state, /not restored completely: delete it, and run readership restore once more/)
  }
  t.ok(
    [...states].some((state) => state !== 'complete'),
    'one was killed before its end',
  )
})

t.test('a size from 8 GiB on is written in base 256', async (t) => {
  const size = 2 ** 33 + 5
  const header = Buffer.from(formatTarHeader('events/a.parquet', size, new Date(0)))
  t.same([...header.subarray(124, 136)], [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5])
})

t.test('a month that is over is one part, unless it is large', async (t) => {
  const data = directory(t)
  await fillStores(data)
  const { events, records } = await openPairAt(data)
  const take = async (now: string, version: string) => {
    const deps = { events, records, data, version, min_free_disk: 0, freeDisk: () => 2 ** 40, now: () => new Date(now) }
    const { parts } = await createBackupApi(deps).take_backup([])
    return parts.flatMap(({ name, table }) => (table === 'loose_reports' ? name.slice(21) : []))
  }
  t.same(await take('2026-11-30T23:59:59Z', '1'), ['2026-11-20.parquet', '2026-11-21.parquet'])
  t.same(await take('2026-12-01T00:00:00Z', '1'), ['2026-11.parquet'])
  await events.close()
  await records.close()
})
