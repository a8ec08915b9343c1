import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { z } from 'zod'
import { socketPath } from '../../../src/api/server.js'
import { bootstrap } from '../../../src/manage/orgs.js'
import { sql } from '../../../src/storage/sql.js'
import { openInProcessEngine } from '../../fixtures/in-process-worker.js'
import { CHROME, dataDir, eventually, startInstance } from '../../fixtures/instance.js'
import { agentRow } from '../../fixtures/rows.js'

const DAY = 86_400_000
/** An agent whose operator publishes no way to verify it. */
const CODEX = 'codex_cli_rs/0.42.0'
const Notes = z.object({
  data: z.array(
    z.looseObject({
      id: z.number(),
      kind: z.string(),
      by: z.string(),
      data: z.looseObject({ errors: z.number().optional() }),
    }),
  ),
})

/** Sends a request on a socket, with any `Host`. */
async function send(to: object, path: string, headers: Record<string, string>, method = 'GET'): Promise<string> {
  const sent = request({ ...to, path, method, headers })
  sent.end()
  const [response] = await once(sent, 'response')
  return text(response)
}

t.test('notes write themselves, each once', { timeout: 110_000 }, async (t) => {
  const site = { robots: 'User-agent: *\nDisallow: /private\n' }
  const origin = createServer((req, res) => {
    const [status, type, body] =
      req.url === '/robots.txt'
        ? [200, 'text/plain', site.robots]
        : req.url === '/llms.txt'
          ? [404, 'text/plain', '']
          : req.url?.endsWith('.js')
            ? [200, 'text/javascript', '']
            : [req.url === '/broken' ? 500 : 200, 'text/html', '<title>x</title>']
    res.writeHead(status, { 'content-type': type }).end(body)
  }).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  t.teardown(() => {
    origin.closeAllConnections()
    origin.close()
  })
  const data = dataDir(t)
  // A site whose rows began more than a week ago.
  const { workerClient, commit } = await openInProcessEngine(data)
  const began = new Date(Date.now() - 8 * DAY)
  await bootstrap(workerClient.records, { domains: ['example.com'], timezone: 'UTC', now: began })
  await commit({ agent_events: [agentRow({ timestamp: began })] })
  const ended = new Date(Date.now() - DAY)
  await workerClient.records.write(sql`insert into recorded (began, ended) values (${began}, ${ended})`)
  await workerClient.close()

  const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`
  let instance = await startInstance(url, data)
  t.teardown(() => instance.stop())
  const ask = (path: string, userAgent: string) =>
    send({ host: '127.0.0.1', port: new URL(instance.site).port }, path, {
      host: 'example.com',
      'user-agent': userAgent,
    })
  const operator = (path: string, method = 'GET') =>
    send({ socketPath: socketPath(data) }, path, { host: 'readership' }, method)
  const notes = async () => Notes.parse(JSON.parse(await operator('/api/annotations?site=1'))).data
  const kinds = async () => (await notes()).map(({ kind }) => kind).sort()
  const fail = async () => {
    for (let n = 0; n < 25; n++) await ask('/broken', CHROME)
  }

  await eventually('the policy is known', () => /policy: example\.com robots\.txt/.test(instance.output()))
  site.robots = 'User-agent: *\nDisallow: /\n'
  await ask('/robots.txt', CODEX)
  await fail()
  for (let n = 0; n < 10; n++) await ask('/app-3f9a1c2b.js', CHROME)
  await eventually('four notes', async () => (await kinds()).length === 4)
  t.same(await kinds(), ['first_visit', 'not_recorded', 'policy_changed', 'server_errors'])
  const all = await notes()
  t.match(
    all.find(({ kind }) => kind === 'policy_changed'),
    {
      by: 'readership',
      text: 'robots.txt of example.com changed',
      data: {
        hostname: 'example.com',
        file: '/robots.txt',
        status: 200,
        sha256: /^[0-9a-f]{64}$/,
        before: { status: 200 },
      },
    },
  )
  t.match(
    all.find(({ kind }) => kind === 'first_visit'),
    {
      text: 'First visit of Codex CLI (OpenAI)',
      data: { agent_id: 'codex-cli', verification: 'unverifiable', pathname: '/robots.txt' },
    },
  )
  t.match(
    all.find(({ kind }) => kind === 'server_errors'),
    { data: { errors: 25, statuses: { 500: 25 } } },
  )
  await operator(`/api/annotations/${all.find(({ kind }) => kind === 'policy_changed')?.id}`, 'DELETE')

  await instance.stop('SIGKILL')
  instance = await startInstance(url, data)
  await ask('/', CODEX)
  await fail()
  for (let n = 0; n < 5; n++) await ask('/app-00c0ffee.js', CHROME)
  await eventually('the burst goes on', async () => (await notes()).some(({ data: { errors = 0 } }) => errors === 50))
  await eventually('the deployment that restarted it', async () => (await kinds()).includes('deployment'))
  t.same(
    await kinds(),
    ['deployment', 'first_visit', 'not_recorded', 'server_errors'],
    'after kill -9 no second note, and the deleted one stays away',
  )
})
