import t from 'tap'
import { createRefusedHostnames, MAX_REFUSED_HOSTNAMES } from '../../src/manage/refused-hostnames.js'

const clock = { now: new Date('2026-11-28T12:00:00Z') }
const sites = [
  { id: 1, domains: ['one.example'] },
  { id: 2, domains: ['other.example'] },
]
const orgs = [{ id: 1 }]
const open = () => createRefusedHostnames({ sites: async () => sites, orgs: async () => orgs, now: () => clock.now })

t.test('hostnames are counted by site, the most frequent first', async (t) => {
  const refused = open()
  for (const hostname of ['b.example', 'a.example', 'B.example']) refused.add(1, hostname)
  refused.add(undefined, 'b.example')
  refused.add(2, 'c.example')
  const at = clock.now.toISOString()
  t.strictSame(await refused.list(1), [
    { hostname: 'b.example', count: 3, last_at: at },
    { hostname: 'a.example', count: 1, last_at: at },
  ])
  const other = sites.splice(1)
  await refused.list(1)
  sites.push(...other)
  t.strictSame(
    await refused.list(2),
    [{ hostname: 'b.example', count: 1, last_at: at }],
    'those of a deleted site are forgotten; of a request to the proxy they stay',
  )
})

t.test('nothing of another organisation is shown', async (t) => {
  const refused = open()
  refused.add(undefined, 'unknown.example')
  for (const hostname of ['own.example', 'other.example', 'www.other.example', 'one.example']) refused.add(1, hostname)
  const names = async () => (await refused.list(1)).map(({ hostname }) => hostname)
  t.strictSame(await names(), ['own.example', 'unknown.example'], 'a hostname that a site lists is left out')
  orgs.push({ id: 2 })
  t.strictSame(await names(), ['own.example'], 'and so is that of a request without a site')
  orgs.pop()
  sites.push({ id: 3, domains: ['own.example'] })
  t.strictSame(await names(), ['unknown.example'], 'one that was added is refused no more')
  sites.pop()
})

t.test('hostile hostnames are ignored, and many displace no frequent one', async (t) => {
  const refused = open()
  const hostile = [
    '<script>',
    "a'b",
    'a;rm',
    '$(id)',
    '`id`',
    '-rf',
    '--domain',
    'a b',
    'a/b',
    '',
    '.',
    'x'.repeat(254),
    'a\u0000b',
    '[::1]',
  ]
  for (const hostname of hostile) refused.add(1, hostname)
  t.strictSame(await refused.list(1), [])
  refused.add(1, 'münchen.example')
  for (let i = 0; i < 5; i++) refused.add(1, 'www.real.example')
  for (let i = 0; i < 1_000; i++) refused.add(1, `scan${i}.example`)
  const list = await refused.list(1)
  t.equal(list.length, MAX_REFUSED_HOSTNAMES)
  t.match(list[0], { hostname: 'www.real.example', count: 5 })
  for (const { hostname } of list) t.match(hostname, /^[a-z0-9][a-z0-9._-]*$/, 'safe in a shell')
})
