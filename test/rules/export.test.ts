import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { createIdentify } from '../../src/agents/identify.js'
import { createPolicy } from '../../src/agents/policy/policy.js'
import { createBudgets } from '../../src/rules/budgets.js'
import { compileRules } from '../../src/rules/decide.js'
import { EXPORT_TARGETS, type ExportTarget, exportText } from '../../src/rules/export/export-text.js'
import { DecidingRule } from '../../src/rules/rule.js'
import { directory } from '../fixtures/files.js'
import { isInstalled } from '../fixtures/front-servers.js'
import { CHROME, eventually, freePort } from '../fixtures/instance.js'

/** The exported texts, run by the servers that they are for; each answers `passed` itself where no rule refuses. */
const catalog = loadCatalog().agents
const NOW = Date.parse('2026-11-28T12:00:00Z')
const rule = (id: number, fields: object): DecidingRule =>
  DecidingRule.parse({ id, name: `rule ${id}`, state: 'on', ...fields })
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of nginx
const HOSTILE = '"} $& ${a} \\ {x} %[src] \' `'
const RULES: readonly DecidingRule[] = [
  rule(1, { agents: ['gptbot'], paths: ['/proofs/**'], action: 'allow' }),
  rule(2, { agents: ['gptbot'], methods: ['POST'], action: 'gone' }),
  rule(3, { operators: ['ByteDance'], action: 'block', text: { plain: `${HOSTILE}\n${HOSTILE}` }, name: HOSTILE }),
  rule(4, {
    purposes: ['training'],
    paths: ['/articles/*', '/a+b/**'],
    action: 'pay',
    license_url: 'https://example.com/l.xml',
  }),
  rule(5, { agents: ['googlebot'], paths: ['/private/**'], action: 'block', refuse_search_engines: true }),
  rule(6, { paths: ['/closed/**'], action: 'gone' }),
  rule(7, { agents: ['claudebot'], identity: ['spoofed'], action: 'block', name: 'needs an identity' }),
  rule(8, { agents: ['claudebot'], action: 'block', state: 'rehearse' }),
  rule(9, { agents: ['claudebot'], action: 'block', until: '2026-11-28T11:59:59Z' }),
]
const GPTBOT = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)'
const BYTESPIDER =
  'Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)'
const CLAUDEBOT = 'Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)'
const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

/** [user agent, method, path, expected status, why]; 200: it passes. */
const REQUESTS: readonly (readonly [string, string, string, number, string])[] = [
  [CHROME, 'GET', '/closed/one', 200, 'a person'],
  [CHROME, 'GET', '/articles/one', 200, 'a person'],
  [GPTBOT, 'GET', '/', 200, 'no rule matches'],
  [GPTBOT, 'GET', '/articles/one', 402, 'purpose and path'],
  [GPTBOT, 'GET', '/articles/one/two', 200, 'one star stays within a segment'],
  [GPTBOT, 'GET', '/articles/one?x=/y', 402, 'without the query'],
  [GPTBOT, 'GET', '/a+b/c/d', 402, 'a character that patterns use'],
  [GPTBOT, 'GET', '/aab/c/d', 200, 'and that is no pattern here'],
  [GPTBOT, 'GET', '/articles/sitemap.xml', 200, 'a sitemap'],
  [GPTBOT, 'POST', '/', 410, 'the method'],
  [GPTBOT, 'POST', '/proofs/one', 200, 'a rule before lets it pass'],
  [BYTESPIDER, 'GET', '/', 403, 'the operator'],
  [BYTESPIDER, 'GET', '/robots.txt', 200, 'never refused'],
  [BYTESPIDER, 'GET', '/.well-known/security.txt', 200, 'never refused'],
  [CLAUDEBOT, 'GET', '/', 200, 'a rule that is left out, in rehearsal, or over'],
  [CLAUDEBOT, 'GET', '/%61rticles/one', 402, 'a letter that is encoded'],
  [GOOGLEBOT, 'GET', '/private/one', 403, 'a search engine that is named'],
  ['Googlebot-Image/1.0', 'GET', '/private/one', 200, 'the longer name is another agent'],
  [GOOGLEBOT, 'GET', '/closed/one', 200, 'a search engine is spared'],
  [CLAUDEBOT, 'GET', '/closed/one', 410, 'any agent'],
]

const MODULES = '/usr/lib/apache2/modules'
const modules = ['mpm_event', 'authz_core', 'headers', 'rewrite', 'setenvif', 'proxy', 'proxy_http', 'alias']
  .filter((name) => existsSync(`${MODULES}/mod_${name}.so`))
  .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so\n`)
  .join('')

/** How each server is configured around the exported text. `asRequested`: it compares the path as the client sent it. */
const SERVERS: readonly {
  target: ExportTarget
  program: string
  words(file: string): readonly string[]
  config(text: string, port: number, folder: string): string
  asRequested?: true
}[] = [
  {
    ...{ target: 'nginx', program: 'nginx', words: (file: string) => ['-c', file, '-e', 'stderr'] },
    config(text: string, port: number, folder: string) {
      const [http = '', server = ''] = text.split('# In server { }')
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      )
      return `pid ${folder}/nginx.pid;\nerror_log stderr crit;\ndaemon off;\nmaster_process off;\nevents {}
http {\naccess_log off;\nmap_hash_bucket_size 128;\n${paths.join('\n')}\n${http}
server {\nlisten 127.0.0.1:${port};\n${server}\nlocation / { return 200 passed; }\n}\n}\n`
    },
  },
  {
    ...{ target: 'apache', program: 'apache2', words: (file: string) => ['-f', file, '-DFOREGROUND'] },
    config: (text: string, port: number, folder: string) => `ServerName localhost\nDefaultRuntimeDir ${folder}
PidFile ${folder}/apache.pid\nErrorLog ${folder}/apache.log\nLogLevel crit\nListen 127.0.0.1:${port}
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data\n' : ''}${modules}${text}
Redirect 204 /\n`,
  },
  {
    ...{
      target: 'caddy',
      program: 'caddy',
      words: (file: string) => ['run', '--adapter', 'caddyfile', '--config', file],
    },
    config: (text: string, port: number) => `{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}
${text}\nhttp://:${port} {\n\tbind 127.0.0.1\n\timport readership\n\trespond passed 200\n}\n`,
  },
  {
    ...{ target: 'haproxy', program: 'haproxy', words: (file: string) => ['-db', '-q', '-f', file] },
    config: (
      text: string,
      port: number,
    ) => `defaults\n  mode http\n  timeout client 10s\n  timeout server 10s\n  timeout connect 10s
frontend site\n  bind 127.0.0.1:${port}\n${text}\nhttp-request return status 200 content-type text/plain string passed\n`,
    asRequested: true,
  },
]

t.test('the decisions of the rules themselves, which the servers have to give too', async (t) => {
  const identify = createIdentify(loadCatalog())
  const list = compileRules(RULES.filter(({ state }) => state === 'on'))
  const STATUS = { allow: 200, block: 403, pay: 402, limit: 429, gone: 410 }
  for (const [userAgent, method, target, expected, why] of REQUESTS) {
    const found = identify(userAgent)
    const fetch = {
      ...{ agent: found?.agent, identity: 'verified' as const, method, address: '127.0.0.1', at: NOW },
      ...{ pathname: target.split('?')[0] ?? '', isDisallowed: () => false },
    }
    const decided = found === undefined ? undefined : list.decide(fetch, createBudgets()).rule
    t.equal(decided === undefined ? 200 : STATUS[decided.action], expected, `${method} ${target}: ${why}`)
  }
})

for (const server of SERVERS)
  t.test(`${server.target} decides the same`, { skip: !isInstalled(server.program) && 'not installed' }, async (t) => {
    const folder = directory(t)
    const port = await freePort()
    const file = join(folder, server.target === 'caddy' ? 'Caddyfile' : 'server.conf')
    writeFileSync(file, server.config(exportText(server.target, RULES, catalog, NOW), port, folder))
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const child = spawn(server.program, server.words(file), { env, stdio: ['ignore', 'ignore', 'inherit'] })
    t.teardown(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    })
    const ask = (path: string, init: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
    await eventually(`${server.program} answers`, async () => {
      if (child.exitCode !== null) return true
      return ask('/', { headers: { 'user-agent': CHROME } }).then(
        () => true,
        () => false,
      )
    })
    for (const [userAgent, method, target, expected, why] of REQUESTS) {
      const response = await ask(target, { method, headers: { 'user-agent': userAgent } })
      const wanted = server.asRequested && target.includes('%') ? 200 : expected
      t.equal(response.status === 204 ? 200 : response.status, wanted, `${method} ${target}: ${why}`)
      const body = await response.text()
      if (wanted === 402)
        t.equal(response.headers.get('link'), '<https://example.com/l.xml>; rel="license"; type="application/rsl+xml"')
      if (wanted === 402) t.match(response.headers.get('www-authenticate'), /^License error=/)
      if (wanted === 403 && target === '/' && server.target !== 'apache')
        t.equal(body.trim(), `${HOSTILE}\n${HOSTILE}`.trim(), 'the text as written')
    }
  })

t.test('robots.txt disallows the same paths, for agents that obey it', async (t) => {
  const body = exportText('robots', RULES, catalog, NOW)
  const policy = createPolicy({ hostname: 'a.example', robots: { status: 200, body } })
  t.strictSame(policy.robots?.problems, [], body)
  for (const [id, path, expected, why] of [
    ['gptbot', '/articles/one', false, 'purpose and path'],
    ['gptbot', '/', true, 'no rule matches'],
    ['gptbot', '/proofs/closed', true, 'a rule lets it pass'],
    ['bytespider', '/', false, 'the operator'],
    ['googlebot', '/private/x', false, 'named'],
    ['googlebot', '/closed/x', true, 'spared'],
    ['ccbot', '/closed/x', false, 'any agent'],
    [undefined, '/closed/x', false, 'an agent that is in no catalogue'],
    [undefined, '/', true, 'no rule matches'],
  ] as const) {
    const agent = catalog.find((one) => one.id === id)
    t.equal(policy.allows(agent, path).allowed, expected, `${id} ${path}: ${why}`)
  }
})

t.test('each text says what it leaves out, and no name ends its comment', async (t) => {
  for (const target of EXPORT_TARGETS) {
    const text = exportText(target, RULES, catalog, NOW)
    t.match(text, 'Rule "needs an identity" is left out: it asks for a checked identity.', target)
    t.ok(
      text.split('\n').some((line) => line.startsWith('#') && line.includes(HOSTILE)),
      `${target}: the name stays in its line`,
    )
  }
  t.match(exportText('nginx', [], catalog, NOW), 'Rules for agents', 'without a rule')
})
