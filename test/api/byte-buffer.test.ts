import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { createByteBudget } from '../../src/api/byte-budget.js'
import { createByteBuffer } from '../../src/api/byte-buffer.js'
import { readBody } from '../../src/api/edge/read-body.js'
import { createBodyCollector } from '../../src/api/track/body-collector.js'

t.test('the parts make the whole, however they are cut', async () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (parts) => {
      const gathered = createByteBuffer()
      for (const part of parts) gathered.add(Buffer.from(part))
      return gathered.bytes().equals(Buffer.concat(parts)) && gathered.size === Buffer.concat(parts).length
    }),
  )
})

setFlagsFromString('--expose_gc')
const collected = (): number => {
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
/** Sent in parts of one byte, as a parser does with chunks of one byte. */
const BYTES = Buffer.alloc(300_000, 'x')

t.test('a body in parts of one byte takes no more memory than its bytes', async (t) => {
  const before = collected()
  const tracked = Array.from({ length: 5 }, () => {
    const collector = createBodyCollector(undefined, undefined)
    for (let i = 0; i < 60_000; i += 1) collector.add(BYTES.subarray(i, i + 1))
    return collector
  })
  const used = collected() - before
  t.ok(used < 8 << 20, `track body: ${used} bytes for 300,000`)
  t.equal(tracked[4]?.body().length, 60_000)

  let at = 0
  let read = () => {}
  const all = new Promise<void>((resolve) => {
    read = resolve
  })
  let end = () => {}
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < BYTES.length) controller.enqueue(BYTES.subarray(at, ++at))
      else {
        read()
        return new Promise<void>((resolve) => {
          end = () => {
            controller.close()
            resolve()
          }
        })
      }
    },
  })
  const first = collected()
  const request = new Request('http://a.example/', { method: 'POST', body, duplex: 'half' })
  const budget = createByteBudget({ total: 1 << 20, each: 1 << 20 })
  const whole = readBody(request, { budget, address: '1.2.3.4', timeoutMs: 60_000 })
  await all
  const more = collected() - first
  t.ok(more < 8 << 20, `edge body: ${more} bytes for 300,000`)
  end()
  t.equal((await whole).length, BYTES.length)
})
