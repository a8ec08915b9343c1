import t from 'tap'
import { z } from 'zod'
import { sql } from '../../src/storage/sql.js'
import { BODIES } from '../fixtures/examples.js'
import { eventually } from '../fixtures/instance.js'
import { sampleService } from '../fixtures/sample.js'

const HOST = 'https://slackwater.example'
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
t.test('a changed or deleted site takes effect at every endpoint on the next request', async (t) => {
  const { instance, operator, workerClient } = await sampleService(t)
  const make = async (path: string, body: object) => {
    const response = await operator(path, { method: 'POST', body: JSON.stringify(body) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return z
      .object({ data: z.object({ secret: z.string().optional(), slug: z.string().optional() }) })
      .parse(JSON.parse(text)).data
  }
  const { secret = '' } = await make('/api/keys', {
    ...{ name: 'bound', site: 1, scopes: ['stats:read', 'manage:read', 'ingest:write'] },
  })
  await make('/api/flags', { site: 1, key: 'chart', enabled: true })
  const { slug = '' } = await make('/api/shares', { site: 1, name: 'press', scopes: ['overview'] })
  await make('/api/alerts', {
    ...{ site: 1, name: 'new ones', kind: 'new_agent', window_minutes: 60 },
    channels: [{ type: 'email', target: 'harbour@slackwater.example' }],
  })

  const send = async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    headers.set('user-agent', BROWSER)
    const { status } = await instance.fetch(new Request(HOST + path, { ...init, headers }), { ip: '192.0.2.1' })
    return status
  }
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    send(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  const bearer = { authorization: `Bearer ${secret}` }
  const hit = (headers: Record<string, string> = {}) => post('/api/track', { s: 1, u: `${HOST}/glossary` }, headers)
  const statuses = async () => ({
    track: await hit(),
    edge: await post('/api/log/edge', BODIES['post /api/log/edge'] ?? {}, bearer),
    read: await send('/api/stats/overview?site=1&range=7d', { headers: bearer }),
    flags: await send('/api/flags/evaluate?site=1&id=reader-3', { headers: { referer: `${HOST}/glossary` } }),
    share: await send(`/api/share/${slug}`),
  })
  const patch = async (change: object) =>
    (await operator('/api/sites/1', { method: 'PATCH', body: JSON.stringify(change) })).status
  const optedOut = async () => {
    const body: unknown = await (await operator('/api/sites/1/drops')).json()
    return JSON.stringify(body).includes('opted_out')
  }

  t.same(await statuses(), { track: 204, edge: 202, read: 200, flags: 200, share: 200 }, 'before any change')
  t.equal(await hit({ 'sec-gpc': '1' }), 204)
  t.equal(await optedOut(), false, 'a site that does not honour it')
  t.equal(await patch({ respect_gpc: true }), 200)
  t.equal(await hit({ 'sec-gpc': '1' }), 204)
  t.equal(await optedOut(), true, 'the very next hit')
  t.equal(await patch({ domains: ['elsewhere.example'] }), 200)
  t.equal(await hit(), 403, 'the hostname no longer belongs to the site')
  t.equal(await patch({ domains: ['slackwater.example'] }), 200)
  t.equal(await hit(), 204)

  t.equal((await operator('/api/sites/1', { method: 'DELETE' })).status, 204)
  t.same(await statuses(), { track: 403, edge: 401, read: 401, flags: 403, share: 404 }, 'from the next request on')
  t.equal((await operator('/api/stats/overview?site=1&range=7d')).status, 404)
  t.equal((await operator('/api/flags?site=1')).status, 404)
  t.equal((await operator('/api/alerts?site=1')).status, 404)
  await eventually(
    'its rows to be removed, long before the timer of a minute',
    async () => {
      const [row] = await workerClient.events.query(
        sql`select (select count(*) from events where site_id = 1) + (select count(*) from agent_events where site_id = 1) as n`,
      )
      return Number(row?.n) === 0
    },
    10_000,
  )
})
