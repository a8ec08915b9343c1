import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createTailStream, TailQuery } from '../../../src/api/tail.js'
import { command } from '../../fixtures/command.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { dataDir, eventually, GPTBOT, startInstance } from '../../fixtures/instance.js'
import { fileResponse, startOrigin } from '../../fixtures/policy-monitor.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { exchangeBytes } from '../../site/proxy/fixtures/sockets.js'

const ROBOTS =
  'User-agent: GPTBot\nDisallow: /docs\nAllow: /docs/open\n\nUser-agent: *\nCrawl-delay: 5\nContent-Usage: /docs train-ai=n\nDisallow: /a\u001b[31mb\n'
const LLMS = '# Site\u001b[2J\n\n## Docs\n\n- [A](/docs/a)\n'

t.test('policy of a URL is fetched from the site, without an instance', async (t) => {
  const { table, port, url } = await startOrigin(t)
  table.set(`127.0.0.1:${port}/robots.txt`, fileResponse(ROBOTS))
  table.set(`127.0.0.1:${port}/llms.txt`, fileResponse(LLMS))
  const shown = await command('policy', url.href)
  t.equal(shown.code, 0, shown.stderr)
  for (const text of [
    'User-agent: GPTBot',
    '2  Disallow: /docs',
    'Crawl-delay: 5',
    'Content-Usage: /docs train-ai=n',
    'Disallow: /a\\x1b[31mb',
    'Site\\x1b[2J',
  ])
    t.ok(shown.stdout.includes(text), text)
  t.notOk(shown.stdout.includes('\u001b'), 'text of the site is escaped')
  for (const [agent, path, expected, why] of [
    ['gptbot', '/docs/x', /^not allowed +gptbot .*Disallow: \/docs \(User-agent: GPTBot\), line 2$/m, 'by its id'],
    ['GPTBot', '/docs/open', /^allowed .*Allow: \/docs\/open .*line 3$/m, 'the longer rule'],
    ['my-bot', '/docs/x', /^allowed .*no rule of its group/m, 'a token that the catalog does not have'],
    ['my-bot', '/robots.txt', /^allowed .*always allowed/m, 'the file itself'],
  ] as const) {
    const { code, stdout } = await command('policy', url.href, '--agent', agent, '--path', path)
    t.equal(code, 0, `${why}: a verdict is not a failure`)
    t.match(stdout, expected, why)
    t.match(stdout, /version [0-9a-f]{12} since 20/, 'with its version')
  }
  const { stdout } = await command('policy', url.href, '--agent', 'gptbot', '--path', '/docs/x', '--json')
  t.match(JSON.parse(stdout), {
    agents: [{ agent_id: 'gptbot', allowed: false, rule: '/docs', line: 2 }],
    llms: { sections: [{ links: [{ url: `http://127.0.0.1:${port}/docs/a`, offsite: false }] }] },
  })
  t.match(await command('policy', 'nonsense'), { code: 2, stderr: /is not an http or https URL/ })
  t.match(await command('policy', url.href, '--path', 'x'), { code: 2, stderr: /--path: must begin with \// })
  t.match(await command('policy', 'http://127.0.0.1:1'), { code: 1, stderr: /cannot be reached/ })
})

t.test('policy of the running instance, and tail --violations', { timeout: 300_000 }, async (t) => {
  const { table, url } = await startOrigin(t)
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /private\n'))
  const data = dataDir(t)
  const instance = await startInstance(url.origin, data, '--domain', 'example.com')
  t.teardown(() => instance.stop())
  const policy = (...more: string[]) => command('policy', '--data', data, ...more)
  await eventually('the policy is known', async () => (await policy()).stdout.includes('Disallow: /private'), 30_000)
  t.match(await policy('--agent', 'gptbot', '--path', '/private/x'), {
    code: 0,
    stdout: /^not allowed +gptbot example/,
  })
  t.match(await policy('--hostname', 'other.example'), { code: 1, stderr: /No policy is known/ })

  // Written to a socket, because the proxy forwards the Host header that it gets.
  const ask = (path: string) =>
    exchangeBytes(Number(new URL(instance.site).port), [
      `GET ${path} HTTP/1.1\r\nHost: example.com\r\nUser-Agent: ${GPTBOT}\r\nConnection: close\r\n\r\n`,
    ])
  await ask('/private/x')
  await ask('/open')
  await eventually('both rows are stored', async () => (await instance.fetches()) === 2, 20_000)
  const attempt = (...more: string[]) => command('policy', 'try', ...more, '--data', data)
  const draft = join(data, 'draft.txt')
  await writeFile(draft, 'User-agent: *\nDisallow: /open\nCrawl-delay: 2\n')
  const tried = await attempt(draft)
  t.match(tried.stdout, /^Of 2 fetches the text disallows 1: 1 newly, on 1 pages; it newly allows 1\.$/m)
  t.match(tried.stdout, /^GPTBot +1 +1 +never read robots.txt|^GPTBot +1 +1 +1$/m)
  t.match(tried.stdout, /^line 2 decides 1 fetches$/m)
  t.match(tried.stdout, /^line 3: not part of RFC 9309/m)
  const asJson = JSON.parse((await attempt(draft, '--range', '7d', '--json')).stdout)
  t.match(asJson, { fetches: 2, newly_disallowed: { fetches: 1 } })
  t.match(await attempt(join(data, 'none.txt')), { code: 1, stderr: /none\.txt cannot be read: ENOENT/ })
  // The file changes, and a client fetches the new version.
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  await ask('/robots.txt')
  await eventually(
    'the change is seen',
    () => /policy changed: example\.com robots\.txt/.test(instance.output()),
    20_000,
  )
  await ask('/open')
  await eventually('all rows are stored', async () => (await instance.fetches()) === 4, 20_000)
  await instance.stop()
  const { stdout } = await command('tail', '--data', data, '--violations', '--json')
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(
    rows,
    [
      { pathname: '/private/x', robots_rule: '/private', robots_line: 2, robots_grace: false },
      { pathname: '/open', robots_rule: '/', robots_line: 2, robots_grace: true },
    ],
    'only fetches that were disallowed at the time',
  )
  t.equal(rows.length, 2)
  const shown = await command('tail', '--data', data, '--violations')
  t.match(shown.stdout, /\/private\/x .* disallowed by "\/private" line 2$/m)
  t.match(shown.stdout, /\/open .* disallowed by "\/" line 2 \(grace\)$/m)
  t.match((await command('stats', '--data', data)).stdout, /^2 violations of robots\.txt {3}1 agent that violates it$/m)
})

t.test('tail --violations filters recent and live rows', async (t) => {
  const { workerClient, commit } = await createInProcessEngine(t)
  const fetched = (pathname: string, robots_allowed: boolean | null) => agentRow({ pathname, robots_allowed })
  await commit({ events: [eventRow()], agent_events: [fetched('/1', false), fetched('/2', true), fetched('/3', null)] })
  const reader = createTailStream(workerClient, TailQuery.parse({ violations: '1' }), [1]).getReader()
  const next = async () => JSON.parse(Buffer.from((await reader.read()).value ?? []).toString()).pathname
  t.equal(await next(), '/1')
  await commit({ events: [eventRow()], agent_events: [fetched('/4', true), fetched('/5', null), fetched('/6', false)] })
  t.equal(await next(), '/6')
  await reader.cancel()
})
