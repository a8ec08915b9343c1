import fc from 'fast-check'
import t from 'tap'
import { type Agent, loadCatalog } from '../../../src/agents/catalog.js'
import { canonicalPath, canonicalPatterns } from '../../../src/agents/policy/canonical.js'
import { compileRobots } from '../../../src/agents/policy/compiled-robots.js'
import type { RobotsMode } from '../../../src/agents/policy/robots-lines.js'
import { matchesPattern } from '../../../src/agents/policy/rule-matcher.js'

const gptbot = loadCatalog().agents.find((agent) => agent.id === 'gptbot')
if (gptbot === undefined) throw new Error('no gptbot in the catalog')
const agentWithTokens = (...robots_tokens: string[]): Agent => ({ ...gptbot, robots_tokens })

/** Returns the line that decides: positive for Allow, negative for Disallow, 0 if no rule decides. */
const decided = (body: string | Uint8Array, token: string, target: string, mode: RobotsMode = 'rfc'): number => {
  const book = compileRobots(body, mode)
  const rule = book.find(book.select(agentWithTokens(token)), target)
  return rule === undefined ? 0 : rule.allow ? rule.line : -rule.line
}
const text = (...lines: string[]) => lines.join('\n')

/** Matches a pattern with a path by a table of all positions in both: simple and quadratic. */
function matchesSimply(pattern: string, path: string): boolean {
  const anchored = pattern.endsWith('$')
  const body = anchored ? pattern.slice(0, -1) : `${pattern}*`
  let row = Array.from({ length: path.length + 1 }, (_, at) => at === 0)
  for (const char of body) {
    const next = Array.from({ length: path.length + 1 }, () => false)
    for (let at = 0; at <= path.length; at++)
      if (char === '*') next[at] = row[at] === true || (at > 0 && next[at - 1] === true)
      else next[at] = at > 0 && row[at - 1] === true && path[at - 1] === char
    row = next
  }
  return row[path.length] === true
}

/** Returns the line that decides among rules from line 2 on, by the text of RFC 9309 2.2.2. */
function decideSimply(rules: readonly (readonly [allow: boolean, pattern: string])[], path: string): number {
  let best = 0
  let octets = -1
  rules.forEach(([allow, pattern], index) => {
    if (pattern === '' || !matchesSimply(pattern, path)) return
    const wins = pattern.length > octets || (pattern.length === octets && allow && best < 0)
    if (!wins) return
    octets = pattern.length
    best = allow ? index + 2 : -(index + 2)
  })
  return best
}

t.test('agrees with a simple quadratic matcher in both modes', async (t) => {
  const letters = fc.constantFrom('a', 'b', 'ab', '.', '/', '?', 'c')
  const path = fc.array(letters, { maxLength: 14 }).map((parts) => `/${parts.join('')}`)
  const pattern = fc
    .tuple(fc.array(fc.oneof({ weight: 4, arbitrary: letters }, fc.constant('*')), { maxLength: 8 }), fc.boolean())
    .map(([parts, anchored]) => `/${parts.join('')}${anchored ? '$' : ''}`)
    // In rfc mode such patterns are compared in two spellings, whose lengths the simple matcher does not know.
    .filter((pattern) => !/\?.*[/?]/.test(pattern))
  const rules = fc.array(fc.tuple(fc.boolean(), pattern), { minLength: 1, maxLength: 12 })
  // More rules than a small group has, and more than robots-parser gets, so that every code path runs.
  const many = fc.array(fc.tuple(fc.boolean(), pattern), { minLength: 60, maxLength: 120 })
  let matched = 0
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: rules }, { weight: 1, arbitrary: many }), path, (rules, path) => {
      const file = text(
        'User-agent: *',
        ...rules.map(([allow, pattern]) => `${allow ? 'Allow' : 'Disallow'}: ${pattern}`),
      )
      const expected = decideSimply(rules, path)
      if (expected !== 0) matched++
      for (const mode of ['rfc', 'google'] as const) {
        const line = decided(file, 'a', path, mode)
        if (line !== expected) throw new Error(`${mode}: ${line}, expected ${expected}\n${file}\n${path}`)
      }
    }),
    { numRuns: 3000 },
  )
  t.ok(matched > 1000, `${matched} of 3000 had a rule that matched`)
})

t.test('the matcher for sets that are too large for robots-parser agrees as well', async (t) => {
  const letters = fc.constantFrom('a', 'b', '*', 'ab', 'aa')
  const pattern = fc
    .tuple(fc.array(letters, { maxLength: 9 }), fc.boolean())
    .map(([parts, end]) => `/${parts.join('')}${end ? '$' : ''}`)
  const path = fc.array(fc.constantFrom('a', 'b'), { maxLength: 12 }).map((parts) => `/${parts.join('')}`)
  let matched = 0
  fc.assert(
    fc.property(pattern, path, (pattern, path) => {
      const [compiled] = canonicalPatterns(pattern, false, 'rfc')
      if (compiled === undefined) throw new Error('no pattern')
      const expected = matchesSimply(pattern, path)
      if (expected) matched++
      if (matchesPattern(compiled, canonicalPath(path, 'rfc')) !== expected)
        throw new Error(`${pattern} ${path}: expected ${expected}`)
    }),
    { numRuns: 5000 },
  )
  t.ok(matched > 500 && matched < 4500, `${matched} of 5000 match`)
})

t.test('large and small groups decide like one group', async (t) => {
  const rule = fc.constantFrom(
    'Disallow: /a',
    'Allow: /a/b',
    'Disallow: /*b',
    'Allow: /*/b$',
    'Disallow: /a/b/c',
    'Allow: /',
  )
  const group = fc.array(rule, { minLength: 1, maxLength: 24 })
  fc.assert(
    fc.property(
      fc.array(group, { maxLength: 5 }),
      fc.constantFrom('/', '/a', '/a/b', '/a/b/c', '/b', '/x/b'),
      (groups, path) => {
        const lines = groups.flatMap((rules) => ['User-agent: *', ...rules])
        const rules = lines.map((line) => [line.startsWith('Allow'), line.replace(/^.*: /, '')] as const)
        // A User-agent line counts as a pattern that matches nothing, so that the line numbers agree.
        const plain = decideSimply(
          rules.map(([allow, pattern]) => [allow, pattern === '*' ? '' : pattern]),
          path,
        )
        const expected = plain === 0 ? 0 : plain > 0 ? plain - 1 : plain + 1
        const line = decided(text(...lines), 'a', path)
        if (line !== expected) throw new Error(`${line}, expected ${expected}\n${lines.join('\n')}\n${path}`)
      },
    ),
    { numRuns: 500 },
  )
  t.pass()
})

t.test('returns the same for text and bytes of any content', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.webPath(), (file, path) => {
      for (const mode of ['rfc', 'google'] as const)
        if (decided(file, 'a', path, mode) !== decided(Buffer.from(file), 'a', path, mode)) throw new Error('differ')
    }),
    { numRuns: 500 },
  )
  t.pass()
})
