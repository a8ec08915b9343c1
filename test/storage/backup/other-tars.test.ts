import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findDamaged, formatSum, openArchive } from '../../../src/storage/backup/archive.js'
import { formatTarHeader, TAR_END, tarPadding } from '../../../src/storage/backup/tar.js'
import { command } from '../../fixtures/command.js'
import { fillStores } from '../../fixtures/copied-store.js'
import { directory } from '../../fixtures/files.js'

/*
 * Backups that other programs packed again are restored, because every tar reader reads them. Everything else is refused in
 * one line: the attack succeeds if `restore` waits for ever, takes memory without bound, or shows an error of an engine.
 */

const restore = (path: string, data: string) => command('restore', path, '--data', data)

/** A backup as a tar file and as a directory. */
async function backUp(t: Test) {
  const [from, at] = [directory(t), directory(t)]
  await fillStores(from)
  const tar = join(at, 'all.tar')
  await command('backup', tar, '--data', from)
  const unpacked = join(at, 'unpacked')
  mkdirSync(unpacked)
  execFileSync('tar', ['xf', tar, '-C', unpacked])
  return { at, tar, unpacked }
}

t.test('what any tar wrote is restored', async (t) => {
  const { at, tar, unpacked } = await backUp(t)
  const made = join(at, 'other.tar')
  const pack = (...args: string[]) => execFileSync('tar', ['-C', unpacked, '-cf', made, ...args])
  const names = ['manifest.json', 'manifest.json.sha256', 'events', 'control']
  const bytes = readFileSync(tar)
  const cases: [why: string, make: () => unknown][] = [
    ['GNU format, the manifest first, entries of directories', () => pack('--format=gnu', ...names)],
    ['pax headers', () => pack('--format=pax', '--pax-option=exthdr.name=%d/PaxHeaders/%f', '.')],
    ['names in pax records only', () => pack('--format=pax', `--pax-option=comment=${'x'.repeat(600)}`, ...names)],
    ['ustar, names with ./ before', () => pack('--format=ustar', '.')],
    ['V7, without a magic', () => pack('--format=v7', ...names)],
    [
      'the directory by its name, which is long',
      () => {
        const long = join(at, 'n'.repeat(120))
        cpSync(unpacked, join(long, 'backup'), { recursive: true })
        execFileSync('tar', ['-C', at, '--format=gnu', '-cf', made, 'n'.repeat(120)])
      },
    ],
    ['zeros after the end', () => writeFileSync(made, Buffer.concat([bytes, Buffer.alloc(1_000_000)]))],
    ['no block of zeros at the end', () => writeFileSync(made, bytes.subarray(0, bytes.length - 1024))],
    [
      'garbage in a place that no tar reads',
      () => writeFileSync(made, Buffer.concat([bytes, Buffer.from('x'.repeat(999))])),
    ],
    [
      'a file that no backup has',
      () => {
        writeFileSync(join(unpacked, '._events'), 'x')
        symlinkSync('/dev/zero', join(unpacked, 'zero'))
        pack('.')
        rmSync(join(unpacked, 'zero'))
      },
    ],
  ]
  for (const [why, make] of cases) {
    make()
    const archive = await openArchive(made)
    t.strictSame(await findDamaged(archive), [], why)
    t.ok(archive.manifest.members.length > 20, `${why}: all of it`)
    await archive.close()
  }
  const { code, stderr } = await restore(made, join(directory(t), 'new'))
  t.strictSame({ code, stderr }, { code: 0, stderr: '' }, 'restored')
})

t.test('everything else is refused in one line, and nothing is written', async (t) => {
  const { at, tar, unpacked } = await backUp(t)
  const { manifest, close } = await openArchive(tar)
  await close()
  const text = JSON.stringify(manifest)
  const [first] = manifest.members
  const other = (change: object) => JSON.stringify({ ...manifest, members: [{ ...first, ...change }] })
  const made = join(at, 'made')
  const shares = 'control/shares.parquet'
  /** A directory backup with another manifest. */
  const withManifest = (written: string) => () => {
    cpSync(unpacked, made, { recursive: true })
    writeFileSync(join(made, 'manifest.json'), written)
    writeFileSync(join(made, 'manifest.json.sha256'), formatSum(written))
  }
  const entry = (name: string, body: Uint8Array) => [
    formatTarHeader(name, body.length, new Date(0)),
    body,
    tarPadding(body.length),
  ]
  /** An entry of another type, with the sum of its header. */
  const withType = (type: string, body: Uint8Array) => {
    const header = Buffer.from(formatTarHeader('x', body.length, new Date(0)))
    header.write(type, 156, 'latin1')
    header.fill(' ', 148, 156)
    header.write(
      `${header
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0`,
      148,
      'latin1',
    )
    return Buffer.concat([header, body, tarPadding(body.length)])
  }
  const written =
    (...parts: Uint8Array[]) =>
    () =>
      writeFileSync(made, Buffer.concat(parts))
  const wasPipe = () => execFileSync('mkfifo', [made])
  const pipeAt = (name: string) => () => {
    cpSync(unpacked, made, { recursive: true })
    rmSync(join(made, name))
    execFileSync('mkfifo', [join(made, name)])
  }
  const zeros = () => {
    writeFileSync(made, '')
    truncateSync(made, 3 * 2 ** 30)
  }
  const isOther = /manifest\.json is not one that readership wrote/
  const cases: [why: string, make: () => unknown, message: RegExp][] = [
    ['3 GiB of zeros', zeros, /manifest\.json is missing\.$/],
    ['a named pipe', wasPipe, /is neither a file nor a directory\.$/],
    ['a named pipe for the manifest', pipeAt('manifest.json'), /manifest\.json is not a plain file\.$/],
    ['a named pipe for a member', pipeAt(shares), /is damaged: control\/shares\.parquet\. Nothing was restored\.$/],
    [
      'a device for a member',
      () => {
        cpSync(unpacked, made, { recursive: true })
        rmSync(join(made, shares))
        symlinkSync('/dev/zero', join(made, shares))
      },
      /is damaged: control\/shares\.parquet\. Nothing/,
    ],
    [
      'a named pipe in a tar file',
      () => {
        pipeAt(shares)()
        execFileSync('tar', ['-C', made, '-cf', join(at, 'piped.tar'), '.'])
        rmSync(made, { recursive: true })
        cpSync(join(at, 'piped.tar'), made)
      },
      /is damaged: control\/shares\.parquet\. Nothing/,
    ],
    [
      'a compressed file',
      () => {
        cpSync(tar, join(at, 'packed.tar'))
        execFileSync('gzip', ['-f', join(at, 'packed.tar')])
        cpSync(join(at, 'packed.tar.gz'), made)
      },
      /is not a tar file/,
    ],
    [
      'a header of a file that is too long',
      () => {
        const header = Buffer.from(formatTarHeader('x', 2 ** 33 + 5, new Date(0)))
        writeFileSync(made, Buffer.concat([header, TAR_END]))
      },
      /the file is cut off in x\.$/,
    ],
    [
      'a size below zero, which leads a reader backwards',
      () => {
        const record = Buffer.from('14 size=-1536\n')
        writeFileSync(made, Buffer.concat([withType('x', record), withType('5', Buffer.alloc(0))]))
      },
      /the size of x is not a number\.$/,
    ],
    ['no JSON', withManifest('{'), /manifest\.json is not JSON\.$/],
    ['another JSON', withManifest('[]'), isOther],
    ['a later format', withManifest(text.replace('"format":1', '"format":2')), isOther],
    [
      'a table that does not exist',
      withManifest(other({ table: 'nothing', name: 'control/nothing.parquet', file: 'control' })),
      /control\/nothing\.parquet does not belong to a table of the store\.$/,
    ],
    [
      'a table of DuckDB',
      withManifest(other({ table: 'duckdb_tables', name: 'events/duckdb_tables.parquet' })),
      /does not belong to a table of the store\.$/,
    ],
    [
      'openings',
      withManifest(other({ table: 'openings', name: 'control/openings.parquet', file: 'control' })),
      /does not belong to a table/,
    ],
    [
      'another table than its name says',
      withManifest(other({ table: 'users', name: 'control/keys.parquet', file: 'control' })),
      /does not belong to a table/,
    ],
    ['a path out of the directory', withManifest(other({ name: '../../etc/passwd' })), isOther],
    ['SQL', withManifest(other({ table: 'users; drop table users' })), isOther],
    ['a member twice', withManifest(JSON.stringify({ ...manifest, members: [first, first] })), /is in it twice\.$/],
    ['a negative size', withManifest(other({ bytes: -1 })), isOther],
    ['a day that no calendar has', withManifest(other({ days: { first: 0, last: 2 ** 50 } })), isOther],
    ['a version of zero', withManifest(JSON.stringify({ ...manifest, schema: { events: 0, control: 1 } })), isOther],
    ['a time that moves the cursor', withManifest(JSON.stringify({ ...manifest, taken_at: '\u001b[2J' })), isOther],
    [
      'rows that are none',
      () => {
        const body = 'no parquet'
        const sha256 = formatSum(body).slice(0, 64)
        const members = manifest.members.map((one) =>
          one.name === shares ? { ...one, bytes: body.length, sha256 } : one,
        )
        withManifest(JSON.stringify({ ...manifest, members }))()
        writeFileSync(join(made, shares), body)
      },
      /control\/shares\.parquet has no rows of the table shares\.$/,
    ],
    [
      'rows of another table',
      () => {
        const keys = manifest.members.find(({ name }) => name === 'control/keys.parquet')
        const members = manifest.members.map((one) =>
          one.name === shares ? { ...one, bytes: keys?.bytes, sha256: keys?.sha256, rows: keys?.rows } : one,
        )
        withManifest(JSON.stringify({ ...manifest, members }))()
        cpSync(join(made, 'control/keys.parquet'), join(made, shares))
      },
      /control\/shares\.parquet has no rows of the table shares\.$/,
    ],
    [
      'too many entries',
      () => {
        const header = Buffer.from(formatTarHeader('x', 0, new Date(0)))
        writeFileSync(made, Buffer.alloc(200_001 * 512, header))
      },
      /has more than 200000 files, which no backup has\.$/,
    ],
    [
      'a manifest without end',
      () => {
        const head = Buffer.from(formatTarHeader('manifest.json', 2 ** 31, new Date(0)))
        writeFileSync(made, head)
        truncateSync(made, 512 + 2 ** 31)
      },
      /manifest\.json has more than 33554432 bytes, which no backup has\.$/,
    ],
    ['no manifest', written(...entry('events/x', Buffer.from('x')), TAR_END), /manifest\.json is missing\.$/],
  ]
  const before = process.memoryUsage().rss
  for (const [why, make, message] of cases) {
    rmSync(made, { recursive: true, force: true })
    make()
    const to = join(directory(t), 'new')
    const { code, stderr } = await restore(made, to)
    t.equal(code, 1, why)
    t.match(stderr.trim(), message, why)
    t.equal(stderr.trim().split('\n').length, 1, `${why}: one line: ${stderr}`)
  }
  const grown = process.memoryUsage().rss - before
  t.ok(grown < 300e6, `${Math.round(grown / 1e6)} MB more at the end`)
})
