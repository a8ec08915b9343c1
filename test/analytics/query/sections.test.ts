import fc from 'fast-check'
import t from 'tap'
import { filterCondition } from '../../../src/analytics/query/conditions.js'
import { parseFilters } from '../../../src/analytics/query/filters.js'
import { sectionOf } from '../../../src/analytics/query/group-by-dimension.js'
import type { Plan } from '../../../src/analytics/query/plan.js'
import { rowMatches } from '../../../src/analytics/query/row-match.js'
import { fitsPattern, SectionPattern } from '../../../src/analytics/query/section-pattern.js'
import { resolveSections } from '../../../src/analytics/query/sections.js'
import { duckdbDialect } from '../../../src/storage/dialects/duckdb.js'
import { join, raw, sql } from '../../../src/storage/sql.js'
import { where } from '../../fixtures/filters.js'
import { openStore } from '../../fixtures/open-store.js'
import { eventRow } from '../../fixtures/rows.js'
import { matches, sectionOfPath } from '../../oracle/filter-match.js'

const FITS: readonly (readonly [pattern: string, path: string, fits: boolean, why: string])[] = [
  ['/blog/*', '/blog/a', true, 'a page of the folder'],
  ['/blog/*', '/blog/2026/a', true, 'a star crosses slashes'],
  ['/blog/*', '/blog/', true, 'a star is also no text'],
  ['/blog/*', '/blog', true, 'the folder itself'],
  ['/blog/*', '/blogger', false, 'another name with the same beginning'],
  ['/blog/*', '/Blog/a', false, 'case counts, as it does for servers'],
  ['/blog/*', '/en/blog/a', false, 'a pattern is of the whole path'],
  ['/blog*', '/blogger', true, 'a star after part of a name'],
  ['/blog', '/blog', true, 'one page'],
  ['/blog', '/blog/', false, 'a slash at the end is another path'],
  ['/blog/', '/blog', false, 'the other way round'],
  ['/', '/', true, 'the front page'],
  ['/', '/a', false, 'and no other'],
  ['/*', '/', true, 'every page'],
  ['/*', '/a/b', true, 'every page'],
  ['/*/blog/*', '/en/blog/a', true, 'a star in the middle'],
  ['/*/blog/*', '/en/gb/blog', true, 'a star in the middle crosses slashes, and the folder itself fits'],
  ['/*/blog/*', '/blog/a', false, 'the slash before the star and the one after it are two'],
  ['/a*a', '/a', false, 'the two letters are not one'],
  ['/a*a', '/aa', true, 'no text between them'],
  ['/*.pdf', '/x/y.pdf', true, 'an ending'],
  ['/*.pdf', '/x.pdf/y', false, 'not at the end'],
  ['/100%/*', '/100%/a', true, 'a percent sign is itself'],
  ['/100%/*', '/1000/a', false, 'and no wildcard of SQL'],
  ['/a_b', '/axb', false, 'nor is _'],
  ["/it's/*", "/it's/a", true, 'an apostrophe ends no literal'],
  ['/[ab]/*', '/a/x', false, 'brackets are themselves'],
  ['/[ab]/*', '/[ab]/x', true, 'brackets are themselves'],
  ['/a\\*', '/a\\b', true, 'a backslash escapes nothing'],
  ['/a\\*', '/a*', false, 'a backslash escapes nothing'],
  ['/.*', '/a', false, 'a dot is a dot'],
  ['/a.b', '/axb', false, 'a dot is a dot'],
]

t.test('a pattern fits a path', async (t) => {
  for (const [pattern, path, fits, why] of FITS) {
    t.equal(fitsPattern(pattern, path), fits, `${pattern} ${path}: ${why}`)
    t.equal(sectionOfPath([pattern], path) === pattern, fits, `${pattern} ${path}: by the oracle`)
  }
})

t.test('a pattern is checked where it is written', async (t) => {
  const cases: readonly (readonly [text: string, expected: string | undefined, message: RegExp | undefined])[] = [
    ['/blog/*', '/blog/*', undefined],
    ['/über uns/*', '/%C3%BCber%20uns/*', undefined],
    ['/%C3%BCber/*', '/%C3%BCber/*', undefined],
    ['blog/*', undefined, /must begin with \//],
    ['*', undefined, /must begin with \//],
    ['https://a.example/blog/*', undefined, /must begin with \//],
    ['/a?b=1', undefined, /no query string/],
    ['/a/**', undefined, /Write \* once/],
    ['/*a*b*c', '/*a*b*c', undefined],
    ['/*a*b*c*', undefined, /at most 3 times/],
    ['/a\nb', undefined, /control characters/],
    ['/\ud83e', undefined, /control characters/],
    [`/${'x'.repeat(199)}`, `/${'x'.repeat(199)}`, undefined],
    [`/${'x'.repeat(200)}`, undefined, /at most 200/],
    [`/${'ü'.repeat(34)}`, undefined, /at most 200/],
  ]
  for (const [text, expected, message] of cases) {
    const { data, error } = SectionPattern.safeParse(text)
    t.equal(data, expected, text.slice(0, 40))
    if (message) t.match(error?.issues[0]?.message, message, text.slice(0, 40))
  }
})

const BASE: Plan = {
  ...{ dialect: duckdbDialect, site: 1, audience: 'human', tz: 'UTC', granularity: 'day', filters: [] },
  window: { start: new Date('2026-11-20T00:00:00Z'), end: new Date('2026-11-21T00:00:00Z') },
}

/** Text of few letters, so that patterns and paths meet; all that is special to SQL, LIKE, RE2 or paths is among them. */
const piece = fc.constantFrom(
  'a',
  'b',
  'A',
  '/',
  '/',
  '%',
  '_',
  "'",
  '[',
  ']',
  '\\',
  '.',
  '^',
  '$',
  '(',
  '|',
  '%2F',
  '#',
)
const path = fc.array(piece, { maxLength: 6 }).map((parts) => `/${parts.join('')}`)
const pattern = fc
  .oneof(
    fc.array(fc.oneof(piece, fc.constant('*')), { maxLength: 6 }).map((parts) => `/${parts.join('')}`),
    fc.constantFrom('a', 'b', 'A', '%', "'").map((folder) => `/${folder}/*`),
  )
  .filter((text) => SectionPattern.safeParse(text).success)
const OPERATORS = ['is', 'contains', 'starts_with', 'ends_with', 'matches_wildcard']
const condition = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...OPERATORS.flatMap((op) => [op, op === 'is' ? 'is_not' : `${op}_not`])),
      fc.array(fc.oneof(pattern, path, piece), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
    )
    .map(([op, value, folds]) => where('section', op, value, folds ? { case_sensitive: false } : {})),
  fc.constantFrom('is_set', 'is_not_set').map((op) => where('section', op)),
  fc.constantFrom('^/a', '[*]$', 'b|A').map((value) => where('section', 'matches', value)),
)

t.test('SQL decides as the plain matcher does', async (t) => {
  const store = await openStore(t)
  const property = fc.asyncProperty(
    fc.array(pattern, { maxLength: 7 }),
    fc.array(path, { minLength: 1, maxLength: 12 }),
    fc.array(condition, { minLength: 1, maxLength: 4 }),
    async (written, paths, conditions) => {
      const sections = [...new Set(written)]
      const plan: Plan = { ...BASE, sections }
      const filters = parseFilters(conditions)
      const resolved = resolveSections(filters, sections)
      const columns = resolved.map((filter, i) => sql`${filterCondition(plan, [filter])} as ${raw(`f${i}`)}`)
      const rows = await store.query(sql`
        select pathname, ${sectionOf('pathname', plan)} as section, ${join(columns, ', ')}
        from ${duckdbDialect.rows(
          paths.map((pathname) => ({ pathname })),
          { pathname: 'varchar' },
        )} p`)
      for (const row of rows) {
        const own = String(row.pathname)
        const section = sectionOfPath(sections, own)
        if (row.section !== (section ?? null)) throw new Error(`${own} is in ${row.section}, not in ${section}`)
        if (sections.find((each) => fitsPattern(each, own)) !== section) throw new Error(`fitsPattern: ${own}`)
        for (const [i, filter] of filters.entries()) {
          // The pattern of an `is` that is not listed is tried after the list.
          const asked = [Object(conditions[i]).value ?? []].flat()
          const isExact = /^is(_not)?$/.test(Object(conditions[i]).op)
          const unlisted = isExact ? asked.filter((text) => SectionPattern.safeParse(text).success) : []
          const world = {
            ...{ events: [], window: [0, 0] as const, sessionExitPage: () => undefined },
            sections: [...sections, ...unlisted],
          }
          const wanted = matches({ ...filter }, eventRow({ pathname: own }), world)
          if (row[`f${i}`] !== wanted) throw new Error(`${own} ${JSON.stringify(filter)}: ${row[`f${i}`]}`)
          const one = resolved[i]
          if (one && !/matches/.test(Object(conditions[i]).op) && rowMatches([one], { pathname: own }) !== wanted)
            throw new Error(`a row as it arrives: ${own} ${JSON.stringify(filter)}`)
        }
      }
    },
  )
  await fc.assert(property, { numRuns: Number(process.env.SECTION_RUNS ?? 150) })
  t.pass('every path, pattern and condition')
})

t.test('the statement of a long list grows with the list', async (t) => {
  const size = (n: number) => {
    const sections = Array.from({ length: n }, (_, i) => `/*${i}/*`)
    const [filter] = resolveSections(parseFilters([where('section', 'matches_wildcard', '/*')]), sections)
    return JSON.stringify(filter).length
  }
  t.ok(size(50) < 11 * size(5), `${size(5)} and ${size(50)} characters`)
})
