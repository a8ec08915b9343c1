import { createHmac } from 'node:crypto'
import { chmodSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { signBody } from '../../../src/base/signature.js'
import { backOff } from '../../../src/site/shipping/back-off.js'
import { formatBody, takeBatch } from '../../../src/site/shipping/delivery-body.js'
import { watchKeyFile } from '../../../src/site/shipping/ingest-key.js'
import { classifyResponse, parseRetryAfter } from '../../../src/site/shipping/response-outcome.js'
import type { SpooledRow } from '../../../src/site/shipping/spool-line.js'
import { directory } from '../../fixtures/files.js'
import { createMemoryLog } from '../../fixtures/shipping.js'

/** The parts of a delivery, tested separately. */

const NOW = Date.parse('2026-11-21T12:00:00Z')

t.test('a body is signed by HMAC-SHA256 over its time and text', async (t) => {
  const body = '{"pathname":"/ü"}'
  const v1 = createHmac('sha256', 'key')
    .update(Buffer.from(`1795262400.${body}`, 'utf8'))
    .digest('hex')
  t.equal(signBody('key', NOW + 999, body), `t=1795262400,v1=${v1}`)
})

t.test('Retry-After is read as seconds or as a date', async (t) => {
  const rows: [string | undefined, number | undefined, string][] = [
    [undefined, undefined, 'no header'],
    ['60', 60_000, 'seconds'],
    [' 0 ', 0, 'zero'],
    ['Sat, 21 Nov 2026 12:01:30 GMT', 90_000, 'a date'],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0, 'a date in the past'],
    ['999999999', 3_600_000, 'an hour at most'],
    ['soon', undefined, 'not a time'],
    ['', undefined, 'an empty header'],
  ]
  for (const [value, expected, why] of rows) t.equal(parseRetryAfter(value, NOW), expected, why)
})

t.test('each response of the collector has an outcome', async (t) => {
  const committed = '{"data":{"agent_events":1,"events":0}}'
  const rows: [number, string, string][] = [
    [202, committed, 'accepted'],
    [202, '', 'later'],
    [202, '[]', 'later'],
    [200, committed, 'later'],
    [204, '', 'later'],
    [409, '{"error":{"code":"conflict","message":"Accepted before."}}', 'accepted'],
    [409, '', 'later'],
    [409, '{"error":{"code":"busy","message":"Of somebody else."}}', 'later'],
    [400, '', 'refused'],
    [413, '', 'refused'],
    [415, '', 'refused'],
    [422, '', 'refused'],
    [401, '', 'denied'],
    [403, '', 'denied'],
    [404, '', 'denied'],
    [301, '', 'denied'],
    [408, '', 'later'],
    [429, '', 'later'],
    [500, '', 'later'],
    [502, '<html>', 'later'],
    [503, '', 'later'],
  ]
  for (const [status, text, kind] of rows)
    t.equal(classifyResponse({ status, headers: {}, text }, NOW).kind, kind, `${status} ${text}`)
})

t.test('back-off grows from a second to a minute with full jitter', async (t) => {
  t.equal(
    backOff(1, () => 0),
    1_000,
  )
  t.equal(
    backOff(1, () => 1),
    2_000,
  )
  t.equal(
    backOff(3, () => 0.5),
    4_500,
  )
  t.equal(
    backOff(9, () => 1),
    60_000,
  )
  t.equal(
    backOff(1e6, () => 1),
    60_000,
  )
  t.equal(
    backOff(1e6, () => 0.5, 10_000),
    5_500,
    'of another ceiling',
  )
})

t.test('a delivery has at most 500 rows of each array and 2 MB, in order', async (t) => {
  const make = (list: SpooledRow['list'], number: number, json = '{}'): SpooledRow => ({ list, number, json })
  const many = Array.from({ length: 1_200 }, (_, n) => make(n % 2 ? 'events' : 'agent_events', n + 1))
  t.equal(takeBatch(many, 5_000)?.number, 1_000, 'the first list is full')
  t.equal(takeBatch(many, 7)?.rows.length, 7)
  t.equal(takeBatch([], 7), undefined)
  const wide = Array.from({ length: 10 }, (_, n) => make('events', n + 1, `"${'ü'.repeat(150_000)}"`))
  const batch = takeBatch(wide, 5_000)
  t.equal(batch?.rows.length, 6, 'by bytes, not characters')
  if (!batch) return
  t.ok(Buffer.byteLength(formatBody(batch, { site: 2_147_483_647, sender: 'f'.repeat(16) })) < 2_000_000)
  const mixed = { number: 9, rows: [make('hits', 7, '{"h":1}'), make('events', 8), make('agent_events', 9, '{"a":1}')] }
  t.same(JSON.parse(formatBody(mixed, { site: 3, sender: '0123456789abcdef' })), {
    site_id: 3,
    batch: { sender: '0123456789abcdef', number: 9 },
    agent_events: [{ a: 1 }],
    events: [{}],
    hits: [{ h: 1 }],
  })
})

t.test('a key file is read again when it changes, and the last key stays if that fails', async (t) => {
  const file = join(directory(t), 'key')
  const log = createMemoryLog()
  t.throws(() => watchKeyFile(file, log), { message: `The ingest key cannot be read from ${file}: ENOENT.` })
  writeFileSync(file, '\n')
  t.throws(() => watchKeyFile(file, log), { message: /it is empty/ })
  writeFileSync(file, 'one two')
  t.throws(() => watchKeyFile(file, log), { message: /it holds more than a key/ })
  writeFileSync(file, 'first\n')
  chmodSync(file, 0o644)
  const key = watchKeyFile(file, log)
  t.match(log.said(), /read by other users/)
  t.equal(key.current(), 'first')
  t.equal(key.reload(), false)
  writeFileSync(file, 'other\n')
  utimesSync(file, 1, 1)
  t.equal(key.current(), 'other')
  rmSync(file)
  t.equal(key.current(), 'other')
  t.equal(key.current(), 'other')
  t.equal(log.lines.filter(({ message }) => /last one stays in use/.test(message)).length, 1)
  writeFileSync(file, 'third')
  t.equal(key.reload(), true)
  t.equal(key.current(), 'third')
  t.notMatch(log.said(), /first|other\b(?! users)|third/)
})
