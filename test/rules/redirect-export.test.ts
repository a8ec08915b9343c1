import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { exportRedirects } from '../../src/rules/redirect-export.js'
import type { ActiveRedirect } from '../../src/rules/rule-set.js'
import { directory } from '../fixtures/files.js'
import { isInstalled } from '../fixtures/front-servers.js'
import { eventually, freePort } from '../fixtures/instance.js'
import { REDIRECTED, REDIRECTS, startOriginOf, statusOf } from './fixtures/redirects.js'

/** The exported redirects, run by the servers that they are for, before an origin. */
const EXPORTED: readonly ActiveRedirect[] = [
  ...REDIRECTS,
  { from: '/gone/%C3%BCber', to: '/%C3%BC', status: 301 },
  { from: '/gone/a%22b', to: '/new', status: 301 },
  { from: "/gone/$x{y};'(.*)+", to: "/new/$x;'(a)", status: 301 },
  { from: '/gone/%60%5C', to: '/new', status: 301 },
  { from: '/gone/%0A}%0D', to: '/new', status: 301 },
]
/** [path, status, location as the server sends it, why] */
const REQUESTS: typeof REDIRECTED = [
  ...REDIRECTED,
  ['/gone/%C3%BCber', 301, '/%C3%BC', 'percent-encoded'],
  ['/gone/a%22b', 301, '/new', 'a quotation mark'],
  ["/gone/$x%7By%7D;'(.*)+", 301, "/new/$x;'(a)", 'signs of configuration files'],
  ["/gone/$x%7By%7D;'zz", 404, null, 'which mean nothing in the pattern'],
  ['/gone/%60%5C', 301, '/new', 'a backslash'],
  ['/gone/%0A}%0D', 404, null, 'a line break is left out'],
  ['/Gone', 200, null, 'other letters'],
]
const origin = await startOriginOf(t, (target) => ({ status: statusOf(target), body: Buffer.from(`origin ${target}`) }))
const ORIGIN = `http://127.0.0.1:${origin.port}`

const MODULES = '/usr/lib/apache2/modules'
const modules = ['mpm_event', 'authz_core', 'rewrite']
  .filter((name) => existsSync(`${MODULES}/mod_${name}.so`))
  .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so\n`)
  .join('')

const SERVERS = [
  {
    ...{ target: 'nginx' as const, words: (file: string) => ['-c', file] },
    program: 'nginx',
    config(text: string, port: number, folder: string) {
      writeFileSync(join(folder, 'readership-origin.conf'), `proxy_pass ${ORIGIN};\n`)
      return `daemon off;\npid ${folder}/pid;\nerror_log stderr error;\nevents {}\nhttp {\naccess_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
absolute_redirect off;\nserver {\nlisten 127.0.0.1:${port};\n${text}\nlocation / { proxy_pass ${ORIGIN}; }\n}\n}\n`
    },
  },
  {
    ...{ target: 'caddy' as const, words: (file: string) => ['run', '--adapter', 'caddyfile', '--config', file] },
    program: 'caddy',
    config: (text: string, port: number) => `{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}
${text}\nhttp://:${port} {\n\tbind 127.0.0.1\n\treverse_proxy ${ORIGIN} {\n\t\timport readership_redirects\n\t}\n}\n`,
  },
  {
    ...{ target: 'apache' as const, words: (file: string) => ['-f', file, '-DFOREGROUND'] },
    program: 'apache2',
    // Files stand for the origin's pages: before a proxy the text acts always, as its comment says.
    config(text: string, port: number, folder: string) {
      chmodSync(folder, 0o755)
      for (const name of ['here', 'Gone']) writeFileSync(join(folder, name), `origin /${name}`)
      return `ServerName localhost\nDefaultRuntimeDir ${folder}\nPidFile ${folder}/apache.pid
ErrorLog ${folder}/apache.log\nLogLevel crit\nListen 127.0.0.1:${port}
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data\n' : ''}${modules}
<VirtualHost *:${port}>\nDocumentRoot ${folder}\n${text}</VirtualHost>\n`
    },
  },
]

for (const { target, program, words, config } of SERVERS)
  t.test(`${target} redirects the same`, { skip: !isInstalled(program) && 'not installed' }, async (t) => {
    const folder = directory(t)
    const port = await freePort()
    const file = join(folder, target === 'caddy' ? 'Caddyfile' : 'server.conf')
    writeFileSync(file, config(exportRedirects(target, EXPORTED), port, folder))
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const child = spawn(program, words(file), { env, stdio: ['ignore', 'ignore', 'inherit'] })
    t.teardown(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    })
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' })
    await eventually(
      `${target} answers`,
      async () =>
        child.exitCode !== null ||
        ask('/').then(
          () => true,
          () => false,
        ),
    )
    for (const [path, status, location, why] of REQUESTS) {
      const response = await ask(path)
      const sent = response.headers.get('location')?.replace(`http://127.0.0.1:${port}`, '')
      t.strictSame(
        [response.status, sent?.replaceAll('%24', '$').replaceAll('%27', "'") ?? null],
        [status, location],
        `${path}: ${why}`,
      )
      if (status === 200) t.equal(await response.text(), `origin ${path}`, why)
    }
  })
