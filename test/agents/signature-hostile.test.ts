import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { createNonces } from '../../src/agents/signature/check.js'
import type { VerifiableRequest } from '../../src/agents/verdict.js'
import { AT, alice, aliceRsa, at, keyid, mallory, openSignatures, request } from '../fixtures/signer.js'

/**
 * Attacks on Web Bot Auth. Every client can send any value of Signature-Input, Signature and Signature-Agent, and the
 * worker that checks them also writes rows.
 * - Replay: an attacker copies a signed request that it observed. A nonce is accepted once until its signature expires.
 * - Memory: an attacker with a key of a known agent sends endless or long nonces. Their number is bounded, and only a
 *   digest of each is stored.
 * - Processor time: forged signatures cost a public-key check each. Checks without a valid result get a quarter of the
 *   time; beyond that they are `undecidable`, which refutes no claim.
 * - Parsing: long, deeply nested, cut or binary fields must end in bounded time, must not throw, and must never be valid.
 */

t.test('accepts a nonce once', async (t) => {
  const made = await openSignatures()
  const first = request({ params: { nonce: '"once"' } })
  t.equal(made.check(first, at(AT)).state, 'valid')
  t.equal(made.check(first, at(AT)).state, 'valid', 'the same request is checked again')
  const copy = (): VerifiableRequest => ({ ...first })
  t.match(made.check(copy(), at(AT + 1)), { state: 'invalid', reason: 'replayed', agent: { id: 'alice' } })
  t.match(
    made.check({ ...first, ip: '198.51.100.7' }, at(AT + 299)),
    { reason: 'replayed' },
    'refused until the signature expires',
  )
  t.match(made.check(copy(), at(AT + 300)), { reason: 'expired' })
  t.equal(made.check(request({ params: { nonce: '"twice"' } }), at(AT)).state, 'valid', 'another nonce')
  t.equal(
    made.check(request({ key: aliceRsa, params: { nonce: '"once"' } }), at(AT)).state,
    'valid',
    'the nonce of another key',
  )
  const plain = request()
  t.equal(made.check(plain, at(AT)).state, 'valid')
  t.equal(made.check({ ...plain }, at(AT)).state, 'valid', 'a signature without a nonce may be reused')
  const forged = request({ key: mallory, params: { keyid: `"${keyid(alice.publicKey)}"`, nonce: '"mine"' } })
  t.equal(made.check(forged, at(AT)).state, 'invalid')
  t.equal(
    made.check(request({ params: { nonce: '"mine"' } }), at(AT)).state,
    'valid',
    'a forged signature does not use up the nonce',
  )
})

t.test('stores long nonces in as little memory as short ones', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const nonces = createNonces(20_000)
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const from = used()
  for (let n = 0; n < 20_000; n++) nonces.use(Buffer.alloc(4_000, `${n} `).toString(), 0, 100)
  const grown = (used() - from) / 20_000
  t.ok(grown < 1_000, `${Math.round(grown)} bytes each, of 4,000`)
  t.notOk(nonces.use(Buffer.alloc(4_000, '7 ').toString(), 50, 100))
})

t.test('bounds the number of nonces', async (t) => {
  const nonces = createNonces(3)
  for (const nonce of ['a', 'b', 'c']) t.ok(nonces.use(nonce, 0, 100))
  t.notOk(nonces.use('c', 50, 100))
  t.ok(nonces.use('c', 101, 200), 'it has expired')
  for (const nonce of ['d', 'e', 'f']) t.ok(nonces.use(nonce, 102, 200))
  t.ok(nonces.use('c', 103, 200), 'the oldest of four is forgotten')
  t.notOk(nonces.use('f', 103, 200))
})

t.test('limits checks without a valid signature to a quarter of the time', async (t) => {
  let clock = 0
  const made = await openSignatures({ clock: () => (clock += 30) })
  const states = Array.from({ length: 12 }, () => made.check(request({ key: mallory }), at(AT)).reason)
  t.same(states.slice(0, 9), Array(9).fill('key_unknown'), 'nine times 30 ms')
  t.equal(states[11], 'too_many')
  clock += 1000
  t.equal(made.check(request(), at(AT)).state, 'valid', 'the next second has a new budget')
})

t.test('checks hostile fields in bounded time, without throwing, and never as valid', async (t) => {
  const made = await openSignatures()
  const good = request()
  const { 'signature-input': input = '', signature = '', 'signature-agent': agent = '' } = good.headers ?? {}
  const timed: [string, Record<string, string>][] = [
    ['64 KB', { 'signature-input': `${input}, x=${'a'.repeat(65_536)}` }],
    [
      '1,000 labels',
      {
        'signature-input': Array.from({ length: 1000 }, (_, i) => `s${i}=("@authority");tag="web-bot-auth"`).join(', '),
      },
    ],
    [
      'as many labels as are read',
      { 'signature-input': Array.from({ length: 100 }, (_, i) => `s${i}=();tag="web-bot-auth"`).join(', ') },
    ],
    ['deep nesting', { 'signature-input': `a=${'('.repeat(4000)};tag="web-bot-auth"` }],
    ['many items', { 'signature-input': `a=(${'a '.repeat(1900)});tag="web-bot-auth"` }],
    ['many parameters', { 'signature-input': `a=()${';a'.repeat(1900)};tag="web-bot-auth"` }],
    ['open string', { 'signature-input': `a="${'\\"'.repeat(1900)} web-bot-auth` }],
    ['not ASCII', { 'signature-input': `${input};\u00e9="\u00ff\u0000"` }],
    ['a line break in what is covered', { 'signature-agent': `${agent}\n"@path": /` }],
    ['prototype', { 'signature-agent': '__proto__="https://alice.test", constructor="https://alice.test"' }],
  ]
  for (const [what, headers] of timed) {
    const hostile = (): VerifiableRequest => ({ ...good, headers: { ...good.headers, ...headers } })
    const from = process.hrtime.bigint()
    const states = new Set(Array.from({ length: 20 }, () => made.check(hostile(), at(AT)).state))
    const each = Number(process.hrtime.bigint() - from) / 20e6
    t.notOk(states.has('valid'), what)
    t.ok(each < 20, `${what}: ${each.toFixed(2)} ms`)
  }
  const words = [
    'sig1=',
    '(',
    ')',
    '"@authority"',
    '"signature-agent"',
    ';key="sig1"',
    ';created=',
    `${AT}`,
    ';expires=',
    `${AT + 60}`,
    ';tag="web-bot-auth"',
    `;keyid="${keyid(alice.publicKey)}"`,
    ',',
    ' ',
    ':',
    '=',
    '"',
    '\\',
    '@',
    '?1',
    '%"',
    'https://alice.test',
    'AAAA',
  ]
  const junk = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join('')),
    // A valid field with one broken piece.
    fc
      .tuple(fc.nat(400), fc.string({ unit: 'binary', maxLength: 3 }))
      .map(([place, text]) => `${input.slice(0, place)}${text}${input.slice(place + 1)}`),
  )
  fc.assert(
    fc.property(junk, fc.option(junk), fc.option(junk), (a, b, c) => {
      if (a === input) return
      const headers = { 'signature-input': a, signature: b ?? signature, 'signature-agent': c ?? agent }
      const { state } = made.check({ ...good, headers }, at(AT))
      // White space between members and leading zeros do not change the meaning (RFC 8941).
      const meant = (text: string) => text.replace(/\s/g, '').replace(/=0+(?=\d)/g, '=')
      if (state === 'valid') t.equal(meant(a), meant(input))
    }),
    { numRuns: 2000 },
  )
  t.same(made.check(good, at(AT)).state, 'valid', 'the valid signature is still valid')
})
