import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createApp } from '../../src/api/app.js'
import { readRoutes } from '../../src/api/reads.js'
import { siteRecordRoutes } from '../../src/api/site-records.js'
import { createFunnels } from '../../src/manage/funnels.js'
import { createGoals } from '../../src/manage/goals.js'
import { createKeys, type Scope } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSegments } from '../../src/manage/segments.js'
import { createSites } from '../../src/manage/sites.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { copySite } from '../fixtures/copy-site.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import { eventRow } from '../fixtures/rows.js'

const now = () => new Date('2026-11-21T10:00:00.000Z')

/** Sites 1 and 2 belong to the first organisation, site 3 to the second. */
async function open(t: Test) {
  const { workerClient, commit } = await createInProcessEngine(t)
  const { records } = workerClient
  await bootstrap(records, { domains: [], timezone: 'UTC', now: now() })
  const like1 = (id: number, org: number) => copySite(id, { org, name: 'x' })
  await records.write(
    sql`insert into organisations (id, name, created_at, require_totp) values (2, 'Other', ${now()}, false)`,
    like1(2, 1),
    like1(3, 2),
  )
  const sites = createSites(records)
  const keys = createKeys({ records, sites, now, random: (n) => randomBytes(n) })
  const managed = { goals: createGoals(records), funnels: createFunnels(records), segments: createSegments(records) }
  const routes = [
    ...readRoutes({ store: workerClient.events, now, catalog: [], sites, ...managed }),
    ...siteRecordRoutes({ ...managed, sites, store: workerClient.events }),
  ]
  const logged: unknown[] = []
  const app = createApp({ routes, credentials: { keys }, version: '0', log: (error) => logged.push(error) })
  const key = async (org: number, scopes: Scope[], site?: number) =>
    (await keys.create({ org, name: 'x', scopes, ...(site === undefined ? {} : { site }) }, deed)).secret
  /** Sends a request as the operator, unless a key is given. */
  const ask = async (method: string, path: string, body?: unknown, secret?: string) => {
    const request = new Request(`http://localhost${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(secret === undefined ? {} : { headers: { authorization: `Bearer ${secret}` } }),
    })
    const response = await app(request, { ip: '', operator: secret === undefined })
    const text = await response.text()
    const { data, meta, error } = text === '' ? {} : JSON.parse(text)
    return { status: response.status, data, meta, error }
  }
  const document = async () =>
    JSON.parse(await (await app(new Request('http://localhost/api/openapi.json'), { ip: '', operator: false })).text())
  return { document, ask, key, commit, records, logged }
}

const page = { op: 'is', value: '/thanks' }
const goal = { site: 1, name: 'Thanks', type: 'page', match: page }
const step = (label: string, value = '/x') => ({ label, type: 'page', match: { op: 'is', value } })
const funnel = { site: 1, name: 'Shop', steps: [step('a'), step('b')] }
const german = { dimension: 'country', op: 'is', value: 'DE' }
const segment = { site: 1, name: 'German', filters: [german] }
const nested = (depth: number): unknown => (depth === 0 ? german : { not: nested(depth - 1) })
const resources = { goals: goal, funnels: funnel, segments: segment }

t.test('goals, funnels and segments can be created, read, changed and deleted', async (t) => {
  const { ask } = await open(t)
  const cases: [name: string, body: object, made: object, change: object, changed: object][] = [
    [
      'goals',
      {
        ...goal,
        name: ' Thanks ',
        match: { op: 'wildcard', value: '/t/*' },
        revenue: { property: 'p', currency: 'EUR' },
      },
      { ...goal, match: { op: 'matches_wildcard', value: '/t/*' }, revenue: { property: 'p', currency: 'EUR' } },
      { type: 'scroll', match: { op: '>=', value: '50', pathname: { op: 'c', value: 'x' } }, revenue: null },
      { ...goal, type: 'scroll', match: { op: 'gte', value: 50, pathname: { op: 'contains', value: 'x' } } },
    ],
    [
      'funnels',
      { ...funnel, window_minutes: 30 },
      { ...funnel, window_minutes: 30 },
      { window_minutes: null, name: 'Ünï 🦆' },
      { ...funnel, name: 'Ünï 🦆' },
    ],
    [
      'segments',
      { ...segment, filters: { dimension: 'visit:country', op: 'eq', value: 'DE' } },
      { ...segment, shared: true },
      { shared: false, filters: [nested(5)] },
      { ...segment, shared: false, filters: [nested(5)] },
    ],
  ]
  for (const [name, body, made, change, changed] of cases) {
    const path = `/api/${name}`
    t.strictSame(await ask('GET', `${path}?site=1`), { status: 200, data: [], meta: { total: 0 }, error: undefined })
    const { status, data } = await ask('POST', path, body)
    t.strictSame([status, data], [201, { id: 1, version: 1, ...made }], name)
    t.strictSame((await ask('GET', `${path}/1`)).data, data)
    t.strictSame((await ask('GET', `${path}?site=1`)).data, [data])
    t.strictSame((await ask('GET', `${path}?site=2`)).data, [], "another site's are none of its")
    t.strictSame((await ask('PATCH', `${path}/1`, {})).data, data, 'nothing changed')
    t.strictSame((await ask('PATCH', `${path}/1`, change)).data, { id: 1, version: 2, ...changed }, 'in part')
    // A goal without a match counts every hit of its type.
    const again = await ask('POST', path, { ...body, name: 'second', ...(name === 'goals' && { match: undefined }) })
    if (name === 'goals') t.strictSame(again.data.match, { op: 'is_set' }, 'a match can be left out')
    t.equal(again.data.id, 2)
    const taken = { name: Object(changed).name }
    t.match(await ask('PATCH', `${path}/2`, taken), { status: 409, error: { code: 'conflict', field: 'name' } })
    t.equal((await ask('PATCH', `${path}/1`, taken)).status, 200, 'its own name is not taken')
    t.match(
      await ask('POST', path, { ...body, site: 2 }),
      { status: 201, data: { id: 3, site: 2 } },
      'a name is of a site',
    )
    t.equal((await ask('DELETE', `${path}/3`)).status, 204)
    for (const method of ['GET', 'DELETE']) t.equal((await ask(method, `${path}/3`)).status, 404)
    t.equal((await ask('PATCH', `${path}/3`, {})).status, 404)
    t.equal((await ask('POST', path, { ...body, site: 2 })).data.id, 4, 'no id comes again')
  }
})

t.test('malformed records are refused with the field', async (t) => {
  const { ask, logged } = await open(t)
  const event = (match: object) => ({ ...goal, type: 'event', match })
  const bad: [name: keyof typeof resources, body: unknown, field: string | undefined, why: string][] = [
    ['goals', [], undefined, 'no object'],
    ['goals', {}, 'site', 'an empty object'],
    ['goals', { ...goal, site: '1' }, 'site', 'a string instead of a number'],
    ['goals', { ...goal, site: 1.5 }, 'site', 'no whole number'],
    ['goals', { ...goal, id: 7 }, 'id', 'the id is given by the server'],
    ['goals', { ...goal, colour: 'red' }, 'colour', 'an unknown field'],
    ['goals', { ...goal, __proto__x: 1 }, '__proto__x', 'another unknown field'],
    ['goals', { ...goal, name: '' }, 'name', 'no name'],
    ['goals', { ...goal, name: 7 }, 'name', 'no text'],
    ['goals', { ...goal, name: 'x'.repeat(101) }, 'name', 'too long'],
    ['goals', { ...goal, name: 'a\u0007b' }, 'name', 'a bell'],
    ['goals', { ...goal, name: 'a\u001b[2J' }, 'name', 'an escape'],
    ['goals', { ...goal, name: 'a\u202eb' }, 'name', 'text turned round'],
    ['goals', `{"site":1,"name":"\\ud83e","type":"page","match":{"op":"is","value":"/"}}`, 'name', 'half a character'],
    ['goals', { ...goal, type: 'click' }, 'type', 'no type'],
    ['goals', { ...goal, match: null }, 'match', 'null as a match'],
    ['goals', { ...goal, match: '/x' }, 'match', 'a bare path'],
    ['goals', { ...goal, match: { op: 'is' } }, 'match.value', 'no value'],
    ['goals', { ...goal, match: { value: '/' } }, 'match.op', 'no operator'],
    ['goals', { ...goal, match: { op: 'like', value: '/' } }, 'match.op', 'no such operator'],
    ['goals', { ...goal, match: { op: 'gt', value: 3 } }, 'match.op', 'a path has no size'],
    ['goals', { ...goal, match: { ...page, flags: 'i' } }, 'match.flags', 'an unknown nested field'],
    ['goals', { ...goal, match: { op: 'is', value: { a: 1 } } }, 'match.value', 'no value of a path'],
    ['goals', { ...goal, match: { op: 'is', value: [] } }, 'match.value', 'nothing of a list'],
    ['goals', { ...goal, match: { op: 'matches', value: '(' } }, 'match', 'no RE2'],
    ['goals', { ...goal, match: { op: 'matches', value: 'x'.repeat(501) } }, 'match.value', 'too long a pattern'],
    [
      'goals',
      { ...goal, match: { ...page, props: [{ key: 'a', op: 'is', value: 'b' }] } },
      'match.props',
      'of an event',
    ],
    ['goals', { ...goal, match: { ...page, pathname: page } }, 'match.pathname', 'of scroll'],
    ['goals', event({ ...page, props: [{ key: '', op: 'is', value: 'b' }] }), 'match.props[0].key', 'no key'],
    ['goals', event({ ...page, props: [{ key: 'a', op: 'is' }] }), 'match.props[0].value', 'no value'],
    ['goals', event({ ...page, props: [{ key: 'a', op: 'x' }] }), 'match.props[0].op', 'no operator'],
    ['goals', event({ ...page, props: Array(11).fill({ key: 'a', op: 'is_set' }) }), 'match.props', 'too many'],
    ['goals', { ...goal, type: 'scroll', match: { op: 'gte', value: 101 } }, 'match.value', 'beyond the page'],
    ['goals', { ...goal, type: 'scroll', match: { op: 'gte', value: 'half' } }, 'match.value', 'no number'],
    ['goals', { ...goal, type: 'scroll', match: { op: 'lt', value: 50 } }, 'match.op', 'not reached'],
    ['goals', { ...goal, type: 'duration', match: { op: 'gte', value: 0 } }, 'match.value', 'everybody'],
    ['goals', { ...goal, revenue: { property: 'p', currency: 'euro' } }, 'revenue.currency', 'no currency'],
    ['goals', { ...goal, revenue: { currency: 'EUR' } }, 'revenue.property', 'no property'],
    ['goals', { ...goal, revenue: null }, 'revenue', 'null is of a change'],
    ['funnels', { ...funnel, steps: [step('a')] }, 'steps', 'one step'],
    ['funnels', { ...funnel, steps: Array(11).fill(step('a')) }, 'steps', 'eleven'],
    ['funnels', { ...funnel, steps: 'all' }, 'steps', 'no list'],
    ['funnels', { ...funnel, steps: [step('a'), { ...step('b'), label: '' }] }, 'steps[1].label', 'no label'],
    ['funnels', { ...funnel, steps: [step('a'), { ...step('b'), x: 1 }] }, 'steps[1].x', 'an unknown field'],
    [
      'funnels',
      { ...funnel, steps: [step('a'), { ...step('b'), type: 'duration', match: { op: 'gte', value: 1 } }] },
      'steps[1].type',
      'no hit',
    ],
    [
      'funnels',
      { ...funnel, steps: [step('a'), { ...step('b'), match: { op: 'is' } }] },
      'steps[1].match.value',
      'no value',
    ],
    [
      'funnels',
      { ...funnel, steps: [step('a'), { ...step('b'), match: { op: 're', value: '[' } }] },
      'steps[1].match',
      'no RE2',
    ],
    ['funnels', { ...funnel, window_minutes: 0 }, 'window_minutes', 'no time'],
    ['funnels', { ...funnel, window_minutes: 1e9 }, 'window_minutes', 'too long'],
    ['segments', { ...segment, filters: undefined }, 'filters', 'no filters'],
    ['segments', { ...segment, filters: [] }, 'filters', 'an empty list of filters'],
    ['segments', { ...segment, filters: 'country' }, 'filters', 'a text in place of filters'],
    ['segments', { ...segment, filters: Array(51).fill(german) }, 'filters', 'fifty-one'],
    ['segments', { ...segment, filters: [nested(6)] }, 'filters', 'six deep'],
    ['segments', { ...segment, filters: [{ ...german, dimension: 'site_id' }] }, 'filters', 'no dimension'],
    ['segments', { ...segment, filters: [{ dimension: 'goal', op: 'is', value: 'None' }] }, 'filters', 'no goal'],
    [
      'segments',
      { ...segment, filters: [{ dimension: 'pathname', op: 'matches', value: '(?=x)' }] },
      'filters',
      'no RE2',
    ],
    ['segments', { ...segment, shared: 'yes' }, 'shared', 'no truth'],
  ]
  for (const [name, good] of Object.entries(resources)) t.equal((await ask('POST', `/api/${name}`, good)).status, 201)
  for (const [name, body, field, why] of bad) {
    const { status, error } = await ask('POST', `/api/${name}`, body)
    t.strictSame(
      [status, error?.code, error?.field],
      [422, 'validation_error', field],
      `${name}: ${why}: ${error?.message}`,
    )
    if (typeof body !== 'object' || Array.isArray(body) || field === undefined || field === 'id') continue
    // The same as a change of an existing record, with the wrong field only.
    const key = field.replace(/[.[].*/, '')
    const value = Object(body)[key]
    if (key === 'site' || value === undefined || value === null) continue
    const type = key === 'match' ? { type: Object(body).type } : {}
    const changed = await ask('PATCH', `/api/${name}/1`, { ...type, [key]: value })
    t.strictSame([changed.status, changed.error?.field], [422, field], `a change of ${name}: ${why}`)
  }
  for (const name of Object.keys(resources)) {
    const path = `/api/${name}`
    const [before] = (await ask('GET', `${path}?site=1`)).data
    t.match(before, Object(resources)[name], 'nothing of it was kept')
    t.match(await ask('POST', path, '{'), { status: 400, error: { code: 'bad_request' } }, 'no JSON')
    t.match(await ask('PATCH', `${path}/1`, '{'), { status: 400 })
    t.match(
      await ask('PATCH', `${path}/1`, { site: 2 }),
      { status: 422, error: { field: 'site' } },
      'it stays where it is',
    )
    t.match(await ask('GET', path), { status: 422, error: { field: 'site' } })
    t.match(await ask('GET', `${path}?site=x`), { status: 422, error: { field: 'site' } })
    for (const id of ['0', '-1', '99', 'x', '1.5', '9'.repeat(30)])
      t.match(await ask('GET', `${path}/${id}`), { status: 404 }, id)
  }
  t.match(
    await ask('PATCH', '/api/goals/1', { type: 'scroll' }),
    { status: 422, error: { field: 'match.value' } },
    'a type its match does not fit',
  )
  t.strictSame(logged, [], 'no internal error')
})

t.test('each caller sees and changes records of reachable sites only', async (t) => {
  const { ask, key } = await open(t)
  const manager: Scope[] = ['manage:read', 'manage:write']
  const keys = {
    reader: await key(1, ['manage:read']),
    stats: await key(1, ['stats:read']),
    writer: await key(1, ['manage:write']),
    bound: await key(1, manager, 2),
    other: await key(2, manager),
    own: await key(1, manager),
  }
  for (const [name, body] of Object.entries(resources)) {
    const path = `/api/${name}`
    await ask('POST', path, body)
    // reader, stats, writer, bound to site 2, other organisation, own
    const rows: [method: string, path: string, body: unknown, statuses: number[]][] = [
      ['GET', `${path}?site=1`, undefined, [200, 403, 403, 404, 404, 200]],
      ['GET', `${path}?site=9`, undefined, [404, 403, 403, 404, 404, 404]],
      ['GET', `${path}/1`, undefined, [200, 403, 403, 404, 404, 200]],
      ['PATCH', `${path}/1`, {}, [403, 403, 200, 404, 404, 200]],
      ['POST', path, { ...body, name: 'new' }, [403, 403, 201, 404, 404, 409]],
      ['POST', path, { ...body, site: 9 }, [403, 403, 404, 404, 404, 404]],
      ['DELETE', `${path}/1`, undefined, [403, 403, 204, 404, 404, 404]],
    ]
    for (const [method, at, sent, statuses] of rows) {
      const found: number[] = []
      for (const secret of Object.values(keys)) found.push((await ask(method, at, sent, secret)).status)
      t.strictSame(found, statuses, `${method} ${at}`)
    }
    t.match(
      await ask('GET', `${path}/2`, undefined, keys.other),
      await ask('GET', `${path}/77`, undefined, keys.other),
      'unreachable records look like missing ones',
    )
  }
})

t.test('names are unique, also at the same moment and after a restart', async (t) => {
  const { ask, records } = await open(t)
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, i) => ask('POST', '/api/goals', { ...goal, name: `n${i % 4}` })),
  )
  t.strictSame(all.map(({ status }) => status).toSorted(), [201, 201, 201, 201, 409, 409, 409, 409])
  t.strictSame(
    (await ask('GET', '/api/goals?site=1')).data.map(({ id }: { id: number }) => id),
    [1, 2, 3, 4],
  )
  await ask('DELETE', '/api/goals/4')
  const again = createGoals(records)
  t.equal((await again.list(1)).length, 3)
  t.equal((await again.create({ ...goal, type: 'page' }, deed)).id, 5)
  await Promise.all(
    Array.from({ length: 96 }, (_, i) => again.create({ ...goal, type: 'page', name: `more ${i}` }, deed)),
  )
  await t.rejects(
    again.create({ ...goal, type: 'page', name: 'one more' }, deed),
    { code: 'conflict' },
    'a hundred are enough',
  )
})

t.test('reads use the records', async (t) => {
  const { ask, key, commit } = await open(t)
  const timestamp = new Date('2026-11-21T09:00:00Z')
  const rows = [1n, 2n, 3n].map((id) =>
    eventRow({
      visitor_id: id,
      session_id: id,
      timestamp,
      country: id === 1n ? 'DE' : 'US',
      pathname: id === 3n ? '/' : '/thanks',
    }),
  )
  await commit({ events: [...rows, eventRow({ site_id: 2, timestamp, pathname: '/thanks' })] })
  for (const [name, body] of Object.entries(resources)) await ask('POST', `/api/${name}`, body)
  await ask('POST', '/api/segments', {
    site: 1,
    name: 'Done',
    filters: [{ dimension: 'goal', op: 'is', value: 'Thanks' }],
  })
  const secret = await key(1, ['stats:read'])
  const read = (path: string) => ask('GET', `/api/stats/${path}`, undefined, secret)
  t.match(await read('goals?site=1'), { data: [{ id: 1, conversions: 2, visitors: 2, rate: 2 / 3 }] })
  t.strictSame((await read('goals?site=2')).data, [])
  t.match(await read('overview?site=1&segment=1'), { data: { visitors: 1 }, meta: { query: { segment: '1' } } })
  t.match(await read('overview?site=1&segment=2'), { data: { visitors: 2 } }, 'a segment of a goal')
  t.match(await read('funnel/1?site=1'), { status: 200, data: { id: 1, sessions: 3 } })
  for (const id of ['2', '0', '01', '1.0', 'x', '1e0', '%27'])
    t.match(await read(`funnel/${id}?site=1`), { status: 404 }, id)
  t.match(await read('funnel/1?site=2'), { status: 404 }, "another site's funnel")
  for (const id of ['3', '01', 'x', '1 ', "1'"])
    t.match(
      await read(`overview?site=1&segment=${encodeURIComponent(id)}`),
      { status: 404, error: { field: 'segment' } },
      id,
    )
  t.match(await read('overview?site=2&segment=1'), { status: 404, error: { field: 'segment' } })
  await ask('DELETE', '/api/goals/1')
  t.match(
    await read('overview?site=1&segment=2'),
    { status: 422, error: { field: 'segment' } },
    'of a goal that is gone',
  )
  t.match((await read('goals?site=1')).data, [])
  await ask('PATCH', '/api/segments/1', { filters: [{ dimension: 'country', op: 'is', value: 'US' }] })
  t.match(await read('overview?site=1&segment=1'), { data: { visitors: 2 } }, 'changed at once')
})

t.test('the OpenAPI document describes them', async (t) => {
  const { document } = await open(t)
  const { paths } = await document()
  for (const name of Object.keys(resources)) {
    t.same(Object.keys(paths[`/api/${name}`]), ['get', 'post'])
    t.same(Object.keys(paths[`/api/${name}/{id}`]), ['get', 'patch', 'delete'])
    const body = paths[`/api/${name}`].post.requestBody.content['application/json'].schema
    t.ok(body.required.includes('name') && body.properties.site, name)
    t.ok(paths[`/api/${name}`].post.responses['201'].content['application/json'].schema.properties.data)
  }
})
