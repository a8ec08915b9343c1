import fc from 'fast-check'
import t from 'tap'
import type { Hit } from '../../src/capture/hit.js'
import { OBSERVED_HEADERS, type Observation } from '../../src/capture/observation.js'
import { createPacker, packBatch, readEvidence, unpackBatch } from '../../src/capture/packed-batch.js'
import { observation, unpackObservations } from '../fixtures/observations.js'

/** Any text at all: control characters, other scripts, half a surrogate pair. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\0', 'ä', '\ud800', '日本語', '😀'),
)
const headers = fc
  .dictionary(fc.constantFrom(...OBSERVED_HEADERS), text)
  .filter((given) => Object.keys(given).length > 0)
const anything = fc.record(
  {
    timestamp: text,
    user_agent: text,
    method: text,
    hostname: text,
    pathname: text,
    content_type: text,
    ip: text,
    status: fc.nat(999),
    bytes: fc.nat(),
    duration_ms: fc.double({ min: 0, max: 1e9, noNaN: true }),
    conditional: fc.constantFrom(0, 1),
    query: text,
    referrer: text,
    head_form: text,
    headers,
    opted_out: fc.constant(true),
    response: fc.dictionary(fc.constantFrom('x-robots-tag', 'content-usage'), fc.string()),
  },
  {
    requiredKeys: [
      'timestamp',
      'user_agent',
      'method',
      'hostname',
      'pathname',
      'content_type',
      'ip',
      'status',
      'bytes',
      'duration_ms',
      'conditional',
    ],
  },
)
const arbitraryObservation = anything.map((given): Observation => ({ ...observation(), ...given }))
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const sorted = (given: Observation) =>
  Object.entries({ ...given, headers: given.headers && Object.entries(given.headers).sort() })
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))

t.test('unpacking returns what was packed, whatever the texts', async () => {
  fc.assert(
    fc.property(fc.array(arbitraryObservation, { maxLength: 20 }), (given) => {
      const { count, bytes } = packBatch(given)
      // The message channel copies; what arrives may start anywhere in its buffer.
      const moved = new Uint8Array(bytes.length + 3).subarray(3)
      moved.set(bytes)
      const out = unpackObservations({ count, bytes: moved })
      return (
        count === given.length && JSON.stringify(plain(out.map(sorted))) === JSON.stringify(plain(given.map(sorted)))
      )
    }),
  )
})

t.test('packs thousands of observations, growing its buffer', async (t) => {
  const given = Array.from({ length: 3_000 }, (_, n) => observation({ pathname: `/${n}/${'é'.repeat(n % 400)}` }))
  t.strictSame(unpackObservations(packBatch(given)), given)
})

t.test('truncates texts that are longer than a row could need', async (t) => {
  const long = 'ä'.repeat(60_000)
  const [cut] = unpackObservations(
    packBatch([
      observation({
        user_agent: long,
        pathname: `/${long}`,
        query: long,
        referrer: long,
        headers: { accept: long },
        response: { 'x-robots-tag': long },
      }),
    ]),
  )
  const lengths = [cut?.user_agent, cut?.pathname, cut?.query, cut?.referrer, cut?.headers?.accept]
  t.strictSame(
    lengths.map((one) => one?.length),
    [8_192, 8_192, 8_192, 8_192, 8_192],
  )
  t.equal(cut?.response?.['x-robots-tag']?.length, 1_024)
})

t.test('rejects what is not an observation, and adds nothing of it', async (t) => {
  const packer = createPacker()
  packer.add(observation({ pathname: '/before' }))
  for (const wrong of [
    undefined,
    null,
    {},
    { ...observation(), ip: 7 },
    { ...observation(), headers: { accept: {} } },
  ]) {
    // @ts-expect-error: a caller in JavaScript
    t.throws(() => packer.add(wrong), JSON.stringify(wrong))
  }
  packer.add(observation({ pathname: '/after' }))
  const batch = packer.take()
  t.strictSame(
    unpackObservations(batch).map(({ pathname }) => pathname),
    ['/before', '/after'],
  )
  t.strictSame(
    [packer.count, packer.byteLength, unpackObservations(packer.take())],
    [0, 0, []],
    'and the packer is empty',
  )
})

t.test('keeps hits and observations in their order', async (t) => {
  const hit: Hit = {
    site: 2,
    timestamp: '2026-11-21T08:00:00.000Z',
    kind: 'custom',
    name: 'ключ 🎈',
    hostname: 'example.com',
    pathname: '/a',
    props: { n: 1.5, text: '\u0000"' },
    ip: '::1',
    user_agent: 'x',
  }
  const shipped = observation({ shipped: { site: 3, as: 'human', props: { plan: 'pro' } } })
  const all = [observation(), hit, shipped, { ...hit, name: 'b' }, observation({ pathname: '/é' })]
  t.strictSame(unpackBatch(packBatch(all)).map(readEvidence), all)
  t.strictSame(
    unpackBatch(packBatch(all)).map(({ timestamp }) => timestamp),
    all.map(({ timestamp }) => timestamp),
  )
})
