import fc from 'fast-check'
import t from 'tap'
import { isExcludedPath } from '../../src/capture/excluded-paths.js'
import type { SiteSettings } from '../../src/capture/site.js'

const site = (...excluded_paths: string[]): SiteSettings => ({
  ...{ id: 1, domains: [], timezone: 'UTC', respect_gpc: false, visitor_salt: 'month', excluded_paths },
})

t.test('patterns match whole paths, with stars', async (t) => {
  const rows: [pattern: string, path: string, expected: boolean, why: string][] = [
    ['/a', '/a', true, 'equal'],
    ['/a', '/a/', false, 'a longer path'],
    ['/a', '/A', false, 'case counts'],
    ['/a/*', '/a/', true, 'an empty segment'],
    ['/a/*', '/a/b', true, 'a segment'],
    ['/a/*', '/a/b/c', false, 'two segments'],
    ['/a/**', '/a/b/c', true, 'any number of segments'],
    ['/a/**', '/a', false, 'the folder itself is not below itself'],
    ['/a**', '/ab/c', true, 'the same beginning'],
    ['**', '/anything', true, 'every path'],
    ['*', '/a', false, 'one star matches no slash'],
    ['**/print', '/a/b/print', true, 'the same end'],
    ['**/print', '/a/print/b', false, 'another end'],
    ['/**/x/**/y', '/a/x/b/x/y', true, 'the first x is not the deciding one'],
    ['/*.pdf', '/a.pdf.pdf', true, 'the star matches as much as needed'],
    ['/a*b*c', '/abbc', true, 'a star may match nothing'],
    ['/a*b*c', '/acb', false, 'the order counts'],
    ['/a*', '/a*b', true, 'a star in the path is an ordinary character'],
    ['/a**b', '/a/*/b', true, 'the same across segments'],
    ['/a.c', '/abc', false, 'only stars are special'],
    ['/(a|b)[c]\\$', '/(a|b)[c]\\$', true, 'characters of regular expressions are ordinary'],
    ['/a/#/x', '/a/#/x', true, 'a route'],
    ['/a', '/a#/x', true, 'a route of an excluded path'],
    ['/🦆/*', '/🦆/é', true, 'not ASCII'],
    ['/a\n*', '/a\nb', true, 'a line break'],
    [`/*${'a'.repeat(150)}*b`, `/${'a'.repeat(160)}/b`, false, 'long, and one segment too many'],
    [`/*${'a'.repeat(150)}**b`, `/${'a'.repeat(160)}/b`, true, 'long'],
  ]
  for (const [pattern, path, expected, why] of rows)
    t.equal(isExcludedPath(site(pattern), path), expected, `${pattern} ${path}: ${why}`)
  t.ok(isExcludedPath(site('/a', '/b'), '/b'), 'one of several patterns')
})

t.test('matches what the equivalent regular expression matches', async () => {
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

t.test('no path takes long, whatever the pattern (a regular expression would not end)', async (t) => {
  const stars = Array.from({ length: 100 }, () => `/${'a*'.repeat(99)}b`)
  const began = performance.now()
  t.notOk(isExcludedPath(site(...stars), `/${'a'.repeat(1_999)}`))
  const ms = performance.now() - began
  t.ok(ms < 5_000, `${Math.round(ms)} ms`)
})
