import t from 'tap'
import { AUDIENCES, DIMENSIONS } from '../../../src/analytics/query/dimensions.js'
import { parseFiltersJson } from '../../../src/analytics/query/filters.js'
import { createPlan } from '../../../src/analytics/query/plan.js'
import { duckdbDialect as dialect } from '../../../src/storage/dialects/duckdb.js'
import { where } from '../../fixtures/filters.js'

const canonical: [asked: unknown, meant: unknown, why: string][] = [
  [[], [], 'no filter'],
  [where('event:page', 'eq', '/'), [where('pathname', 'is', '/')], 'a single filter and an alias'],
  [[where('path', 'startsWith', '/a')], [where('pathname', 'starts_with', '/a')], 'aliases of dimension and operator'],
  [
    [where('device', 'not_equals', 'mobile')],
    [where('device_type', 'is_not', 'mobile')],
    'aliases of dimension and operator',
  ],
  [[where('page', 'regex', '^/a')], [where('pathname', 'matches', '^/a')], 'aliases of dimension and operator'],
  [
    [where('event', 'not_contains', 'x')],
    [where('event_name', 'contains_not', 'x')],
    'aliases of dimension and operator',
  ],
  [[where('visit:utm_source', '==', ['a'])], [where('utm_source', 'is', ['a'])], 'a list stays a list'],
  [[where('event:props:Plan', 'is', 7)], [where('prop:Plan', 'is', '7')], 'properties are text'],
  [[where('status', 'is', '404')], [where('status', 'is', 404)], 'a number in a string is a number'],
  [[where('verified', 'is', 'true')], [where('verified', 'is', true)], 'a boolean in a string is a boolean'],
  [[where('conditional', 'is', true)], [where('conditional', 'is', 1)], 'a flag is 0 or 1'],
  [[where('country', 'is_null')], [where('country', 'is_not_set')], 'no value'],
  [[where('country', 'is_set', 'ignored')], [where('country', 'is_set')], 'an operator that takes no value drops it'],
  [[where('status', 'between', ['200', 299])], [where('status', 'between', [200, 299])], 'two bounds'],
  [[where('status', 'contains', 4)], [where('status', 'contains', '4')], 'text operators take a number as text'],
  [[where('prop:price', '>', '9.5')], [where('prop:price', 'gt', 9.5)], 'a property may be a number'],
  [[where('source', 'is', 'x', { case_sensitive: true })], [where('source', 'is', 'x')], 'the default is left out'],
  [
    [where('source', 'is', 'x', { case_sensitive: false })],
    [where('source', 'is', 'x', { case_sensitive: false })],
    'a deviation from the default is kept',
  ],
  [
    { or: [where('os', 'is', 'x'), { not: where('os', 'ne', 'y') }] },
    [{ or: [where('os', 'is', 'x'), { not: where('os', 'is_not', 'y') }] }],
    'a single group',
  ],
  [[{ has_done: where('event', 'is', 'x') }], [{ has_done: where('event_name', 'is', 'x') }], 'a behaviour'],
  [
    [{ has_not_done: { and: [where('os', 'is', 'x')] } }],
    [{ has_not_done: { and: [where('os', 'is', 'x')] } }],
    'a behaviour with a group',
  ],
]

const nested = (depth: number): unknown => (depth === 0 ? where('os', 'is', 'x') : { not: nested(depth - 1) })
const refused: [asked: unknown, message: RegExp, why: string][] = [
  ['{"', /must be JSON/, 'truncated JSON'],
  ['7', /filters\[0\] must be a filter object/, 'a number'],
  ['[null]', /must be a filter object/, 'null'],
  ['[[]]', /must be a filter object/, 'a list in a list'],
  [[where('constructor', 'is', 'x')], /Unknown dimension "constructor"/, 'a property of every object'],
  [[where('__proto__', 'is', 'x')], /Unknown dimension/, 'another property of every object'],
  [[where('hasOwnProperty', 'is', 'x')], /Unknown dimension/, 'another property of every object'],
  [[where('site_id', 'is', 2)], /Unknown dimension/, 'a column that is not a dimension: the tenant'],
  [[where('session_id', 'is', '1')], /Unknown dimension/, 'a column that is not a dimension: the session'],
  [[where('prop:', 'is', 'x')], /Unknown dimension/, 'a property without a key'],
  [[where('pathname; drop table events', 'is', 'x')], /Unknown dimension/, 'SQL'],
  [
    [where('os', 'toString', 'x')],
    /filters\[0\]\.op: unknown operator "toString"/,
    'an operator named like a property of every object',
  ],
  [[where('os', 'is')], /filters\[0\]\.value: os is takes a string/, 'no value'],
  [[where('os', 'is', null)], /takes a string/, 'null'],
  [[where('os', 'is', [])], /1 to 1000 values/, 'an empty list'],
  [[where('os', 'is', Array(1001).fill('x'))], /1 to 1000 values/, 'a list over the limit'],
  [[where('os', 'is', [['x']])], /takes a string/, 'a list in a list'],
  [[where('os', 'is', { x: 1 })], /takes a string/, 'an object'],
  [[where('os', 'gt', 1)], /gt does not apply to os, a text/, 'text has no order'],
  [[where('verified', 'contains', 'true')], /does not apply to verified/, 'a boolean contains nothing'],
  [[where('verified', 'is', 'maybe')], /takes true or false/, 'neither true nor false'],
  [[where('conditional', 'is', 2)], /takes 0 or 1/, 'neither 0 nor 1'],
  [[where('status', 'is', 'teapot')], /takes a number/, 'a text that is not a number'],
  [[where('status', 'is', '')], /takes a number/, 'an empty text is not 0'],
  [[where('status', 'lt', 1e300)], /takes a number/, 'a number too large to be exact'],
  [[where('status', 'gt', [1, 2])], /takes one number/, 'two values for one bound'],
  [[where('status', 'between', [1])], /takes two numbers/, 'one bound for two'],
  [[where('status', 'between', 1)], /takes two numbers/, 'one bound for two'],
  [[where('os', 'matches', 'x'.repeat(501))], /500 characters/, 'a pattern too long'],
  [[where('os', 'matches_wildcard', ['x', 'x'.repeat(501)])], /500 characters/, 'one of two patterns too long'],
  [
    [{ ...where('os', 'is', 'x'), operator: 'is' }],
    /must have dimension, op .*write \{"dimension":"os"/,
    'an unknown key',
  ],
  [[{ and: [], or: [] }], /"or" beside and/, 'two groups in one'],
  [[{ and: [] }], /must be a list of filters/, 'an empty group'],
  [[{ or: where('os', 'is', 'x') }], /must be a list of filters/, 'a group that is not a list'],
  [[{ not: [where('os', 'is', 'x')] }], /must be a filter object/, 'not takes one filter'],
  [[nested(6)], /nested more than 5 levels deep/, 'too deep'],
  [Array(51).fill(where('os', 'is', 'x')), /At most 50 filters/, 'too many'],
  [[{ or: Array(51).fill(where('os', 'is', 'x')) }], /At most 50 filters/, 'too many in a group'],
  [[{ dimension: 7, op: 'is', value: 'x' }], /filters\[0\] must have dimension/, 'a dimension that is not text'],
]
t.test('filters become canonical or are refused', async (t) => {
  for (const [asked, meant, why] of canonical) t.strictSame(parseFiltersJson(JSON.stringify(asked)), meant, why)
  t.strictSame(parseFiltersJson(JSON.stringify(nested(5))), [nested(5)], 'five deep is allowed')
  t.equal(parseFiltersJson(JSON.stringify(Array(50).fill(where('os', 'is', 'x')))).length, 50, 'fifty are allowed')
  for (const [asked, message, why] of refused) {
    const json = typeof asked === 'string' ? asked : JSON.stringify(asked)
    t.throws(() => parseFiltersJson(json), { code: 'validation_error', field: 'filters', message }, why)
  }
  t.throws(() => parseFiltersJson(`${'['.repeat(1e5)}`), { code: 'validation_error' }, 'deep nesting is refused')
})

const NOW = new Date('2026-11-21T00:00:00Z')

t.test('a dimension is refused for an audience that lacks it', async (t) => {
  const site = { id: 1, timezone: 'UTC' }
  for (const d of [...DIMENSIONS.map(({ name }) => name), 'prop:x']) {
    for (const audience of AUDIENCES) {
      const filters = parseFiltersJson(JSON.stringify([{ not: { or: [where(d, 'is_set')] } }]))
      const tables = DIMENSIONS.find(({ name }) => name === d)?.tables ?? ['events']
      const has = { human: tables.includes('events'), agent: tables.includes('agent_events'), all: tables.length === 2 }
      const asked = {
        range: '24h',
        compare: 'none',
        suspected: 'include',
        start: undefined,
        end: undefined,
        filters,
      } as const
      const ask = () => createPlan(asked, { dialect, site, audience, segment: [], now: NOW })
      if (has[audience]) t.ok(ask(), `${audience}: ${d}`)
      else t.throws(ask, { code: 'validation_error', field: 'filters' }, `${audience}: no ${d}`)
      const saved = { dialect, site, audience, segment: filters, now: NOW }
      const code = 'validation_error'
      if (!has[audience]) t.throws(() => createPlan({ ...asked, filters: [] }, saved), { code, field: 'segment' })
    }
  }
  const behaviour = [{ not: { has_done: where('pathname', 'is', '/') } }]
  const filters = parseFiltersJson(JSON.stringify(behaviour))
  for (const audience of ['agent', 'all'] as const) {
    const asked = {
      range: '24h',
      compare: 'none',
      suspected: 'include',
      start: undefined,
      end: undefined,
      filters,
    } as const
    t.throws(
      () => createPlan(asked, { dialect, site, audience, segment: [], now: NOW }),
      { code: 'validation_error', field: 'filters' },
      'agents have no visitors, so no behaviour',
    )
  }
})
