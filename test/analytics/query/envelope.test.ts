import t from 'tap'
import { z } from 'zod'
import {
  checkParameterNames,
  ENVELOPE_SHAPE,
  PAGING_SHAPE,
  parseParameters,
} from '../../../src/analytics/query/envelope.js'

const parse = (query: string) =>
  parseParameters(z.object({ ...ENVELOPE_SHAPE, ...PAGING_SHAPE }), new URLSearchParams(query))

t.test('parameters have defaults', async (t) => {
  t.strictSame(parse('site=7'), { site: 7, range: '30d', compare: 'none', suspected: 'include', limit: 50, page: 1 })
})

const taken: [query: string, what: object, why: string][] = [
  ['site=1&tz=america/new_york', { tz: 'America/New_York' }, 'a zone in its own spelling'],
  ['site=1&start=2026-11-21T08:00:00.123Z', { start: new Date('2026-11-21T08:00:00.123Z') }, 'milliseconds'],
  ['site=1&start=2026-11-21T08:00Z', { start: new Date('2026-11-21T08:00:00Z') }, 'no seconds'],
  ['site=1&start=2026-11-21T08:00:00-0330', { start: new Date('2026-11-21T11:30:00Z') }, 'an offset without a colon'],
  ['site=1&limit=1000&page=3', { limit: 1000, page: 3 }, 'the most'],
  [
    'site=1&audience=all&compare=year&granularity=week',
    { audience: 'all', compare: 'year', granularity: 'week' },
    'words',
  ],
  ['site=1&wat=7&__proto__=1&constructor=2', { site: 1 }, 'other parameters are left out'],
  ['site=1&wat=7&wat=8', { site: 1 }, 'however often'],
  ['site=1&start=2024-02-29&end=2026-11-21', { start: { day: '2024-02-29' }, end: { day: '2026-11-21' } }, 'days'],
]
t.test('valid values are parsed', async (t) => {
  for (const [query, what, why] of taken) t.match(parse(query), what, why)
})

const refused: [query: string, field: string, message: RegExp][] = [
  ['', 'site', /site is missing/],
  ['site=', 'site', /whole number/],
  ['site=0', 'site', /must be from 1/],
  ['site=-1', 'site', /whole number/],
  ['site=1.0', 'site', /whole number/],
  ['site=1e3', 'site', /whole number/],
  ['site=0x1', 'site', /whole number/],
  ['site= 1', 'site', /whole number/],
  ['site=9999999999', 'site', /must be from 1/],
  ['site=99999999999999999999', 'site', /whole number/],
  ['site=1&site=2', 'site', /twice/],
  ['site=1&site=1', 'site', /twice/],
  ['site=1&range=1y', 'range', /range "1y"/],
  ['site=1&range=30day', 'range', /did you mean 30d\?/],
  ['site=1&range=yesterdy', 'range', /did you mean yesterday\?/],
  ['site=1&audience=humans', 'audience', /did you mean human\?/],
  ['site=1&range=', 'range', /range ""/],
  ['site=1&range=toString', 'range', /range/],
  ['site=1&range=7d&range=30d', 'range', /twice/],
  ['site=1&range=7days', 'range', /did you mean 7d\?/],
  ['site=1&range=12months', 'range', /did you mean 12mo\?/],
  ['site=1&compare=next', 'compare', /compare/],
  ['site=1&granularity=second', 'granularity', /granularity/],
  ['site=1&audience=bots', 'audience', /audience/],
  ['site=1&tz=Mars', 'tz', /tz "Mars": must be an IANA time zone/],
  ['site=1&tz=%2B01:00', 'tz', /must be an IANA time zone/],
  ['site=1&start=yesterday', 'start', /ISO-8601/],
  ['site=1&start=2026-02-29', 'start', /ISO-8601/],
  ['site=1&start=2026-11', 'start', /or a day such as 2026-11-21/],
  ['site=1&start=1969-12-31', 'start', /1970/],
  ['site=1&start=2026-11-21T08:00:00', 'start', /no time zone; write 2026-11-21T08:00:00Z/],
  ['site=1&start=2026-02-30T08:00:00Z', 'start', /ISO-8601/],
  ['site=1&start=2026-13-01T08:00:00Z', 'start', /ISO-8601/],
  ['site=1&end=2026-11-21T25:00:00Z', 'end', /ISO-8601/],
  ['site=1&end=1969-12-31T00:00:00Z', 'end', /1970/],
  ['site=1&end=2300-01-01T00:00:00Z', 'end', /2199/],
  ['site=1&filters=', 'filters', /must be JSON/],
  ['site=1&filters={', 'filters', /must be JSON/],
  ['site=1&filters=[{"dimension":"wat","op":"is","value":"x"}]', 'filters', /Unknown dimension "wat"/],
  ['site=1&filters=[{"dimension":"contry","op":"is","value":"x"}]', 'filters', /did you mean country\?/],
  ['site=1&filters=[{"dimension":"devise","op":"is","value":"x"}]', 'filters', /did you mean device_type\?/],
  ['site=1&filters=[{"dimension":"country","op":"equal","value":"x"}]', 'filters', /did you mean equals\?/],
  ['site=1&segment=', 'segment', /segment/],
  ['site=1&limit=0', 'limit', /must be from 1 to 1000/],
  ['site=1&limit=1001', 'limit', /must be from 1 to 1000/],
  ['site=1&limit=ten', 'limit', /whole number/],
  ['site=1&page=0', 'page', /must be from 1/],
]
t.test('invalid values are refused with their field', async (t) => {
  for (const [query, field, message] of refused) {
    t.throws(() => parse(query), { code: 'validation_error', field, message }, query || 'nothing')
  }
  const long = `site=1&tz=${'x'.repeat(9000)}`
  t.throws(() => parse(long), { message: /^.{1,120}$/ }, 'a long word is not given back whole')
})

const named: [query: string, message: string, why: string][] = [
  ['rnage=7d', 'Unknown parameter "rnage"; did you mean range?', 'two letters in the wrong order'],
  ['site=1&filter=[]', 'Unknown parameter "filter"; did you mean filters?', 'a letter is missing'],
  ['Site=1', 'Unknown parameter "Site"; did you mean site?', 'names are in lower case'],
  ['x_unrelated', 'Unknown parameter "x_unrelated"; the parameters are site, range, filters.', 'nothing is near'],
  ['__proto__=1', 'Unknown parameter "__proto__"; the parameters are site, range, filters.', 'no inherited name'],
]
t.test('an unknown parameter is refused, and the nearest known one is named', async (t) => {
  const check = (query: string) => checkParameterNames(new URLSearchParams(query), ['site', 'range', 'filters'])
  for (const [query, message, why] of named) t.throws(() => check(query), { code: 'validation_error', message }, why)
  t.throws(() => check('rnage=7d'), { code: 'validation_error', field: 'rnage' }, 'the field is the name that was sent')
  t.throws(() => check(`${'x'.repeat(9000)}=1`), { message: /^.{1,160}$/ }, 'a long name is not given back whole')
  t.doesNotThrow(() => check('site=1&range=7d&range=30d'), 'known names may occur twice here')
})
