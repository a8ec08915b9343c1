import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { MAX_CHARACTERS } from '../../../src/base/text-limits.js'
import type { Observation } from '../../../src/capture/observation.js'
import { createClassifier } from '../../../src/worker/ingest/classifier.js'
import { SessionMemory } from '../../../src/worker/ingest/session-memory.js'
import { noPolicyJudge, noVerifier } from '../../fixtures/classifier-stubs.js'
import { CHROME, classifier, GPTBOT, places, site, view } from '../../fixtures/page-classifier.js'

// Clients choose every text of an observation: path, query, referrer, user agent and headers arrive byte for byte. An
// attacker sends values that are very long, that are not well-formed Unicode, that look like SQL, HTML or names of every
// object (`__proto__`), or that make a cache or a session keep a large original in memory. Adapters in plain JavaScript
// may even pass values of a wrong type. The classifier must never throw, must lose at most the one row, must not write an
// address into any row or log, and must bound every column and what each session keeps. The property test below sends
// random combinations of such values; the last test measures the memory of 4,000 sessions with long queries.
t.test('a fault costs one row and is logged once', async (t) => {
  const logged: unknown[] = []
  const broken: unknown[] = [
    null,
    {},
    { ...view, timestamp: 'yesterday' },
    { ...view, bytes: Number.NaN },
    { ...view, user_agent: GPTBOT, status: Number.POSITIVE_INFINITY },
    { ...view, user_agent: undefined },
    { ...view, ip: null },
    { ...view, headers: { 'accept-language': 5 } },
  ]
  // Values that adapters in plain JavaScript may pass, in JSON as they come from another process.
  const batch: Observation[] = [view, ...JSON.parse(JSON.stringify(broken)), { ...view, pathname: '/after' }]
  const { rows, drops } = classifier([site], logged).classify(batch)
  t.strictSame(drops, { fault: broken.length })
  t.equal(rows.events.length, 2)
  t.equal(logged.length, 1)
  t.notMatch(JSON.stringify(logged), view.ip)
  const { classify } = createClassifier({
    catalog: loadCatalog(),
    places,
    siteOf: () => {
      throw new Error('no store')
    },
    salts: { at: () => ({ secret: Buffer.alloc(32), previous: null, next: null }) },
    sessions: new SessionMemory({ now: () => 0 }),
    verifier: noVerifier,
    policyJudge: noPolicyJudge,
    log: () => {
      throw new Error('no log either')
    },
  })
  t.strictSame(classify([view, view]).drops, { fault: 2 })
})

t.test('clamps numbers to the range of their column', async (t) => {
  const [row] = classifier().classify([{ ...view, duration_ms: -5, bytes: -1, status: 200.4 }]).rows.events
  t.match(row, { duration_ms: 0, status: 200 }, 'a clock that jumped gives no negative duration')
})

t.test('any input: no throw, no address in a row, no unbounded value', async (t) => {
  const ip = '81.2.69.142'
  const wild = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.constantFrom('\0', '\u202e', '%', '__proto__', "'; drop table events; --", '\ud800', '<script>'),
    fc.string({ maxLength: 30 }).map((text) => text.repeat(400)),
  )
  const agentish = fc.oneof(wild, fc.constantFrom(CHROME, GPTBOT, '')).chain((text) => wild.map((more) => text + more))
  const observation: fc.Arbitrary<Observation> = fc.record({
    timestamp: fc.constant(view.timestamp),
    user_agent: agentish,
    method: fc.oneof(fc.constant('GET'), wild),
    hostname: fc.oneof(fc.constant('a.example'), wild),
    pathname: wild,
    status: fc.constantFrom(200, 304, 404),
    bytes: fc.oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true })),
    duration_ms: fc.integer(),
    content_type: fc.oneof(fc.constantFrom('text/html', ''), wild),
    conditional: fc.constantFrom(0 as const, 1 as const),
    ip: fc.constantFrom(ip, `::ffff:${ip}`, '2a00:1450:4001:80b::200e'),
    query: fc.oneof(
      wild,
      wild.map((text) => `utm_source=${text}&gclid=${text}&ref=${text}`),
    ),
    referrer: fc.oneof(
      wild,
      wild.map((text) => `https://${text}`),
      wild.map((text) => `https://a.example/${text}`),
    ),
    headers: fc.dictionary(
      fc.constantFrom('accept', 'accept-language', 'sec-ch-ua', 'sec-ch-ua-platform', 'sec-ch-ua-platform-version'),
      wild,
    ),
  })
  const { classify } = classifier()
  const longest = Math.max(...Object.values(MAX_CHARACTERS))
  let rowsSeen = 0
  fc.assert(
    fc.property(fc.array(observation, { maxLength: 5 }), (batch) => {
      const { rows, drops } = classify(batch)
      const all = [...rows.events, ...rows.agent_events]
      rowsSeen += all.length
      const dropped = Object.values(drops).reduce((sum, n) => sum + n, 0)
      if (all.length + dropped !== batch.length || drops.fault) return false
      for (const { ip: address } of batch)
        for (const row of all) {
          const text = JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? value.toString(16) : value))
          if (text.includes(address.replace('::ffff:', ''))) return false
          for (const value of Object.values(row)) {
            if (typeof value === 'string' && value.length > longest) return false
            if (typeof value === 'number' && !Number.isSafeInteger(value)) return false
          }
        }
      return true
    }),
    { numRuns: 500 },
  )
  t.ok(rowsSeen > 300, `${rowsSeen} rows checked`)
  const [row] = classify([{ ...view, pathname: `/${'p'.repeat(9000)}`, user_agent: `curl/8 ${'x'.repeat(9000)}` }]).rows
    .agent_events
  t.equal(row?.pathname.length, MAX_CHARACTERS.pathname)
  t.equal(row?.user_agent.length, MAX_CHARACTERS.user_agent)
})

t.test('a session keeps a copy of the tag, not the long query it was cut from', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const { classify } = classifier()
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  classify([view])
  const before = used()
  for (let n = 0; n < 4_000; n++) {
    const padded = Buffer.from(`utm_source=newsletter-of-${n}&x=${'x'.repeat(8_000)}`).toString()
    const referrer = Buffer.from(`https://sender-${n}.example/?${'x'.repeat(8_000)}`).toString()
    classify([{ ...view, user_agent: `${CHROME} ${n}`, query: padded, referrer }])
  }
  const kept = (used() - before) / 4_000
  t.ok(kept > 0 && kept < 4_000, `${Math.round(kept)} bytes a session`)
  t.equal(classify([view]).rows.events.length, 1, 'they are still there')
})
