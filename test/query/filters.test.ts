import t from 'tap'
import { AUDIENCES, DIMENSIONS } from '../../src/query/dimensions.js'
import { parseFiltersJson } from '../../src/query/filters.js'
import { createPlan } from '../../src/query/plan.js'
import { where } from '../fixtures/filters.js'

const canonical: [asked: unknown, meant: unknown, why: string][] = [
  [[], [], 'no filter'],
  [where('event:page', 'eq', '/'), [where('pathname', 'is', '/')], 'a lone filter, in other words'],
  [[where('path', 'startsWith', '/a')], [where('pathname', 'starts_with', '/a')], 'other words'],
  [[where('device', 'not_equals', 'mobile')], [where('device_type', 'is_not', 'mobile')], 'other words'],
  [[where('page', 'regex', '^/a')], [where('pathname', 'matches', '^/a')], 'other words'],
  [[where('event', 'not_contains', 'x')], [where('event_name', 'contains_not', 'x')], 'other words'],
  [[where('visit:utm_source', '==', ['a'])], [where('utm_source', 'is', ['a'])], 'a list stays a list'],
  [[where('event:props:Plan', 'is', 7)], [where('prop:Plan', 'is', '7')], 'properties are text'],
  [[where('status', 'is', '404')], [where('status', 'is', 404)], 'a number in a string is a number'],
  [[where('verified', 'is', 'true')], [where('verified', 'is', true)], 'a truth in a string is a truth'],
  [[where('conditional', 'is', true)], [where('conditional', 'is', 1)], 'a flag is 0 or 1'],
  [[where('country', 'is_null')], [where('country', 'is_not_set')], 'no value'],
  [[where('country', 'is_set', 'ignored')], [where('country', 'is_set')], 'a value that says nothing goes'],
  [[where('status', 'between', ['200', 299])], [where('status', 'between', [200, 299])], 'two bounds'],
  [[where('status', 'contains', 4)], [where('status', 'contains', '4')], 'text of a number'],
  [[where('prop:price', '>', '9.5')], [where('prop:price', 'gt', 9.5)], 'a property may be a number'],
  [[where('source', 'is', 'x', { case_sensitive: true })], [where('source', 'is', 'x')], 'what is so anyway'],
  [
    [where('source', 'is', 'x', { case_sensitive: false })],
    [where('source', 'is', 'x', { case_sensitive: false })],
    'kept',
  ],
  [
    { or: [where('os', 'is', 'x'), { not: where('os', 'ne', 'y') }] },
    [{ or: [where('os', 'is', 'x'), { not: where('os', 'is_not', 'y') }] }],
    'a lone group',
  ],
  [[{ has_done: where('event', 'is', 'x') }], [{ has_done: where('event_name', 'is', 'x') }], 'a behaviour'],
  [
    [{ has_not_done: { and: [where('os', 'is', 'x')] } }],
    [{ has_not_done: { and: [where('os', 'is', 'x')] } }],
    'of a group',
  ],
]

const nested = (depth: number): unknown => (depth === 0 ? where('os', 'is', 'x') : { not: nested(depth - 1) })
const refused: [asked: unknown, message: RegExp, why: string][] = [
  ['{"', /must be JSON/, 'half of it'],
  ['7', /filters\[0\] must be a filter object/, 'no object'],
  ['[null]', /must be a filter object/, 'null'],
  ['[[]]', /must be a filter object/, 'a list in a list'],
  [[where('constructor', 'is', 'x')], /Unknown dimension "constructor"/, 'a word that every object knows'],
  [[where('__proto__', 'is', 'x')], /Unknown dimension/, 'and another'],
  [[where('hasOwnProperty', 'is', 'x')], /Unknown dimension/, 'and another'],
  [[where('site_id', 'is', 2)], /Unknown dimension/, 'a column that is no dimension: the tenant'],
  [[where('visitor_id', 'is', '1')], /Unknown dimension/, 'a column that is no dimension: the person'],
  [[where('prop:', 'is', 'x')], /Unknown dimension/, 'a property without a key'],
  [[where('pathname; drop table events', 'is', 'x')], /Unknown dimension/, 'SQL'],
  [[where('os', 'toString', 'x')], /filters\[0\]\.op: unknown operator "toString"/, 'no operator'],
  [[where('os', 'is')], /filters\[0\]\.value: os is takes a string/, 'no value'],
  [[where('os', 'is', null)], /takes a string/, 'null'],
  [[where('os', 'is', [])], /1 to 1000 values/, 'nothing of a list'],
  [[where('os', 'is', Array(1001).fill('x'))], /1 to 1000 values/, 'too much of a list'],
  [[where('os', 'is', [['x']])], /takes a string/, 'a list in a list'],
  [[where('os', 'is', { x: 1 })], /takes a string/, 'an object'],
  [[where('os', 'gt', 1)], /gt does not apply to os, a text/, 'text has no size'],
  [[where('verified', 'contains', 'true')], /does not apply to verified/, 'a truth has no parts'],
  [[where('verified', 'is', 'maybe')], /takes true or false/, 'neither'],
  [[where('conditional', 'is', 2)], /takes 0 or 1/, 'neither'],
  [[where('status', 'is', 'teapot')], /takes a number/, 'no number'],
  [[where('status', 'is', '')], /takes a number/, 'nothing is not 0'],
  [[where('status', 'lt', 1e300)], /takes a number/, 'a number beyond exactness'],
  [[where('status', 'gt', [1, 2])], /takes one number/, 'two of one'],
  [[where('status', 'between', [1])], /takes two numbers/, 'one of two'],
  [[where('status', 'between', 1)], /takes two numbers/, 'one of two'],
  [[where('os', 'matches', 'x'.repeat(501))], /500 characters/, 'a pattern too long'],
  [[where('os', 'matches_wildcard', ['x', 'x'.repeat(501)])], /500 characters/, 'one of them too long'],
  [[{ ...where('os', 'is', 'x'), operator: 'is' }], /Unrecognized key: "operator"/, 'a key that is none'],
  [[{ and: [], or: [] }], /"or" beside and/, 'two groups in one'],
  [[{ and: [] }], /must be a list of filters/, 'a group of nothing'],
  [[{ or: where('os', 'is', 'x') }], /must be a list of filters/, 'a group that is no list'],
  [[{ not: [where('os', 'is', 'x')] }], /must be a filter object/, 'not is of one'],
  [[nested(6)], /nested more than 5 levels deep/, 'too deep'],
  [Array(51).fill(where('os', 'is', 'x')), /At most 50 filters/, 'too many'],
  [[{ or: Array(51).fill(where('os', 'is', 'x')) }], /At most 50 filters/, 'too many in a group'],
  [[{ dimension: 7, op: 'is', value: 'x' }], /filters\[0\]\.dimension/, 'no name'],
]
t.test('filters become canonical or are refused', async (t) => {
  for (const [asked, meant, why] of canonical) t.strictSame(parseFiltersJson(JSON.stringify(asked)), meant, why)
  t.strictSame(parseFiltersJson(JSON.stringify(nested(5))), [nested(5)], 'five deep is allowed')
  t.equal(parseFiltersJson(JSON.stringify(Array(50).fill(where('os', 'is', 'x')))).length, 50, 'fifty are allowed')
  for (const [asked, message, why] of refused) {
    const json = typeof asked === 'string' ? asked : JSON.stringify(asked)
    t.throws(() => parseFiltersJson(json), { code: 'validation_error', field: 'filters', message }, why)
  }
  t.throws(() => parseFiltersJson(`${'['.repeat(1e5)}`), { code: 'validation_error' }, 'depth costs nothing')
})

const NOW = new Date('2026-11-21T00:00:00Z')

t.test('a dimension is refused for an audience that lacks it', async (t) => {
  const site = { id: 1, timezone: 'UTC' }
  for (const d of [...DIMENSIONS.map(({ name }) => name), 'prop:x']) {
    for (const audience of AUDIENCES) {
      const filters = parseFiltersJson(JSON.stringify([{ not: { or: [where(d, 'is_set')] } }]))
      const tables = DIMENSIONS.find(({ name }) => name === d)?.tables ?? ['events']
      const has = { human: tables.includes('events'), agent: tables.includes('agent_events'), all: tables.length === 2 }
      const asked = { range: '24h', compare: 'none', start: undefined, end: undefined, filters } as const
      const ask = () => createPlan(asked, { site, audience, segment: [], now: NOW })
      if (has[audience]) t.ok(ask(), `${audience}: ${d}`)
      else t.throws(ask, { code: 'validation_error', field: 'filters' }, `${audience}: no ${d}`)
      const saved = { site, audience, segment: filters, now: NOW }
      const code = 'validation_error'
      if (!has[audience]) t.throws(() => createPlan({ ...asked, filters: [] }, saved), { code, field: 'segment' })
    }
  }
  const behaviour = [{ not: { has_done: where('pathname', 'is', '/') } }]
  const filters = parseFiltersJson(JSON.stringify(behaviour))
  for (const audience of ['agent', 'all'] as const) {
    const asked = { range: '24h', compare: 'none', start: undefined, end: undefined, filters } as const
    t.throws(
      () => createPlan(asked, { site, audience, segment: [], now: NOW }),
      { code: 'validation_error', field: 'filters' },
      'agents are no visitors',
    )
  }
})
