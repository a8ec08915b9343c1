import t from 'tap'
import { createTimeTextReader } from '../../../src/history/access-logs/time-text.js'

const TIME = Date.UTC(2026, 10, 6, 10, 11, 12)
const READ: readonly (readonly [text: string, time: number, why: string])[] = [
  ['2026-11-06T10:11:12Z', TIME, 'UTC'],
  ['2026-11-06T10:11:12.345Z', TIME + 345, 'milliseconds'],
  ['2026-11-06T10:11:12,345678901Z', TIME + 345, 'a comma, nanoseconds'],
  ['2026-11-06T08:41:12-01:30', TIME, 'a zone'],
  ['2026-11-06 11:11:12 +0100', TIME, 'spaces'],
  ['2026/11/06 10:11:12', TIME, 'slashes, no zone'],
  ['06/Nov/2026:11:11:12 +0100', TIME, 'common'],
  ['06/Nov/2026:10:11:12.345', TIME + 345, 'common without a zone'],
  ['1793959872', TIME, 'seconds'],
  ['1793959872.345', TIME + 345, 'seconds with a fraction'],
  ['1793959872345', TIME + 345, 'milliseconds'],
  ['1793959872345678', TIME + 345, 'microseconds'],
  ['1793959872345678901', TIME + 345, 'nanoseconds'],
  ['2026-13-06T10:11:12Z', Number.NaN, 'no month'],
  ['2026-11-32T10:11:12Z', Number.NaN, 'no day'],
  ['2026-11-06T24:11:12Z', Number.NaN, 'no hour'],
  ['2026-11-06', Number.NaN, 'no time of day'],
  ['', Number.NaN, 'nothing'],
]

t.test('times are read in the usual notations', async (t) => {
  const read = createTimeTextReader()
  for (const [text, time, why] of READ) t.ok(Object.is(read(text), time), `${why}: ${read(text)}`)
})

t.test('a time without a zone is local', async (t) => {
  const cases: readonly (readonly [zone: string, text: string, utc: string, why: string])[] = [
    ['Europe/Berlin', '2026-07-01 12:00:00', '2026-07-01T10:00:00Z', 'summer'],
    ['Europe/Berlin', '2026-11-06 12:00:00', '2026-11-06T11:00:00Z', 'winter'],
    ['Europe/Berlin', '2026-03-29 01:59:59', '2026-03-29T00:59:59Z', 'before the clocks go forward'],
    ['Europe/Berlin', '2026-03-29 03:00:00', '2026-03-29T01:00:00Z', 'after it'],
    ['Europe/Berlin', '2026-10-25 01:59:59', '2026-10-24T23:59:59Z', 'before the clocks go back'],
    ['Europe/Berlin', '2026-10-25 02:30:00', '2026-10-25T00:30:00Z', 'the first of two'],
    ['Europe/Berlin', '2026-10-25 03:00:00', '2026-10-25T02:00:00Z', 'after it'],
    ['America/New_York', '2026-11-01 01:30:00', '2026-11-01T05:30:00Z', 'the first of two, west'],
    ['America/New_York', '2026-11-01 02:00:00', '2026-11-01T07:00:00Z', 'after it, west'],
    ['Asia/Kolkata', '2026-11-06 05:30:00', '2026-11-06T00:00:00Z', 'half an hour'],
    ['Europe/Berlin', '2026-07-01 12:00:00 +0000', '2026-07-01T12:00:00Z', 'a zone of its own'],
  ]
  for (const [zone, text, utc, why] of cases)
    t.equal(new Date(createTimeTextReader(zone)(text)).toISOString(), utc.replace('Z', '.000Z'), why)
  t.throws(() => createTimeTextReader('Mars/Olympus'), 'an unknown zone')
})
