import t from 'tap'
import { type Agent, loadCatalog } from '../../../src/agents/catalog.js'
import { createPolicy, type Decision } from '../../../src/agents/policy/policy.js'
import { createPolicyCache } from '../../../src/agents/policy/policy-cache.js'
import { createPolicyReport } from '../../../src/agents/policy/report.js'

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
    const decision = policy.allows(id === undefined ? undefined : agent(id), target)
    t.same([decision.group, decision.line], [group, line], `${id} ${target}: ${why}`)
    t.equal(decision.allowed, line === undefined, `${id} ${target}`)
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
    ['/b', true, false, 'Google does not decode the letter'],
    ['/%62', false, false, 'it matches itself'],
    ['/d/', true, false, 'index.html stands for its directory'],
    ['/robots.txt', true, true, 'always allowed'],
  ]
  for (const [target, google, others, why] of rows) {
    t.equal(policy.allows(agent('googlebot'), target).allowed, google, `googlebot ${target}: ${why}`)
    t.equal(policy.allows(agent('gptbot'), target).allowed, others, `gptbot ${target}: ${why}`)
  }
  const encoded = policyOf('User-agent: *', 'Disallow: /caf\xe9')
  for (const target of ['/caf%C3%A9', '/caf%c3%a9', '/caf\xc3\xa9'])
    t.equal(
      encoded.allows(agent('googlebot'), target).allowed,
      false,
      `${target}: the caller encodes the octets, as Google expects`,
    )
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
    ['gptbot', '/robots.txt.bak', { allowed: true, reason: 'no_rule', group: ['GPTBot'] }, 'but not a longer name'],
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
    const decision = policy.allows(agent('gptbot'), '/x')
    t.same([decision.allowed, decision.reason], [allowed, reason], `${status}`)
    t.equal(policy.allows(agent('gptbot'), '/robots.txt').allowed, true, `${status}: robots.txt itself`)
    t.equal(policy.robots === null, reason !== 'rule', `${status}: shows only a served file`)
    t.same(policy.groupOf(agent('gptbot')), { group: reason === 'rule' ? ['*'] : [], rules: reason === 'rule' ? 1 : 0 })
    const block = policy.blocksAll([agent('gptbot'), agent('claudebot')], '/x')
    t.equal(block, !allowed, `${status}: blocks all`)
    t.same(policy.disallowPatterns([agent('gptbot')]), allowed ? [] : ['/'], `${status}: patterns`)
  }
})

t.test('reports an unreachable file as rows are judged', async (t) => {
  const day = 86_400_000
  const rows: [days: number, allowed: boolean, reason: string, why: string][] = [
    [0, false, 'unreachable', 'unreachable'],
    [29.9, false, 'unreachable', 'unreachable for under 30 days'],
    [30, true, 'unavailable', 'after 30 days the file counts as non-existent (RFC 9309 2.3.1.4)'],
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
    t.match(robots, { status: 503, standing: 'unreachable' }, 'the status is shown as it is')
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
    'the view has no octets',
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
    [both, '/b/', false, 'one has no such rule'],
    [[...both, agent('ccbot')], '/a/x', false, 'one may fetch everything'],
    [[], '/a/x', false, 'an empty list is not blocked'],
  ]
  for (const [agents, target, expected, why] of rows) t.equal(policy.blocksAll(agents, target), expected, why)
  t.same(policy.disallowPatterns(both), ['/a/'], 'the shortest list of patterns')
  t.same(policy.disallowPatterns([...both, agent('ccbot')]), [], 'empty if one may fetch everything')
  t.same(policy.disallowPatterns([]), [])
})
