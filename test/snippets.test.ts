import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { DOCUMENTS } from './fixtures/documents.js'
import { COMMAND, emptyProject, startProgram, untilStored } from './fixtures/empty-project.js'
import { CHROME, eventually, freePort, startOrigin } from './fixtures/instance.js'

/** Every block of commands or code in the documents, where it stands, and what runs it. */

const SNIPPETS = DOCUMENTS.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language = '', text = '']) => ({
    file,
    language,
    text,
  })),
)
const ofReadme = (start: string) =>
  SNIPPETS.find(({ file, text }) => file === 'README.md' && text.startsWith(start))?.text

const WHO_RUNS: Readonly<Record<string, string>> = {
  'README.md: npm ci && npm start     # a sa': 'test/examples/demo.test.ts starts the demo; npm test is this run',
  'README.md: npx readership report ': 'below',
  'README.md: npx readership proxy ': 'below',
  'README.md: npx readership tail        ': 'below',
  "README.md: import express from 'express'": 'below',
  'examples/README.md: npx readership serve ': 'below',
  'examples/README.md: import { createReadershipClient': 'below',
  'examples/container/README.md: docker build': 'nothing: needs Docker',
  'examples/fleet/README.md: export READERSHIP_STORE=cli': 'nothing: needs ClickHouse and PostgreSQL behind nginx',
  'examples/fleet/README.md: export READERSHIP_TO=clickh': 'nothing: needs ClickHouse and PostgreSQL behind nginx',
  'examples/servers/README.md: npx readership proxy': 'test/examples/front-servers.test.ts, with other ports',
  'src/docs/privacy.md: <button onclick': 'test/browser/tracker: the call opts out',
  'src/docs/uninstall.md: npx readership': 'test/package/pages.test.ts',
  'src/docs/uninstall.md: npm uninstall ': 'test/package/pages.test.ts',
  'src/docs/versions.md: npx readership ': 'test/package/pages.test.ts, with this release for the latest',
  'src/docs/coming-from.md: npx readership': 'test/docs-pages.test.ts',
  'src/docs/operations.md: npx readership doctor': 'test/app/cli/doctor-setups.test.ts and status.test.ts',
  'src/docs/operations.md: npx readership backup': 'test/storage/backup/',
  'src/api/evidence/README.md: npx readership evidence': 'test/api/evidence.test.ts checks a folder',
  'src/rules/README.md: [': 'below, and test/rules/written-rules.test.ts',
  'src/rules/README.md: npx readership rules': 'below',
  'examples/frameworks/': 'test/frameworks runs the scripts of each package.json',
  'test/README.md: npm run test:one test/analyt': 'test/one.test.ts',
  'test/README.md: npm test': 'the jobs of the project, which run this test',
}

t.test('every snippet of the documents is listed', async (t) => {
  t.same(
    SNIPPETS.map(({ file, text }) => `${file}: ${text}`).filter(
      (shown) => !Object.keys(WHO_RUNS).some((start) => shown.startsWith(start)),
    ),
    [],
    'name in WHO_RUNS what runs it',
  )
})

t.test('the commands and programs of README.md', { timeout: 600_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const cwd = emptyProject(t, ['readership', 'express'])
  const [port, admin, express] = [await freePort(), await freePort(), await freePort()]
  const time = new Date().toUTCString().replace(/^..., (..) (...) (....) (.{8}).*/, '$1/$2/$3:$4 +0000')
  const line = (path: string, agent: string) => `192.0.2.7 - - [${time}] "GET ${path} HTTP/1.1" 200 99 "-" "${agent}"\n`
  writeFileSync(join(cwd, 'access.log'), line('/pricing', CHROME) + line('/about', 'GPTBot/1.3'))
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...{ READERSHIP_PORT: `${port}`, READERSHIP_ADMIN_PORT: `${admin}`, READERSHIP_OFFLINE: 'true', NO_COLOR: '1' },
  }
  /** Writes a command as it runs here: with this site and log, and at these ports. */
  const here = (command: string) =>
    command
      .replace(/\s+# .*/, '')
      .replace('/var/log/nginx/', '')
      .replace('http://localhost:3000', origin.url)
      .replace(':8081', `:${admin}`)
  const shell = async (command: string) => (await promisify(execFile)('sh', ['-c', here(command)], { cwd, env })).stdout
  const linesOf = (start: string) => (ofReadme(start) ?? '').trim().split('\n')

  const [report = ''] = linesOf('npx readership report')
  t.match(await shell(report), /GPTBot/, report)

  const [start = ''] = linesOf('npx readership proxy')
  const words = here(start).replace('npx readership', COMMAND).split(' ')
  await startProgram(t, words, { cwd, port, env })
  await eventually(start, async () => (await fetch(`http://127.0.0.1:${admin}/readyz`)).ok)
  t.pass(start)

  const [tail = '', stats = '', imported = '', key = '', ask = ''] = linesOf('npx readership tail')
  const [, ...tailWords] = here(tail).split(' ').slice(1)
  const following = spawn(process.execPath, [COMMAND, ...tailWords], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  following.stdout.on('data', (chunk) => {
    printed += chunk
  })
  await eventually(tail, async () => {
    await fetch(`http://127.0.0.1:${port}/tides`, { headers: { 'user-agent': CHROME, accept: 'text/html' } })
    return printed.includes('/tides')
  })
  following.kill()
  await once(following, 'exit')
  t.match(await shell(stats), /\/tides/, stats)
  const signInPage = await (await fetch(`http://127.0.0.1:${admin}/sign-in`)).text()
  const [, signIn = ''] = /<code>([^<]+)<\/code>/.exec(signInPage) ?? []
  t.equal(signIn, 'npx readership login-link', 'the sign-in page names the command')
  t.match(await shell(signIn), /\/sign-in\?token=/, signIn)
  t.match(await shell(imported), /\b2\b/, imported)
  const [secret] = /svcg_\S+/.exec(await shell(`${key.replace(/\s+# .*/, '')}; echo $KEY`)) ?? []
  t.ok(secret, key)
  env.KEY = secret
  t.type(JSON.parse(await shell(ask)).data.fetches, 'number', ask)

  const ofRules = (start: string) =>
    SNIPPETS.find(({ file, text }) => file === 'src/rules/README.md' && text.startsWith(start))?.text ?? ''
  writeFileSync(join(cwd, 'rules.json'), ofRules('['))
  const ruleLines = ofRules('npx').trim().split('\n')
  t.equal(ruleLines.length, 3, 'try, add and switch on')
  for (const line of ruleLines) await shell(line)
  const bytespider = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'user-agent': 'Bytespider' } })
  t.equal(bytespider.status, 403, 'rule 1 decides from the next request on')

  const project = emptyProject(t, ['readership', 'express'])
  writeFileSync(join(project, 'site.js'), (ofReadme('import express') ?? '').replace('3000', `${express}`))
  await startProgram(t, ['site.js'], { cwd: project, port: express })
  await untilStored(t, express, join(project, 'readership-data'))

  const client = SNIPPETS.find(
    ({ file, text }) => file !== 'README.md' && text.startsWith('import { createReadershipClient'),
  )
  const program = (client?.text ?? '').replace('http://127.0.0.1:8081', `http://127.0.0.1:${admin}`)
  writeFileSync(join(cwd, 'client.js'), program.replace('svcg_…', secret ?? ''))
  const { stdout } = await promisify(execFile)(process.execPath, ['client.js'], { cwd })
  t.match(stdout, /^\d+\n$/, 'the number that the client prints')
})

t.test('the commands of many servers and one store in examples/README.md', { timeout: 600_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const [collector, server] = [emptyProject(t, ['readership']), emptyProject(t, ['readership'])]
  const [port, collectorPort, admin] = [await freePort(), await freePort(), await freePort()]
  const env = { ...process.env, READERSHIP_OFFLINE: 'true', NO_COLOR: '1' }
  const snippet = SNIPPETS.find(({ text }) => text.startsWith('npx readership serve'))?.text ?? ''
  const [serve = '', create = '', proxy = ''] = snippet.split('\n').map((line) => line.replace(/\s+# .*/, ''))
  const words = (line: string) => [COMMAND, ...line.split(' ').slice(2)]
  const collect = { ...env, READERSHIP_PORT: `${collectorPort}` }
  await startProgram(t, words(serve), { cwd: collector, port: collectorPort, env: collect })
  const shell = async (line: string) => (await promisify(execFile)('sh', ['-c', line], { cwd: collector, env })).stdout
  const { stderr } = await promisify(execFile)('sh', ['-c', create], { cwd: collector, env })
  t.match(stderr, /\b2\b/, `${create}: the number of the site`)
  const key = readFileSync(join(collector, 'key'), 'utf8')
  t.equal(await shell('npx readership sites ingest-key 2'), key, 'the same key again')
  writeFileSync(join(server, 'key'), key)
  const here = proxy
    .replace('http://localhost:3000', origin.url)
    .replace('https://stats.example', `http://127.0.0.1:${collectorPort}`)
  const ports = { READERSHIP_PORT: `${port}`, READERSHIP_ADMIN_PORT: `${admin}` }
  await startProgram(t, words(here), { cwd: server, port, env: { ...env, ...ports } })
  await eventually('a pageview of the server is in the store of the collector', async () => {
    const headers = { 'user-agent': CHROME, accept: 'text/html', host: 'shop.example' }
    await request(port, headers)
    return /"pageviews": ?[1-9]/.test(await shell('npx readership stats --site 2 --range today --json'))
  })
  t.pass(proxy)
})

/** Asks for the page at `/` with these headers; `fetch` sets no Host. */
const request = (port: number, headers: Record<string, string>) =>
  new Promise<void>((done, failed) => {
    get({ host: '127.0.0.1', port, headers }, (response) => {
      response.resume().on('end', () => done())
    }).on('error', failed)
  })
