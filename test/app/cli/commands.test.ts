import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { command } from '../../fixtures/command.js'
import {
  CHROME,
  cli,
  dataDir,
  eventually,
  freePort,
  GPTBOT,
  startInstance,
  startOrigin,
} from '../../fixtures/instance.js'

/** Sends one request with its target byte for byte; client libraries would encode it. */
async function rawGet(port: string, target: string, agent: string): Promise<void> {
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    Buffer.from(`GET ${target} HTTP/1.1\r\nHost: a.com\r\nUser-Agent: ${agent}\r\nConnection: close\r\n\r\n`, 'latin1'),
  )
  socket.resume()
  await once(socket, 'close')
}

/** Returns whether the text has a C0 or C1 control character other than a line feed. */
const hasControls = (text: string) =>
  [...text].some((one) => one !== '\n' && (one < ' ' || (one >= '\u007f' && one <= '\u009f')))

t.test('--help lists commands and flags', async (t) => {
  const top = await command('--help')
  t.equal(top.code, 0)
  for (const name of ['proxy', 'serve', 'tail', 'stats', 'keys', 'agents', 'doctor'])
    t.match(top.stdout, new RegExp(`^  ${name} `, 'm'))
  const proxy = await command('proxy', '--help')
  for (const flag of [
    '--host',
    '--port',
    '--admin-host',
    '--admin-port',
    '--data',
    '--domain',
    '--base-path',
    '--trust-proxy',
    '--tls-cert',
    '--tls-key',
    '--memory-limit',
    '--geoip',
    '--config',
  ])
    t.match(proxy.stdout, new RegExp(`^  ${flag} <`, 'm'))
  t.match((await command('--version')).stdout, /^1\.2\.3\n$/)
})

t.test('agents prints the catalog, agents identify explains a user agent', async (t) => {
  const known = JSON.parse((await command('agents', '--json')).stdout)
  t.ok(known.length > 300, `${known.length} agents`)
  t.match(
    known.find((one: { agent_id: string }) => one.agent_id === 'gptbot'),
    { operator: 'OpenAI', purpose: 'training', verification: ['ranges'] },
  )
  t.match((await command('agents')).stdout, /^gptbot +OpenAI +training/m)
  t.match((await command('agents', 'identify', GPTBOT)).stdout, /GPTBot by OpenAI.*\n.*token "GPTBot"/)
  t.match(JSON.parse((await command('agents', 'identify', GPTBOT, '--json')).stdout), {
    agent_id: 'gptbot',
    because: 'token',
  })
  t.match((await command('agents', 'identify', GPTBOT, '--ip', '8.8.8.8')).stdout, /^from +US, AS15169$/m)
  t.match((await command('agents', 'identify', CHROME)).stdout, /a person/)
  t.match((await command('agents', 'identify', 'curl/8 \u009b2J')).stdout, /^is /)
})

t.test('commands with a running instance', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const app = await startInstance(origin.url, data, '--expose', 'api', '--domain', 'a.com')
  t.teardown(() => app.stop())
  const sitePort = new URL(app.site).port
  const at = ['--data', data]

  t.equal(statSync(data).mode & 0o777, 0o700, 'only its user can open the data directory')
  t.equal(statSync(join(data, 'control.sock')).mode & 0o777, 0o600, 'and the socket')
  const start = app
    .output()
    .split('\n')
    .filter((line) => line.includes('listening'))
  t.equal(start.length, 1, 'one line names all listeners')
  for (const part of [app.site, `dashboard and API ${app.admin}/ and ${app.site}/_readership/`, origin.url, data])
    t.ok(start[0]?.includes(part), part)

  await rawGet(sitePort, '/evil', 'evil-crawler/1.0 \u009b2J')
  for (const path of ['/a', '/a', '/b']) await rawGet(sitePort, path, GPTBOT)
  await rawGet(sitePort, '/seen', CHROME)
  await eventually('all rows', async () => (await app.fetches()) === 4 && (await app.pageviews()) === 1)

  await t.test('tail', async (t) => {
    const follow = spawn(process.execPath, ['dist/bin/readership.js', 'tail', ...at, '--audience', 'agent'])
    let seen = ''
    follow.stdout.on('data', (chunk) => {
      seen += chunk
    })
    await eventually('the recent rows', () => seen.split('\n').length === 5)
    t.match(seen, /^\d\d:\d\d:\d\d \/evil +200 +unknown +\d+ B in \d+ ms +evil-crawler\/1\.0 \\x9b2J$/m)
    t.notOk(hasControls(seen), 'no control character, no colour in a pipe')
    t.notMatch(seen, '/seen', 'agents only')
    const counted = command('tail', ...at, '--audience', 'agent', '--count', '5')
    await rawGet(sitePort, '/live', GPTBOT)
    await eventually('the live row', () => seen.includes('/live'))
    t.match(await counted, { code: 0, stderr: '', stdout: /^(.+\n){4}.+\/live .+\n$/ }, '--count ends after five rows')
    follow.kill('SIGINT')
    const [code, signal] = await once(follow, 'exit')
    t.ok(code === 130 || signal === 'SIGINT', 'Ctrl-C ends it')
    const ended = await command('tail', ...at, '-n', '2', '--no-follow', '--json', '--path', '/a')
    t.match(ended, { code: 0, stderr: '' }, '--no-follow ends after the rows')
    t.match(
      ended.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [{ pathname: '/a', agent_id: 'gptbot' }, { pathname: '/a' }],
    )
  })

  await t.test('stats', async (t) => {
    const { stdout, code } = await command('stats', ...at, '--range', 'today')
    t.equal(code, 0)
    t.match(stdout, /1 person {3}1 visit {3}1 pageview/)
    t.match(stdout, /5 fetches {3}2 agents {3}/)
    t.match(stdout, /^0 violations of robots\.txt$/m)
    t.match(stdout, /^ +2 {2}█+ +\/a$/m, 'with its bar')
    t.match(stdout, /^ +4 {2}█{16} {2}gptbot$/m)
    t.notOk(hasControls(stdout), 'text of clients is escaped')
    t.match(JSON.parse((await command('stats', ...at, '--json')).stdout), {
      site: 1,
      people: { visitors: 1, events: 0 },
      people_series: { metric: 'visitors' },
      agents: { fetches: 5, operators: [{ operator: 'OpenAI' }] },
      violations: { fetches: 0, agents: 0 },
    })
    const seen = await command('agents', ...at, '--site', '1', '--range', 'today')
    t.match(seen.stdout, /^gptbot +OpenAI +training +4 {2}\d{4}-\d\d-\d\d \d\d:\d\d /m, 'the fetches of an agent')
    t.match(seen.stdout.split('\n')[1], /^(gptbot|other) /, 'agents that came stand first')
    t.match(JSON.parse((await command('agents', ...at, '--json')).stdout)[0], { agent_id: String })
    const report = await command('stats', ...at, '--report', 'agents/breakdown', '--dimension', 'agent_id')
    t.match(report, { code: 0, stdout: /^FETCHES .*VALUE +NAME +OPERATOR +PURPOSE +LAST SEEN$/m })
    t.match(report.stdout, /^ +4 {2}█{16} .* gptbot +GPTBot +OpenAI +training +\d+ \w{3} \d{4}, \d\d:\d\d$/m)
    t.match(
      JSON.parse((await command('stats', ...at, '--report', 'pages', '--limit', '1', '--json')).stdout),
      { data: [{ pathname: /^\// }], meta: { limit: 1 } },
      "--json is the API's answer",
    )
    const cut = ['stats', ...at, '--report', 'agents/formats', '--limit', '1']
    t.match(await command(...cut), { code: 0, stdout: /^Agents the first 1 of 2 rows/m }, 'a report that is no list')
    const whole = await command(...cut, '--json')
    t.match(whole, {
      code: 2,
      stderr: /--limit does not apply to the report agents\/formats in a file, as JSON or as SQL\./,
    })
    const unfit = await command('stats', ...at, '--report', 'agents/formats', '--metric', 'bytes')
    t.match(unfit, { code: 2, stderr: /--metric does not apply to the report agents\/formats\./ }, 'as it was typed')
    const unsuspected = await command('stats', ...at, '--report', 'agents/overview', '--suspected', 'exclude')
    t.match(
      unsuspected,
      { code: 0, stdout: /leaves out sessions of people; this answer is about agents\./ },
      'its warnings',
    )
    const floor = await command('stats', ...at, '--report', 'suspected', '--suspected', 'exclude')
    t.match(floor, { code: 0, stdout: /A lower bound: / }, 'a report says that it is a lower bound')
    const own = ['--report', 'answers', '--param', 'by=operator', '--param', 'minutes=30']
    t.match(
      JSON.parse((await command('stats', ...at, ...own, '--json')).stdout),
      { meta: { query: { by: 'operator', minutes: 30 } } },
      'the parameters of one report alone',
    )
    const { stdout: statements } = await command('stats', ...at, '--report', 'pages', '--sql')
    t.match(statements, /^\/\* \/api\/stats\/pages \*\/\nselect .*\n {2}.*;\n$/s, 'the SQL of a report')
    t.match(statements, /site_id = 1\n/, 'with its values')
    const file = join(data, '..', 'pages.csv')
    writeFileSync(file, 'old')
    const saved = await command('stats', ...at, '--report', 'pages', '--csv', file)
    t.match(saved, { code: 0, stdout: '', stderr: /pages\.csv: \d+ bytes\n/ })
    const text = readFileSync(file, 'utf8')
    t.match(text, /^pathname,visitors,.*\r\n\/\w*,1,/)
    t.equal(
      (await command('stats', ...at, '--report', 'pages', '--csv', '-')).stdout,
      text,
      'the same on standard output',
    )
    const other = join(data, '..', 'other.csv')
    t.equal((await command('stats', ...at, '--report', 'pages', '--output', other)).code, 0)
    t.equal(readFileSync(other, 'utf8'), text, 'the ending chooses the format')
    const pdf = join(data, '..', 'overview.pdf')
    t.match(await command('stats', ...at, '--output', pdf), { code: 0, stderr: /overview\.pdf: [\d,]+ bytes/ })
    t.equal(readFileSync(pdf, 'latin1').slice(0, 5), '%PDF-')
    const wrong: [string[], number, RegExp, string][] = [
      [['--report', 'nothing'], 2, /^error: --report: There is no report "nothing"; the reports are/, 'no such report'],
      [['--report', 'page'], 2, /^error: --report: There is no report "page"; did you mean pages\?\n$/, 'nearly one'],
      [['--csv', file, '--report', 'breakdown'], 2, /dimension/, 'what the report needs is named'],
      [['--csv', join(data, 'no', 'such.csv')], 1, /such\.csv was not written: ENOENT/, 'no such directory'],
      [['--csv', data], 1, /was not written: /, 'a directory'],
      [['--report', 'pages', '--suspected', 'only'], 2, /suspected/, 'suspected visits are counted or left out'],
      [['--sql'], 2, /--sql needs --report/, 'the summary is many reports'],
      [['--pdf', '-'], 2, /--pdf needs the name of a file/, 'a PDF is not for the terminal'],
      [['--dimension', 'country'], 2, /--dimension needs a report/, 'a flag of reports without a report'],
      [['--param', 'minutes=30'], 2, /--param needs a report/, 'a parameter of reports without a report'],
      [['--report', 'answers', '--param', 'minutes'], 2, /--param: must be <name>=<value>/, 'no value'],
      [['--report', 'answers', '--param', 'minuts=30'], 2, /minuts/, 'a parameter that the report does not have'],
    ]
    for (const [args, exit, says, why] of wrong)
      t.match(await command('stats', ...at, ...args), { code: exit, stdout: '', stderr: says }, why)
    t.equal(readFileSync(file, 'utf8'), text, 'a failure leaves the previous file')
    t.same(
      readdirSync(join(data, '..')).filter((name) => name.endsWith('.part')),
      [],
      'and no partial file',
    )
    t.match(
      await command('stats', ...at, '--range', '28d'),
      { code: 2, stderr: /--range: must be today, .* or all/ },
      'wrong usage',
    )
    t.match(await command('stats', ...at, '--site', '9'), { code: 1, stderr: /There is no such site/ })
  })

  await t.test('keys', async (t) => {
    const hostile = await command('keys', 'create', '--name', 'ci \u001b[2J', ...at)
    t.match(hostile, { code: 2, stdout: '', stderr: 'error: A name must not contain control characters.\n' })
    const made = await cli('keys', 'create', '--name', 'ci', ...at)
    t.match(made.stdout, /^svcg_[0-9a-f]{8}_[\w-]{43}\n$/, 'only the secret, for a variable')
    const secret = made.stdout.trim()
    const ask = async (where: string) => (await fetch(where, { headers: { authorization: `Bearer ${secret}` } })).status
    t.equal(await ask(`${app.admin}/api/stats/overview?site=1`), 200)
    t.equal(await ask(`${app.site}/_readership/api/stats/overview?site=1`), 200, 'exposed under the base path')
    t.equal(await ask(`${app.site}/_readership/docs`), 200, 'with the documentation')
    t.equal(await ask(`${app.site}/_readership/metrics`), 404, 'and nothing else')
    t.equal(await ask(`${app.admin}/api/keys`), 403, 'an API key does not manage keys')
    t.equal(await ask(`${app.admin}/control/status`), 404, 'nor has it the rights of the operator')
    const all: { id: number; name: string }[] = JSON.parse((await command('keys', 'list', ...at, '--json')).stdout)
    const id = String(all.find((one) => one.name.startsWith('ci'))?.id)
    t.equal((await command('keys', 'revoke', id, ...at)).code, 0)
    t.equal(await ask(`${app.admin}/api/stats/overview?site=1`), 401, 'revoked at once')
    t.match(await command('keys', 'revoke', '999', ...at), { code: 1, stderr: 'error: There is no such key.\n' })
    t.match(await command('keys', 'create', '--name', 'x', '--scopes', 'root', ...at), {
      code: 2,
      stderr: /^error: `scopes\[0\]` must be one of stats:read, /,
    })
  })

  await t.test('doctor', async (t) => {
    const good = await command('doctor', origin.url, ...at)
    t.equal(good.code, 0, good.stdout + good.stderr)
    t.match(good.stdout, /✓ instance: runs, and stores rows/)
    t.match(good.stdout, /✓ dashboard: http:\/\/127\.0\.0\.1:\d+\/_readership\/ is open to this machine only/)
    t.match(good.stdout, /✓ origin: .* responds with 200/)
    t.match(
      (await command('doctor', ...at)).stdout,
      /✓ origin: .* responds with 200/,
      'uses the origin of the running instance',
    )
    const bad = await command('doctor', `http://127.0.0.1:${await freePort()}`, ...at, '--json')
    t.equal(bad.code, 1)
    t.match(
      JSON.parse(bad.stdout).find((one: { check: string }) => one.check === 'origin'),
      { state: 'fail', says: /ECONNREFUSED/, mend: /Start the site/ },
    )
    t.match(bad.stderr, /1 of \d+ checks failed/)
  })

  await t.test('status', async (t) => {
    const shown = await command('status', ...at)
    t.equal(shown.code, 0, shown.stderr)
    t.match(shown.stdout, /^readership \d.* {3}up [\dm ]+s\nproxies http:\/\/127\.0\.0\.1:\d+, data /)
    t.match(shown.stdout, /^✓ State {7}stores rows$/m)
    t.match(shown.stdout, /, 6 since the start$/m, 'five fetches and a pageview')
    t.match(shown.stdout, /^ {2}Requests {4}\d in progress, 2xx 6$/m)
    t.match(shown.stdout, /^ {2}robots\.txt {2}a\.com served, checked [\dm ]+s ago/m)
    t.match(JSON.parse((await command('status', ...at, '--json')).stdout), {
      origin: origin.url,
      store: { state: 'ready', restarts: 0 },
      rows: { stored: 6, waiting: 0 },
      requests: { addresses: { unnamed: 6 }, statuses: { '2xx': 6 } },
      data: { directory: data, free_bytes: Number },
      geo: [{ date: /^\d{4}-\d\d-\d\d$/ }, {}],
    })
  })

  await t.test('metrics', async (t) => {
    const text = await (await fetch(`${app.admin}/metrics`)).text()
    t.match(text, /^readership_rows_total\{audience="agent"\} 5$/m)
    t.match(text, /^readership_rows_total\{audience="human"\} 1$/m)
    t.match(text, /^readership_requests_total\{status="2xx"\} 6$/m, 'service paths do not count as the site’s')
  })

  await t.test('after it has stopped', async (t) => {
    t.equal(await app.stop(), 0)
    t.throws(() => statSync(join(data, 'control.sock')), { code: 'ENOENT' }, 'its socket is gone')
    t.match((await command('stats', ...at)).stdout, /5 fetches/, 'the store is opened directly')
    const last = await command('tail', ...at, '-n', '1')
    t.match(last, { code: 0, stdout: / \/live .* gptbot\n$/, stderr: /No instance runs/ })
    t.match((await command('keys', 'list', ...at)).stdout, /revoked \d{4}-/)
    t.match((await command('doctor', ...at)).stdout, /✓ instance: none runs/)
  })
})

t.test('a second signal stops at once', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, dataDir(t))
  const slow = fetch(`${app.site}/?wait=20000`).catch(() => {})
  await sleep(300)
  app.child.kill('SIGTERM')
  await eventually('it drains', () => app.output().includes('stopping'))
  const since = Date.now()
  t.equal(await app.stop('SIGTERM'), 143)
  t.ok(Date.now() - since < 5_000)
  await slow
})

t.test('keys create works before the first start', async (t) => {
  const data = dataDir(t)
  mkdirSync(data)
  const made = await command(
    'keys',
    'create',
    '--name',
    'early',
    '--json',
    '--data',
    data,
    '--scopes',
    'stats:read,manage:read',
  )
  t.match(JSON.parse(made.stdout), {
    id: 1,
    org: 1,
    name: 'early',
    scopes: ['stats:read', 'manage:read'],
    secret: /^svcg_/,
  })
})

t.test('serve runs the service without an origin', async (t) => {
  const [port, data] = [await freePort(), dataDir(t)]
  const child = spawn(process.execPath, [
    'dist/bin/readership.js',
    'serve',
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--data',
    data,
  ])
  const url = `http://127.0.0.1:${port}`
  await eventually('it is alive', async () => (await fetch(`${url}/healthz`)).ok)
  await eventually('its store is open', async () => (await fetch(`${url}/readyz`)).ok)
  t.equal((await fetch(`${url}/api/openapi.json`)).status, 200)
  t.equal((await fetch(`${url}/api/stats/overview?site=1`)).status, 401)
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
})
