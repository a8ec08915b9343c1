import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import type { Verifier } from '../../src/agents/claim-check.js'
import { VERDICTS } from '../../src/agents/verdict.js'
import { createApp } from '../../src/api/app.js'
import { listenControl } from '../../src/api/server.js'
import { workerControlRoutes } from '../../src/api/worker-control.js'
import { createClaimCheck } from '../../src/worker/agent-api.js'
import { command } from '../fixtures/command.js'
import { dataDir } from '../fixtures/instance.js'

const entry = (id: string, token: string, more: object = {}) => ({
  id,
  name: id,
  operator: 'Acme',
  purpose: 'search',
  ua_tokens: [token],
  ua_match: 'token',
  robots_only: false,
  honors_wildcard_group: true,
  respects_robots: 'yes',
  client_side: false,
  status: 'active',
  ...more,
})
const ranged = { ranges_url: 'https://acme.example/ips.json', ranges_format: 'prefixes-json' }
const catalog = parseCatalog(
  JSON.stringify({
    meta: { generated: '2026-12-24' },
    agents: [
      entry('newbot', 'NewBot', ranged),
      entry('plainbot', 'PlainBot'),
      entry('stay', 'StayBot', { operator: 'Stay & Sons', purpose: 'seo' }),
      entry('signer', 'SignerBot', { operator: 'Signers', purpose: 'assistant' }),
    ],
  }),
)
t.test('a claim is checked, and a late verdict is awaited', async (t) => {
  const published = {
    count: 12,
    source: 'https://acme.example/ips.json',
    refreshed_at: '2026-11-21T08:00:00.000Z',
    stale: false,
  }
  const checks: unknown[] = []
  const verifier: Pick<Verifier, 'check'> = {
    check(agent, request, at) {
      checks.push([agent?.id, request.ip, at])
      return request.ip === '192.0.2.1'
        ? { now: VERDICTS.ranges }
        : { now: VERDICTS.indeterminate, later: Promise.resolve(VERDICTS.spoofed) }
    },
  }
  const claims = createClaimCheck({
    catalog,
    verifier,
    ranges: (id) => (id === 'newbot' ? published : undefined),
    now: () => 7,
  })
  t.strictSame(await claims({ user_agent: 'NewBot/1', ip: '192.0.2.1' }), {
    agent_id: 'newbot',
    verified: true,
    verification: 'ranges',
    ranges: published,
  })
  t.strictSame(await claims({ user_agent: 'PlainBot/1', ip: '192.0.2.2' }), {
    agent_id: 'plainbot',
    verified: false,
    verification: 'spoofed',
  })
  t.strictSame(
    await claims({
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
      ip: '192.0.2.1',
    }),
    null,
    'a person claims nothing',
  )
  t.strictSame(checks, [
    ['newbot', '192.0.2.1', 7],
    ['plainbot', '192.0.2.2', 7],
  ])
  await t.rejects(claims({ user_agent: 1 }))

  // The same as the operator sees it: the command, through a socket, with an instance in this test.
  const data = dataDir(t)
  mkdirSync(data)
  const service = createApp({
    routes: workerControlRoutes({
      call: (name, argument) => (name === 'identify' ? known(argument) : Promise.reject(new Error(name))),
    }),
    credentials: {
      keys: { authenticate: () => Promise.reject(new Error('nobody has a key')), isActive: async () => false },
    },
    version: '1',
    log: (error) => t.fail(String(error)),
  })
  const socket = await listenControl(
    (request) => service(request, { ip: '', operator: true }),
    join(data, 'control.sock'),
  )
  t.teardown(() => socket.close())
  const long = { ...published, refreshed_at: new Date(Date.now() - 100 * 3_600_000).toISOString(), stale: true }
  const known = createClaimCheck({
    catalog: loadCatalog(),
    verifier,
    ranges: (id) => (id === 'gptbot' ? long : undefined),
    now: () => 7,
  })
  const verified = async (userAgent: string, ip: string) => {
    const { stdout, stderr } = await command('agents', 'identify', userAgent, '--ip', ip, '--data', data)
    t.equal(stderr, '')
    return /^verified +(.*)$/m.exec(stdout)?.[1]
  }
  t.equal(
    await verified('GPTBot/1.2', '192.0.2.1'),
    'yes, the address is in the published ranges (12 prefixes of https://acme.example/ips.json, 4 days old, stale)',
  )
  t.equal(
    await verified('Googlebot/2.1', '192.0.2.2'),
    'no, spoofed: Google publishes a way to verify it, and the address fails',
  )
  t.equal(
    await verified('Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', '192.0.2.1'),
    undefined,
    'a person',
  )
  const { stdout } = await command('agents', 'identify', 'GPTBot/1.2', '--ip', '192.0.2.1', '--data', data, '--json')
  t.match(JSON.parse(stdout), {
    agent_id: 'gptbot',
    because: 'token',
    claim: { verified: true, verification: 'ranges', ranges: long },
  })
})
