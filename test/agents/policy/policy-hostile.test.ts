import t from 'tap'
import { type Agent, loadCatalog } from '../../../src/agents/catalog.js'
import { createPolicy } from '../../../src/agents/policy/policy.js'

/**
 * Attacks by robots.txt. A site's own file can be hostile to the worker that judges by it, for example on a service with
 * many sites, and a client chooses the paths that are compared.
 * - Patterns with thousands of `*`, or with parts that almost match, take minutes in a naive matcher. Each judgement has a
 *   budget of some 10 ms.
 * - Files of 100,000 groups, names or rules, and lines of 2 MB, must be read in linear time and little memory.
 * - A path beyond 2,048 characters and a file beyond 500 KiB are cut. Nothing that was cut may match by accident: half a
 *   rule would forbid more than its author wrote.
 */

const catalog = loadCatalog()
const agent = (id: string): Agent => {
  const found = catalog.get(id)
  if (found === undefined) throw new Error(`no ${id} in the catalog`)
  return found
}
const text = (...lines: string[]) => lines.join('\n')
const policyOf = (...lines: string[]) =>
  createPolicy({ hostname: 'a.example', robots: { status: 200, body: text(...lines) } })

t.test('answers soon for every agent of the catalog and hostile files', async (t) => {
  const fill = (line: (n: number) => string, head = 'User-agent: *\n') => {
    const lines: string[] = []
    for (let n = 0, length = head.length; length < 512_000; n++) {
      lines.push(line(n))
      length += (lines.at(-1)?.length ?? 0) + 1
    }
    return head + lines.join('\n')
  }
  const letters = (n: number) => [...n.toString(6)].map((digit) => 'abcdef'[Number(digit)])
  const files: [name: string, body: string][] = [
    ['2,048 stars', `User-agent: *\nDisallow: /${'*'.repeat(2048)}b`],
    ['2,048 stars with letters', `User-agent: *\nDisallow: /${'*a'.repeat(2048)}b`],
    ['500 KiB of them', fill((n) => `Disallow: ${'*a'.repeat(900)}${n}`)],
    ['short ones', fill((n) => `Disallow: *${letters(n).join('*')}`)],
    ['short ones with an end', fill((n) => `Disallow: *${letters(n).join('*')}$`)],
    ['patterns that differ in one letter', fill((n) => `Disallow: *aab${n.toString(36)}`)],
    ['bad for string search', fill((n) => `Disallow: *b${'a'.repeat(200 + (n % 300))}`)],
    ['prefixes within prefixes', fill((n) => `Disallow: /${'a'.repeat(n % 2000)}`)],
    ['100,000 groups', Array.from({ length: 100_000 }, (_, n) => `User-agent: b${n}\nDisallow: /${n}\n`).join('')],
    ['100,000 of one name', 'User-agent: *\nDisallow: /x\n'.repeat(100_000)],
    ['100,000 names', fill((n) => `User-agent: b${n}`, '')],
    ['a line of 2 MB', `User-agent: *\nDisallow: /${'a'.repeat(2_000_000)}`],
    ['2 MB of line ends', '\r\n\n\r'.repeat(500_000)],
    ['2 MB of NUL', '\0'.repeat(2_000_000)],
    ['2 MB of colons', ':'.repeat(2_000_000)],
    ['2 MB of words', 'a '.repeat(1_000_000)],
    ['2 MB of comments', '#'.repeat(2_000_000)],
    ['2 MB of per cent signs', fill((n) => `Disallow: /${'%61%ff%'.repeat(20)}${n}`)],
  ]
  const targets = [
    `/${'a'.repeat(16_000)}`,
    `/${'ab'.repeat(8000)}`,
    `/${'abcdef'.repeat(2700)}`,
    `/${'%61'.repeat(5000)}`,
    `/${'\xff'.repeat(16_000)}`,
    `/?${'a=&/?'.repeat(3000)}`,
    `/${'../'.repeat(5000)}`,
  ]
  for (const [name, body] of files) {
    const before = process.cpuUsage()
    const policy = createPolicy({ hostname: 'a.example', robots: { status: 200, body } })
    for (const target of targets)
      for (const one of [undefined, agent('gptbot'), agent('googlebot')]) policy.allows(one, target)
    const { user, system } = process.cpuUsage(before)
    // A naive matcher takes minutes for the first file. A slow machine takes a tenth of this limit.
    t.ok((user + system) / 1e6 < 15, `${name}: ${((user + system) / 1e3).toFixed(0)} ms`)
  }
  const shared = createPolicy({
    hostname: 'a.example',
    robots: {
      status: 200,
      body: `${catalog.agents.flatMap((one) => (one.robots_tokens ?? []).map((token) => `User-agent: ${token}\nDisallow: /${token}\n`)).join('')}${catalog.agents.flatMap((one) => (one.robots_tokens ?? []).map((token) => `User-agent: ${token}\n`)).join('')}${fill((n) => `Disallow: /${n}/*/x`, '')}`,
    },
  })
  t.equal(catalog.agents.filter((one) => !shared.allows(one, '/7/a/x').allowed).length > 200, true)
  t.ok(process.memoryUsage().heapUsed < 600e6, 'a large group that all agents share is compiled once')
})

t.test('reads only the first part of long files and paths', async (t) => {
  const rest = `# ${'x'.repeat(100)}\n`.repeat(6000)
  const policy = policyOf('User-agent: *', 'Disallow: /a', `${rest}Disallow: /b`)
  t.equal(policy.robots?.truncated, true)
  t.match(policy.robots?.problems, [{ problem: /500 KiB/ }])
  t.equal(policy.allows(undefined, '/a').allowed, false)
  t.equal(policy.allows(undefined, '/b').allowed, true, 'beyond 500 KiB')
  const cut = createPolicy({
    hostname: 'a.example',
    robots: { status: 200, body: `User-agent: *\n${'#'.repeat(512_000 - 14 - 13)}\nDisallow: /private\n` },
  })
  t.equal(cut.allows(undefined, '/x').allowed, true, 'a line that the bound cuts is not read')
  t.equal(cut.allows(undefined, '/private').allowed, true)

  const long = policyOf('User-agent: *', 'Disallow: /*end$', 'Disallow: /*far', 'Disallow: /all*$')
  const path = `/${'x'.repeat(2000)}`
  const rows: [target: string, allowed: boolean, why: string][] = [
    [`${path}end`, false, 'the whole path is compared'],
    [`${path}${'x'.repeat(44)}end`, false, '2,048 characters'],
    [`${path}${'x'.repeat(45)}end`, true, 'the end is beyond 2,048 characters'],
    [`${path}${'x'.repeat(44)}endless`, true, 'a cut path has no end'],
    [`${path}far${'x'.repeat(9000)}`, false, 'the compared part decides'],
    [`/all${path}${path}`, false, '* before the end matches a cut path'],
  ]
  for (const [target, allowed, why] of rows) t.equal(long.allows(undefined, target).allowed, allowed, why)

  const letters = (n: number) => [...n.toString(5)].map((digit) => 'bcdef'[Number(digit)]).join('*')
  const many = policyOf(
    'User-agent: *',
    'Disallow: /a',
    ...Array.from({ length: 20_000 }, (_, n) => `Allow: *${letters(n)}*z`),
  )
  t.equal(
    many.allows(undefined, `/a${'bcdef'.repeat(400)}`).line,
    2,
    'prefixes decide if the patterns are too much work',
  )
})
