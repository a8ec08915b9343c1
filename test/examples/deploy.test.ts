import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { startSite } from '../../examples/site/server.js'
import { startCollector } from '../fixtures/collector.js'
import { dataDir, eventually, freePort, GPTBOT, startInstance } from '../fixtures/instance.js'

const has = (program: string, ...words: string[]) => spawnSync(program, words).error === undefined

const missing = has('nginx', '-v') && has('openssl', 'version') ? false : 'nginx or openssl is not installed here'

/** nginx as the example configures it: only addresses and file names change, every other line is the example's. */
async function startNginx(folder: string, readership: string, origin: string) {
  const port = await freePort()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-days', '1', '-subj', '/CN=example.com', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
  execFileSync('openssl', ['req', '-x509', '-nodes', ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const example = readFileSync('examples/nginx-systemd/nginx.conf', 'utf8')
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace(/.*\[::\]:443.*\n/, '')
    .replace(/ssl_certificate .*;/, `ssl_certificate ${cert};`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`)
    .replaceAll('127.0.0.1:8080', new URL(readership).host)
    .replaceAll('127.0.0.1:3000', new URL(origin).host)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n')
  const main = join(folder, 'nginx.conf')
  writeFileSync(
    main,
    `pid ${folder}/pid;\nerror_log stderr crit;\ndaemon off;\nmaster_process off;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${example}\n}\n`,
  )
  const nginx = spawn('nginx', ['-p', folder, '-c', main, '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'inherit'] })
  return {
    port,
    async close() {
      nginx.kill()
      await new Promise((done) => nginx.once('exit', done))
    },
  }
}

t.test(
  'the nginx example, with readership away: the backup serves the site, live parts too',
  { skip: missing },
  async (t) => {
    const folder = t.testdir({})
    const site = await startSite({ port: 0, interval: 50 })
    t.teardown(site.close)
    const nginx = await startNginx(folder, `http://127.0.0.1:${await freePort()}`, site.url)
    try {
      await behindNginx(t, nginx.port, site.url)
    } finally {
      // Before tap takes the folder away, so not by teardown.
      await nginx.close()
    }
  },
)

t.test(
  "the nginx example with readership there: rows have the reader's address and host",
  { skip: missing },
  async (t) => {
    const folder = t.testdir({})
    const site = await startSite({ port: 0, interval: 50 })
    t.teardown(site.close)
    const collector = await startCollector({ key: 'key' })
    t.teardown(collector.stop)
    const shipping = ['--collector', collector.url, '--site', '1', '--ingest-key', 'key']
    const readership = await startInstance(site.url, dataDir(t), ...shipping)
    const nginx = await startNginx(folder, readership.site, site.url)
    try {
      const ask = (headers: Record<string, string>) =>
        new Promise<number | undefined>((done, fail) => {
          const options = { port: nginx.port, path: '/glossary', headers, rejectUnauthorized: false }
          request(options, (res) => res.resume().once('end', () => done(res.statusCode)))
            .on('error', fail)
            .end()
        })
      // nginx is on this machine's loopback as its client is: what that says stands for a hop before it.
      const headers = { host: 'example.com', 'user-agent': GPTBOT, 'x-forwarded-for': '198.51.100.1, 203.0.113.7' }
      await eventually('nginx', async () => (await ask(headers)) === 200)
      await readership.stop()
      t.match(collector.deliveries[0]?.agent_events[0], {
        ip: '203.0.113.7',
        hostname: 'example.com',
        pathname: '/glossary',
      })
    } finally {
      await nginx.close()
      await readership.stop()
    }
  },
)

async function behindNginx(t: Test, port: number, origin: string): Promise<void> {
  const open = (path: string) =>
    new Promise<IncomingMessage>((done, fail) => {
      const options = { port, path, headers: { host: 'example.com' }, rejectUnauthorized: false }
      request(options, done).on('error', fail).end()
    })
  const text = async (res: IncomingMessage) => {
    let body = ''
    for await (const chunk of res.setEncoding('utf8')) body += chunk
    return body
  }
  let page: IncomingMessage | undefined
  for (let tries = 0; !page && tries < 100; tries++) {
    page = await open('/articles/two-bulges').catch(() => undefined)
    if (!page) await new Promise((done) => setTimeout(done, 50))
  }
  if (!page) throw new Error('nginx did not start')
  t.equal(page.statusCode, 200)
  t.equal(await text(page), await (await fetch(`${origin}/articles/two-bulges`)).text(), 'the page is the page')

  const asked = Date.now()
  const stream = await open('/api/gauge/stream')
  await new Promise((done) => stream.once('data', done))
  t.equal(stream.headers['content-type'], 'text/event-stream; charset=utf-8')
  t.ok(Date.now() - asked < 1000, 'the first event does not wait in a buffer')
  stream.destroy()

  const socket = new WebSocket(`wss://127.0.0.1:${port}/ws/radio`, { rejectUnauthorized: false })
  const [first] = await new Promise<[unknown]>((done, fail) => {
    socket.once('message', (data) => done([data])).once('error', fail)
  })
  t.equal(String(first), 'Harbour: channel 12 is open.', 'the WebSocket opens')
  socket.terminate()
}

t.test(
  'the systemd unit is well formed',
  { skip: has('systemd-analyze', '--version') ? false : 'no systemd here' },
  async (t) => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', 'examples/nginx-systemd/readership.service'], {
      encoding: 'utf8',
    })
    t.same([status, stderr], [0, ''])
  },
)

/** Instructions that the Dockerfile reference knows, as far as ours uses them. */
t.test('the container is built from what the repository has', async (t) => {
  const lines = readFileSync('examples/container/Dockerfile', 'utf8').split('\n')
  const words = lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split(' '))
  t.same(
    words.filter(
      ([instruction]) =>
        !/^(FROM|ENV|WORKDIR|COPY|RUN|USER|VOLUME|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT)$/.test(instruction ?? ''),
    ),
    [],
  )
  const entry: string[] = JSON.parse(lines.find((line) => line.startsWith('ENTRYPOINT'))?.slice(11) ?? '[]')
  t.equal(entry[1], 'dist/bin/readership.js')
  const { bin, scripts }: { bin: Record<string, string>; scripts: Record<string, string> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  )
  t.equal(bin.readership, `./${entry[1]}`, 'the program it starts is the package’s')
  t.ok(scripts.build, 'and there is a build to run')
})
