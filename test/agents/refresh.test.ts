import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { RangesStatus, RefreshResult } from '../../src/agents/ranges/status.js'
import { command } from '../fixtures/command.js'
import { dataDir, startInstance, startOrigin } from '../fixtures/instance.js'

/** The status of published ranges in the command, the catalog of the API and the doctor. */

const RefreshResults = z.array(RefreshResult)
const Ranges = RangesStatus.pick({ count: true, refreshed_at: true, source: true })
const ListedAgents = z.array(z.object({ agent_id: z.string(), ranges: Ranges.optional() }))

t.test('agents refresh, with local files and offline', async (t) => {
  const data = dataDir(t)
  const own = join(data, '..', 'ranges')
  mkdirSync(own, { recursive: true })
  const gptbot = join(own, 'gptbot.json')
  const day = new Date(Date.now() - 3_600_000)
  writeFileSync(gptbot, '{"prefixes":[{"ipv4Prefix":"20.171.206.0/24"},{"ipv4Prefix":"20.171.206.7/24"}]}')
  utimesSync(gptbot, day, day)
  const at = ['--data', data, '--ranges', own, '--offline']

  await t.test('without a running instance', async (t) => {
    const { code, stdout, stderr } = await command('agents', 'refresh', ...at, '--json')
    t.equal(code, 0, stderr)
    const told = RefreshResults.parse(JSON.parse(stdout))
    t.match(
      told.find(({ status }) => status === 'file'),
      { agents: ['gptbot'], source: gptbot, count: 1, refreshed_at: day.toISOString() },
    )
    t.ok(told.length > 40 && told.slice(1).every(({ status }) => status === 'offline'), 'nothing is requested')
    t.notOk(
      told.some(({ source }) => source === 'https://openai.com/gptbot.json'),
      'the list with a local file is not fetched',
    )
    const table = await command('agents', 'refresh', ...at)
    t.match(table.stdout, /^STATUS +COUNT +OF +FETCHED +AGENTS +SOURCE +ERROR\n/)
    t.match(table.stdout, /^file +1 +addresses +\d{4}-\d\d-\d\d \d\d:\d\d +gptbot +.*gptbot\.json$/m)
    t.match(table.stderr, /With --offline nothing is fetched/)
  })

  await t.test('with a running instance', async (t) => {
    const origin = await startOrigin()
    t.teardown(() => origin.close())
    const instance = await startInstance(origin.url, data, '--ranges', own)
    t.teardown(() => instance.stop())
    const catalog = async () => ListedAgents.parse((await instance.ask('/api/agents/catalog?site=1&limit=1000')).data)
    const of = async (id: string) => (await catalog()).find(({ agent_id }) => agent_id === id)?.ranges
    t.same(await of('gptbot'), { count: 1, refreshed_at: day.toISOString(), source: gptbot })
    t.equal(await of('googlebot'), undefined, 'missing ranges are absent')
    writeFileSync(
      join(own, 'common-crawlers.json'),
      '{"prefixes":[{"ipv4Prefix":"66.249.64.0/27"},{"ipv6Prefix":"2001:4860:4801:10::/64"}]}',
    )
    const { code, stdout, stderr } = await command('agents', 'refresh', '--data', data, '--json')
    t.equal(code, 0, stderr)
    const files = RefreshResults.parse(JSON.parse(stdout)).filter(({ status }) => status === 'file')
    t.equal(files.length, 2, 'the instance reads its --ranges again')
    t.match(
      files.find(({ agents }) => agents.includes('googlebot')),
      { count: 2, agents: ['googlebot', 'googlebot-image'].slice(0, 1) },
    )
    t.match(await of('googlebot-image'), { count: 2, source: join(own, 'common-crawlers.json') })
    for (const flag of [['--offline'], ['--ranges', own]])
      t.match(
        await command('agents', 'refresh', '--data', data, ...flag),
        { code: 2, stderr: /is a setting of the running instance/ },
        'flags that differ from those of the running instance are refused',
      )
    const doctor = await command('doctor', '--data', data, '--json')
    t.match(
      doctor.stdout,
      /for \d+ of \d+ agents, the oldest from .*\(gptbot\)/,
      'the doctor asks the running instance',
    )
    const secret = JSON.parse((await command('keys', 'create', '--name', 'x', '--data', data, '--json')).stdout).secret
    const outside = await fetch(`${instance.admin}/control/agents/refresh`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
    })
    t.equal(outside.status >= 400, true, `an API key has no access: ${outside.status}`)
  })

  await t.test('in the doctor', async (t) => {
    const says = async (...args: string[]) => (await command('doctor', '--data', data, ...args)).stdout
    t.match(await says(), /! published addresses: none: .*\n +Run `readership agents refresh`/)
    t.match(
      await says('--ranges', own, '--offline'),
      /✓ published addresses: for \d+ of \d+ agents, the oldest from \d{4}-\d\d-\d\d \(gptbot\)/,
    )
    utimesSync(gptbot, new Date(0), new Date(0))
    t.match(
      await says('--ranges', gptbot, '--offline'),
      /! published addresses: for 1 of \d+ agents, the oldest from 1970-01-01 \(gptbot\); incomplete or older than a week, and refuting nothing: 1\n +Give newer files/,
    )
    writeFileSync(gptbot, '{"prefixes":[{"ipv4Prefix":"0.0.0.0/0"}]}')
    t.match(
      await says('--ranges', gptbot),
      /✗ published addresses: ranges: .*gptbot\.json has "0\.0\.0\.0\/0", which is wider/,
    )
  })

  await t.test('reports an unusable file in one line at start', async (t) => {
    const { code, stderr } = await command(
      'proxy',
      'http://127.0.0.1:9',
      '--data',
      data,
      '--ranges',
      gptbot,
      '--port',
      '0',
      '--admin-port',
      '0',
      '--offline',
    )
    t.equal(code, 1)
    const lines = stderr
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('error:'))
    t.equal(lines.length, 1, stderr)
    t.match(lines[0], /^error: ranges: .*gptbot\.json has "0\.0\.0\.0\/0"/)
  })
})
