import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { buildRuleSet, type RuleSources } from '../../src/rules/build-rule-set.js'
import { DecidingRule } from '../../src/rules/rule.js'

const rule = (fields: object, site = 1) => ({
  ...DecidingRule.parse({ id: 1, name: 'a rule', action: 'block', state: 'on', ...fields }),
  site,
})
const build = (sources: Partial<RuleSources>) =>
  buildRuleSet({
    catalog: loadCatalog(),
    sites: [
      { id: 1, domains: ['one.example'] },
      { id: 2, domains: ['two.example'] },
    ],
    rules: [],
    pauses: new Map(),
    redirects: [],
    managed: new Map(),
    robots: [],
    ...sources,
  })
const robots = (hostname: string, body: string, status = 200) => ({ hostname, status, body })
const SITEMAPS = `Sitemap: https://one.example/pages.txt
Sitemap: https://elsewhere.example/other.txt
Sitemap: /relative.txt`

t.test('a rule that is on spares the search engines that its owner has not agreed to refuse', async (t) => {
  const purposes = ['search']
  const exceptOf = (fields: object) =>
    build({ rules: [rule({ purposes, ...fields })] }).sites[0]?.rules[0]?.except ?? []
  const rows: [object, boolean, string][] = [
    [{}, true, 'nobody agreed'],
    [{ refuse_search_engines: true }, false, 'the owner agreed'],
    [{ state: 'rehearse' }, false, 'a rehearsal tells what it would do'],
    [{ action: 'allow' }, false, 'nothing is refused'],
    [{ identity: ['spoofed'] }, false, 'only false claims are refused'],
  ]
  for (const [fields, expected, why] of rows) t.equal(exceptOf(fields).includes('googlebot'), expected, why)
})

t.test('each site has what is its own', async (t) => {
  const set = build({
    rules: [rule({ paths: ['/a'] }), rule({ paths: ['/b'], state: 'off' }), rule({ id: 2, disallowed: true }, 2)],
    redirects: [{ site: 2, from: '/x', to: '/y', status: 301 }],
    robots: [
      robots('one.example', SITEMAPS),
      robots('two.example', 'User-agent: *\nDisallow: /'),
      robots('www.two.example', '', 0),
    ],
    pauses: new Map([[2, new Date('2026-11-29T10:00:00Z')]]),
  })
  const [one, two] = set.sites
  const rows: [unknown, unknown, string][] = [
    [one?.rules.map(({ paths }) => paths), [['/a']], 'rules that are off are left out'],
    [one?.sitemaps, ['/pages.txt'], 'whole URLs of its own hostnames (RFC 9309 2.2.4)'],
    [one?.robots, [], 'no rule of it asks robots.txt'],
    [one?.paused_since, undefined, 'not paused'],
    [two?.rules.map(({ id }) => id), [2], 'its own rule'],
    [
      two?.robots.map(({ hostname }) => hostname),
      ['two.example'],
      'a robots.txt that could not be reached disallows nothing',
    ],
    [two?.redirects, [{ from: '/x', to: '/y', status: 301 }], 'its own redirect'],
    [two?.paused_since, '2026-11-29T10:00:00.000Z', 'paused'],
  ]
  for (const [actual, expected, why] of rows) t.same(actual, expected, why)
})

t.test('a managed robots.txt is active, and the one that the origin serves is not', async (t) => {
  const [site] = build({
    rules: [rule({ disallowed: true })],
    robots: [robots('one.example', 'User-agent: *\nDisallow: /', 0)],
    managed: new Map([[1, SITEMAPS]]),
  }).sites
  t.same(site?.robots, [robots('one.example', SITEMAPS)])
  t.same(site?.sitemaps, ['/pages.txt'])
})

t.test('sites without rules, redirects and a robots.txt of their own are left out', async (t) => {
  t.same(build({ rules: [rule({ state: 'off' })] }).sites, [])
  const [changed, kept] = [
    { rules: [rule({ paths: ['/a'] }), rule({ id: 2, paths: ['/b'] }, 2)] },
    { rules: [rule({ paths: ['/c'] }), rule({ id: 2, paths: ['/b'] }, 2)] },
  ].map(build)
  t.not(kept?.sites[0]?.version, changed?.sites[0]?.version, 'another rule is another version')
  t.equal(kept?.sites[1]?.version, changed?.sites[1]?.version, 'the other site keeps its version')
})
