import fc from 'fast-check'
import t from 'tap'
import { isExcludedPath } from '../../src/capture/excluded-paths.js'
import type { Site } from '../../src/capture/site.js'

const site = (...excluded_paths: string[]): Site => ({
  ...{ id: 1, domains: [], timezone: 'UTC', respect_gpc: false, visitor_salt: 'month', excluded_paths },
})

t.test('whole paths, with stars', async (t) => {
  const rows: [pattern: string, path: string, expected: boolean, why: string][] = [
    ['/a', '/a', true, 'itself'],
    ['/a', '/a/', false, 'and no more'],
    ['/a', '/A', false, 'in its case'],
    ['/a/*', '/a/', true, 'a segment of nothing'],
    ['/a/*', '/a/b', true, 'a segment'],
    ['/a/*', '/a/b/c', false, 'not two'],
    ['/a/**', '/a/b/c', true, 'any number'],
    ['/a/**', '/a', false, 'of what is below'],
    ['/a**', '/ab/c', true, 'or begins so'],
    ['**', '/anything', true, 'all'],
    ['*', '/a', false, 'no slash'],
    ['**/print', '/a/b/print', true, 'ends so'],
    ['**/print', '/a/print/b', false, 'and not so'],
    ['/**/x/**/y', '/a/x/b/x/y', true, 'the first x is not the only one'],
    ['/*.pdf', '/a.pdf.pdf', true, 'as far as it takes'],
    ['/a*b*c', '/abbc', true, 'a star of nothing'],
    ['/a*b*c', '/acb', false, 'in order'],
    ['/a*', '/a*b', true, 'a star in the path is a character'],
    ['/a**b', '/a/*/b', true, 'the same across segments'],
    ['/a.c', '/abc', false, 'nothing but stars is special'],
    ['/(a|b)[c]\\$', '/(a|b)[c]\\$', true, 'nothing at all'],
    ['/a/#/x', '/a/#/x', true, 'a route'],
    ['/a', '/a#/x', true, 'the path that routes are of'],
    ['/🦆/*', '/🦆/é', true, 'what is no ASCII'],
    ['/a\n*', '/a\nb', true, 'a line'],
    [`/*${'a'.repeat(150)}*b`, `/${'a'.repeat(160)}/b`, false, 'long, and a segment too many'],
    [`/*${'a'.repeat(150)}**b`, `/${'a'.repeat(160)}/b`, true, 'long'],
  ]
  for (const [pattern, path, expected, why] of rows)
    t.equal(isExcludedPath(site(pattern), path), expected, `${pattern} ${path}: ${why}`)
  t.ok(isExcludedPath(site('/a', '/b'), '/b'), 'any of them')
})

t.test('as a regular expression would', async () => {
  const word = fc.array(fc.constantFrom('a', 'b', '/', '*', '**'), { maxLength: 9 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(word, fc.array(fc.constantFrom('a', 'b', '/', '*'), { maxLength: 9 }), (pattern, parts) => {
      const path = parts.join('')
      const text = pattern.replace(/\*+/g, (stars) => (stars === '*' ? '[^/]*' : '.*'))
      return isExcludedPath(site(pattern), path) === new RegExp(`^${text}$`, 's').test(path)
    }),
    { numRuns: 3_000 },
  )
})

t.test('no path takes long, whatever the pattern', async (t) => {
  const stars = Array.from({ length: 100 }, () => `/${'a*'.repeat(99)}b`)
  const began = performance.now()
  t.notOk(isExcludedPath(site(...stars), `/${'a'.repeat(1_999)}`))
  const ms = performance.now() - began
  t.ok(ms < 5_000, `${Math.round(ms)} ms; a regular expression does not end`)
})
