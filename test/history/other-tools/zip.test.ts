import { deflateRawSync, gzipSync } from 'node:zlib'
import { zipSync } from 'fflate'
import t from 'tap'
import { collectHistory } from '../../../src/history/other-tools/collect.js'
import { decodeText, openExports } from '../../../src/history/other-tools/files.js'
import { type FileParts, openParts, readZip } from '../../../src/history/other-tools/zip.js'

/** Tests ZIP archives: many entries, damage, and sizes that are not as the archive says. */

const HEAD = 'date,visitors,pageviews,bounces,visits,visit_duration'
const ROW = `${HEAD}\n2024-01-01,1,2,1,1,5\n`
const archive = (entries: number, level: 0 | 6 = 6) =>
  Buffer.from(
    zipSync(Object.fromEntries(Array.from({ length: entries }, (_, n) => [`${n}.csv`, Buffer.from(ROW)])), { level }),
  )

/** Opens a file, and counts what is read of it. */
function createCounter() {
  const counted = { reads: 0, bytes: 0 }
  const open = (path: string): FileParts => {
    const parts = openParts(path)
    return {
      ...parts,
      read(at, bytes) {
        const piece = parts.read(at, bytes)
        counted.reads += 1
        counted.bytes += piece.length
        return piece
      },
    }
  }
  return { counted, open }
}

t.test('the work for a ZIP grows with its entries, not with their square', async (t) => {
  const work: { reads: number; bytes: number }[] = []
  for (const entries of [500, 1_000, 2_000]) {
    const path = `${t.testdir({ 'a.zip': archive(entries) })}/a.zip`
    const { counted, open } = createCounter()
    let rows = 0
    for (const file of await openExports([path], open))
      if ((await file.head()).startsWith(HEAD)) for await (const text of decodeText(file)) rows += text === '' ? 0 : 1
    t.equal(rows, entries)
    work.push(counted)
  }
  const ratios = work
    .slice(1)
    .map(({ reads, bytes }, n) => [reads / (work[n]?.reads ?? 0), bytes / (work[n]?.bytes ?? 0)])
  for (const ratio of ratios.flat()) t.ok(ratio < 2.1, `twice the entries, ${ratio.toFixed(3)} times the work`)
})

t.test('many entries are added up', async (t) => {
  const path = `${t.testdir({ 'a.zip': archive(300) })}/a.zip`
  const found = await collectHistory([path], { tz: 'UTC' })
  t.strictSame(found.days, [{ day: '2024-01-01', visitors: 1, visits: 1, pageviews: 2, bounces: 1, seconds: 5 }])
  t.equal(found.files.length, 300)
})

t.test('a ZIP that is cut anywhere is refused, and says where', async (t) => {
  const whole = archive(3)
  for (let cut = 4; cut < whole.length; cut += 41) {
    const path = `${t.testdir({ 'cut.zip': whole.subarray(0, cut) })}/cut.zip`
    await t.rejects(collectHistory([path], { tz: 'UTC' }), { message: new RegExp(`is cut short at byte ${cut}`) })
  }
})

t.test('entries that are damaged are refused', async (t) => {
  const local = 30 + '0.csv'.length
  const change = (at: number, value: number, whole = archive(1)) => {
    whole[at] = value
    return whole
  }
  const list = archive(1).lastIndexOf(Buffer.from('PK\x01\x02'))
  for (const [zip, message, why] of [
    [change(local + 8, 0xff), /0\.csv is damaged: after byte \d+: /, 'a byte of its text'],
    [change(list + 24, 1), /0\.csv is damaged: after byte \d+: incorrect length check/, 'a size that is a lie'],
    [change(list + 16, 1), /0\.csv is damaged: after byte \d+: incorrect data check/, 'a checksum'],
    [
      change(0, 0x50, Buffer.concat([Buffer.from('PK\x03\x04'), archive(1)])),
      /the list of its files has no entry at byte/,
      'a shift',
    ],
    [change(list + 8, 1), /is encrypted: unpack it/, 'encrypted'],
    [change(list + 10, 12), /is compressed by method 12: unpack it/, 'bzip2'],
    [change(list, 0), /the list of its files has no entry at byte/, 'no list'],
  ] as const) {
    const path = `${t.testdir({ 'a.zip': zip })}/a.zip`
    await t.rejects(
      (async () => {
        for (const { bytes } of readZip(path)) for await (const _ of bytes());
      })(),
      { message },
      why,
    )
  }
})

t.test('entries are read as they are stored', async (t) => {
  const text = Buffer.from(ROW.repeat(20_000))
  t.ok(deflateRawSync(text).length < gzipSync(text).length)
  for (const level of [0, 6] as const) {
    const zip = Buffer.from(zipSync({ 'ä.csv': text, 'empty.csv': new Uint8Array() }, { level, comment: '' }))
    // A comment after the end of the list has its length before it.
    zip.writeUInt16LE(5, zip.length - 2)
    const path = `${t.testdir({ 'a.zip': Buffer.concat([zip, Buffer.from('hello')]) })}/a.zip`
    const found: [string, Buffer][] = []
    for (const { name, bytes } of readZip(path)) {
      const pieces: Buffer[] = []
      for await (const piece of bytes()) pieces.push(piece)
      found.push([name, Buffer.concat(pieces)])
    }
    t.strictSame(
      found.map(([name, bytes]) => [name, bytes.equals(name === 'ä.csv' ? text : Buffer.alloc(0))]),
      [
        ['ä.csv', true],
        ['empty.csv', true],
      ],
      `level ${level}`,
    )
  }
})
