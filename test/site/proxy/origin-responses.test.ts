// The attack: an origin, or an attacker who has taken it over, sends bytes that two readers frame differently. Were the proxy one
// of them, the rest of one response would become the beginning of the next, which belongs to another client. The table has
// what may be accepted; each row is read whole, split at every byte, and byte by byte. Node's own client, whose parser is
// llhttp, reads the same bytes: this reader may refuse more, but may not accept what llhttp refuses, nor frame it otherwise.
import { request } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { ProtocolError } from '../../../src/site/proxy/origin/response-head.js'
import { ResponseReader } from '../../../src/site/proxy/origin/response-reader.js'
import { RESPONSES } from './fixtures/origin-response-rows.js'

interface Result {
  /** In the form of the table. */
  text: string
  status: number
  body: string
  fields: readonly string[]
  trailers: readonly string[]
}

/** Reads the parts of one response. Every part is overwritten afterwards, as the buffer of a connection is. */
function read(parts: readonly Buffer[], method = 'GET'): Result {
  const result: Result = { text: '', status: 0, body: '', fields: [], trailers: [] }
  let after = 'more'
  let keepAlive = false
  const reader = new ResponseReader(method, 65_536, {
    onInformation() {},
    onHead(head) {
      result.status = head.status
      result.fields = head.fields
      keepAlive = head.keepAlive
      if (head.body === 'close') after = 'open'
    },
    onBody(part) {
      result.body += part.toString('latin1')
    },
    onEnd(last, trailers) {
      result.body += last.toString('latin1')
      result.trailers = trailers
      after = keepAlive ? 'reuse' : 'close'
    },
  })
  try {
    for (const part of parts) {
      const copy = Buffer.from(part)
      if (after === 'reuse' || after === 'close' || reader.read(copy) > 0) after = 'close'
      copy.fill('?')
    }
    result.text = `${result.status} "${result.body}" ${after}`
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    result.text = 'refused'
  }
  return result
}

const latin1 = (text: string) => Buffer.from(text, 'latin1')

t.test('reads what is clear, refuses the rest, wherever packets end', async (t) => {
  t.ok(RESPONSES.length >= 150, `${RESPONSES.length} responses`)
  for (const [text, expected, why = ''] of RESPONSES) {
    const bytes = latin1(text)
    const name = `${JSON.stringify(text.slice(0, 120))} ${why}`
    t.equal(read([bytes]).text, expected, name)
    // All places where a short response can be split, the first of a long one.
    const wrong: number[] = []
    for (let at = 1; at < Math.min(bytes.length, 300); at++)
      if (read([bytes.subarray(0, at), bytes.subarray(at)]).text !== expected) wrong.push(at)
    t.same(wrong, [], `${name}, split at every byte`)
    if (bytes.length > 1_000) continue
    t.equal(read([...bytes].map((byte) => Buffer.of(byte))).text, expected, `${name}, byte by byte`)
  }
})

t.test('accepts these bytes in names and values, and no others', async (t) => {
  const names = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  const inName: string[] = []
  const inValue: number[] = []
  for (let code = 0; code < 256; code++) {
    const byte = String.fromCharCode(code)
    const at = (head: string) => read([latin1(`HTTP/1.1 204 \r\n${head}\r\n\r\n`)]).text === '204 "" reuse'
    if (at(`a${byte}b: x`)) inName.push(byte)
    if (at(`a: x${byte}y`)) inValue.push(code)
  }
  // A colon ends the name; the rest is the value.
  t.equal(inName.toSorted().join(''), [...`${names}:`].toSorted().join(''))
  const values = [9, ...Array.from({ length: 95 }, (_, i) => 32 + i), ...Array.from({ length: 128 }, (_, i) => 128 + i)]
  t.same(inValue, values)
})

t.test('a response to HEAD has no body', async (t) => {
  for (const framing of ['Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', '']) {
    const head = `HTTP/1.1 200 OK\r\n${framing}\r\n`
    t.match(read([latin1(head)], 'HEAD').text, /^200 "" (?:close|reuse)$/, framing)
    t.equal(read([latin1(`${head}hello`)], 'HEAD').text, '200 "" close', `${framing}, but with one`)
  }
})

t.test('reads fields and trailers as they are', async (t) => {
  const text =
    'HTTP/1.1 200 OK\r\nX-a: 1\r\nx-A:\t 2 \r\nTransfer-Encoding: chunked\r\nEmpty:\r\n\r\n0\r\nSum: Zo\xeb\r\nsum:  2 \r\n\r\n'
  const { fields, trailers } = read([latin1(text)])
  t.same(fields, ['X-a', '1', 'x-A', '2', 'Transfer-Encoding', 'chunked', 'Empty', ''])
  t.same(trailers, ['Sum', 'Zo\xeb', 'sum', '2'])
})

/** Reads the bytes of a response with Node's client; `undefined` if it refuses them, or needs more. */
function readWithNode(bytes: Buffer): Promise<Pick<Result, 'status' | 'body' | 'fields' | 'trailers'> | undefined> {
  return new Promise((resolve) => {
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    const req = request({ createConnection: () => socket, maxHeaderSize: 65_536, headers: { Host: 'a' } }, (res) => {
      let body = ''
      res.setEncoding('latin1')
      res.on('data', (part) => {
        body += part
      })
      res.on('error', () => resolve(undefined))
      res.on('end', () => {
        const { statusCode = 0, rawHeaders, rawTrailers, complete } = res
        resolve(complete ? { status: statusCode, body, fields: rawHeaders, trailers: rawTrailers } : undefined)
      })
    })
    req.maxHeadersCount = 0
    req.on('error', () => resolve(undefined))
    req.on('upgrade', () => resolve(undefined))
    req.end()
    setImmediate(() => {
      socket.push(bytes)
      socket.push(null)
    })
  })
}

/** Node keeps the space after a value. */
const trimmed = (fields: readonly string[]) => fields.map((field) => field.replace(/[ \t]+$/, ''))

/** Returns how the two differ in a way that they may not. */
async function compare(bytes: Buffer, parts: readonly Buffer[]): Promise<string | undefined> {
  const ours = read(parts)
  const match = / (reuse|close|open)$/.exec(ours.text)
  if (match === null) return undefined
  const nodes = await readWithNode(bytes)
  if (nodes === undefined) return `only this reader accepts ${ours.text}`
  const seen = (one: Pick<Result, 'status' | 'body' | 'fields' | 'trailers'>) =>
    JSON.stringify([one.status, one.body, trimmed(one.fields), trimmed(one.trailers)])
  return seen(ours) === seen(nodes) ? undefined : `${seen(ours)} here, ${seen(nodes)} in Node`
}

/** Results in which the two may differ: Node's client goes on after a response, and reads bytes that follow it. */
const SURPLUS = /close$/

t.test('accepts nothing that llhttp refuses, and frames it the same', async (t) => {
  const accepted = RESPONSES.filter(([, expected]) => /(?:reuse|open)$/.test(expected) && !SURPLUS.test(expected))
  for (const [text] of accepted) {
    const bytes = latin1(text)
    t.equal(await compare(bytes, [bytes]), undefined, JSON.stringify(text.slice(0, 120)))
  }
  const pieces = [
    '\r\n',
    '\n',
    '\r',
    ' ',
    '\t',
    ':',
    ';',
    ',',
    '0',
    '5',
    'a',
    '\0',
    '\x7f',
    '\xeb',
    '"',
    '=',
    'chunked',
    'close',
  ]
  const lines = [
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: close\r\n',
    '0\r\n\r\n',
    '5\r\nhello\r\n',
  ]
  const mutation = fc.record({
    base: fc.constantFrom(...accepted.map(([text]) => text).filter((text) => text.length < 400)),
    edits: fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        remove: fc.nat(3),
        insert: fc.constantFrom('', ...pieces, ...lines),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    splits: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(mutation, async ({ base, edits, splits }) => {
      let text = base
      for (const { at, remove, insert } of edits) {
        const from = Math.floor(at * text.length)
        text = text.slice(0, from) + insert + text.slice(from + remove)
      }
      const bytes = latin1(text)
      const cuts = [0, ...splits.map((at) => Math.floor(at * bytes.length)).toSorted((a, b) => a - b), bytes.length]
      const parts = cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end))
      const whole = read([bytes])
      if (read(parts.filter((part) => part.length > 0)).text !== whole.text && bytes.length > 0)
        throw new Error(`splitting changes ${JSON.stringify(text)}`)
      if (SURPLUS.test(whole.text)) return
      const difference = await compare(bytes, [bytes])
      if (difference !== undefined) throw new Error(`${JSON.stringify(text)}: ${difference}`)
    }),
    { numRuns: Number(process.env.ORIGIN_RUNS ?? 1_500) },
  )
})
