// The attack: a caller with a valid key sends parameters and bodies that no client of ours would. Filters that are nested
// without end or come by the thousand cost time in the parser and in the store. Values of 70 KB, bytes that are not UTF-8,
// halves of surrogate pairs, NUL and numbers beyond any range look for a place where one layer reads a text differently from
// the next. A wrong type in any field looks for an unhandled exception, which would answer 500 and might show a stack, an SQL
// text or a path of the server. Every such request has to end in a 4xx that names the field, without a trace of the inside.
import t from 'tap'
import { z } from 'zod'
import { DIMENSIONS } from '../../src/analytics/query/dimensions.js'
import type { Read } from '../../src/analytics/query/read.js'
import { reads } from '../../src/analytics/reads/index.js'
import { fillPathIds, sampleService } from '../fixtures/sample.js'

/** Longer than any value, and than any header that a listener accepts. */
const HUGE = 'x'.repeat(70_000)
const deep = (levels: number): unknown =>
  levels === 0 ? { dimension: 'pathname', op: 'is', value: '/' } : { and: [deep(levels - 1)] }
const many = (n: number): unknown => Array.from({ length: n }, () => deep(0))
const condition = (dimension: unknown, op: unknown, value: unknown) => JSON.stringify([{ dimension, op, value }])
const json = (value: unknown) => encodeURIComponent(JSON.stringify(value))

/** Not a value of any parameter: the bytes in the URL are not text. */
const UNREADABLE: [string, string][] = [
  ['%', 'a lone %'],
  ['7d%', 'a lone % at the end'],
  ['%zz', 'no hex digits'],
  ['%ff', 'no UTF-8'],
  ['%c0%af', 'an overlong slash'],
  ['%ed%a0%80', 'half of a surrogate pair'],
]
/** Values that few parameters accept. */
const ODD: [string, string][] = [
  ['', 'empty'],
  ['%20', 'a blank'],
  ['-1', 'negative'],
  ['0', 'zero'],
  ['1.5', 'a fraction'],
  ['1e3', 'an exponent'],
  ['0x10', 'hex'],
  ['%2B1', 'a sign'],
  ['99999999999999999999', 'huge'],
  ['NaN', 'not a number'],
  ['null', 'null'],
  ['%00', 'NUL'],
  ['7d%00', 'NUL at the end'],
  ['true', 'a boolean'],
  ['undefined', 'undefined'],
  ['constructor', 'a name that every object has'],
  ['__proto__', 'another name that every object has'],
  ['%F0%9F%A6%86', 'a duck'],
  ['%D9%A1', 'an Arabic digit'],
  ['%E2%80%AE7d', 'a right-to-left override'],
  [HUGE, '70,000 characters'],
]
/** Values that one parameter refuses, with its name as the field. */
const REFUSED: Record<string, [string, string][]> = {
  site: [
    ['2147483648', 'beyond 32 bits'],
    ['1,2', 'two'],
    ['1%20', 'a trailing blank'],
  ],
  range: [
    ['7D', 'another case'],
    ['8d', 'unknown'],
    ['last7days', "another tool's"],
  ],
  start: [
    ['2026-11-31', 'no such day'],
    ['2026-02-30T00:00:00Z', 'no such day'],
    ['2026-11-20T00:00:00', 'no zone'],
    ['1763632800000', 'epoch ms'],
    ['1969-12-31T00:00:00Z', 'before 1970'],
    ['2200-01-01T00:00:00Z', 'after 2199'],
    ['2026-11-22T00:00:00Z', 'after now'],
  ],
  end: [
    ['yesterday', 'a word'],
    ['2026-11-20T24:00:00Z', 'hour 24'],
    ['%2B012026-01-01T00:00:00Z', 'a year of six digits'],
  ],
  compare: [
    ['Previous', 'another case'],
    ['previous_period', "another tool's"],
  ],
  tz: [
    ['Mars/Olympus', 'no zone'],
    ['%2B01:00', 'an offset'],
    ['../../etc/passwd', 'a path'],
  ],
  granularity: [
    ['Day', 'another case'],
    ['second', 'too fine'],
    ['minute&range=12mo', 'half a million minutes'],
    ['minute&start=2024-01-01T00:00:00Z&end=2026-01-01T00:00:00Z', 'a million minutes'],
    ['day&start=1970-01-02T00:00:00Z&end=2199-12-31T00:00:00Z', 'the days of centuries'],
  ],
  audience: [
    ['Human', 'another case'],
    ['bots', 'unknown'],
  ],
  limit: [['1001', 'over 1,000']],
  page: [['1000001', 'over a million']],
  segment: [['', 'empty']],
  dimension: [
    ['Pathname', 'another case'],
    ['pathname,country', 'two'],
    ['prop:', 'no key'],
    ['props', 'a column of the table that is not a dimension'],
    ['session_id', 'another column that is not a dimension'],
  ],
  metric: [
    ['Visitors', 'another case'],
    ['visitors,pageviews', 'two'],
    ['site_id', 'a column that is not a metric'],
  ],
  order: [['fetches%20desc', 'SQL']],
  path: [['no-slash', 'no path']],
  filters: [
    ['{', 'no JSON'],
    ['"x"', 'a string'],
    ['[[]]', 'a list in a list'],
    ['[null]', 'null'],
    ['[{}]', 'an empty filter'],
    [encodeURIComponent(condition('colour', 'is', 'x')), 'unknown dimension'],
    [encodeURIComponent(condition('Pathname', 'is', 'x')), 'a dimension in another case'],
    [encodeURIComponent(condition('constructor', 'is', 'x')), 'a name that every object has'],
    [encodeURIComponent(condition('pathname', 'like', 'x')), 'unknown operator'],
    [encodeURIComponent(condition('pathname', 'IS', 'x')), 'an operator in another case'],
    [encodeURIComponent(condition('pathname', 'constructor', 'x')), 'no operator'],
    [encodeURIComponent(condition(7, 'is', 'x')), 'a dimension that is a number'],
    [encodeURIComponent(condition('pathname', 'is', undefined)), 'no value'],
    [encodeURIComponent(condition('pathname', 'is', {})), 'a value that is an object'],
    [encodeURIComponent(condition('pathname', 'is', null)), 'a value that is null'],
    [encodeURIComponent(condition('pathname', 'is', [['/']])), 'lists in a list'],
    [encodeURIComponent(condition('pathname', 'is', [])), 'a list of nothing'],
    [encodeURIComponent(condition('pathname', 'is', Array(1001).fill('/'))), 'too long a list'],
    [encodeURIComponent(condition('pathname', 'gt', 5)), 'text compared'],
    [encodeURIComponent(condition('pathname', 'matches', '(a')), 'no regular expression'],
    [encodeURIComponent(condition('pathname', 'matches', '(?=a)')), 'what RE2 has not: looking ahead'],
    [encodeURIComponent(condition('pathname', 'matches', '(a)\\1')), 'what RE2 has not: looking back'],
    [encodeURIComponent(condition('pathname', 'matches', '(a{1,900}){1,900}')), 'too large for RE2'],
    [encodeURIComponent(condition('pathname', 'matches', 'a'.repeat(501))), 'over 500 characters'],
    [json([{ dimension: 'pathname', op: 'is', value: '/', or: [] }]), 'a word too many'],
    [json([{ and: [] }]), 'a group of nothing'],
    [json([{ and: [deep(0)], or: [deep(0)] }]), 'two groups in one'],
    [json([{ not: [deep(0)] }]), 'not of a list'],
    [
      json([{ dimension: 'pathname', op: 'is', value: '/', case_sensitive: 'no' }]),
      'case_sensitive that is not a boolean',
    ],
    [json(many(51)), '51 filters'],
    [json([{ or: many(51) }]), '51 filters in a group'],
    [json([deep(6)]), '6 deep'],
    [`[${'['.repeat(3_000)}`, 'brackets without end'],
    [`${'[{"not":'.repeat(3_000)}`, 'groups without end'],
    [encodeURIComponent(`${'[{"and":'.repeat(5_000)}[]${'}]'.repeat(5_000)}`), 'groups 5,000 deep'],
  ],
}
/** Odd values that one parameter accepts. */
const TAKEN: Record<string, [string, string][]> = {
  start: [
    ['2026-11-21', 'a day'],
    ['1970-01-02T00:00:00Z', 'half a century'],
    ['1970-01-02T00:00:00Z&end=2199-12-31T00:00:00Z&compare=previous', 'two centuries'],
    ['2024-02-29T00:00:00Z&compare=year', 'a day that the year before has not'],
    ['2026-11-20T00:00:00+01:00', 'a plus that was not escaped'],
    ['2026-11-20T00:00:00Z&end=2026-11-20T00:00:00Z', 'a window of nothing'],
  ],
  tz: [
    ['europe/berlin', 'another case'],
    ['America/Argentina/ComodRivadavia', 'an old name'],
    ['Pacific/Apia&start=2011-12-28T00:00:00Z&end=2012-01-02T00:00:00Z', 'a day that was left out'],
  ],
  page: [['1000000', 'beyond the last']],
  limit: [['1000', 'the most']],
  filters: [
    ['[]', 'no filter'],
    [encodeURIComponent('{"and":[{"dimension":"pathname","op":"is","value":"/"}]}'), 'a single group'],
    [json(many(50)), '50 filters'],
    [json([deep(5)]), '5 deep'],
    [encodeURIComponent(condition('pathname', 'is', Array(1000).fill('/'))), 'a long list'],
    [encodeURIComponent(condition('pathname', 'matches', '(a+)+$')), 'what hangs other engines'],
    [encodeURIComponent(condition('pathname', 'matches', '(a|a?)+b'.repeat(60).slice(0, 496))), 'and more of it'],
    [encodeURIComponent(condition('pathname', 'matches_wildcard', '**'.repeat(240))), 'stars'],
    [encodeURIComponent(condition('pathname', 'contains', '')), 'nothing, which all contain'],
    [encodeURIComponent(condition('country', 'is', 'zz')), 'nowhere'],
    [encodeURIComponent('[{"dimension":"pathname","op":"is","value":"\\ud800"}]'), 'half of a surrogate pair'],
    [encodeURIComponent(condition('pathname', 'is', 'a\u0000b')), 'NUL in a value'],
  ],
}
/** Parameters that accept any text of a limited length: it matches nothing, or is unknown. */
const TEXT = ['hostname', 'agent_id', 'operator', 'name', 'property', 'segment']

const Failure = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string(), field: z.string().optional() }),
})
const Success = z.object({ data: z.unknown(), meta: z.object({ query: z.record(z.string(), z.unknown()) }) })
/** Required parameters. */
const NEEDED: Record<string, string> = { site: '1', dimension: 'pathname', steps: '/' }

t.test(
  'every read answers odd values of every parameter, and names the field of wrong ones',
  { timeout: 300_000 },
  async (t) => {
    const { ask, logged, makeRecords, instance, key } = await sampleService(t)
    await makeRecords()
    let slowest = { ms: 0, path: '' }
    const get = async (path: string) => {
      const from = performance.now()
      const { status, body } = await ask(path)
      const ms = performance.now() - from
      if (ms > slowest.ms) slowest = { ms, path: path.slice(0, 200) }
      if (status === 200) return { status, ...Success.parse(body), error: undefined }
      const { error } = Failure.parse(body)
      if (/select|duckdb|parser|\b(?:from|table) events\b|\/src\//i.test(error.message))
        t.fail(`${path}: ${error.message}`)
      return { status, error }
    }
    const urlOf = (read: Read, given: Record<string, string>) => {
      const needed = Object.entries(NEEDED).filter(([name]) => name in read.query)
      const query = Object.entries({ ...Object.fromEntries(needed), ...given }).map(
        ([name, value]) => `${name}=${value}`,
      )
      return `${fillPathIds(read.path)}?${query.join('&')}`
    }
    /** Collects what is wrong with thousands of responses, for one assertion per parameter. */
    const wrong: string[] = []
    let answers = 0
    const is = (right: boolean, what: string) => {
      answers++
      if (!right) wrong.push(what)
    }
    const tell = (what: string) => {
      t.same(wrong.splice(0), [], `${what}: ${answers} answers`)
      answers = 0
    }
    const refused = async (path: string, field: string, why: string) => {
      const { status, error } = await get(path)
      const code = status === 404 ? 'not_found' : 'validation_error'
      const right = (status === 404 || status === 422) && error?.code === code && error.field === field
      is(right, `${field} ${why}: ${status} ${error?.code} ${error?.field} ${error?.message}: ${path.slice(0, 300)}`)
      return status
    }

    for (const [turn, read] of reads.entries()) {
      const asked = await get(urlOf(read, {}))
      const names = Object.keys(read.query)
      t.equal(asked.status, 200, `${read.path} answers`)
      for (const name of names) {
        // Each of the reads that share a schema tries a sixth of the values.
        const parsedAlike = reads.filter(({ query }) => query[name] === read.query[name]).length >= 6
        const share = (values: [string, string][] = []) =>
          parsedAlike ? values.filter((_, i) => (i + turn) % 6 === 0) : values
        const value = NEEDED[name] ?? '1'
        const takesTwo = read.path === '/api/stats/journeys' && name === 'start'
        if (!takesTwo)
          is(
            (await refused(`${urlOf(read, { [name]: value })}&${name}=${value}`, name, 'there twice')) === 422,
            'twice is 422',
          )
        for (const [bad, why] of share(UNREADABLE))
          is((await refused(urlOf(read, { [name]: bad }), name, why)) === 422, `${why} is 422`)
        for (const [odd, why] of share(ODD)) {
          const { status, error } = await get(urlOf(read, { [name]: odd }))
          const about = `${why}: ${status} ${error?.code} ${error?.field} ${error?.message}`
          if (status === 200) {
            const known = TEXT.includes(name) || (takesAnyWord(read, name) && odd !== HUGE)
            is(known && odd !== '' && odd !== HUGE, `${about} is answered`)
          } else if (status === 404) is(TEXT.includes(name) && error?.code === 'not_found', about)
          else is(status === 422 && error?.code === 'validation_error' && error.field === name, about)
        }
        // The read has a window of its own, so the usual parameters are checked and then unused.
        const windowless = read.window && (name === 'start' || name === 'granularity')
        for (const [bad, why] of windowless ? [] : share(REFUSED[name]))
          if (!(takesTwo && bad.startsWith('/'))) await refused(urlOf(read, { [name]: bad }), name, why)
        for (const [odd, why] of share(TAKEN[name])) {
          const { status, error } = await get(urlOf(read, { [name]: odd }))
          is(status === 200, `${why}: ${status} ${error?.message}`)
        }
        tell(`${read.path}: ${name}`)
      }
      if (!names.includes('site')) continue
      is((await refused(urlOf(read, {}).replace('site=1', ''), 'site', 'missing')) === 422, 'no site is 422')
      for (const [site, why] of [
        ['3', "another organisation's"],
        ['9', "nobody's"],
      ] as const)
        is((await refused(urlOf(read, { site }), 'site', why)) === 404, `${why} is 404`)
      is((await refused(urlOf(read, { segment: '999' }), 'segment', 'unknown')) === 404, 'no such segment is 404')
      if (names.includes('dimension') && !(await optional(read)))
        is(
          (await refused(urlOf(read, {}).replace(/dimension=\w+/, ''), 'dimension', 'missing')) === 422,
          'no dimension is 422',
        )
      for (const name of ['utm_source', 'constructor', '__proto__', 'sites'])
        is((await refused(`${urlOf(read, {})}&${name}=%ff`, name, 'unknown')) === 422, `${name} is not a parameter`)
      await foreign(read)
      tell(`${read.path}: what is missing, and what is not there`)
    }

    /** A dimension that only the other audience has. */
    async function foreign(read: Read) {
      if ('only' in read.audience && read.audience.mixesAudiences) return
      const audience = 'only' in read.audience ? read.audience.only : read.audience.default
      const table = audience === 'agent' ? 'agent_events' : 'events'
      for (const { name } of DIMENSIONS.filter(({ tables }) => !tables.includes(table)))
        await refused(
          urlOf(read, { filters: encodeURIComponent(condition(name, 'is_set', undefined)) }),
          'filters',
          `${name} of audience ${audience}`,
        )
    }

    for (const word of [
      '%ff',
      '%00',
      '%',
      '1%00',
      'constructor',
      '..%2f',
      '-1',
      '1e3',
      HUGE,
      "1'--",
      '%F0%9F%A6%86',
      '%20',
    ])
      for (const { path } of reads.filter(({ path }) => path.includes('{'))) {
        const { status, error } = await get(`${path.replace(/\{\w+\}/, word)}?site=1`)
        t.same([status, error?.code], [404, 'not_found'], `${path} with ${word.slice(0, 20)}`)
      }
    const long = await instance.fetch(new Request(`http://x/api/stats/${HUGE}`, { headers: key }), { ip: '' })
    t.equal(long.status, 404, 'a path without end')
    t.same(logged, [], 'nothing was our own fault')
    t.comment(`the slowest took ${Math.round(slowest.ms)} ms: ${slowest.path}`)
    t.ok(slowest.ms < 5_000, 'nothing hangs')
  },
)

/** Whether a read's own parameter accepts any text, by its own schema and a word that no enum contains. */
function takesAnyWord(read: Read, name: string): boolean {
  const schema = read.query[name]
  return schema instanceof z.ZodType && schema.safeParse('any word at all').success
}

async function optional(read: Read): Promise<boolean> {
  const schema = read.query.dimension
  return schema instanceof z.ZodType && schema.safeParse(undefined).success
}
