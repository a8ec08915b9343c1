import t from 'tap'
import { type Agent, loadCatalog } from '../../src/agents/catalog.js'
import { createPolicy, type Decision } from '../../src/policy/policy.js'
import { createPolicyCache } from '../../src/policy/policy-cache.js'
import { createPolicyReport } from '../../src/policy/report.js'

const catalog = loadCatalog()
const agent = (id: string): Agent => {
  const found = catalog.get(id)
  if (found === undefined) throw new Error(`no ${id} in the catalog`)
  return found
}
const text = (...lines: string[]) => lines.join('\n')
const policyOf = (...lines: string[]) =>
  createPolicy({ hostname: 'a.example', robots: { status: 200, body: text(...lines) } })

t.test('selects the group that an agent obeys', async (t) => {
  const policy = policyOf(
    'User-agent: *',
    'Disallow: /all/',
    '',
    'User-agent: GPTBot',
    'Disallow: /gpt/',
    '',
    'User-agent: Googlebot',
    'Disallow: /google/',
    '',
    'User-agent: Googlebot-News',
    'Disallow: /news/',
    '',
    'User-agent: Yandex',
    'Disallow: /y/',
    '',
    'User-agent: gptBOT/2.0',
    'Disallow: /more/',
    '',
    'User-agent: curl',
    'Disallow: /curl/',
    '',
    'User-agent: AdsBot-Google-Mobile',
    'Disallow: /ads/',
  )
  const rows: [id: string | undefined, group: string[], target: string, line: number | undefined, why: string][] = [
    ['gptbot', ['GPTBot'], '/gpt/', 5, 'its own'],
    ['gptbot', ['GPTBot'], '/more/', 17, 'merged with its other group, in any case and version'],
    ['gptbot', ['GPTBot'], '/all/', undefined, '* does not apply'],
    ['claudebot', ['*'], '/all/', 2, 'the group of *'],
    [undefined, ['*'], '/all/', 2, 'an agent that is not in the catalog'],
    ['googlebot-news', ['Googlebot-News'], '/news/', 11, 'its own group before its fallback'],
    ['googlebot-news', ['Googlebot-News'], '/google/', undefined, 'and not both'],
    ['googlebot-image', ['Googlebot'], '/google/', 8, 'robots_fallback'],
    ['applebot', ['Googlebot'], '/google/', 8, 'robots_fallback, of another operator'],
    ['googlebot-image', ['Googlebot'], '/all/', undefined, 'before *'],
    ['googleother-image', ['*'], '/all/', 2, 'a fallback that no group names'],
    ['adsbot-google', [], '/all/', undefined, 'honors_wildcard_group: false'],
    ['adsbot-google-mobile', ['AdsBot-Google-Mobile'], '/ads/', 23, 'but its own group'],
    ['yandexbot', ['Yandex'], '/y/', 14, 'its second token'],
    ['curl', ['curl'], '/curl/', 20, 'no robots_tokens: the token of its user agent'],
    ['chatgpt-agent', ['*'], '/all/', 2, 'no token at all'],
  ]
  for (const [id, group, target, line, why] of rows) {
    const said = policy.allows(id === undefined ? undefined : agent(id), target)
    t.same([said.group, said.line], [group, line], `${id} ${target}: ${why}`)
    t.equal(said.allowed, line === undefined, `${id} ${target}`)
  }
})

t.test("judges Google's agents as Google's parser reads", async (t) => {
  const policy = policyOf(
    'User-agent: *',
    'dissallow: /typo',
    'Disallow: /%62',
    'Disallow: /d/',
    'Allow: /d/index.html',
  )
  const rows: [target: string, google: boolean, others: boolean, why: string][] = [
    ['/typo', false, true, 'misspelt'],
    ['/b', true, false, 'an encoded letter is another'],
    ['/%62', false, false, 'but itself'],
    ['/d/', true, false, 'index.html is its directory'],
    ['/robots.txt', true, true, 'contract 3, for all'],
  ]
  for (const [target, google, others, why] of rows) {
    t.equal(policy.allows(agent('googlebot'), target).allowed, google, `googlebot ${target}: ${why}`)
    t.equal(policy.allows(agent('gptbot'), target).allowed, others, `gptbot ${target}: ${why}`)
  }
  const encoded = policyOf('User-agent: *', 'Disallow: /caf\xe9')
  for (const target of ['/caf%C3%A9', '/caf%c3%a9', '/caf\xc3\xa9'])
    t.equal(encoded.allows(agent('googlebot'), target).allowed, false, `${target}: the caller encodes, as Google asks`)
})

t.test('names the rule that decided', async (t) => {
  const long = `/${'x'.repeat(1000)}`
  const policy = policyOf('User-agent: GPTBot', 'Disallow: /priv%61te/ ', 'Allow: /private/open', `Disallow: ${long}`)
  const rows: [id: string, target: string, expected: Decision, why: string][] = [
    [
      'gptbot',
      '/private/a?b',
      { allowed: false, reason: 'rule', rule: '/priv%61te/', line: 2, group: ['GPTBot'] },
      'the pattern as written',
    ],
    [
      'gptbot',
      '/private/open',
      { allowed: true, reason: 'rule', rule: '/private/open', line: 3, group: ['GPTBot'] },
      'allowed by a rule',
    ],
    ['gptbot', '/', { allowed: true, reason: 'no_rule', group: ['GPTBot'] }, 'no rule'],
    ['claudebot', '/private/', { allowed: true, reason: 'no_group', group: [] }, 'no group'],
    ['gptbot', '/robots.txt', { allowed: true, reason: 'robots_txt', group: ['GPTBot'] }, 'robots.txt itself'],
    ['gptbot', '/robots.txt?x=1', { allowed: true, reason: 'robots_txt', group: ['GPTBot'] }, 'with a query'],
    ['gptbot', '/robots.txt.bak', { allowed: true, reason: 'no_rule', group: ['GPTBot'] }, 'but no longer name'],
    [
      'gptbot',
      long,
      { allowed: false, reason: 'rule', rule: long.slice(0, 512), line: 4, group: ['GPTBot'] },
      'a rule is shown in 512 characters',
    ],
  ]
  for (const [id, target, expected, why] of rows) {
    t.same(policy.allows(agent(id), target), expected, why)
    t.same(policy.allows(agent(id), target), expected, `${why}, again`)
  }
})

t.test('decides by the status of robots.txt', async (t) => {
  const everything = 'User-agent: *\nDisallow: /'
  const rows: [status: number, allowed: boolean, reason: string][] = [
    [200, false, 'rule'],
    [206, false, 'rule'],
    [404, true, 'unavailable'],
    [403, true, 'unavailable'],
    [429, true, 'unavailable'],
    [301, true, 'unavailable'],
    [500, false, 'unreachable'],
    [503, false, 'unreachable'],
    [0, false, 'unreachable'],
  ]
  for (const [status, allowed, reason] of rows) {
    const policy = createPolicy({ hostname: 'a.example', robots: { status, body: everything } })
    const said = policy.allows(agent('gptbot'), '/x')
    t.same([said.allowed, said.reason], [allowed, reason], `${status}`)
    t.equal(policy.allows(agent('gptbot'), '/robots.txt').allowed, true, `${status}: robots.txt itself`)
    t.equal(policy.robots === null, reason !== 'rule', `${status}: nothing to show but what was read`)
    t.same(policy.groupOf(agent('gptbot')), { group: reason === 'rule' ? ['*'] : [], rules: reason === 'rule' ? 1 : 0 })
    const block = policy.blocksAll([agent('gptbot'), agent('claudebot')], '/x')
    t.equal(block, !allowed, `${status}: blocks all`)
    t.same(policy.disallowPatterns([agent('gptbot')]), allowed ? [] : ['/'], `${status}: patterns`)
  }
})

t.test('reports an unreachable file as rows are judged', async (t) => {
  const day = 86_400_000
  const rows: [days: number, allowed: boolean, reason: string, why: string][] = [
    [0, false, 'unreachable', 'nobody can say'],
    [29.9, false, 'unreachable', 'for under 30 days'],
    [30, true, 'unavailable', 'then it counts as one that is not there (RFC 9309 2.3.1.4)'],
  ]
  for (const [days, allowed, reason, why] of rows) {
    const file = { hostname: 'a.example', url: 'http://a.example/robots.txt', status: 503, sha256: '' }
    const seen = { first_seen: 0, last_seen: days * day, body: undefined, truncated: false, content_type: '' }
    const { robots, agents } = await createPolicyReport({
      hostname: 'a.example',
      agents: [agent('gptbot')],
      path: '/x',
      robots: [{ ...file, ...seen, kind: 'robots' }],
      llms: [],
      policyOf: createPolicyCache(),
    })
    t.match(agents, [{ agent_id: 'gptbot', allowed, reason }], why)
    t.match(robots, { status: 503, standing: 'unreachable' }, 'as it is')
  }
})

t.test('merges the groups of one agent', async (t) => {
  const policy = policyOf(
    'User-agent: GPTBot',
    'Crawl-delay: 5',
    'Content-Signal: ai-train=yes, search=yes',
    'Disallow: /a',
    'User-agent: *',
    'Disallow: /',
    'User-agent: GPTBot',
    'Crawl-delay: 9',
    'Content-Signal: ai-train=no',
    'Content-Usage: /a train-ai=n',
    'Disallow: /b',
    'Allow:',
  )
  t.same(policy.groupOf(agent('gptbot')), {
    group: ['GPTBot'],
    rules: 3,
    crawl_delay: 5,
    content_signals: { 'ai-train': 'no', search: 'yes' },
    content_usage: [{ pattern: '/a', preferences: { 'train-ai': 'n' }, line: 10 }],
  })
  t.same(policy.groupOf(undefined), { group: ['*'], rules: 1 })
  t.same(
    policy.robots?.groups[1],
    { user_agents: ['*'], rules: [{ allow: false, pattern: '/', line: 6 }], line: 5 },
    'the page shows what contract 5 names',
  )
})

t.test('finds paths that are blocked for all agents', async (t) => {
  const policy = policyOf(
    'User-agent: GPTBot',
    'Disallow: /a/',
    'Disallow: /b/',
    'Allow: /a/open',
    'User-agent: ClaudeBot',
    'Disallow: /a/',
    'User-agent: CCBot',
    'Allow: /',
  )
  const both = [agent('gptbot'), agent('claudebot')]
  const rows: [agents: Agent[], target: string, expected: boolean, why: string][] = [
    [both, '/a/x', true, 'both'],
    [both, '/a/open', false, 'one is allowed'],
    [both, '/b/', false, 'one is not told'],
    [[...both, agent('ccbot')], '/a/x', false, 'one is free'],
    [[], '/a/x', false, 'nobody is not all'],
  ]
  for (const [agents, target, expected, why] of rows) t.equal(policy.blocksAll(agents, target), expected, why)
  t.same(policy.disallowPatterns(both), ['/a/'], 'the fewest of any')
  t.same(policy.disallowPatterns([...both, agent('ccbot')]), [], 'of one that is free, none')
  t.same(policy.disallowPatterns([]), [])
})

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
    ['and ended', fill((n) => `Disallow: *${letters(n).join('*')}$`)],
    ['one letter off', fill((n) => `Disallow: *aab${n.toString(36)}`)],
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
  t.ok(process.memoryUsage().heapUsed < 600e6, 'a large group that all share is not kept for each')
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
  t.equal(cut.allows(undefined, '/x').allowed, true, 'of a line that the bound cuts nothing is read')
  t.equal(cut.allows(undefined, '/private').allowed, true)

  const long = policyOf('User-agent: *', 'Disallow: /*end$', 'Disallow: /*far', 'Disallow: /all*$')
  const path = `/${'x'.repeat(2000)}`
  const rows: [target: string, allowed: boolean, why: string][] = [
    [`${path}end`, false, 'all of it is read'],
    [`${path}${'x'.repeat(44)}end`, false, '2,048 characters'],
    [`${path}${'x'.repeat(45)}end`, true, 'the last beyond them'],
    [`${path}${'x'.repeat(44)}endless`, true, 'where it is cut it does not end'],
    [`${path}far${'x'.repeat(9000)}`, false, 'what is read decides'],
    [`/all${path}${path}`, false, 'an end behind a star is anywhere'],
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
    'prefixes count where the patterns are too much work',
  )
})
