import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { formatLogReport } from '../../../src/app/cli/log-report-screen.js'
import { textWidth } from '../../../src/app/cli/text-width.js'
import { command } from '../../fixtures/command.js'
import { fileResponse, startOrigin } from '../../fixtures/policy-monitor.js'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'
const HOSTILE = '/<script>alert(1)</script>\u001b[31m=1+1'
const line = (path: string, agent: string, day = 21, status = 200): string =>
  `192.0.2.1 - - [${day}/Nov/2026:10:00:00 +0000] "GET ${path} HTTP/1.1" ${status} 10 "-" "${agent}"\n`

const LOG = `${line('/', CHROME)}${line('/app.css', CHROME)}${line('/docs/a', GPTBOT)}${line(HOSTILE, GPTBOT, 21, 404)}broken\n`

t.test('the screen, in the widths that terminals have', async (t) => {
  const folder = t.testdir({ 'access.log': LOG, 'robots.txt': 'User-agent: *\nDisallow: /docs\n' })
  const [file, robots] = [join(folder, 'access.log'), join(folder, 'robots.txt')]
  const { code, stdout, stderr } = await command('report', file, '--robots', robots)
  t.equal(code, 0, stderr)
  for (const text of [
    '1 pageview',
    '2 requests',
    'GPTBot',
    'Disallowed by robots.txt, and fetched',
    '1 line could not be read',
    'Pages that people viewed',
    'Browsers, by pageviews',
    'Status codes, people and agents',
    'Hours of the day',
  ])
    t.ok(stdout.includes(text), text)
  t.notOk(stdout.includes('\u001b'), 'texts of the log are escaped')
  t.ok(stdout.includes('\\x1b[31m'), stdout)
  const report = JSON.parse((await command('report', file, '--json')).stdout)
  for (const columns of [40, 60, 80, 100, 200])
    for (const shown of formatLogReport({ colour: false, columns }, report).split('\n'))
      t.ok(textWidth(shown) <= columns, `${columns}: ${shown}`)
})

t.test('a log that is cut short, or of another format, is an error after the report', async (t) => {
  const whole = gzipSync(LOG.repeat(50))
  const folder = t.testdir({ 'cut.gz': whole.subarray(0, whole.length - 9), 'access.log': LOG })
  const cut = await command('report', join(folder, 'cut.gz'))
  t.match(cut, { code: 1, stdout: /GPTBot/ })
  t.match(
    cut.stderr,
    new RegExp(`cut\\.gz: cut short or damaged after byte ${whole.length - 9}, line \\d+: unexpected end of file`),
  )
  const other = await command('report', join(folder, 'access.log'), '--log-format', 'caddy', '--json')
  t.match(other, { code: 1, stderr: /No line is of its format: name another one with --log-format/ })
  t.match(JSON.parse(other.stdout), { lines: { broken: 5 } })
})

t.test('on a terminal the report is shown by the pager, and without one plainly', async (t) => {
  const file = join(t.testdir({ 'access.log': LOG }), 'access.log')
  const shown = (pager: string) => {
    const args = ['-qec', `node dist/bin/readership.js report ${file}`, '/dev/null']
    return spawnSync('script', args, { encoding: 'utf8', env: { ...process.env, PAGER: pager } })
  }
  if (shown('cat').error) {
    t.pass('script, which makes a terminal, is not installed')
    return
  }
  t.match(shown('sed s/^/P:/').stdout, /^P:.*People/m)
  const plain = shown('no-such-pager')
  t.match(plain.stdout, /People/)
  t.equal(plain.status, 0)
})

t.test('addresses are listed only if they are asked for', async (t) => {
  const file = join(t.testdir({ 'access.log': LOG }), 'access.log')
  t.notMatch((await command('report', file)).stdout, '192.0.2.1')
  t.match((await command('report', file, '--addresses')).stdout, /4 {2}192\.0\.2\.1 \(40 B\): 2 and 2/)
})

t.test('json, csv and html of the same', async (t) => {
  const folder = t.testdir({ 'access.log': LOG })
  const [file, page, sheet] = ['access.log', 'report.html', 'agents.csv'].map((name) => join(folder, name))
  const { code, stdout } = await command('report', `${file}`, '--output', `${page}`, '--csv', `${sheet}`, '--json')
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    people: { pageviews: 1 },
    agents: { requests: 2, client_errors: 1 },
    lines: { broken: 1 },
  })
  const html = readFileSync(`${page}`, 'utf8')
  const order = [
    'Pages that people',
    'Browsers',
    '<h2>Agents</h2><table',
    'Bytes by URL',
    'Status codes',
    'Hours of the',
  ]
  const places = order.map((title) => html.indexOf(title))
  t.same(
    [...places].sort((a, b) => a - b),
    places,
    'people stand before agents',
  )
  t.notOk(places.includes(-1), places.join())
  t.notOk(html.includes('<script') || html.includes('\u001b'), 'texts of the log are escaped')
  t.match(html, /&lt;script&gt;alert\(1\)/)
  t.notMatch(html, /(?:src|href)=/, 'the page needs no other file')
  const [head, first] = readFileSync(`${sheet}`, 'utf8').split('\r\n')
  t.equal(
    head,
    'agent_id,name,operator,purpose,requests,bytes,client_errors,server_errors,disallowed,first_seen,last_seen',
  )
  t.equal(first, 'gptbot,GPTBot,OpenAI,training,2,20,1,0,,2026-11-21T10:00:00.000Z,2026-11-21T10:00:00.000Z')
})

t.test('the page has times of the zone, and the note names the format of the broken lines', async (t) => {
  const folder = t.testdir({
    'access.log': `${line('/', CHROME, 20)}${line('/', GPTBOT)}`,
    'json.log': `{"time":"2026-11-21T10:00:00Z","remote_addr":"192.0.2.1","request":"GET / HTTP/1.1","status":200}\n{\n`,
  })
  const files = ['access.log', 'json.log'].map((name) => join(folder, name))
  const page = join(folder, 'page.html')
  const { stdout } = await command('report', ...files, '--html', page, '--tz', 'Asia/Tokyo')
  t.match(stdout, /1 line could not be read as JSON/)
  t.match(readFileSync(page, 'utf8'), '>2026-11-21 19:00<')
})

t.test('several files, compressed, in any order, and standard input', async (t) => {
  const folder = t.testdir({ 'access.log': line('/', CHROME) })
  writeFileSync(join(folder, 'access.log.1.gz'), gzipSync(line('/', CHROME, 20).repeat(2)))
  const files = ['access.log', 'access.log.1.gz'].map((name) => join(folder, name))
  const { stdout } = await command('report', ...files, '--json')
  t.match(JSON.parse(stdout), { people: { pageviews: 3, sessions: 2 }, files: [{ lines: 2 }, { lines: 1 }] }, 'by time')
  const piped = execFileSync(process.execPath, ['dist/bin/readership.js', 'report', '-', '--json'], { input: LOG })
  t.match(JSON.parse(piped.toString()), { people: { pageviews: 1 }, lines: { read: 5 } }, 'a pipe')
})

t.test('a format that the operator writes', async (t) => {
  const own = `10:00:00 192.0.2.1 "GET /docs HTTP/1.1" 200 "${GPTBOT}"\n`
  const file = join(t.testdir({ 'own.log': `2026-11-21T${own}2026-11-22T${own}` }), 'own.log')
  const pattern = '$time_iso8601 $remote_addr "$request" $status "$http_user_agent"'
  const { stdout, stderr } = await command('report', file, '--json', '--tz', 'Asia/Kolkata', '--log-format', pattern)
  t.equal(stderr, '')
  t.match(JSON.parse(stdout), {
    agents: { requests: 2, agents: 1 },
    // Kolkata is five and a half hours ahead.
    window: { start: '2026-11-21T04:30:00.000Z', end: '2026-11-22T04:30:00.000Z' },
    files: [{ because: 'named with --log-format', broken: 0 }],
  })
})

t.test('the robots.txt of a site', async (t) => {
  const { table, port, url } = await startOrigin(t)
  table.set(`127.0.0.1:${port}/robots.txt`, fileResponse('User-agent: GPTBot\nDisallow: /docs\n'))
  const file = join(t.testdir({ 'access.log': LOG }), 'access.log')
  const { stdout } = await command('report', file, '--robots', url.href, '--json')
  t.match(JSON.parse(stdout).robots, {
    source: `${url.origin}/robots.txt`,
    requests: 1,
    agents: [{ rule: '/docs', line: 2 }],
  })
})

t.test('wrong use names what was expected', async (t) => {
  const folder = t.testdir({
    'access.log': LOG,
    'other.txt': 'one\ntwo\nthree\n',
    'empty.log': '',
    'w3c.log': '#Version: 1.0\n#Fields: date time c-ip\n\n',
  })
  const log = join(folder, 'access.log')
  for (const [args, code, expected, why] of [
    [[], 2, /missing required argument 'files'/, 'no file'],
    [[join(folder, 'none.log')], 1, /none\.log: does not exist/, 'a file that is not there'],
    [[folder], 1, /is a directory/, 'a directory'],
    [[join(folder, 'other.txt')], 1, /other\.txt: no format fits.*--log-format/, 'no log'],
    [[log, '--log-format', 'apache'], 2, /--log-format: "apache" is neither a name nor/, 'an unknown format'],
    [[log, '--log-format', '%h %q'], 2, /--log-format: /, 'a pattern that has no time'],
    [[log, '--tz', 'Berlin'], 2, /--tz: must be a time zone such as Europe\/Berlin/, 'an unknown zone'],
    [[log, '--robots', join(folder, 'none.txt')], 1, /--robots: .*none\.txt cannot be read/, 'no robots.txt'],
    [
      [log, '--robots', 'http://127.0.0.1:1/'],
      1,
      /--robots: http:\/\/127\.0\.0\.1:1\/robots\.txt cannot be read/,
      'no site',
    ],
    [[log, '--html', join(folder, 'no', 'page.html')], 1, /page\.html was not written/, 'no directory for the page'],
    [[join(folder, 'empty.log')], 0, /No line is a request/, 'an empty log is not a mistake'],
    [[join(folder, 'w3c.log')], 0, /No line is a request/, 'a log of headers'],
  ] as const) {
    const result = await command('report', ...args)
    t.equal(result.code, code, why)
    t.match(code === 0 ? result.stdout : result.stderr, expected, why)
  }
})

t.test('logs of several servers are read as one', async (t) => {
  // One visitor, a page every ten minutes, by turns on two servers: one session, and another after 40 minutes.
  const view = (minute: number): string =>
    `192.0.2.1 - - [21/Nov/2026:1${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}:00 +0000] "GET / HTTP/1.1" 200 10 "-" "${CHROME}"\n`
  const folder = t.testdir({
    'a.log': [0, 20, 40, 100].map(view).join(''),
    'b.log': `${[10, 30, 60].map(view).join('')}broken\n`,
    'empty.log': '',
    'old.log': line('/', CHROME, 20),
  })
  const files = ['b.log', 'a.log', 'empty.log', 'old.log'].map((name) => join(folder, name))
  const { stdout, stderr } = await command('report', ...files, '--json')
  t.equal(stderr, '')
  // 20 Nov; 0 to 60 minutes; 100 minutes.
  t.match(JSON.parse(stdout), { people: { pageviews: 8, visitors: 1, sessions: 3 }, lines: { read: 9, broken: 1 } })
})
