import t from 'tap'
import { command } from '../fixtures/command.js'
import { dataDir, eventually, startInstance, startOrigin } from '../fixtures/instance.js'
import { receiver } from '../fixtures/receiver.js'

t.test('a delivery that kill -9 cut off is made behind the next start, under the same name', async (t) => {
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
  await eventually('the second', async () => (await delivered())[0].state === 'done', 20_000)
  t.match(await delivered(), [{ state: 'done', attempts: 2 }])
  t.equal(received.length, 2)
  const names = received.map(({ headers }) => headers['x-service-delivery'])
  t.match(names[0], /^test:alert:1:[0-9a-f]{12}:1$/)
  t.equal(names[0], names[1])
})
