import fc from 'fast-check'
import t from 'tap'
import { filterCondition, sourceRows, whereClause, wildcardPattern } from '../../../src/analytics/query/conditions.js'
import { DIMENSIONS } from '../../../src/analytics/query/dimensions.js'
import { type Filter, parseFiltersJson } from '../../../src/analytics/query/filters.js'
import { OPERATORS, supportsOperator } from '../../../src/analytics/query/operators.js'
import type { Plan } from '../../../src/analytics/query/plan.js'
import { duckdbDialect } from '../../../src/storage/dialects/duckdb.js'
import type { AgentEventRow, EventRow } from '../../../src/storage/rows.js'
import { compile, join, raw, sql } from '../../../src/storage/sql.js'
import { where } from '../../fixtures/filters.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { matches, matchesWildcard } from '../../oracle/filter-match.js'

const window = { start: new Date('2026-11-20T00:00:00Z'), end: new Date('2026-11-21T00:00:00Z') }
const base: Plan = {
  dialect: duckdbDialect,
  site: 1,
  audience: 'human',
  window,
  tz: 'UTC',
  granularity: 'hour',
  filters: [],
}

const HOSTILE = [
  ...[
    '',
    ' ',
    "'",
    "' or 1=1 --",
    '"',
    '\\',
    '\\\\',
    '%',
    '_',
    '*',
    '**',
    '.',
    '.*',
    '$1',
    '?',
    '{{',
    '`',
    ';',
    '/*',
    '--',
  ],
  ...['a\0b', 'a\nb', '\u202e', 'İ', 'ß', 'ÄÖ', '🦆', '\ud83e', 'null', 'NULL', 'true', '0', 'x'.repeat(400), '/a/b/c'],
] as const

/** One row per value and one without a value: a condition may hold only for its own value. */
const events = [...HOSTILE.slice(0, -1), 'plain', null].map((value, i): EventRow => {
  const props = value === null ? null : JSON.stringify({ [value]: value, 'a.b': value, n: i, nothing: null })
  return eventRow({
    timestamp: new Date(window.start.getTime() + i * 1000),
    ...{
      session_id: BigInt(i),
      visitor_id: BigInt(i % 7),
      pathname: value ?? '/',
      entry_page: value,
      source: value,
      props,
    },
    ...{ event_name: value, kind: i % 3 ? 'pageview' : 'custom', asn: value === null ? null : i },
  })
})
const agents = [true, false, null].flatMap((verified, i) =>
  [200, 404, 500].map(
    (status, j): AgentEventRow =>
      agentRow({
        timestamp: new Date(window.start.getTime() + i * 1000 + j),
        ...{ status, verified, user_agent: HOSTILE[i * 7 + j] ?? '', llms_listed: j === 0 ? null : j === 1 ? 1 : 0 },
      }),
  ),
)
const world = {
  events,
  window: [window.start.getTime(), window.end.getTime()] as const,
  sessionExitPage: (id: bigint) =>
    ['pageview', 'custom'].flatMap((kind) => events.find((row) => row.session_id === id && row.kind === kind) ?? [])[0]
      ?.pathname,
}

t.test('the engine applies filters', async (t) => {
  const store = await openStore(t)
  await store.append({ events, agent_events: agents })
  /** Returns the second, and so the row, of each hit that passes. */
  const ask = async (filters: readonly Filter[], audience: 'human' | 'agent' = 'human') => {
    const plan: Plan = { ...base, audience, filters }
    const table = audience === 'human' ? 'events' : 'agent_events'
    const found = await store.query(sql`
      select epoch_ms(timestamp) - ${window.start.getTime()} as ms from ${sourceRows(table, plan)} as e
      where ${whereClause(plan)} order by ms`)
    return found.map(({ ms }) => ms)
  }
  /** The same for many filters in one statement, if all use the same dimension. */
  const askEach = async (all: readonly Filter[]) => {
    const plans = all.map((filter): Plan => ({ ...base, filters: [filter] }))
    const passing = plans.map(
      (plan, i) => sql`list(ms order by ms) filter (where ${whereClause(plan)}) as ${raw(`f${i}`)}`,
    )
    const [found = {}] = await store.query(sql`
      select ${join(passing, ', ')}
      from (select *, epoch_ms(timestamp) - ${window.start.getTime()} as ms
        from ${sourceRows('events', plans[0] ?? base)} as e) m`)
    return plans.map((_, i) => found[`f${i}`] ?? [])
  }
  const judged = (filters: readonly Filter[], table: readonly (EventRow | AgentEventRow)[] = events) =>
    table
      .filter((row) => filters.every((f) => matches({ ...f }, row, world)))
      .map((row) => row.timestamp.getTime() - window.start.getTime())

  t.test('every operator with every dimension and hostile value, and its negative', async (t) => {
    const everything = judged([])
    for (const operator of OPERATORS.filter(({ base }) => base !== 'matches' && base !== 'is_set')) {
      for (const d of ['pathname', 'source', 'exit_page', 'prop:a.b', 'asn', "prop:' or 1=1 --"]) {
        const dimension = DIMENSIONS.find(({ name }) => name === d) ?? { ...DIMENSIONS[0], name: d }
        if (
          !supportsOperator(operator, {
            tables: [],
            level: 'row',
            optional: true,
            aliases: [],
            type: 'text',
            ...dimension,
          })
        )
          continue
        const numbers =
          operator.base === 'between'
            ? [
                [3, 9],
                [9, 3],
              ]
            : operator.base.length < 4 && operator.base !== 'is'
              ? [7, -1, 1.5]
              : undefined
        const values = numbers ?? (d === 'asn' ? ['7', '1', 7] : HOSTILE)
        const asked = values.map((value) => [where(d, operator.name, value)])
        const filters = asked.flatMap((each) => parseFiltersJson(JSON.stringify(each)))
        const found = await askEach(filters.flatMap((filter) => [filter, { not: filter }]))
        for (const [i, filter] of filters.entries()) {
          const [passing, others] = [found[2 * i], found[2 * i + 1]]
          const own = judged([filter])
          t.strictSame(passing, own, JSON.stringify(asked[i]).slice(0, 90))
          const rest = everything.filter((ms) => !own.includes(ms))
          t.strictSame(others, rest, 'each row passes the filter or its negation')
        }
      }
    }
  })

  const counted: [filters: unknown, audience: 'human' | 'agent', passing: number, why: string][] = [
    [[where('source', 'is_set')], 'human', events.length - 2, 'neither null nor empty'],
    [[where('source', 'is_not_set')], 'human', 2, 'null or empty'],
    [[where('pathname', 'is', ['%', '_'])], 'human', 2, 'wildcards of LIKE are characters'],
    [[where('pathname', 'is_not', ['%', '_'])], 'human', events.length - 2, 'is_not excludes every listed value'],
    [[where('source', 'is_not', '%')], 'human', events.length - 1, 'is_not includes rows without a value'],
    [[where('pathname', 'is', 'PLAIN')], 'human', 0, 'case matters by default'],
    [[where('pathname', 'is', 'PLAIN', { case_sensitive: false })], 'human', 1, 'case is ignored on request'],
    [[where('pathname', 'is', 'äö', { case_sensitive: false })], 'human', 1, 'case is ignored beyond ASCII'],
    [[where('pathname', 'matches', '^PLAIN$', { case_sensitive: false })], 'human', 1, 'case is ignored in patterns'],
    [[where('pathname', 'matches', '^(x+x+)+y$')], 'human', 0, 'nested quantifiers take linear time'],
    [[where('pathname', 'matches', ['^plain$', '^İ$'])], 'human', 2, 'any of the patterns'],
    [[where('pathname', 'matches_not', ['^plain$', '^İ$'])], 'human', events.length - 2, 'none of the patterns'],
    [[where('pathname', 'matches_wildcard', '/*/*')], 'human', 0, 'a star stays in its segment'],
    [[where('verified', 'is', true)], 'agent', 3, 'verified'],
    [[where('verified', 'is_not', true)], 'agent', 6, 'spoofed or unknown'],
    [[where('verified', 'is', [true, false])], 'agent', 6, 'verified or spoofed'],
    [[where('verified', 'is_not_set')], 'agent', 3, 'neither verified nor spoofed'],
    [[where('status', 'starts_with', ['4', '5'])], 'agent', 6, 'a class of statuses'],
    [[where('status', 'between', [400, 500])], 'agent', 6, 'bounds are included'],
    [[where('status', 'is', 404.5)], 'agent', 0, 'no status is a fraction'],
    [[where('status', 'lt', 2 ** 53 - 1)], 'agent', 9, 'a number beyond any column'],
    [
      [where('prop:n', 'gte', -(2 ** 53 - 1))],
      'human',
      events.length - 2,
      'neither without properties nor with broken ones',
    ],
    [[where('llms_listed', 'is', 1)], 'agent', 3, 'a flag'],
    [[where('llms_listed', 'is_not', 1)], 'agent', 6, 'a flag that is 0 or unknown'],
  ]
  t.test('results counted by hand', async (t) => {
    for (const [asked, audience, passing, why] of counted) {
      t.equal((await ask(parseFiltersJson(JSON.stringify(asked)), audience)).length, passing, why)
    }
  })

  const words = fc.constantFrom(...HOSTILE, 'plain', 'a')
  const leaf = fc
    .record({
      dimension: fc.constantFrom(
        'pathname',
        'source',
        'entry_page',
        'exit_page',
        'event_name',
        'kind',
        'prop:a.b',
        'prop:n',
        'country',
      ),
      op: fc.constantFrom(...OPERATORS.filter(({ base }) => base !== 'matches').map(({ name }) => name)),
      words: fc.array(words, { minLength: 1, maxLength: 3 }),
      number: fc.integer({ min: -5, max: 60 }),
      exact: fc.boolean(),
    })
    .map(({ dimension, op, words, number, exact }) => {
      const numeric = ['gt', 'gte', 'lt', 'lte', 'between'].includes(op)
      const value = op === 'between' ? [number, number + 9] : numeric ? number : words
      const ascii = words.every((word) => /^[\x20-\x7e]*$/.test(word))
      return where(numeric ? 'prop:n' : dimension, op, value, exact || !ascii ? {} : { case_sensitive: false })
    })
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.record({ and: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ or: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie('tree') }),
      fc.record({ has_done: tie('tree') }),
      fc.record({ has_not_done: tie('tree') }),
    ),
  }))
  t.test('any filter tree selects the rows that the oracle selects', async () => {
    const property = fc.asyncProperty(tree, async (asked) => {
      const filters = parseFiltersJson(JSON.stringify([asked]))
      const [found, wanted] = [await ask(filters), judged(filters)]
      if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${found} instead of ${wanted}`)
    })
    await fc.assert(property, { numRuns: Number(process.env.FILTER_RUNS ?? 150), seed: 2 })
  })

  t.test('no value of a request is in the SQL text', async () => {
    const marked = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' }).map((noise) => `zq${noise}qz`)
    const property = fc.property(marked, marked, fc.constantFrom(...OPERATORS), (value, key, operator) => {
      for (const name of [...DIMENSIONS.map((d) => d.name), `prop:${key}`]) {
        let filters: Filter[]
        try {
          filters = parseFiltersJson(
            JSON.stringify([{ has_done: where(name, operator.name, value) }, where(name, operator.name, [value])]),
          )
        } catch {
          continue
        }
        const { text } = compile(filterCondition(base, filters), duckdbDialect.placeholder)
        if (/zq|qz/.test(text)) throw new Error(text)
        if (!/^[\x20-\x7e\n]*$/.test(text)) throw new Error(text)
      }
    })
    fc.assert(property, { numRuns: 500, seed: 3 })
  })
})

const globs: [pattern: string, text: string, passes: boolean][] = [
  ['/docs/*', '/docs/a', true],
  ['/docs/*', '/docs/a/b', false],
  ['/docs/*', '/docs/', true],
  ['/docs/*', '/docs', false],
  ['/docs/**', '/docs/a/b', true],
  ['/docs**', '/docs', true],
  ['*', 'a', true],
  ['*', '/a', false],
  ['**', '/a/b', true],
  ['/*/edit', '/a/edit', true],
  ['/*/edit', '/a/b/edit', false],
  ['/a.b', '/axb', false],
  ['/(a|b)', '/a', false],
  ['/a', '/a/b', false],
  ['/a**z', '/a\nz', true],
  ['/[a-z]', '/b', false],
  ['/a$', '/a$', true],
]
t.test('wildcards match like the oracle', async (t) => {
  for (const [pattern, text, passes] of globs) {
    t.equal(matchesWildcard(pattern, text), passes, `the oracle: ${pattern} ${JSON.stringify(text)}`)
    t.equal(
      new RegExp(wildcardPattern(pattern).replace('(?s)', ''), 's').test(text),
      passes,
      `readership: ${pattern} ${JSON.stringify(text)}`,
    )
  }
})
