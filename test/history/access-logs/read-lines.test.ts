import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createDecoder } from '../../../src/history/access-logs/decompress.js'
import { detectFormat } from '../../../src/history/access-logs/detect.js'
import { type LogChunk, openLogs, readLogLines } from '../../../src/history/access-logs/read-lines.js'

const line = (minute: number, agent = 'A') =>
  `203.0.113.9 - - [06/Nov/2026:10:${String(minute).padStart(2, '0')}:00 +0000] "GET / HTTP/1.1" 200 5 "-" "${agent}"`
const text = (...lines: string[]) => lines.map((one) => `${one}\n`).join('')

async function read(files: Awaited<ReturnType<typeof openLogs>>) {
  const chunks: LogChunk[] = []
  for await (const chunk of readLogLines(files)) chunks.push(chunk)
  return {
    lines: chunks.flatMap(({ lines }) => lines),
    faults: chunks.flatMap(({ file, fault }) => (fault ? [`${file}: ${fault}`] : [])),
    bytes: chunks.at(-1)?.bytesRead,
  }
}

t.test('files are read in the order of their times, plain and compressed', async (t) => {
  const folder = t.testdir({
    'access.log': text(line(30), line(31)),
    'access.log.1': text(line(20)),
    notes: 'no log\n',
  })
  const path = (name: string) => join(folder, name)
  writeFileSync(path('z'), Buffer.concat([gzipSync(text(line(10))), gzipSync(`${line(11)}\r\n${line(12)}`)]))
  const named = ['access.log', 'notes', 'access.log.1', 'z', 'access.log'].map(path)
  const files = await openLogs(named)
  t.same(
    files.map(({ path }) => path),
    ['z', 'access.log.1', 'access.log', 'notes'].map(path),
    'the order of rotation, a file of no format last, each once',
  )
  const result = await read(files)
  t.same(result.lines, [...[10, 11, 12, 20, 30, 31].map((minute) => line(minute)), 'no log'])
  t.same(result.faults, [])
  t.equal(result.bytes, 7)
})

/** The lines of the minutes 10 to 59 as `zstd -19` compresses them. */
const ZSTD = Buffer.from(
  'KLUv/QRo3QQA8kcXEZB96e+TB67oUNonivk+39YMjS2V0HnjqbGlEjpvHDW2VELnjZ/27JdK6Lzxb2yphM4bEF7oMEKndv8OhphCa5VdusIY+rq7i3Z349T7l4xnUW579OhGjjHEyfEPM6gRgHf/awzwhTkRIAT//yMEIwTzAxERESIkvoiIEBGPDkbEiIhHv92FERHj8DBiRIwQHUeetFYLSDWd+PpV',
  'base64',
)
/** The same frame without compression (RFC 8878 3.1.1). */
function rawFrame(text: string): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0, 0, 0, 0])
  head.writeUInt32LE(text.length, 5)
  head.writeUIntLE(1 + text.length * 8, 9, 3)
  return Buffer.concat([head, Buffer.from(text)])
}

t.test('zstd is read, several frames and cut ones too', async (t) => {
  const folder = t.testdir()
  const write = (name: string, ...parts: Buffer[]) => {
    writeFileSync(join(folder, name), Buffer.concat(parts))
    return join(folder, name)
  }
  const lines = Array.from({ length: 50 }, (_, i) => line(i + 10))
  const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7])
  const whole = await read(await openLogs([write('whole', skippable, ZSTD, rawFrame(text(line(5), line(6))), ZSTD)]))
  t.same(whole, {
    lines: [...lines, line(5), line(6), ...lines],
    faults: [],
    bytes: 9 + 2 * 168 + 12 + 2 * line(5).length + 2,
  })
  const path = write('cut', rawFrame(text(line(5))), ZSTD.subarray(0, 100))
  t.same(await read(await openLogs([path])), {
    lines: [line(5)],
    faults: [`${path}: cut short or damaged after byte 188, line 1: unexpected end of file`],
    bytes: 188,
  })
  const damaged = Buffer.from(ZSTD).fill(0, 20, 60)
  const bad = await read(await openLogs([write('bad', rawFrame(text(line(5))), damaged)]))
  t.match(bad.faults, [/bad: /])
  t.equal(bad.lines[0], line(5))
})

t.test('a file that is cut at any byte says where it ends', async (t) => {
  const content = text(...Array.from({ length: 50 }, (_, i) => line(i + 10)))
  const wholes = { gzip: gzipSync(content), zstd: ZSTD, 'zstd without compression': rawFrame(content) }
  for (const [name, whole] of Object.entries(wholes)) {
    const wrong: string[] = []
    const step = Math.ceil(whole.length / 200)
    for (let cut = 4; cut <= whole.length; cut = cut < whole.length ? Math.min(whole.length, cut + step) : cut + 1) {
      const decoder = createDecoder(whole)
      const read: Buffer[] = []
      // Pieces of any size end anywhere in the format.
      for (let at = 0; at < cut; at += 5 + (cut % 50))
        for await (const chunk of decoder.decode(whole.subarray(at, Math.min(cut, at + 5 + (cut % 50)))))
          read.push(chunk)
      const fault = await decoder.end()
      const isPart = content.startsWith(Buffer.concat(read).toString())
      const isRight = cut === whole.length ? fault === undefined : fault?.at === cut
      if (!isPart || !isRight) wrong.push(`${cut}: ${JSON.stringify(fault)}`)
    }
    t.strictSame(wrong, [], name)
  }
})

/** One frame of zstd with so many blocks of 128 KB, each of one repeated byte (RFC 8878 3.1.1.2.2). */
function repeatedFrame(blocks: number): Buffer {
  const block = Buffer.alloc(4, 'x')
  block.writeUIntLE(((128 << 10) << 3) | 2, 0, 3)
  const last = Buffer.from(block)
  last.writeUIntLE(((128 << 10) << 3) | 3, 0, 3)
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38])
  return Buffer.concat([head, ...Array.from({ length: blocks - 1 }, () => block), last])
}

t.test('one line of any length is never in memory as a whole', async (t) => {
  // In 64 KB and 8 KB: a reader that unpacks a piece at once has the whole line.
  for (const [name, file, bytes] of [
    ['gzip', gzipSync(Buffer.alloc(64 << 20, 'x')), 64 << 20],
    ['zstd', repeatedFrame(2_048), 256 << 20],
  ] as const) {
    const decoder = createDecoder(file)
    let [unpacked, largest, isWaiting] = [0, 0, false]
    for await (const chunk of decoder.decode(file)) {
      unpacked += chunk.length
      largest = Math.max(largest, chunk.length)
      isWaiting ||= unpacked < bytes
    }
    t.equal(await decoder.end(), undefined, name)
    t.strictSame([unpacked, isWaiting], [bytes, true], `${name}: chunks are taken while others are packed`)
    t.ok(largest <= 262_144, `${name}: ${largest} bytes at once`)
  }
  const folder = t.testdir()
  const path = join(folder, 'long.gz')
  writeFileSync(
    path,
    gzipSync(Buffer.concat([Buffer.from(text(line(1))), Buffer.alloc(64 << 20, 'x'), Buffer.from(`\n${line(2)}`)])),
  )
  const found = await read(await openLogs([path]))
  t.strictSame([found.lines[0], found.lines[2], found.lines.length], [line(1), line(2), 3])
  t.ok((found.lines[1] ?? '').length < 1_000_000, 'the rest of the line is left out')
})

t.test('zstd that needs much memory, or is damaged, is refused', async (t) => {
  const head = (...bytes: number[]) => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, ...bytes, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  const block = Buffer.alloc(3)
  block.writeUIntLE(((200 << 10) << 3) | 3, 0, 3)
  for (const [file, reason] of [
    [head(0, 0xf8), /window over 8388608 bytes: compress it without --long/],
    [head(0xe0, 0, 0, 0, 0, 1), /window over/],
    [Buffer.concat([repeatedFrame(1).subarray(0, 6), block, Buffer.from('x')]), /a block is too large/],
    [Buffer.concat([repeatedFrame(1), Buffer.from('no frame')]), /no frame begins here/],
  ] as const) {
    const decoder = createDecoder(file)
    for await (const _ of decoder.decode(file));
    t.match(await decoder.end(), { reason }, String(reason))
  }
})

t.test('archives of other programs are named', async (t) => {
  const folder = t.testdir({ zip: 'PK\x03\x04', bz2: 'BZh91AY', xz: Buffer.from('\xfd7zXZ\0', 'latin1') })
  for (const [name, what] of [
    ['zip', /zip: is a ZIP archive: unpack it, or compress the log with gzip or zstd/],
    ['bz2', /compressed with bzip2/],
    ['xz', /compressed with xz/],
  ] as const)
    await t.rejects(openLogs([join(folder, name)]), { message: what })
})

t.test('standard input is read once, from its start', async (t) => {
  async function* stdin() {
    yield Buffer.from(`${line(1)}\n${line(2)}\n${line(3).slice(0, 20)}`)
    yield Buffer.from(`${line(3).slice(20)}\n`)
  }
  const files = await openLogs(['-'], { stdin: stdin() })
  t.equal(detectFormat(files[0]?.head ?? [])?.because.slice(0, 24), '2 of 2 lines have an add')
  t.same((await read(files)).lines, [line(1), line(2), line(3)])
})

t.test('what is wrong with a file is reported, and everything before it is read', async (t) => {
  const folder = t.testdir({
    long: text(line(1), 'x'.repeat(3_000_000), line(2)),
    bytes: Buffer.from('\xef\xbb\xbfa\xff\n\r\nb', 'latin1'),
  })
  const lines = Array.from({ length: 20_000 }, (_, i) => line(i % 60, `agent ${i}`))
  const whole = gzipSync(text(...lines))
  writeFileSync(join(folder, 'cut'), whole.subarray(0, whole.length - 500))
  const cut = await read(await openLogs([join(folder, 'cut')]))
  const place = `after byte ${whole.length - 500}, line ${cut.lines.length}`
  t.same(cut.faults, [`${join(folder, 'cut')}: cut short or damaged ${place}: unexpected end of file`])
  t.ok(cut.lines.length > 18_000, `${cut.lines.length} lines`)
  t.same(cut.lines.slice(0, 18_000), lines.slice(0, 18_000))

  writeFileSync(
    join(folder, 'flipped'),
    Buffer.concat([whole.subarray(0, 40_000), Buffer.alloc(500), whole.subarray(40_500)]),
  )
  const flipped = await read(await openLogs([join(folder, 'flipped')]))
  t.match(flipped.faults, [/flipped: /])
  t.ok(flipped.lines.length > 1_000, `${flipped.lines.length} lines`)

  const long = await read(await openLogs([join(folder, 'long')]))
  t.same([long.lines[0], long.lines[2], long.lines.length], [line(1), line(2), 3])
  t.ok((long.lines[1] ?? '').length > 65_536, 'too long for any parser')
  t.same((await read(await openLogs([join(folder, 'bytes')]))).lines, ['a\ufffd', '', 'b'])

  await t.rejects(openLogs([join(folder, 'absent')]), { message: /absent: does not exist/ })
  await t.rejects(openLogs([folder]), { message: /is a directory/ })
})
