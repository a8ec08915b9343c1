import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../fixtures/command.js'
import { signBody } from '../fixtures/edge-service.js'
import { dataDir, GPTBOT, startInstance, startOrigin } from '../fixtures/instance.js'

/*
 * The attack: kill -9 right after the 202 of a signed delivery from another server, which promises that its rows are
 * durable. The sender then repeats the delivery, because it cannot know whether the response was its own. The attack
 * succeeds if a row of an accepted delivery is missing, or if the repeated delivery stores its rows a second time.
 */

t.test('kill -9 right after the 202: the rows are stored, and none twice', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  mkdirSync(data)
  chmodSync(data, 0o755)
  const made = await command(
    'sites',
    'create',
    '--name',
    'Two',
    '--domain',
    'Two.Example',
    '--timezone',
    'UTC',
    '--json',
    '--data',
    data,
  )
  const site = JSON.parse(made.stdout)
  t.match(
    site,
    { id: 2, domains: ['two.example'], timezone: 'UTC', ingest_key: /^svci_[\w-]{43}$/ },
    'before the first start',
  )

  let app = await startInstance(origin.url, data)
  t.teardown(() => app.stop())
  const key = (await command('sites', 'ingest-key', '1', '--data', data)).stdout.trim()
  t.match(key, /^svci_[\w-]{43}$/)
  const row = (n: number) => ({
    ...{ timestamp: new Date().toISOString(), user_agent: GPTBOT, method: 'GET', hostname: 'one.example', status: 200 },
    pathname: `/${n}`,
  })
  const send = async (body: string, header: string) => {
    const headers = { 'content-type': 'application/json', 'x-service-signature': header }
    return (await fetch(`${app.admin}/api/log/edge`, { method: 'POST', body, headers })).status
  }
  const now = () => Math.floor(Date.now() / 1000)
  const delivery = (number: number) =>
    JSON.stringify({
      site_id: 1,
      batch: { sender: '0123456789abcdef', number },
      agent_events: Array.from({ length: 100 }, (_, i) => row(number * 100 + i)),
    })
  const last = { body: '', header: '' }
  for (const number of [1, 2]) {
    last.body = delivery(number)
    last.header = signBody(key, now(), last.body)
    t.equal(await send(last.body, last.header), 202)
    await app.stop('SIGKILL')
    for (const name of readdirSync(data).filter((name) => /\.duckdb/.test(name)))
      t.equal(statSync(join(data, name)).mode & 0o077, 0, `${name} is its user’s alone`)
    app = await startInstance(origin.url, data)
    t.equal(await app.fetches(), number * 100, 'every acknowledged row, once')
  }
  t.equal(await send(last.body, last.header), 409, 'the repeat')
  const again = delivery(2)
  t.equal(await send(again, signBody(key, now(), again)), 202, 'the same delivery, signed afresh')
  t.equal(await app.fetches(), 200, 'writes nothing')

  const rotated = JSON.parse((await command('sites', 'ingest-key', '1', '--rotate', '--json', '--data', data)).stdout)
  t.match(rotated, { site: 1, ingest_key: /^svci_/, previous_until: /Z$/ })
  for (const [signing, body] of [
    [key, '{"site_id":1}'],
    [rotated.ingest_key, '{"site_id":1 }'],
  ] as const)
    t.equal(await send(body, signBody(signing, now(), body)), 202, 'both keys')

  t.match(await command('sites', 'list', '--data', data), { code: 0, stdout: /^ 2 {2}Two +UTC +two\.example$/m })
  const wrong: [string[], number, RegExp, string][] = [
    [['create', '--domain', 'x.example'], 2, /--name: is missing/, 'no name'],
    [['create', '--name', 'x'], 2, /--domain: is missing/, 'no domain'],
    [['create', '--name', 'x', '--domain', 'http://x.example'], 2, /domains/, 'a URL'],
    [['create', '--name', 'x', '--domain', 'x.example', '--timezone', 'Mars/X'], 2, /timezone/, 'no zone'],
    [['create', '--name', 'x', '--domain', 'TWO.example'], 1, /Another site has the domain two\.example/, 'taken'],
    [['ingest-key', 'x'], 2, /x is not the ID of a site/, 'no ID'],
    [['ingest-key', '9'], 1, /no such site/, 'nobody’s'],
  ]
  for (const [args, code, says, why] of wrong)
    t.match(await command('sites', ...args, '--data', data), { code, stdout: '', stderr: says }, why)
})
