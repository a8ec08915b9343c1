import t from 'tap'
import { z } from 'zod'
import type { PolicyChange } from '../../../src/agents/policy/change.js'
import { sql } from '../../../src/storage/sql.js'
import { fileResponse, startOrigin } from '../../fixtures/policy-monitor.js'
import { startTestEngine, waitFor } from '../../fixtures/worker-client.js'

t.test(
  'the worker stores the policies of the site’s hostnames, reports changes, and has them after a restart',
  async (t) => {
    const { table, url, requests } = await startOrigin(t)
    table.set(
      'example.com/robots.txt',
      fileResponse('User-agent: GPTBot\nDisallow: /docs\n\nUser-agent: *\nDisallow:\n'),
    )
    table.set(
      'example.com/llms.txt',
      fileResponse(
        '# Site\n\n> All of it\n\n## Docs\n\n- [A](/docs/a): first\n- [B](/b)\n- [C](/b?c)\n- [D](https://d.example/)\n',
      ),
    )
    const { engine, data, lines } = await startTestEngine(t, { origin: url.origin })
    await engine.records.write(sql`update sites set domains = '["example.com"]'`)
    const changes: PolicyChange[] = []
    const stop = engine.onPolicyChange((change) => changes.push(change))
    const known = () => lines.filter((line) => line.startsWith('policy: example.com')).length === 2
    await untilAsync(async () => known(), 'both files are known')

    t.match(await engine.call('policy', { site: 1 }), {
      hostnames: ['example.com'],
      hostname: 'example.com',
      robots: {
        url: 'http://example.com/robots.txt',
        status: 200,
        standing: 'served',
        groups: [
          { user_agents: ['GPTBot'], line: 1, rules: [{ allow: false, pattern: '/docs', line: 2 }] },
          { user_agents: ['*'], line: 4 },
        ],
      },
      llms: {
        title: 'Site',
        summary: 'All of it',
        sections: [{ name: 'Docs', links: [{ title: 'A', notes: 'first' }, { title: 'B' }] }],
      },
      versions: [{ status: 200 }, { status: 200 }],
    })
    t.match(await engine.call('policy', { site: 1, agent_id: 'GPTBot', path: '/docs/a?b' }), {
      path: '/docs/a?b',
      agents: [
        { agent_id: 'gptbot', robots_token: 'GPTBot', group: ['GPTBot'], allowed: false, rule: '/docs', line: 2 },
      ],
    })
    t.match(await engine.call('policy', { site: 1, agent_id: 'my-bot', path: '/docs/a' }), {
      agents: [{ agent_id: 'my-bot', group: ['*'], allowed: true }],
    })
    await t.rejects(engine.call('policy', { site: 1, hostname: 'other.example' }), { code: 'not_found' })
    t.match(await engine.call('policy', { site: 2 }), { hostnames: [], agents: [] }, 'another site has none')
    const urls = [
      { hostname: 'example.com', pathname: '/docs/a' },
      { hostname: 'other.example', pathname: '/docs/a' },
    ]
    t.strictSame(
      await engine.call('blocked', { site: 1, urls }),
      [false, false],
      'only GPTBot is disallowed, and it is a training agent',
    )

    table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
    const at = Date.now()
    await engine.call('policy_seen', { hostname: 'example.com', path: '/robots.txt', at })
    await waitFor(() => changes.length > 0, 'the change is reported')
    t.match(changes, [
      { hostname: 'example.com', kind: 'robots', at, from: { rules: 2 }, to: { rules: 1, status: 200 } },
    ])
    const versions = z.object({ hostname: z.string(), versions: z.array(z.record(z.string(), z.unknown())) })
    const { versions: all } = versions.parse(
      await engine.call('policy_versions', { site: 1, before: at + 1, limit: 2 }),
    )
    t.match(
      all.map(({ kind, standing, groups, rules, links, text }) => ({ kind, standing, groups, rules, links, text })),
      [
        { kind: 'robots', standing: 'served', groups: 1, rules: 1, text: 'User-agent: *\nDisallow: /\n' },
        { kind: /robots|llms/, standing: 'served', text: /User-agent: GPTBot|# Site/ },
        { kind: /robots|llms/, standing: 'served', text: undefined },
      ],
      'the newest first, two of them with text',
    )
    const changed = new Date(at).toISOString()
    t.equal(all[0]?.since, changed, 'in force from the response that showed the change')
    t.equal(all.slice(1).find(({ kind }) => kind === 'robots')?.until, changed)
    t.ok(Date.parse(String(all[0]?.until)) > Date.now() + 86_000_000, 'in force until a day after the last fetch')
    const onlyLlms = versions.parse(await engine.call('policy_versions', { site: 1, before: at, kind: 'llms' }))
    t.match(onlyLlms, { hostname: 'example.com', versions: [{ kind: 'llms', links: 4, text: /^# Site/ }] })
    t.equal(onlyLlms.versions.length, 1)
    const linked = versions.parse(
      await engine.call('policy_versions', { site: 1, before: at, kind: 'llms', links: true }),
    )
    t.strictSame(
      linked.versions[0]?.targets,
      [
        { title: 'A', pathname: '/docs/a', section: 'Docs' },
        { title: 'B', pathname: '/b', section: 'Docs' },
      ],
      'the links to this hostname, each path once',
    )
    t.equal(linked.versions[0]?.text, undefined, 'without the text')
    t.strictSame(await engine.call('policy_versions', { site: 2, before: at }), { versions: [] })
    const { agents } = z
      .object({ agents: z.array(z.object({ agent_id: z.string(), allowed: z.boolean() })) })
      .parse(await engine.call('policy', { site: 1, path: '/b', seen: ['codex-cli', 'gptbot'] }))
    t.strictSame(
      agents.filter(({ agent_id }) => ['codex-cli', 'gptbot'].includes(agent_id)),
      [
        { agent_id: 'gptbot', allowed: false },
        { agent_id: 'codex-cli', allowed: false },
      ],
      'a seen agent that robots.txt cannot name is judged too, and no agent twice',
    )
    t.ok(lines.some((line) => line.startsWith('policy changed: example.com robots.txt: 2 rules before, 1 rule now')))
    t.strictSame(await engine.call('blocked_within', { site: 1 }), [{ hostname: 'example.com', patterns: ['/'] }])
    t.strictSame(
      await engine.call('blocked', { site: 1, urls }),
      [true, false],
      'all agents are blocked, on that hostname only',
    )
    t.strictSame(
      await engine.call('blocked', { site: 1, operator: 'Nobody', urls }),
      [false, false],
      'nothing is blocked for an empty list of agents',
    )
    t.strictSame(await engine.call('blocked_within', { site: 2 }), [], 'nothing is blocked on another site')
    stop()
    await engine.close()

    const before = requests.length
    table.clear()
    const again = await startTestEngine(t, { data })
    t.match(
      await again.engine.call('policy', { site: 1, agent_id: 'gptbot', path: '/x' }),
      { agents: [{ allowed: false, rule: '/', line: 2 }], versions: [{}, {}, {}] },
      'without an origin, the stored policy',
    )
    t.equal(requests.length, before)
  },
)

async function untilAsync(holds: () => Promise<boolean>, what: string): Promise<void> {
  for (let n = 0; n < 300; n++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`not within 15 seconds: ${what}`)
}
