import t from 'tap'
import { sql } from '../../src/storage/sql.js'
import { openTenants } from '../fixtures/tenants.js'

const DAY = 86_400_000
const operatorOf = (org: number) =>
  ({ by: { kind: 'operator', name: 'operator' }, org, at: new Date('2026-11-21T10:00:00Z') }) as const

t.test('organisations can be created, read and changed', async (t) => {
  const { person, operator } = await openTenants(t)
  const { ask } = await person({ 1: 'viewer' })
  t.strictSame((await ask('POST', '/api/orgs', { name: ' Mine 🦆 ' })).data, {
    ...{ id: 3, name: 'Mine 🦆', require_totp: false, role: 'owner' },
  })
  const { data, meta } = await ask('GET', '/api/orgs')
  t.strictSame(
    data.map(({ id, role }: { id: number; role: string }) => [id, role]),
    [
      [1, 'viewer'],
      [3, 'owner'],
    ],
    'those that they are in',
  )
  t.strictSame(meta, { total: 2 })
  t.equal((await operator('GET', '/api/orgs')).meta?.total, 3, 'the operator sees all')
  t.match(await ask('PATCH', '/api/orgs/3', { name: 'Ours' }), { status: 200, data: { id: 3, name: 'Ours' } })
  t.equal((await ask('PATCH', '/api/orgs/1', { name: 'Ours' })).status, 403, 'a viewer there')
  const bad: [unknown, number, string | undefined, string][] = [
    ['', 400, undefined, 'an empty body'],
    ['{', 400, undefined, 'no JSON'],
    [[], 422, undefined, 'no object'],
    [{ name: 7 }, 422, 'name', 'no text'],
    [{ name: '' }, 422, 'name', 'no name'],
    [{ name: '   ' }, 422, 'name', 'a name of spaces'],
    [{ name: 'x'.repeat(101) }, 422, 'name', 'too long'],
    [{ name: 'a\r\nBcc: b@c.example' }, 422, 'name', 'a line'],
    [{ name: 'a\u0000' }, 422, 'name', 'a control character'],
    [{ name: 'a\u202egnp.exe' }, 422, 'name', 'turned round'],
    [{ name: 'x', id: 1 }, 422, 'id', 'ids are given'],
    [{ name: 'x', owner: 1 }, 422, 'owner', 'more than is asked'],
    [JSON.stringify({ name: 'x'.repeat(10_000_000) }), 413, undefined, '10 MB'],
  ]
  for (const [body, status, field, why] of bad) {
    const made = await ask('POST', '/api/orgs', body)
    t.strictSame([made.status, made.error?.field], [status, field], why)
    const changed = await ask('PATCH', '/api/orgs/3', body)
    t.strictSame([changed.status, changed.error?.field], [status, field], why)
  }
  t.equal((await ask('POST', '/api/orgs', {})).status, 422)
  t.equal((await ask('PATCH', '/api/orgs/3', {})).status, 200, 'nothing changed')
})

t.test('only an admin with two-factor sign-in can require it', async (t) => {
  const { person } = await openTenants(t)
  const without = await person({ 1: 'owner' })
  const having = await person({ 1: 'admin' }, { totp: true })
  const both = await person({ 1: 'member', 2: 'viewer' })
  const change = { require_totp: true }
  t.match(await without.ask('PATCH', '/api/orgs/1', change), { status: 409, error: { field: 'require_totp' } })
  t.match(await having.ask('PATCH', '/api/orgs/1', change), { status: 200, data: { require_totp: true } })
  t.equal((await without.ask('GET', '/api/orgs/1')).status, 403, 'from the next request on')
  t.equal((await having.ask('GET', '/api/orgs/1')).status, 200)
  const { status, data } = await both.ask('GET', '/api/sites')
  t.strictSame([status, data.map(({ id }: { id: number }) => id)], [200, [2]], 'the sites of others are there still')
})

t.test('an organisation is deleted after seven days, unless restored', async (t) => {
  const { person, clock, cleanUp, keys, bearer, sites, records, audit, managed } = await openTenants(t)
  const owner = await person({ 1: 'owner', 2: 'member' })
  const admin = await person({ 1: 'admin' })
  const key = await keys.create({ org: 1, name: 'x', scopes: ['manage:read'] }, operatorOf(1))
  const goal = { site: 1, name: 'Read', type: 'page', match: { op: 'is', value: '/' } } as const
  await managed.goals.create(goal, operatorOf(1))
  t.equal((await admin.ask('DELETE', '/api/orgs/1')).status, 403)
  t.equal((await owner.ask('DELETE', '/api/orgs/1')).status, 204)
  const after = '2026-11-28T10:00:00.000Z'
  t.match((await admin.ask('GET', '/api/orgs/1')).data, { delete_after: after }, 'its members see it')
  clock.now = new Date(clock.now.getTime() + DAY)
  t.equal((await owner.ask('DELETE', '/api/orgs/1')).status, 204)
  t.match((await owner.ask('GET', '/api/orgs/1')).data, { delete_after: after }, 'a second time changes nothing')
  t.equal((await bearer(key.secret)('GET', '/api/sites')).status, 200, 'until then it works')
  t.equal((await admin.ask('POST', '/api/orgs/1/restore')).status, 403)
  t.notOk((await owner.ask('POST', '/api/orgs/1/restore')).data.delete_after)
  clock.now = new Date(after)
  await cleanUp()
  t.equal((await owner.ask('GET', '/api/orgs/1')).status, 200, 'it stays')
  await owner.ask('DELETE', '/api/orgs/1')
  clock.now = new Date(clock.now.getTime() + 7 * DAY - 1)
  await cleanUp()
  t.equal((await owner.ask('GET', '/api/orgs/1')).status, 200, 'a millisecond before')
  clock.now = new Date(clock.now.getTime() + 1)
  await cleanUp()
  t.equal((await owner.ask('GET', '/api/orgs/1')).status, 404)
  t.strictSame(
    (await owner.ask('GET', '/api/orgs')).data.map(({ id }: { id: number }) => id),
    [2],
  )
  t.equal((await bearer(key.secret)('GET', '/api/sites')).status, 401)
  t.same(
    (await sites.list()).map(({ id }) => id),
    [2],
  )
  const left = await records.query(sql`
    select (select count(*) from members where org = 1) as members, (select count(*) from goals) as goals,
      (select count(*) from ingest_keys where site = 1) as ingest_keys,
      (select count(*) from removals where site = 1 and kind = 'site' and done_at is null) as removals`)
  t.strictSame(left, [{ members: 0, goals: 0, ingest_keys: 0, removals: 1 }])
  const { entries } = await audit.list({ org: 1, object: 'organisation', limit: 10, page: 1 })
  t.same(
    entries.map(({ action, actor_kind }) => [action, actor_kind]),
    [
      ['remove', 'system'],
      ['delete', 'user'],
      ['restore', 'user'],
      ['delete', 'user'],
    ],
    'the log has it, for the operator',
  )
  await cleanUp()
  const { data } = await owner.ask('POST', '/api/orgs', { name: 'Next' })
  t.equal(data.id, 3, 'no id comes again')
})

t.test('the audit log has pages and filters, and keeps 400 days', async (t) => {
  const { person, clock, cleanUp, operator } = await openTenants(t)
  const owner = await person({ 1: 'owner' })
  const viewer = await person({ 1: 'viewer' })
  for (const name of ['a', 'b', 'c']) await owner.ask('PATCH', '/api/orgs/1', { name })
  t.equal((await viewer.ask('GET', '/api/orgs/1/audit')).status, 403)
  const { data, meta } = await owner.ask('GET', '/api/orgs/1/audit?limit=2&page=1&action=change&object=organisation')
  t.match(data, [{ details: { name: 'c' } }, { details: { name: 'b' } }], 'the newest first')
  t.match(data[0], {
    ...{ at: '2026-11-21T10:00:00.000Z', org: 1, actor_kind: 'user', actor: owner.email, ip: '203.0.113.7' },
    ...{ action: 'change', object: 'organisation', object_id: '1' },
  })
  t.strictSame(meta, { total: 3, page: 1, limit: 2 })
  t.match((await owner.ask('GET', '/api/orgs/1/audit?limit=2&page=2&action=change')).data, [{ details: { name: 'a' } }])
  for (const [query, field] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['page=0', 'page'],
    ['since=yesterday', 'since'],
  ])
    t.match(await owner.ask('GET', `/api/orgs/1/audit?${query}`), { status: 422, error: { field } })
  clock.now = new Date(clock.now.getTime() + DAY)
  await owner.ask('PATCH', '/api/orgs/1', { name: 'd' })
  t.equal((await owner.ask('GET', '/api/orgs/1/audit?since=2026-11-22T10:00:00%2B00:00')).meta?.total, 1)
  t.equal((await operator('GET', '/control/audit?org=2')).meta?.total, 2, 'of another: made, with a site')
  t.equal((await owner.ask('GET', '/control/audit')).status, 404)
  clock.now = new Date(clock.now.getTime() + 400 * DAY)
  await cleanUp()
  t.equal((await operator('GET', '/control/audit')).meta?.total, 1, 'entries are kept for exactly 400 days')
})
