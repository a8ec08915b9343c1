import { appendFileSync, existsSync, readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { z } from 'zod'
import { sql } from '../../../src/storage/sql.js'
import { CHROME, FIREFOX } from '../../fixtures/browser-headers.js'
import { command } from '../../fixtures/command.js'
import { directory } from '../../fixtures/files.js'
import { startImportService } from '../../fixtures/import-service.js'
import { logLine } from '../../fixtures/importer.js'
import { dataDir, eventually, GPTBOT } from '../../fixtures/instance.js'

/** Tests `readership import` as an operator runs it, with a real instance. */

const DAY = 86_400_000
const START = Date.UTC(2026, 2, 10, 10)
const service = await startImportService(t, ['a.example', 'www.a.example'])
const { run, ask, engine, readRows, writeLog } = service
await ask('PATCH', '/api/sites/1', JSON.stringify({ excluded_paths: ['/private/**'], respect_gpc: true }))

/** The fate of a line; `skip` is not a line of requests. */
type Fate = 'person' | 'agent' | 'not a page' | 'data' | 'dropped' | 'other host' | 'broken' | 'skip'
type Case = readonly [line: string, fate: Fate, why: string]

let minute = 0
/** A line by a visitor of its own, a minute after the one before. */
const of = (path: string, agent = CHROME, more: Parameters<typeof logLine>[4] & { ip?: string } = {}) =>
  logLine(START + ++minute * 60_000, more.ip ?? `81.2.69.${minute % 250}`, path, agent, more)
const raw = (request: string) => `192.0.2.1 - - [10/Mar/2026:10:00:00 +0000] ${request}`

const COMBINED: readonly Case[] = [
  [of('/'), 'person', 'a page'],
  [of('/not-modified', CHROME, { status: 304 }), 'person', 'a page that the browser has'],
  [of('/partial', CHROME, { status: 206 }), 'person', '2xx'],
  [of('/page.html'), 'person', 'the name of a page'],
  [of('/index.php?a=1'), 'person', 'a program that makes pages'],
  [of('/v1.2/notes'), 'person', 'a dot in a folder'],
  [of('/app.css'), 'not a page', 'a style'],
  [of('/photo.JPG'), 'not a page', 'a picture'],
  [of('/feed.xml'), 'not a page', 'a file'],
  [of('/api/items'), 'data', 'a path of data'],
  [of('/wp-json/wp/v2/posts?page=2'), 'data', 'a path of data'],
  [of('/api/read', GPTBOT), 'agent', 'any path'],
  [of('/report.pdf', CHROME, { status: 304 }), 'not a page', 'a file that the browser has'],
  [of('/favicon.ico'), 'not a page', 'a file that programs ask for'],
  [of('/robots.txt', FIREFOX), 'not a page', 'a file that programs ask for'],
  [of('/.well-known/security'), 'not a page', 'a file that programs ask for'],
  [of('/form', CHROME, { method: 'POST' }), 'not a page', 'no GET'],
  [of('/beacon', CHROME, { method: 'POST', status: 204 }), 'not a page', 'a beacon'],
  [of('/head', CHROME, { method: 'HEAD' }), 'not a page', 'no GET'],
  [of('/moved', CHROME, { status: 301 }), 'not a page', 'a redirect'],
  [of('/gone', CHROME, { status: 404 }), 'not a page', 'an error'],
  [of('/fault', CHROME, { status: 500 }), 'not a page', 'an error'],
  [of('/private/a'), 'dropped', 'a path that the site excludes'],
  [of('/docs', GPTBOT), 'agent', 'of the catalogue'],
  [of('/docs.js', GPTBOT), 'agent', 'any path'],
  [of('/missing', GPTBOT, { status: 404 }), 'agent', 'any status'],
  [of('/api', GPTBOT, { method: 'POST', status: 405 }), 'agent', 'any method'],
  [of('/private/b', GPTBOT), 'agent', 'paths are excluded for people'],
  [of('/crawled', 'Unheard-of-Crawler/1.0'), 'agent', 'of no catalogue, and known to isbot'],
  [of('/unnamed', '-'), 'agent', 'no user agent'],
  [of('/six', CHROME, { ip: '2a02:8100::1' }), 'person', 'IPv6'],
  [of('/tides?utm_source=mail&utm_medium=email&utm_campaign=may'), 'person', 'tags'],
  [of('/found', CHROME, { referrer: 'https://www.google.com/' }), 'person', 'a search engine'],
  [of('/told', CHROME, { referrer: 'https://chatgpt.com/' }), 'person', 'an assistant'],
  [of('/linked', CHROME, { referrer: 'https://a.example/' }), 'person', 'the site itself'],
  [of(`/long?${'q'.repeat(20_000)}`), 'person', 'a long query'],
  [of(`/${'p'.repeat(20_000)}`), 'person', 'a long path'],
  [of('/<script>alert(1)</script>'), 'person', 'hostile to pages'],
  [of("/';drop-table-events;--"), 'person', 'hostile to stores'],
  [of('/\u001b[31mred'), 'person', 'hostile to terminals'],
  [of('/%00%ff%e4'), 'person', 'no UTF-8'],
  [of('/\ud83d\ude00'), 'person', 'not encoded'],
  [of('/ref', CHROME, { referrer: `javascript:alert(1)//${'r'.repeat(20_000)}` }), 'person', 'a hostile referrer'],
  [raw('"\\x16\\x03\\x01\\x02\\x00" 400 150 "-" "-"'), 'not a page', 'TLS to a plain port'],
  [raw('"-" 408 0 "-" "-"'), 'not a page', 'no request'],
  [raw(`"CONNECT other.example:443 HTTP/1.1" 405 0 "-" "${CHROME}"`), 'not a page', 'a proxy is looked for'],
  [raw(`"GET http://other.example/a HTTP/1.1" 200 5 "-" "${CHROME}"`), 'other host', 'a proxy is looked for'],
  ['', 'skip', 'a blank line'],
  ['broken', 'broken', 'no request'],
  [of('/half').slice(0, 60), 'broken', 'half a line'],
  [of('/\u0000\u0001'), 'person', 'control characters'],
]

const caddy = (
  uri: string,
  given: { host?: string; type?: string; status?: number; agent?: string; headers?: object } = {},
) =>
  JSON.stringify({
    ...{ level: 'info', ts: START / 1000 + ++minute * 60 + 0.25, logger: 'http.log.access', msg: 'handled request' },
    request: {
      ...{ remote_ip: `81.2.70.${minute % 250}`, method: 'GET', uri, host: given.host ?? 'a.example' },
      headers: { 'User-Agent': [given.agent ?? CHROME], 'Accept-Language': ['de-DE,de;q=0.5'], ...given.headers },
    },
    ...{ duration: 0.25, size: 77, status: given.status ?? 200 },
    ...(given.status === 304 ? {} : { resp_headers: { 'Content-Type': [given.type ?? 'text/html'] } }),
  })

const DOCUMENT = { 'Sec-Fetch-Dest': ['document'] }
const CADDY: readonly Case[] = [
  [caddy('/j/page'), 'person', 'a page'],
  [caddy('/j/report.v2'), 'person', 'a page by its type'],
  [caddy('/j/data', { type: 'application/json' }), 'not a page', 'data by its type'],
  [caddy('/j/data', { status: 304, headers: DOCUMENT }), 'not a page', 'data by the type before'],
  [caddy('/api/page'), 'person', 'a page by its type, below a path of data'],
  [caddy('/j/new', { status: 304, headers: DOCUMENT }), 'person', 'a page by what the browser asked for'],
  [caddy('/j/port', { host: 'A.example:8443' }), 'person', 'a port, in any case'],
  [caddy('/j/second', { host: 'www.a.example' }), 'person', 'another hostname of the site'],
  [caddy('/j/other', { host: 'b.example' }), 'other host', 'a hostname of another site'],
  [caddy('/j/other', { host: 'b.example', agent: GPTBOT }), 'other host', 'also of an agent'],
  [caddy('/j/gpc', { headers: { 'Sec-Gpc': ['1'] } }), 'dropped', 'an opt-out'],
  [caddy('/j/prefetch', { headers: { 'Sec-Purpose': ['prefetch'] } }), 'dropped', 'a prefetch'],
  [caddy('/j/part', { headers: { 'Sec-Fetch-Dest': ['empty'] } }), 'dropped', 'no navigation'],
  [caddy('/j/agent', { agent: GPTBOT, type: 'text/markdown; charset=utf-8' }), 'agent', 'an agent'],
]

const vhost = (host: string, path: string, agent = CHROME) => `${host} ${of(path, agent)}`
const VHOST: readonly Case[] = [
  [vhost('a.example:443', '/v/page'), 'person', 'a hostname with a port'],
  [vhost('www.a.example', '/v/second'), 'person', 'a hostname alone'],
  [vhost('other.example:443', '/v/other'), 'other host', 'another hostname'],
  [vhost('other.example:443', '/v/agent', GPTBOT), 'other host', 'another hostname'],
]

t.test('each line becomes what the table says', { timeout: 600_000 }, async (t) => {
  for (const [name, cases] of Object.entries({ combined: COMBINED, caddy: CADDY, vhost: VHOST })) {
    const path = writeLog(`${name}.log`, `${cases.map(([line]) => line).join('\n')}\n`)
    const errors = `${path}.errors`
    const before = await readRows(1)
    const { code, stdout, stderr } = await run(['import', path, '--json', '--errors', errors])
    t.equal(code, 0, stderr)
    const count = (...fates: Fate[]) => cases.filter(([, fate]) => fates.includes(fate)).length
    t.match(
      JSON.parse(stdout),
      {
        ...{ lines: cases.length, broken: count('broken'), not_pages: count('not a page', 'data') },
        ...{ data_lines: count('data'), known: 0 },
        ...{ human: count('person'), agent: count('agent'), other_hosts: count('other host') },
        ...{ dropped: count('dropped'), own_salts: true },
      },
      name,
    )
    const broken = cases.filter(([, fate]) => fate === 'broken').map(([line]) => `${line}\n`)
    t.equal(readFileSync(errors, 'utf8'), broken.join(''), 'the broken lines are kept')
    const rows = await readRows(1)
    t.equal(rows.size - before.size, count('person', 'agent'), 'each row has a path of its own')
  }
})

t.test('rows have what their lines say, and nothing else', async (t) => {
  const rows = await readRows(1)
  const unknown = { screen_class: null, timezone: null, engaged_ms: null, props: null, identified_id: null }
  for (const [path, expected, why] of [
    [
      '/not-modified',
      {
        ...{ table: 'events', kind: 'pageview', status: 304, duration_ms: null, hostname: 'a.example', import_id: 1 },
        ...{ recorded_by: 'import', browser: 'Chrome', os: 'Windows', device_type: 'desktop', country: 'GB' },
        ...{ ...unknown, entry_page: '/not-modified', source: null, channel: 'Direct', language: null },
      },
      'a person’s',
    ],
    ['/six', { country: 'DE', asn: 31334 }, 'IPv6'],
    ['/tides', { source: 'mail', channel: 'Email', utm_source: 'mail', utm_campaign: 'may' }, 'tags'],
    ['/found', { source: 'Google', channel: 'Organic Search', referrer: 'https://www.google.com/' }, 'a search engine'],
    ['/told', { source: 'ChatGPT', channel: 'AI Assistants' }, 'an assistant'],
    ['/linked', { source: null, channel: 'Direct', referrer: null }, 'the site itself'],
    ['/ref', { source: null, channel: 'Direct', referrer: null }, 'no referrer'],
    ['/j/page', { duration_ms: 250, language: 'de', hostname: 'a.example', import_id: 2 }, 'more in the log'],
    ['/j/port', { hostname: 'a.example' }, 'without the port'],
    [
      '/docs',
      {
        ...{ table: 'agent_events', agent_id: 'gptbot', status: 200, bytes: 512, duration_ms: 0, content_type: null },
        ...{ verified: null, verification: 'indeterminate', is_pageview: true, import_id: 1, conditional: 0 },
        ...{ robots_allowed: null, robots_rule: null, robots_line: null, robots_grace: null, llms_listed: null },
      },
      'OpenAI publishes addresses, which prove nothing about the past',
    ],
    ['/docs.js', { is_pageview: false, content_type: null }, 'a file'],
    ['/missing', { is_pageview: false, status: 404, content_type: null }, 'an error'],
    ['/crawled', { agent_id: 'other', verification: 'unverifiable' }, 'no way to verify it'],
    ['/unnamed', { agent_id: 'other', user_agent: '' }, 'no user agent'],
    ['/j/agent', { content_type: 'text/markdown', duration_ms: 250, bytes: 77 }, 'the type that the log has'],
  ] as const)
    t.match(rows.get(path), expected, why)
  const long = [...rows.keys()].filter((path) => String(path).startsWith('/ppp'))
  t.ok(long.length === 1 && String(long[0]).length <= 2_048, 'a long path is cut')
  t.match(
    [...rows.values()].find(({ pathname }) => pathname === '/'),
    { import_key: /^[0-9a-f]{16}$/ },
  )
})

t.test('the hint to undo an import names the same instance', async (t) => {
  const site = ['--site', '1', '--config', writeLog("an operator's.yaml", '')]
  const { code, stdout, stderr } = await run(['import', writeLog('hint.log', `${of('/hint')}\n`), ...site])
  t.equal(code, 0, stderr)
  const { data } = service
  const hint = `To undo it: readership imports delete 4 --site 1 --data ${data} --config '${data}/an operator'\\''s.yaml'\n`
  t.equal(stdout.slice(stdout.indexOf('To undo')), hint)
  t.match(await run(['imports', 'delete', '4', '--site', '1']), { code: 0, stdout: /^Removed import 4: 1 pageview/ })
})

t.test('imports are listed, and undone', async (t) => {
  const { stdout } = await run(['imports', 'list'])
  t.match(
    stdout.replace(/ +/g, ' '),
    / 2 done 2026-03-10 2026-03-10 14 6 1 0 0 \S+caddy\.log\n 1 done 2026-03-10 2026-03-10 \d+ /,
  )
  const deleted = await run(['imports', 'delete', '2', '--json'])
  t.strictSame([deleted.code, JSON.parse(deleted.stdout)], [0, { id: 2, human: 6, agent: 1 }])
  t.match(await run(['imports', 'delete', '2']), { code: 1, stderr: /Site 1 has no import 2/ })
  const left = await engine.events.query(sql`select distinct import_id from events order by 1`)
  t.strictSame(left, [{ import_id: 1 }, { import_id: 3 }])
})

t.test('agents are judged by a robots.txt from the day on that is named', async (t) => {
  const at = (day: number) => START + (30 + day) * DAY
  const midnight = at(0) - 10 * 3_600_000 - 2 * 3_600_000
  const setZone = (timezone: string) => ask('PATCH', '/api/sites/1', JSON.stringify({ timezone }))
  await setZone('Europe/Berlin')
  t.teardown(() => setZone('UTC'))
  const lines = [
    [at(-1), '/docs/before'],
    [midnight - 1_000, '/docs/eve'],
    [midnight, '/docs/midnight'],
    [at(0), '/docs/first'],
    [at(1), '/docs/second'],
    [at(1), '/open'],
  ] as const
  const log = writeLog(
    'robots.log',
    lines.map(([time, path]) => `${logLine(time, '192.0.2.9', path, GPTBOT)}\n`).join(''),
  )
  const robots = writeLog('robots.txt', 'User-agent: GPTBot\nDisallow: /docs\n')
  const since = new Date(at(0)).toISOString().slice(0, 10)
  t.match(await run(['import', log, '--robots', robots, '--since', since]), {
    code: 0,
    stdout: /^Stored 0 pageviews .* 6 /,
  })
  const rows = await readRows(1)
  const judged = (allowed: boolean | null, rule: string | null, line: number | null, grace: boolean | null) => ({
    ...{ robots_allowed: allowed, robots_rule: rule, robots_line: line, robots_grace: grace },
  })
  t.match(rows.get('/docs/before'), judged(null, null, null, null), 'before')
  t.match(rows.get('/docs/eve'), judged(null, null, null, null), 'the day before in Berlin')
  t.match(rows.get('/docs/midnight'), judged(false, '/docs', 2, null), 'the first day in Berlin, and not yet in UTC')
  t.match(rows.get('/docs/first'), judged(false, '/docs', 2, null), 'on its first day')
  t.match(rows.get('/docs/second'), judged(false, '/docs', 2, false), 'later')
  t.match(rows.get('/open'), judged(true, null, null, null), 'allowed')
})

t.test('wrong use names what was expected', async (t) => {
  const log = writeLog('wrong.log', `${of('/wrong')}\n`)
  for (const [args, code, stderr, why] of [
    [['--robots', log], 2, /--robots and --since belong together/, 'no date'],
    [['--follow', log], 2, /--follow needs one log/, 'two logs'],
    [['--follow', '--dry-run'], 2, /--follow needs one log, and no --dry-run/, 'a trial without an end'],
    [['--since', '2026-13-01', '--robots', log], 2, /must be a date such as 2026-01-31/, 'no date'],
    [['--site', '9'], 1, /no site 9/i, 'no such site'],
    [['--errors', '/no/such/file'], 1, /--errors: \/no\/such\/file cannot be written/, 'no such directory'],
  ] as const)
    t.match(await run(['import', log, ...args]), { code, stderr }, why)
  const broken = writeLog('broken.log', `${of('/broken')}\nbroken\n`)
  const full = /--errors: \/dev\/full cannot be written: ENOSPC/
  t.match(await run(['import', broken, '--dry-run', '--errors', '/dev/full']), { code: 1, stdout: / 1 /, stderr: full })
  t.match(await run(['import', log, '--dry-run']), { code: 0, stdout: /^Would store 1 pageviews .*\n/ })
  t.notOk((await readRows(1)).has('/wrong'), 'a trial stores nothing')
})

t.test('a command that follows a log ends when its import is undone', { timeout: 300_000 }, async (t) => {
  const log = writeLog('undone.log', `${of('/undone/1')}\n`)
  const ended = run(['import', log, '--follow'])
  await eventually('its first line', async () => (await readRows(1)).has('/undone/1'))
  const [{ id } = { id: 0 }] = z.array(z.object({ id: z.int() })).parse((await ask('GET', '/api/imports?site=1')).data)
  t.match(await run(['imports', 'delete', String(id)]), { code: 0 })
  appendFileSync(log, `${of('/undone/2')}\n`)
  t.match(await ended, { code: 1, stderr: /Import \d+ no longer runs/ })
  const isOpen = () => readdirSync('/proc/self/fd').some((fd) => readlinkIfThere(`/proc/self/fd/${fd}`) === log)
  await eventually('it closes the log', () => !isOpen(), 5_000)
  t.notOk((await readRows(1)).has('/undone/2'))
})

t.test(
  'a log is followed over a rotation until Ctrl-C, which shows what was stored',
  { timeout: 300_000 },
  async (t) => {
    const log = writeLog('follow.log', `${of('/follow/1')}\n`)
    let interrupt = () => {}
    const ended = run(['import', log, '--follow'], (send) => {
      interrupt = send
    })
    const isStored = (path: string) => eventually(path, async () => (await readRows(1)).has(path))
    await isStored('/follow/1')
    appendFileSync(log, `${of('/follow/2')}\nbroken\n${of('/follow/3').slice(0, 40)}`)
    await isStored('/follow/2')
    t.match(await ask('GET', '/api/imports?site=1'), { data: [{ state: 'running', total: null }] })
    t.match(await run(['import', log]), {
      code: 1,
      stderr: /Import \d+ of site 1 runs since 20\d\d-\S+Z: an organisation imports /,
    })
    // The server goes on with the old file after the rename.
    renameSync(log, `${log}.1`)
    appendFileSync(`${log}.1`, 'not a time"\n')
    writeFileSync(log, `${of('/follow/4')}\n`)
    await isStored('/follow/4')
    interrupt()
    const { code, stdout, stderr } = await ended
    t.equal(code, 0, stderr)
    t.match(stdout, /^Stored 3 pageviews of people and 0 requests of agents\.\nRead 5 lines /)
    t.match(stdout, / 2 broken/)
    t.match((await run(['import', log, `${log}.1`, '--json'])).stdout, /"human": ?0,[^}]*"known": ?3/)
  },
)

/** The listing of the process's files has the one that it is read with, which is closed by then. */
function readlinkIfThere(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

t.test('a log that is cut short, or of another format, is an error after what could be read is stored', async (t) => {
  const log = gzipSync(
    `${Array.from({ length: 300 }, (_, n) => of(`/cut/${n}`, CHROME, { ip: `81.2.71.${n % 250}` })).join('\n')}\n`,
  )
  const path = writeLog('cut.log.gz', log.subarray(0, log.length - 20))
  const cut = await run(['import', path])
  t.equal(cut.code, 1)
  t.match(
    cut.stderr,
    new RegExp(`cut\\.log\\.gz: cut short or damaged after byte ${log.length - 20}, line \\d+: unexpected end of file`),
  )
  t.match(cut.stderr, /error: Not all lines were read\. Import the whole file/)
  t.match(cut.stdout, /^Stored \d+ pageviews of people/)
  const id = z
    .object({ data: z.array(z.object({ id: z.int(), state: z.string() })) })
    .parse({ data: (await ask('GET', '/api/imports?site=1')).data }).data[0]
  t.match(id, { state: 'failed' })
  const whole = await run(['import', writeLog('whole.log.gz', log), '--json'])
  t.equal(whole.code, 0, whole.stderr)
  t.match(JSON.parse(whole.stdout), { lines: 300, broken: 0 })
  t.ok(JSON.parse(whole.stdout).known > 0, 'the lines before are left out')
  const other = await run(['import', writeLog('other.log', `${of('/a')}\n${of('/b')}\n`), '--format', 'caddy-json'])
  t.match(other, { code: 1, stderr: /error: No line is of its format: name another one with --format/ })
  t.match(other.stdout, /2 broken/)
})

t.test('an import begins an empty directory, if it names the hostname', async (t) => {
  const data = dataDir(t)
  const log = writeLog('first.log', `${of('/first')}\n`)
  const here = (...args: string[]) => command('import', log, '--data', data, ...args)
  t.match(await here(), { code: 1, stderr: /No data in .* yet: name the hostname of the site with --host/ })
  t.match(await here('--host', 'new.example', '--dry-run'), {
    code: 1,
    stderr: /to compare with: see `readership report`/,
  })
  const settings = join(directory(t), 'readership.yaml')
  writeFileSync(settings, 'control: postgres://u:secret@127.0.0.1:1/d\n')
  t.match(
    await here('--host', 'new.example', '--config', settings),
    { code: 1, stderr: /nothing listens there/ },
    'records on a server have their sites',
  )
  t.match(await here('--host', 'https://new.example/'), { code: 2, stderr: /--host: must be a hostname/ })
  t.notOk(existsSync(join(data, 'control.duckdb')), 'nothing is made')
  t.match(await here('--host', 'new.example'), { code: 0, stdout: /^Stored 1 pageviews of people/ })
  const { stdout } = await command('sites', 'list', '--json', '--data', data)
  t.match(JSON.parse(stdout), [{ domains: ['new.example'] }])
})
