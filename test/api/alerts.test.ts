import t from 'tap'
import { sampleService } from '../fixtures/sample.js'

const channels = [{ type: 'webhook', target: 'https://hooks.example.com/x' }]
const alert = { site: 1, name: 'A', kind: 'threshold', metric: 'visitors', op: 'gte', value: 1, channels }
const counted = { site: 1, name: 'A', kind: 'new_agent', channels }
const report = { site: 1, name: 'R', period: 'weekly', recipients: ['a@example.com'] }
const mailTo = (target: string) => ({ channels: [{ type: 'email', target }] })
const hookTo = (target: string) => ({ channels: [{ type: 'webhook', target }] })

t.test('alerts and reports: valid bodies are accepted, others return 422 with the field', async (t) => {
  const { operator } = await sampleService(t)
  const ask = async (method: string, path: string, body?: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await operator(path, { method, ...(body === undefined ? {} : { body: text }) })
    const answer = await response.text()
    const { data, meta, error } = answer === '' ? {} : JSON.parse(answer)
    return { status: response.status, data, meta, error }
  }
  const refused: [path: string, body: unknown, field: string | undefined, why: string][] = [
    ['alerts', { ...alert, metric: undefined }, 'metric', 'a threshold without a metric'],
    ['alerts', { ...alert, metric: 'fetches' }, 'metric', 'a metric of another audience'],
    ['alerts', { ...alert, metric: '__proto__' }, 'metric', 'a word that is not a metric'],
    ['alerts', { ...alert, op: undefined }, 'op', 'no operator'],
    ['alerts', { ...alert, op: '>' }, 'op', 'an unknown operator'],
    ['alerts', { ...alert, value: undefined }, 'value', 'no value'],
    ['alerts', { ...alert, value: '1' }, 'value', 'a text in place of a number'],
    ['alerts', { ...alert, kind: 'x' }, 'kind', 'no such kind'],
    ['alerts', { ...counted, metric: 'fetches' }, 'metric', 'a metric of agents for people'],
    ['alerts', { ...counted, audience: 'human' }, 'audience', 'a kind for agents, asked for people'],
    [
      'alerts',
      { ...counted, kind: 'policy_changed', filters: [{ dimension: 'status', op: 'is', value: 1 }] },
      'filters',
      'nothing to filter',
    ],
    [
      'alerts',
      { ...alert, filters: [{ dimension: 'status', op: 'is', value: 1 }] },
      'filters',
      'a dimension of the other audience',
    ],
    ['alerts', { ...alert, filters: [{ dimension: 'pathname', op: 'matches', value: '(' }] }, 'filters', 'no pattern'],
    ['alerts', { ...alert, filters: 'x' }, 'filters', 'no filters'],
    ['alerts', { ...alert, kind: 'budget', audience: 'agent' }, 'metric', 'a budget of visitors'],
    ['alerts', { ...alert, kind: 'budget', audience: 'human', metric: 'cost' }, 'audience', 'a budget of people'],
    ['alerts', { ...alert, kind: 'budget', audience: 'agent', metric: 'cost', value: undefined }, 'value', 'no budget'],
    [
      'alerts',
      {
        ...alert,
        kind: 'old_edition',
        audience: 'agent',
        metric: undefined,
        filters: [{ dimension: 'operator', op: 'is', value: 'OpenAI' }],
      },
      'filters',
      'other operators would wait for agents that are left out',
    ],
    ['alerts', { ...alert, window_minutes: 4 }, 'window_minutes', 'too short'],
    ['alerts', { ...alert, window_minutes: 44_641 }, 'window_minutes', 'too long'],
    ['alerts', { ...alert, window_minutes: 5.5 }, 'window_minutes', 'not a whole number'],
    ['alerts', { ...alert, channels: [] }, 'channels', 'no channel'],
    ['alerts', { ...alert, channels: Array(11).fill(channels[0]) }, 'channels', 'too many'],
    ['alerts', { ...alert, channels: [...channels, ...channels] }, 'channels[1]', 'the same channel twice'],
    ['alerts', { ...alert, ...hookTo('ftp://example.com/') }, 'channels[0].target', 'not an http address'],
    ['alerts', { ...alert, ...hookTo('https://u:p@example.com/') }, 'channels[0].target', 'a password'],
    ['alerts', { ...alert, ...hookTo('javascript:alert(1)') }, 'channels[0].target', 'a script'],
    ['alerts', { ...alert, ...hookTo(`https://example.com/${'x'.repeat(2_000)}`) }, 'channels[0].target', 'too long'],
    ['alerts', { ...alert, ...mailTo('a@example.com\r\nBcc: b@example.com') }, 'channels[0].target', 'a header'],
    ['alerts', { ...alert, ...mailTo('a@example.com,b@example.com') }, 'channels[0].target', 'two addresses'],
    ['alerts', { ...alert, ...mailTo('A <a@example.com>') }, 'channels[0].target', 'a display name'],
    ['alerts', { ...alert, channels: [{ type: 'sms', target: '1' }] }, 'channels[0].type', 'no such channel'],
    ['alerts', { ...alert, name: 'a\u0000b' }, 'name', 'control characters'],
    ['alerts', { ...alert, name: '' }, 'name', 'no name'],
    ['alerts', { ...alert, secret: 'svcw_mine' }, 'secret', 'the secret is given by the server'],
    [
      'alerts',
      { ...alert, last_fired_at: '2026-11-21T10:00:00.000Z' },
      'last_fired_at',
      'the time of firing is given by the server',
    ],
    ['reports', { ...report, period: 'daily' }, 'period', 'no such period'],
    ['reports', { ...report, recipients: [] }, 'recipients', 'no recipient'],
    [
      'reports',
      { ...report, recipients: Array.from({ length: 21 }, (_, i) => `a${i}@example.com`) },
      'recipients',
      'too many',
    ],
    ['reports', { ...report, recipients: ['a@example.com', 'x'] }, 'recipients[1]', 'no address'],
    ['reports', { ...report, last_sent: 'weekly:2026-11-16' }, 'last_sent', 'not theirs to say'],
  ]
  for (const [path, body, field, why] of refused)
    t.match(await ask('POST', `/api/${path}`, body), { status: 422, error: { code: 'validation_error', field } }, why)
  t.match(await ask('POST', '/api/alerts', '{'), { status: 400 })
  t.match(await ask('POST', '/api/alerts', { ...alert, site: 99 }), { status: 404 })

  const made = await ask('POST', '/api/alerts', { ...alert, filters: { dimension: 'page', op: 'eq', value: '/' } })
  const shown = {
    ...{ id: 1, version: 1, ...alert, audience: 'human', window_minutes: 60, enabled: true },
    filters: [{ dimension: 'pathname', op: 'is', value: '/' }],
  }
  const { secret, ...rest } = made.data
  t.same([made.status, rest], [201, shown])
  t.match(secret, /^svcw_[\w-]{43}$/)
  for (const path of ['/api/alerts/1', '/api/alerts?site=1', '/api/alerts/1/deliveries'])
    t.notOk(JSON.stringify(await ask('GET', path)).includes('svcw_'), `${path} has no secret`)
  t.match(await ask('PATCH', '/api/alerts/1', { kind: 'new_agent' }), { status: 422, error: { field: 'metric' } })
  const turned = { kind: 'new_agent', metric: null, audience: null, filters: [] }
  t.match(await ask('PATCH', '/api/alerts/1', turned), { status: 200, data: { version: 2, audience: 'agent' } })
  t.notOk(JSON.stringify(await ask('PATCH', '/api/alerts/1', { enabled: false })).includes('svcw_'))
  t.not((await ask('POST', '/api/alerts/1/rotate-secret')).data.secret, secret)

  t.match(await ask('POST', '/api/reports', report), { status: 201, data: { id: 1, enabled: true } })
  for (let i = 0; i < 5; i++) {
    const { status, data, meta } = await ask('POST', '/api/reports/1/test')
    t.match([status, data, meta], [202, { queued: 1 }, { warnings: [{ code: 'no_mail_server' }] }])
  }
  t.match(await ask('POST', '/api/reports/1/test'), { status: 429 })
  // Concurrent tests run one after the other.
  t.match(await ask('POST', '/api/reports', { ...report, name: 'Other' }), { status: 201, data: { id: 2 } })
  for (const path of ['/api/reports/2/test', '/api/alerts/1/test']) {
    const all = await Promise.all(Array.from({ length: 12 }, () => ask('POST', path)))
    t.same(all.map(({ status }) => status).toSorted(), [...Array(5).fill(202), ...Array(7).fill(429)], path)
  }
  for (const path of ['alerts/9', 'alerts/9/deliveries', 'reports/9/deliveries'])
    t.equal((await ask('GET', `/api/${path}`)).status, 404)
  for (const path of ['alerts/9/test', 'alerts/9/rotate-secret', 'reports/9/test'])
    t.equal((await ask('POST', `/api/${path}`)).status, 404)
})
