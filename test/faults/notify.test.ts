import { once } from 'node:events'
import { request } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { socketPath } from '../../src/api/server.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { command } from '../fixtures/command.js'
import { dataDir, eventually, startInstance, startOrigin } from '../fixtures/instance.js'
import { receiver } from '../fixtures/receiver.js'
import { storeOptions } from '../fixtures/store.js'

/*
 * The attack: kill -9 while an alert is being delivered, before and after the receiver has answered. The attack succeeds if
 * the delivery is never made, or if the next start sends it under another id, so that the receiver cannot see the repetition.
 */

t.test('a delivery that kill -9 interrupted is made after the next start, under the same id', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const { received, url } = await receiver(t, (n, res) => n > 0 && res.end())
  const data = dataDir(t)
  const first = await startInstance(origin.url, data, '--private-webhooks')
  t.teardown(() => first.stop('SIGKILL'))
  const made = ['--name', 'x', '--scopes', 'manage:read,manage:write', '--data', data, '--json']
  const { secret } = JSON.parse((await command('keys', 'create', ...made)).stdout)
  const ask = async (admin: string, method: string, path: string, body?: object) => {
    const response = await fetch(`${admin}/api/alerts${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, data: JSON.parse(await response.text()).data }
  }
  const alert = { site: 1, name: 'New', kind: 'new_agent', channels: [{ type: 'webhook', target: url }] }
  t.match(await ask(first.admin, 'POST', '', alert), { status: 201, data: { id: 1, secret: /^svcw_/ } })
  t.match(await ask(first.admin, 'POST', '/1/test'), { status: 202, data: { queued: 1 } })
  await eventually('the first attempt', () => received.length === 1)
  await first.stop('SIGKILL')

  const second = await startInstance(origin.url, data, '--private-webhooks')
  t.teardown(() => second.stop())
  const delivered = async () => (await ask(second.admin, 'GET', '/1/deliveries')).data
  await eventually('the second', async () => (await delivered())[0].state === 'done')
  t.match(await delivered(), [{ state: 'done', attempts: 2 }])
  t.equal(received.length, 2)
  const names = received.map(({ headers }) => headers['x-service-delivery'])
  t.match(names[0], /^test:alert:1:[0-9a-f]{12}:1$/)
  t.equal(names[0], names[1])
})

t.test('hanging receivers and a hanging mail server delay the end by seconds, and their deliveries wait', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => sockets.add(socket.resume().on('error', () => {}))).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const address = silent.address()
  const host = `127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
  const data = dataDir(t)
  const app = await startInstance(origin.url, data, '--private-webhooks', '--smtp', `smtp://${host}`)
  t.teardown(() => app.stop('SIGKILL'))
  const operator = (method: string, path: string, body: object) =>
    new Promise<void>((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const asked = request({ socketPath: socketPath(data), method, path, headers }, (response) => {
        t.ok((response.statusCode ?? 0) < 300, `${path}: ${response.statusCode}`)
        response.resume().on('end', resolve)
      })
      asked.on('error', reject).end(JSON.stringify(body))
    })
  const channels = [
    { type: 'webhook', target: `http://${host}/` },
    { type: 'email', target: 'a@example.com' },
  ]
  await operator('POST', '/api/alerts', { site: 1, name: 'New', kind: 'new_agent', channels })
  await operator('POST', '/api/alerts/1/test', {})
  for (let n = 0; n < 5; n++)
    await operator('POST', '/api/orgs/1/invitations', { email: `i${n}@example.com`, role: 'viewer' })
  await eventually('they are under way', () => sockets.size >= 3)
  const began = performance.now()
  await app.stop()
  const took = performance.now() - began
  t.ok(took < 9_000, `${took.toFixed(0)} ms`)
  const records = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
  t.teardown(() => records.close())
  const left = await records.query(sql`select receiver, state, attempts from notices order by id`)
  t.match(left, [
    { receiver: host, state: /waiting|sending/, attempts: 1 },
    { receiver: 'mail', state: /waiting|sending/, attempts: 1 },
  ])
})
