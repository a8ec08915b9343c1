import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { socketPath } from '../../src/api/server.js'
import { command } from '../fixtures/command.js'
import { signBody } from '../fixtures/edge-service.js'
import { CHROME, dataDir, eventually, GPTBOT, type Instance, startInstance, startOrigin } from '../fixtures/instance.js'

/*
 * The attacks: the worker is stopped, the disk is full, the disk hangs, or each flush of a file takes seconds. Every kind of
 * endpoint is asked meanwhile. The attack succeeds if one does not answer in time, if `/readyz` does not say what is wrong, or
 * if a delivery that was refused and repeated is counted twice. The table of endpoint, fault, answer and seconds is printed.
 */

/** The slowest bounds, and time for a busy machine: 10 s for a worker that does not respond, 30 s for a change, 66 s for a read. */
const MOST_S = { worker: 25, change: 45, read: 85 }
const MB = 1 << 20

interface Answer {
  status: number
  text: string
  seconds: number
}

/** Sends a request; of a stream and of a backup, the first bytes are the answer. */
function ask(
  at: string | { socketPath: string },
  {
    method,
    path,
    headers = {},
    body,
  }: { method: string; path: string; headers?: Record<string, string>; body?: string },
): Promise<Answer> {
  const from = performance.now()
  const target = typeof at === 'string' ? new URL(at) : undefined
  const where = target ? { host: target.hostname, port: target.port } : { ...Object(at), host: 'readership' }
  return new Promise((resolve) => {
    const end = (status: number, text: string) =>
      resolve({ status, text, seconds: Math.round((performance.now() - from) / 100) / 10 })
    const sent = request({ ...where, method, path, headers }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
        if (/stream|backup/.test(path)) response.destroy()
      })
      response.on('close', () => end(response.statusCode ?? 0, text))
    })
    sent.setTimeout(120_000, () => sent.destroy(new Error('no answer within two minutes')))
    sent.on('error', (error) => end(0, error.message))
    sent.end(body)
  })
}

interface Asked {
  name: string
  send: () => Promise<Answer>
}

/** Every kind of endpoint of a running instance. */
async function endpointsOf(app: Instance): Promise<{ all: Asked[]; edge: Asked; fetches: () => Promise<number> }> {
  const operator = { socketPath: socketPath(app.data) }
  const json = { 'content-type': 'application/json' }
  const made = await ask(operator, {
    ...{ method: 'POST', path: '/api/keys', headers: json },
    body: JSON.stringify({ name: 'all', org: 1, scopes: ['stats:read', 'manage:write', 'ingest:write'] }),
  })
  const authorization = `Bearer ${JSON.parse(made.text).data.secret}`
  const ingestKey = (await command('sites', 'ingest-key', '1', '--data', app.data)).stdout.trim()
  const fetched = { user_agent: GPTBOT, method: 'GET', hostname: 'one.example', pathname: '/edge', status: 200 }
  const rows = JSON.stringify({ site_id: 1, agent_events: [{ ...fetched, timestamp: new Date().toISOString() }] })
  const track = JSON.stringify({ s: 1, k: 'pageview', u: `${app.admin}/tracked` })
  let signedAt = Math.floor(Date.now() / 1_000)
  const get = (name: string, path: string, at: Parameters<typeof ask>[0] = app.admin): Asked => ({
    name,
    send: () => ask(at, { method: 'GET', path, headers: { authorization, 'user-agent': CHROME } }),
  })
  const post = (name: string, path: string, body: string, headers = {}, at: Parameters<typeof ask>[0] = app.admin) => ({
    name,
    send: () => ask(at, { method: 'POST', path, body, headers: { authorization, ...json, ...headers } }),
  })
  const edge = {
    name: 'edge',
    send: () => {
      signedAt += 1
      const headers = { ...json, 'x-service-signature': signBody(ingestKey, signedAt, rows) }
      return ask(app.admin, { method: 'POST', path: '/api/log/edge', body: rows, headers })
    },
  }
  // The first request of each kind fills caches, as a service that has run for a while has filled them.
  const all = [
    get('page of the site', '/', app.site),
    get('read: overview', '/api/stats/overview?site=1&range=24h'),
    get('read: agents', '/api/agents/overview?site=1&range=7d'),
    get('read: policy', '/api/policy?site=1'),
    get('export: csv', '/api/stats/export.csv?site=1&range=24h&report=pages'),
    get('export: pdf', '/api/stats/export.pdf?site=1&range=24h&report=pages'),
    get('realtime', '/api/stats/realtime?site=1'),
    get('realtime stream', '/api/stats/realtime/stream?site=1'),
    post('track', '/api/track', track, { 'user-agent': CHROME }),
    get('track pixel', `/api/track/pixel.gif?s=1&k=pageview&u=${encodeURIComponent(`${app.admin}/pixel`)}`),
    post('management: write', '/api/goals', '{"site":1,"name":"g","type":"page","match":{"op":"is","value":"/x"}}'),
    post('management: key', '/api/keys', '{"name":"k","org":1}', {}, operator),
    get('management: list', '/api/keys', operator),
    post('upload', '/api/imports?site=1&name=a.log&host=127.0.0.1', 'no line of a log\n', {}, operator),
    post('backup', '/control/backup', '[]', {}, operator),
    get('rows', '/control/export/rows?site=1&table=events&format=ndjson&range=24h', operator),
    get('status', '/control/status', operator),
    get('readyz', '/readyz'),
    get('metrics', '/metrics'),
    get('healthz', '/healthz'),
    edge,
  ]
  return { all, edge, fetches: app.fetches }
}

type Expected = Readonly<Record<string, readonly number[]>>

/** Asks all at once, prints the table, and compares; what `expected` does not name succeeds. */
async function askAll(t: Test, fault: string, all: readonly Asked[], expected: Expected, most: number): Promise<void> {
  const answers = await Promise.all(all.map(async ({ name, send }) => ({ name, ...(await send()) })))
  for (const { name, status, seconds, text } of answers) {
    t.comment(`| ${name.padEnd(18)} | ${fault.padEnd(14)} | ${status} | ${seconds} s |`)
    const right = expected[name] ?? [200, 201, 202, 204]
    t.ok(right.includes(status), `${name}: ${status} of ${right.join(', ')}; ${text.slice(0, 200)}`)
    t.ok(seconds <= most, `${name}: ${seconds} s of ${most}`)
  }
}

/** `/readyz` says it within ten seconds, and a busy machine's time. */
async function isReported(t: Test, app: Instance, reason: RegExp): Promise<void> {
  const from = performance.now()
  await eventually('/readyz reports it', async () => (await app.ready()).status === 503)
  const seconds = Math.round((performance.now() - from) / 100) / 10
  t.comment(`| ${'readyz says why'.padEnd(18)} | ${(await app.ready()).body} | 503 | ${seconds} s |`)
  t.match((await app.ready()).body, reason)
  t.ok(seconds <= MOST_S.worker, `${seconds} s`)
}

async function start(t: Test, data: string, ...args: string[]): Promise<Instance> {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, data, ...args)
  t.teardown(() => app.stop('SIGKILL'))
  return app
}

const mount = (t: Test, at: string, ...args: string[]): boolean => {
  mkdirSync(at, { recursive: true })
  if (spawnSync('mount', [...args, at], { stdio: 'pipe' }).status !== 0) {
    t.comment('skipped: this user may not mount a file system')
    return false
  }
  t.teardown(() => execFileSync('umount', ['--lazy', at]))
  return true
}

/** The delivery that was refused is repeated until it is acknowledged, and its row is there once. */
async function confirms(t: Test, edge: Asked, fetches: () => Promise<number>): Promise<void> {
  await eventually('the delivery is acknowledged', async () => (await edge.send()).status === 202)
  t.equal(await fetches(), 1, 'the row of the delivery is stored once')
}

t.test('the worker is stopped', async (t) => {
  const app = await start(t, dataDir(t))
  const { all, edge, fetches } = await endpointsOf(app)
  const status = await ask({ socketPath: socketPath(app.data) }, { method: 'GET', path: '/control/status' })
  const worker: number = JSON.parse(status.text).data.store.worker.pid
  process.kill(worker, 'SIGSTOP')
  t.teardown(() => process.kill(worker, 'SIGCONT'))
  const down = [503]
  const expected = {
    ...{ 'read: overview': down, 'read: agents': down, 'read: policy': down, 'export: csv': down, 'export: pdf': down },
    ...{ realtime: down, 'realtime stream': [200, 503], 'management: write': down, 'management: key': down },
    ...{
      'management: list': [200, 503],
      upload: down,
      backup: [200, 503],
      rows: [200, 503],
      edge: down,
      readyz: [200, 503],
    },
  }
  await Promise.all([
    askAll(t, 'stopped worker', all, expected, MOST_S.worker),
    isReported(t, app, /the worker's process has not responded for \d+ s/),
  ])
  await askAll(t, 'stopped, known', all, { ...expected, readyz: down }, MOST_S.worker)
  process.kill(worker, 'SIGCONT')
  await eventually('ready again', async () => (await app.ready()).status === 200)
  await confirms(t, edge, fetches)
})

t.test('the disk is full', async (t) => {
  const data = dataDir(t)
  if (!mount(t, data, '-t', 'tmpfs', '-o', 'size=80m', 'tmpfs')) return
  const app = await start(t, data, '--min-free-disk', `${20 * MB}`)
  const { all, edge, fetches } = await endpointsOf(app)
  // The delivery arrives before anything has found the disk full.
  writeFileSync(join(data, 'ballast'), Buffer.alloc(62 * MB))
  t.match(await edge.send(), { status: 503 }, 'the first delivery')
  const some = [200, 201, 202, 503]
  const expected = { upload: [201, 202, 503], backup: [...some, 409], rows: some, edge: [503], readyz: [200, 503] }
  await Promise.all([
    askAll(t, 'full disk', all, expected, MOST_S.worker),
    isReported(t, app, /less than \d+ bytes are free on disk/),
  ])
  rmSync(join(data, 'ballast'))
  await confirms(t, edge, fetches)
})

t.test('the disk hangs', async (t) => {
  const image = `${dataDir(t)}.img`
  const data = dataDir(t)
  execFileSync('truncate', ['-s', '200M', image])
  if (spawnSync('mkfs.ext4', ['-q', image]).status !== 0) return t.comment('skipped: no mkfs.ext4')
  if (!mount(t, data, '-o', 'loop', image)) return
  const app = await start(t, data, '--min-free-disk', `${MB}`)
  const { all, edge, fetches } = await endpointsOf(app)
  execFileSync('fsfreeze', ['--freeze', data])
  const thaw = () => spawnSync('fsfreeze', ['--unfreeze', data])
  t.teardown(thaw)
  const some = [200, 503]
  const expected = {
    ...{ 'management: write': [503], 'management: key': [503], upload: [503], backup: some, rows: some },
    ...{ 'read: overview': some, 'read: agents': some, 'read: policy': some, 'export: csv': some, 'export: pdf': some },
    ...{ realtime: some, 'realtime stream': some, 'management: list': some, edge: [503], readyz: some },
  }
  const asked = askAll(t, 'hanging disk', all, expected, MOST_S.read)
  await isReported(t, app, /has not (responded|finished a commit|finished a change of the records) for \d+ s/)
  await asked
  thaw()
  await confirms(t, edge, fetches)
})

/** Delays each flush of a file, as a slow disk does. */
const SLOW_FLUSH = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int slow(const char *name, int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, name);
  usleep(300 * 1000);
  return real(fd);
}
int fsync(int fd) { return slow("fsync", fd); }
int fdatasync(int fd) { return slow("fdatasync", fd); }
`

t.test('the disk is slow', async (t) => {
  const data = dataDir(t)
  const [source, library] = [`${data}.c`, `${data}.so`]
  mkdirSync(data, { recursive: true })
  writeFileSync(source, SLOW_FLUSH)
  if (spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']).status !== 0)
    return t.comment('skipped: no C compiler')
  process.env.LD_PRELOAD = library
  const app = await start(t, data).finally(() => delete process.env.LD_PRELOAD)
  const { all, edge, fetches } = await endpointsOf(app)
  const some = [200, 201, 202, 503]
  const expected = { upload: some, backup: some, rows: some, edge: [202, 503], 'management: write': some, readyz: some }
  await askAll(t, 'slow disk', all, { ...expected, 'management: key': some }, MOST_S.change)
  await eventually('the delivery is acknowledged', async () => (await edge.send()).status === 202)
  t.ok((await fetches()) <= 2, 'a delivery that was acknowledged and one more')
})
