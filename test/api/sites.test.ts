import t from 'tap'
import { sql } from '../../src/storage/sql.js'
import { openTenants } from '../fixtures/tenants.js'

const A_SITE = { name: 'New', domains: ['new.example'] }

t.test('sites can be created, read, changed and deleted', async (t) => {
  const { person, audit, ingestKeys, records, keys, bearer, managed } = await openTenants(t)
  const admin = await person({ 1: 'admin' })
  const made = await admin.ask('POST', '/api/sites', {
    ...{ name: ' Sea 🦆 ', domains: ['Sea.example', 'sea.example', 'bücher.example'], currency: 'NOK' },
    ...{ excluded_paths: ['/a/**', '/a/**'], respect_gpc: true, visitor_salt: 'day', retention_days: 30 },
    sections: ['/ü/*', '/b', '/ü/*'],
    ...{ citation_threshold: 2.5, origin: 'HTTPS://Origin.example:443/' },
    ...{ price_per_gigabyte: 0.09, price_per_origin_second: 0.000001 },
    ...{ indexnow_key: 'abcdef-0123', indexnow_key_location: 'https://sea.example/k.txt' },
  })
  const site = {
    ...{ id: 3, version: 1, org: 1, name: 'Sea 🦆', domains: ['sea.example', 'xn--bcher-kva.example'] },
    ...{ timezone: 'UTC', currency: 'NOK', excluded_paths: ['/a/**'], respect_gpc: true, visitor_salt: 'day' },
    sections: ['/%C3%BC/*', '/b'],
    ...{ retention_days: 30, citation_threshold: 2.5, origin: 'https://origin.example' },
    ...{ price_per_gigabyte: 0.09, price_per_origin_second: 0.000001 },
    ...{ indexnow_key: 'abcdef-0123', indexnow_key_location: 'https://sea.example/k.txt' },
  }
  const { ingest_key, ...shown } = made.data
  t.strictSame([made.status, made.etag, shown], [201, '"1"', site])
  t.same(await ingestKeys.listValid(3), [ingest_key], 'with its key, in the same write')
  t.strictSame((await admin.ask('GET', '/api/sites/3')).data, { ...site, url: 'https://sea.example/' })
  t.match(
    await admin.ask('PATCH', '/api/sites/3', {}),
    { status: 200, etag: '"1"', data: { version: 1 } },
    'an empty change changes nothing',
  )
  const change = {
    retention_days: null,
    citation_threshold: null,
    origin: null,
    indexnow_key: null,
    indexnow_key_location: null,
    domains: ['sea.example'],
    name: 'Lake',
  }
  const changed = await admin.ask('PATCH', '/api/sites/3', change)
  const { retention_days, citation_threshold, origin, indexnow_key, indexnow_key_location, ...rest } = site
  t.strictSame(changed.data, { ...rest, version: 2, name: 'Lake', domains: ['sea.example'] }, 'null takes away')
  t.equal(changed.etag, '"2"')
  const whole = { ...changed.data, id: undefined, version: undefined, org: undefined }
  t.equal((await admin.ask('PATCH', '/api/sites/3', whole)).data.version, 2, 'sent as it is')

  const deed = { by: { kind: 'operator', name: 'operator' }, org: 1, at: new Date() } as const
  await managed.goals.create({ site: 3, name: 'x', type: 'page', match: { op: 'is', value: '/' } }, deed)
  const key = await keys.create({ org: 1, site: 3, name: 'x', scopes: ['manage:read'] }, deed)
  t.equal((await admin.ask('DELETE', '/api/sites/3', undefined, { 'if-match': '"1"' })).status, 409)
  t.equal((await admin.ask('DELETE', '/api/sites/3', undefined, { 'if-match': '"2"' })).status, 204)
  for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const)
    t.equal((await admin.ask(method, '/api/sites/3', body)).status, 404)
  t.equal((await bearer(key.secret)('GET', '/api/sites')).status, 401, 'its keys are revoked')
  t.strictSame(await ingestKeys.listValid(3), [])
  t.strictSame(
    await records.query(sql`select (select count(*) from goals) as goals, site, kind, done_at from removals`),
    [{ goals: 0, site: 3, kind: 'site', done_at: null }],
  )
  const again = await admin.ask('POST', '/api/sites', { name: 'x', domains: ['sea.example'] })
  t.match(again, { status: 201, data: { id: 4 } }, 'its domains are free, its id is not')
  const { entries } = await audit.list({ org: 1, object: 'site', limit: 9, page: 1 })
  const indexNow = ['indexnow_key', 'indexnow_key_location']
  const fields = ['name', 'domains', 'retention_days', 'citation_threshold', ...indexNow, 'origin']
  t.match(entries, [
    { action: 'create', object_id: '4' },
    { action: 'delete', object_id: '3', details: { name: 'Lake' } },
    { action: 'change', details: { fields } },
    { action: 'create', object_id: '3', actor: admin.email },
  ])
})

t.test('malformed sites are refused with the field', async (t) => {
  const { person, logged } = await openTenants(t)
  const { ask } = await person({ 1: 'admin' })
  const stars = Array.from({ length: 101 }, (_, i) => `/${i}`)
  const bad: [unknown, number, string | undefined, string][] = [
    ['{', 400, undefined, 'no JSON'],
    [[], 422, undefined, 'no object'],
    [{ name: '' }, 422, 'name', 'no name'],
    [{ name: null }, 422, 'name', 'not without'],
    [{ name: 'a\u009b31m' }, 422, 'name', 'a terminal would obey'],
    [{ domains: 'a.example' }, 422, 'domains', 'no list'],
    [{ domains: [] }, 422, 'domains', 'no hostname: it would take every one'],
    [{ domains: ['https://a.example'] }, 422, 'domains[0]', 'a scheme'],
    [{ domains: ['a.example:80'] }, 422, 'domains[0]', 'a port'],
    [{ domains: [''] }, 422, 'domains[0]', 'empty'],
    [{ domains: [`${'a.'.repeat(200)}example`] }, 422, 'domains[0]', 'too long'],
    [{ domains: stars.map((_, i) => `${i}.example`) }, 422, 'domains', '101'],
    [{ domains: ['two.example'] }, 409, 'domains', "another organisation's"],
    [{ domains: ['www.two.example'] }, 409, 'domains', 'the same hostname with www: its hits belong to that site'],
    [{ timezone: 'Mars/Olympus' }, 422, 'timezone', 'no zone'],
    [{ currency: 'eur' }, 422, 'currency', 'small'],
    [{ currency: 'ABC' }, 422, 'currency', 'not a currency'],
    [{ excluded_paths: ['admin'] }, 422, 'excluded_paths[0]', 'no path'],
    [{ excluded_paths: [`/${'x'.repeat(200)}`] }, 422, 'excluded_paths[0]', '201 characters'],
    [{ excluded_paths: ['/**/a/**/b/**'] }, 422, 'excluded_paths[0]', 'three **'],
    [{ sections: ['blog/*'] }, 422, 'sections[0]', 'no path'],
    [{ sections: ['/a', '/b?c'] }, 422, 'sections[1]', 'a query'],
    [{ sections: Array.from({ length: 51 }, (_, i) => `/${i}`) }, 422, 'sections', '51'],
    [{ excluded_paths: ['/a\nb'] }, 422, 'excluded_paths[0]', 'two lines'],
    [{ excluded_paths: stars }, 422, 'excluded_paths', '101'],
    [{ respect_gpc: 'yes' }, 422, 'respect_gpc', 'no boolean'],
    [{ visitor_salt: 'year' }, 422, 'visitor_salt', 'not one of the four'],
    [{ retention_days: 0 }, 422, 'retention_days', '0 days'],
    [{ retention_days: 3_651 }, 422, 'retention_days', 'more than ten years'],
    [{ retention_days: 1.5 }, 422, 'retention_days', 'half a day'],
    [{ citation_threshold: -1 }, 422, 'citation_threshold', 'below'],
    [{ price_per_gigabyte: -1 }, 422, 'price_per_gigabyte', 'a price below 0'],
    [{ price_per_origin_second: 0.1234567 }, 422, 'price_per_origin_second', 'seven digits'],
    [{ price_per_thousand_requests: 1_000_001 }, 422, 'price_per_thousand_requests', 'above the bound'],
    [{ indexnow_key: 'abcdefg' }, 422, 'indexnow_key', 'seven characters'],
    [{ indexnow_key: 'a'.repeat(129) }, 422, 'indexnow_key', '129 characters'],
    [{ indexnow_key: 'abcdefg_' }, 422, 'indexnow_key', 'another character'],
    [{ indexnow_key_location: 'ftp://a.example/k' }, 422, 'indexnow_key_location', 'ftp'],
    [{ origin: 'ftp://a.example' }, 422, 'origin', 'ftp'],
    [{ origin: 'https://a.example/x' }, 422, 'origin', 'a path'],
    [{ origin: 'https://u:p@a.example' }, 422, 'origin', 'a password'],
    [{ origin: 'a.example' }, 422, 'origin', 'no scheme'],
    [{ id: 7 }, 422, 'id', 'ids are given'],
    [{ version: 7 }, 422, 'version', 'counted'],
    [{ colour: 'red' }, 422, 'colour', 'an unknown field'],
    [JSON.stringify({ name: 'x'.repeat(10_000_000) }), 413, undefined, '10 MB'],
  ]
  for (const [body, status, field, why] of bad) {
    const changed = await ask('PATCH', '/api/sites/1', body)
    t.strictSame([changed.status, changed.error?.field], [status, field], `changed: ${why}`)
    if (typeof body === 'string' || Array.isArray(body) || why === 'not without') continue
    const made = await ask('POST', '/api/sites', Object.assign({}, A_SITE, body))
    t.strictSame([made.status, made.error?.field], [status, field], `made: ${why}`)
  }
  t.equal((await ask('PATCH', '/api/sites/1', { org: 2 })).error?.field, 'org', 'a site stays where it is')
  t.equal((await ask('POST', '/api/sites', { ...A_SITE, org: 2 })).status, 404, 'of another organisation')
  t.equal((await ask('POST', '/api/sites', { ...A_SITE, org: 999 })).status, 404, 'of none')
  t.equal((await ask('PATCH', '/api/sites/1', { domains: ['www.one.example'] })).status, 200, 'its own other name')
  t.same(logged, [])
})

t.test('of two changes at the same moment one gets a conflict', async (t) => {
  const { person } = await openTenants(t)
  const { ask } = await person({ 1: 'admin', 2: 'admin' })
  const seen = { 'if-match': (await ask('GET', '/api/sites/1')).etag ?? '' }
  const edits = await Promise.all(['a', 'b'].map((name) => ask('PATCH', '/api/sites/1', { name }, seen)))
  t.same(
    edits.map(({ status }) => status),
    [200, 409],
    'the second change was based on an old version',
  )
  t.match(edits[1]?.error, { code: 'conflict' })
  t.equal((await ask('PATCH', '/api/sites/1', { name: 'c' }, { 'if-match': '1' })).status, 400, 'no ETag')
  const makes = await Promise.all([1, 2].map((org) => ask('POST', '/api/sites', { ...A_SITE, org })))
  t.same(makes.map(({ status }) => status).toSorted(), [201, 409], 'a hostname is of one site')
})

t.test('each role, another organisation and a key get the right answers', async (t) => {
  const { person, keys, bearer, sites } = await openTenants(t)
  const deed = { by: { kind: 'operator', name: 'operator' }, org: 1, at: new Date() } as const
  const { secret } = await keys.create({ org: 1, name: 'x', scopes: ['manage:write', 'manage:read'] }, deed)
  const callers = {
    owner: (await person({ 1: 'owner' })).ask,
    admin: (await person({ 1: 'admin' })).ask,
    member: (await person({ 1: 'member' })).ask,
    viewer: (await person({ 1: 'viewer' })).ask,
    // With a sufficient role in another organisation.
    stranger: (await person({ 2: 'owner' })).ask,
    key: bearer(secret),
  }
  const routes: [method: string, path: string, body: object | undefined, ...number[]][] = [
    // owner, admin, member, viewer, user of another organisation, key
    ['GET', '/api/sites/1', undefined, 200, 200, 200, 200, 404, 200],
    ['PATCH', '/api/sites/1', { name: 'x' }, 200, 200, 403, 403, 404, 403],
    ['GET', '/api/sites/1/ingest-key', undefined, 200, 200, 403, 403, 404, 403],
    ['POST', '/api/sites/1/ingest-key/rotate', undefined, 200, 200, 403, 403, 404, 403],
    ['POST', '/api/sites', { ...A_SITE, org: 1 }, 201, 409, 403, 403, 404, 403],
    ['GET', '/api/keys?org=1', undefined, 200, 200, 403, 403, 404, 403],
    ['POST', '/api/keys', { org: 1, name: 'x' }, 201, 201, 403, 403, 404, 403],
    ['GET', '/api/keys/1/usage', undefined, 200, 200, 403, 403, 404, 403],
    ['DELETE', '/api/keys/2', undefined, 204, 204, 403, 403, 404, 403],
    ['DELETE', '/api/sites/1', undefined, 204, 404, 403, 403, 404, 403],
  ]
  for (const [method, path, body, ...expected] of routes)
    for (const [i, [who, ask]] of Object.entries(callers).entries()) {
      const said = await ask(method, path, body)
      t.equal(said.status, expected[i], `${method} ${path} by ${who}`)
      if (who !== 'stranger') continue
      const nowhere = path.replace(/\b[12]\b/, '999')
      t.equal((await ask(method, nowhere, body && 'org' in body ? { ...body, org: 999 } : body)).text, said.text)
    }
  t.same(
    (await sites.list()).map(({ id }) => id),
    [2, 3],
  )
})

t.test('members of several organisations have to name one', async (t) => {
  const { person, audit, operator } = await openTenants(t)
  const one = await person({ 2: 'admin' })
  const two = await person({ 1: 'admin', 2: 'admin' })
  const made = await one.ask('POST', '/api/keys', { name: 'mine' })
  t.match(made, { status: 201, data: { org: 2, name: 'mine', secret: /^svcg_/ } }, 'their only one')
  t.equal((await one.ask('GET', '/api/keys')).meta?.total, 1)
  for (const said of [await two.ask('GET', '/api/keys'), await two.ask('POST', '/api/keys', { name: 'x' })])
    t.match(said, { status: 422, error: { field: 'org' } }, 'which?')
  t.match(await two.ask('POST', '/api/keys', { org: 1, site: 2, name: 'x' }), { status: 404, error: { field: 'site' } })
  t.match(await two.ask('POST', '/api/keys', { org: 1, site: 9, name: 'x' }), { status: 404, error: { field: 'site' } })
  const bad: [object, string, string][] = [
    [{ org: 1 }, 'name', 'no name'],
    [{ org: 1, name: 'a\u001b[2J' }, 'name', 'an escape'],
    [{ org: 1, name: 'x', scopes: ['all'] }, 'scopes[0]', 'no scope'],
    [{ org: 1, name: 'x', scopes: 'stats:read' }, 'scopes', 'no list'],
    [{ org: 1, name: 'x', expires_at: 'soon' }, 'expires_at', 'no instant'],
    [{ org: 1, name: 'x', expires_at: '2026-11-21T10:00:00Z' }, 'expires_at', 'now'],
    [{ org: '1', name: 'x' }, 'org', 'a string instead of a number'],
    [{ org: 1, name: 'x', secret: 'y' }, 'secret', 'secrets are given'],
  ]
  for (const [body, field, why] of bad)
    t.match(await two.ask('POST', '/api/keys', body), { status: 422, error: { field } }, why)
  t.equal((await operator('POST', '/api/keys', { name: 'x' })).data.org, 1, 'the operator means the first')
  t.equal((await operator('GET', '/api/keys')).meta?.total, 2, 'and sees all')
  t.equal((await one.ask('DELETE', '/api/keys/1')).status, 204)
  t.equal((await one.ask('DELETE', '/api/keys/1')).status, 204, 'a second time changes nothing')
  const { entries } = await audit.list({ org: 2, object: 'key', limit: 9, page: 1 })
  t.match(entries, [{ action: 'revoke' }, { action: 'create', details: { name: 'mine', scopes: ['stats:read'] } }])
  t.equal(entries.length, 2)
  t.notMatch(JSON.stringify(entries), made.data.secret, 'the log has no secrets')
})
