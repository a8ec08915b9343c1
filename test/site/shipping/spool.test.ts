import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { openProgress } from '../../../src/site/shipping/progress-file.js'
import { openSpool, type SpoolOptions } from '../../../src/site/shipping/spool.js'
import { formatLine, parseLine, type SpooledRow } from '../../../src/site/shipping/spool-line.js'
import { directory } from '../../fixtures/files.js'
import { createFastTime, createMemoryLog, ship } from '../../fixtures/shipping.js'

/** The rows on disk: read in order, whatever happened to the files. */

const row = (number: number, json = `{"n":${number}}`): SpooledRow => ({ number, list: 'events', json })
const rows = (from: number, to: number, json?: string) =>
  Array.from({ length: to - from + 1 }, (_, n) => row(from + n, json))

async function open(folder: string, given: Partial<SpoolOptions> = {}) {
  const lost: Record<string, number> = {}
  const spool = await openSpool({
    directory: folder,
    limit: 1e9,
    min_free_disk: 0,
    settled: 0,
    sending: 0,
    clock: () => 0,
    onLost: (why, count) => {
      lost[why] = (lost[why] ?? 0) + count
    },
    log: createMemoryLog(),
    ...given,
  })
  const readAll = async () => {
    const all: SpooledRow[] = []
    for (let some = await spool.read(); some.length > 0; some = await spool.read()) all.push(...some)
    return all
  }
  return { ...spool, spool, lost, readAll }
}
const files = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith('rows-'))
    .sort()
    .map((name) => join(folder, name))

t.test('a line is parsed only if it is exactly what was written', async (t) => {
  const json = fc.json().map((text) => `{"x":${text}}`)
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2 ** 53 - 1 }),
      fc.constantFrom('agent_events', 'events', 'hits'),
      json,
      (number, list, text) => {
        const line = formatLine({ number, list, json: text })
        t.equal(line.indexOf('\n'), line.length - 1)
        t.same(parseLine(line.slice(0, -1)), { number, list, json: text })
      },
    ),
    { numRuns: 50 },
  )
  const line = formatLine(row(7)).slice(0, -1)
  for (let at = 0; at < line.length; at++) t.equal(parseLine(`${line.slice(0, at)}~${line.slice(at + 1)}`), undefined)
  for (const text of ['', ' ', line.slice(1), line.slice(0, -1), `${line} `, 'ffffffff 1 a{}'])
    t.equal(parseLine(text), undefined, text)
})

t.test('the next process reads the rows of the previous one, and delivered rows leave the disk', async (t) => {
  const folder = directory(t)
  const first = await open(folder)
  await first.append(rows(1, 300))
  await first.append(rows(301, 310))
  t.same(await first.readAll(), rows(1, 310))
  await first.settle(300)
  await first.close()
  const second = await open(folder, { settled: 300, sending: 300 })
  t.equal(second.spool.last, 310)
  t.equal(second.spool.waiting, 10)
  await second.append(rows(311, 320))
  t.same(await second.readAll(), rows(301, 320))
  await second.settle(320)
  t.equal(second.spool.bytes, 0)
  t.same(
    files(folder).map((file) => readFileSync(file, 'utf8')),
    [''],
  )
  await second.append(rows(321, 322))
  t.same(await second.readAll(), rows(321, 322))
  await second.close()
  const third = await open(folder, { settled: 320, sending: 320 })
  t.same(await third.readAll(), rows(321, 322))
  t.same(third.lost, {})
  await third.close()
})

t.test('a torn last line is removed and logged, and the next rows are whole', async (t) => {
  const folder = directory(t)
  const first = await open(folder)
  await first.append(rows(1, 10))
  await first.close()
  const [file = ''] = files(folder)
  writeFileSync(file, readFileSync(file).subarray(0, -5))
  const log = createMemoryLog()
  const second = await open(folder, { log })
  t.match(log.said(), /is removed/)
  t.equal(second.spool.last, 9)
  await second.append(rows(10, 12, '{"again":1}'))
  t.same(await second.readAll(), [...rows(1, 9), ...rows(10, 12, '{"again":1}')])
  await second.close()
})

t.test('damage loses only the rows that it hit, and never throws', async (t) => {
  const damage = fc.record({
    file: fc.nat(),
    at: fc.nat(),
    how: fc.constantFrom('flip', 'line feed', 'zero'),
    length: fc.integer({ min: 1, max: 40 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 4 }), async (damages) => {
      const folder = directory(t)
      const writing = await open(folder, { limit: 16 * 400 })
      for (let n = 1; n < 100; n += 20) await writing.append(rows(n, n + 19))
      await writing.close()
      const all = files(folder)
      const hit = new Set<number>()
      for (const { file, at, how, length } of damages) {
        const path = all[file % all.length] ?? ''
        const bytes = readFileSync(path)
        const from = at % bytes.length
        const until = Math.min(bytes.length, from + length)
        // The bytes of a row are its line and the line feeds on both sides.
        let offset = 0
        const before = bytes.toString('latin1')
        for (const line of before.split('\n')) {
          const end = offset + line.length
          const number = parseLine(line)?.number
          if (number !== undefined && from <= end && until > offset - 1) hit.add(number)
          offset = end + 1
        }
        for (let n = from; n < until; n++)
          bytes[n] = how === 'zero' ? 0 : how === 'line feed' ? 10 : (bytes[n] ?? 0) ^ 0x41
        writeFileSync(path, bytes)
      }
      const { lost, readAll, spool } = await open(folder)
      const got = await readAll()
      for (const one of got) t.same(one, row(one.number))
      t.same(
        got.map(({ number }) => number),
        got.map(({ number }) => number).toSorted((a, b) => a - b),
      )
      const there = new Set(got.map(({ number }) => number))
      for (let n = 1; n <= 100; n++) if (!hit.has(n) && !there.has(n)) t.fail(`row ${n} was not hit`)
      t.ok((lost.damaged ?? 0) <= hit.size)
      await spool.append(rows(spool.last + 1, spool.last + 1))
      t.equal((await readAll()).length, 1, 'and it goes on')
      await spool.close()
    }),
    { numRuns: 20 },
  )
})

t.test('over the limit the oldest file is deleted and its rows are counted', async (t) => {
  const folder = directory(t)
  const { append, readAll, lost, spool, close } = await open(folder, { limit: 16_000 })
  for (let n = 1; n <= 2_000; n += 50) await append(rows(n, n + 49))
  t.ok(spool.bytes <= 16_000 && spool.bytes > 14_000)
  const got = await readAll()
  t.equal(got.at(-1)?.number, 2_000)
  t.equal(got.length + (lost.spool_full ?? 0), 2_000)
  t.equal(spool.waiting, got.length)
  t.same(got, rows(2_001 - got.length, 2_000))
  await close()
})

t.test('a torn write of the progress leaves the previous progress', async (t) => {
  const path = join(directory(t), 'progress')
  const first = await openProgress(path)
  t.equal(first.stored, undefined)
  const sender = '0123456789abcdef'
  for (const settled of [1, 2, 3]) await first.save({ sender, settled, sending: settled + 1 })
  await first.close()
  const whole = readFileSync(path)
  const found = async (bytes: Buffer) => {
    writeFileSync(path, bytes)
    const file = await openProgress(path)
    await file.close()
    return file.stored
  }
  t.match(await found(whole), { sender, settled: 3, sending: 4 })
  const third = whole.indexOf('"settled":3')
  const torn = Buffer.from(whole)
  torn.write('9', third + 10)
  t.match(await found(torn), { sender, settled: 2, sending: 3 })
  t.equal(await found(Buffer.from('garbage')), 'damaged')
  t.equal(await found(Buffer.alloc(512)), 'damaged')
})

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')
/** Measures memory in use after a collection, because uncollected garbage depends on how busy the machine is. */
const held = () => {
  if (typeof collect === 'function') collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

t.test('a large spool drains through little memory', async (t) => {
  const folder = directory(t)
  const writing = await open(folder)
  const filler = `{"x":"${'x'.repeat(2_000)}"}`
  for (let n = 1; n <= 30_000; n += 1_000) await writing.append(rows(n, n + 999, filler))
  await writing.close()
  held()
  await new Promise((resolve) => setTimeout(resolve, 50))
  const before = held()
  let most = 0
  let count = 0
  const shipper = await ship(folder, 'http://127.0.0.1:9', {
    ...createFastTime(),
    send: async (body) => {
      count += body.split('"x":').length - 1
      most = Math.max(most, held())
      return { status: 202, headers: {}, text: '{"data":{"agent_events":0,"events":500}}' }
    },
  })
  const until = Date.now() + 15_000
  while (shipper.stats().waiting > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(count, 30_000)
  t.ok(most - before < 32e6, `60 MB on disk held ${Math.round((most - before) / 1e6)} MB of memory`)
  await shipper.close()
})
