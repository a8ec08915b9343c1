import t from 'tap'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { openShareService } from '../fixtures/share-service.js'

const MINUTE = 60_000
const share = { site: 1, name: 'Press', scopes: ['pages', 'overview'] }

t.test('only pages of the origins that a link names may show it in a frame', async (t) => {
  const { ask, visit } = await openShareService(t)
  const embed = ['https://A.example/', 'http://localhost:3000', 'https://a.example']
  const { data } = await ask('POST', '/api/shares', { ...share, embed })
  t.same(data.embed, ['https://a.example', 'http://localhost:3000'], 'as browsers write them, each once')
  const rows: [string, string | undefined, string][] = [
    [`/share/${data.slug}?embed=1`, 'https://a.example http://localhost:3000', 'the link'],
    [`/share/${data.slug}/pages?embed=1`, 'https://a.example http://localhost:3000', 'and below it'],
    [`/share/${data.slug}`, undefined, 'not embedded'],
    [`/share/${data.slug}?embed=0`, undefined, 'nor this'],
    [`/share/${'x'.repeat(24)}?embed=1`, undefined, 'an unknown link'],
    [`/share/${'x'.repeat(10_000)}?embed=1`, undefined, 'a long one'],
    ['/share/%00?embed=1', undefined, 'NUL'],
    ['/sites/1?embed=1', undefined, 'another page'],
  ]
  for (const [path, origins, why] of rows) {
    const { status, headers } = await visit(path)
    t.equal(status, 200, why)
    t.match(headers.get('content-security-policy'), `frame-ancestors ${origins ?? "'none'"};`, why)
    t.equal(headers.get('x-frame-options'), origins === undefined ? 'DENY' : null, why)
  }
  for (const origin of [
    ...['https://a.example/path', 'https://*.example', '*', 'null', 'https://a;sandbox', "https://a'b", 'a.example'],
    ...['javascript:alert(1)', 'data:text/html,x', 'https://u:p@a.example', 'https://a,b', 'https://a.example?x', ''],
  ])
    t.match(await ask('POST', '/api/shares', { ...share, name: 'X', embed: [origin] }), { status: 422 }, origin)
  const none = await ask('PATCH', `/api/shares/${data.id}`, { embed: [] })
  t.same(none.data.embed, [])
  t.match((await visit(rows[0]?.[0] ?? '')).headers.get('content-security-policy'), "frame-ancestors 'none'")
})

t.test('a badge tells how many read the site this month, and nothing that its link hides', async (t) => {
  const { ask, visit, commit, clock } = await openShareService(t)
  const at = (day: number, hour = 9) => new Date(Date.UTC(2026, 10, day, hour))
  const person = (n: number, more: object = {}) =>
    eventRow({ visitor_id: BigInt(n), session_id: BigInt(n), timestamp: at(20), session_start: at(20), ...more })
  await commit({
    events: [
      person(1),
      person(1),
      person(2, { country: 'DE' }),
      person(3, { timestamp: new Date(Date.UTC(2026, 9, 9)) }),
    ],
    agent_events: [agentRow({ timestamp: at(19) }), agentRow({ timestamp: at(19) })],
  })
  let made = 0
  const badge = async (fields: object) => {
    made += 1
    const { data } = await ask('POST', '/api/shares', { ...share, name: `S${made}`, badge: true, ...fields })
    return { ...data, path: `/api/share/${data.slug}/badge.svg` }
  }
  const german = [{ dimension: 'country', op: 'is', value: 'DE' }]
  const rows: [object, string | undefined, string][] = [
    [{ scopes: ['overview'] }, 'read by 2 people and 1 agent this month', 'everything'],
    [{ scopes: ['overview'], filters: german }, 'read by 1 person and 0 agents this month', 'its filters'],
    [{ scopes: ['agents'] }, 'read by 1 agent this month', 'agents only'],
    [
      { scopes: ['overview'], filters: [{ dimension: 'browser', op: 'is_not_set' }] },
      'read by 2 people this month',
      'agents have no browser',
    ],
    [{ scopes: ['overview'], badge: false }, undefined, 'no badge'],
    [{ scopes: ['overview'], expires_at: '2026-11-21T10:00:01Z' }, undefined, 'an ended link'],
  ]
  const links: { path: string }[] = []
  for (const [fields] of rows) links.push(await badge(fields))
  clock.at += 2_000
  for (const [i, [, text, why]] of rows.entries()) {
    const found = await visit(links[i]?.path ?? '')
    t.equal(found.status, text === undefined ? 404 : 200, why)
    if (text === undefined) continue
    t.match(found.text, `<title id="t">${text}</title>`, why)
    t.notMatch(found.text, /<script|href|onload/i, 'no script')
    t.match(found.text, /prefers-color-scheme:dark/)
    t.same(
      ['content-type', 'cache-control', 'cross-origin-resource-policy', 'x-content-type-options'].map((name) =>
        found.headers.get(name),
      ),
      ['image/svg+xml; charset=utf-8', 'public, max-age=900', 'cross-origin', 'nosniff'],
    )
  }
  for (const path of [
    '/api/share/none/badge.svg',
    `/api/share/${'x'.repeat(10_000)}/badge.svg`,
    '/api/share/%00/badge.svg',
  ])
    t.equal((await visit(path)).status, 404, path.slice(0, 40))
  const first = await badge({ scopes: ['overview'] })
  const byAgents = [{ dimension: 'agent_id', op: 'is', value: 'gptbot' }]
  const empty: [fields: object, message: RegExp, why: string][] = [
    [{ password: 'slack water' }, /with a password has no badge/, 'an image cannot ask for a password'],
    [{ scopes: ['pages'] }, /needs the scope `overview` .* or `agents`/, 'no total'],
    [{ scopes: ['pages', 'timeseries'] }, /add one to `scopes`, or set `badge` to false/, 'what to write'],
    [
      { scopes: ['agents'], filters: [{ dimension: 'browser', op: 'is', value: 'Firefox' }] },
      /would count agents, which do not have all dimensions of `filters`/,
      'agents have no browser',
    ],
    [
      { scopes: ['overview'], filters: [...byAgents, { dimension: 'browser', op: 'is', value: 'Firefox' }] },
      /neither have all dimensions of `filters`/,
      'no readership has both',
    ],
    [
      { scopes: ['agents'], filters: [{ has_done: { dimension: 'pathname', op: 'is', value: '/' } }] },
      /would count agents/,
      'agents are not visitors',
    ],
  ]
  for (const [fields, message, why] of empty) {
    const error = { code: 'validation_error', field: 'badge', message }
    const refused = await ask('POST', '/api/shares', { ...share, scopes: ['overview'], badge: true, ...fields })
    t.match(refused, { status: 422, error }, why)
    t.match(await ask('PATCH', `/api/shares/${first.id}`, fields), { status: 422, error }, `${why}: as a change`)
  }
  const other = await badge({ scopes: ['pages'], badge: false })
  t.match((await ask('PATCH', `/api/shares/${other.id}`, { badge: true })).error, { field: 'badge' }, 'nor later')

  const read = async () => /read by [^<]*/.exec((await visit(first.path)).text)?.[0]
  const before = await read()
  await commit({ events: [person(4)] })
  t.equal(await read(), before, 'cached')
  clock.at += 15 * MINUTE
  t.equal(await read(), 'read by 3 people and 1 agent this month', 'for 15 minutes')
  await ask('PATCH', `/api/shares/${first.id}`, { scopes: ['agents'] })
  t.equal(await read(), 'read by 1 agent this month', 'a change of the link takes effect at once')
})
