import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createKeys } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import { raw, sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'

const START = new Date('2026-11-21T10:00:00.000Z')

async function open(t: Test) {
  const { workerClient } = await createInProcessEngine(t)
  const clock = { now: START }
  await bootstrap(workerClient.records, { domains: ['a.com'], timezone: 'Europe/Berlin', now: START })
  const sites = createSites(workerClient.records)
  const make = () =>
    createKeys({ records: workerClient.records, sites, now: () => clock.now, random: (bytes) => randomBytes(bytes) })
  return { records: workerClient.records, clock, sites, keys: make(), again: make }
}

t.test('the first start creates organisation 1 and site 1, once', async (t) => {
  const { records, sites } = await open(t)
  t.match(await sites.get(1), {
    id: 1,
    org: 1,
    name: 'a.com',
    domains: ['a.com'],
    timezone: 'Europe/Berlin',
    visitor_salt: 'month',
    respect_gpc: false,
  })
  await bootstrap(records, { domains: ['b.com'], timezone: 'UTC', now: START })
  t.equal((await createSites(records).list()).length, 1, 'a second start makes nothing')
  await sites.addDomains(['b.com', 'a.com'])
  t.same((await sites.get(1))?.domains, ['a.com', 'b.com'], 'a hostname named later is added')
})

t.test('a secret is shown once and stored as a digest', async (t) => {
  const { records, keys } = await open(t)
  const made = await keys.create({ org: 1, name: 'ci', scopes: [] }, deed)
  t.match(made.secret, /^svcg_[0-9a-f]{8}_[\w-]{43}$/)
  t.equal(made.prefix, made.secret.slice(0, 13))
  t.same(made.scopes, ['stats:read'], 'spec 5.2: the default')
  const [stored] = await records.query(sql`select * from keys`)
  const kept = JSON.stringify(stored)
  t.notMatch(kept, made.secret.slice(14), 'the secret is nowhere in the row')
  t.equal(stored?.digest, (await import('node:crypto')).createHash('sha256').update(made.secret).digest('hex'))
  t.notOk(JSON.stringify(await keys.list()).includes('digest'))
  t.same((await keys.authenticate(made.secret)).id, made.id)
})

t.test('ids count up and prefixes are unique', async (t) => {
  const { records, sites } = await open(t)
  const bytes = [Buffer.alloc(4, 1), Buffer.alloc(32, 1), Buffer.alloc(4, 1), Buffer.alloc(4, 2), Buffer.alloc(32, 1)]
  const keys = createKeys({ records, sites, now: () => START, random: () => bytes.shift() ?? Buffer.alloc(0) })
  const one = await keys.create({ org: 1, name: 'a', scopes: [] }, deed)
  const two = await keys.create({ org: 1, name: 'b', scopes: [] }, deed)
  t.same([one.id, one.prefix, two.id, two.prefix], [1, 'svcg_01010101', 2, 'svcg_02020202'])
})

t.test('rejects unknown, wrong, revoked and expired secrets', async (t) => {
  const { keys, clock } = await open(t)
  const good = await keys.create({ org: 1, name: 'good', scopes: [] }, deed)
  const revoked = await keys.create({ org: 1, name: 'revoked', scopes: [] }, deed)
  await keys.revoke(revoked.id, deed)
  const expiring = await keys.create({ org: 1, name: 'short', scopes: [], expires_at: '2026-11-21T11:00:00Z' }, deed)
  t.equal((await keys.authenticate(expiring.secret)).id, expiring.id, 'before it expires')
  clock.now = new Date('2026-11-21T11:00:00.000Z')
  const flipped = `${good.secret.slice(0, -2)}${good.secret.at(-2) === 'A' ? 'B' : 'A'}${good.secret.at(-1)}`
  for (const [secret, message, why] of [
    [revoked.secret, /revoked/, 'revoked'],
    [expiring.secret, /expired/, 'expired, to the millisecond'],
    [flipped, /unknown/, 'one character off'],
    [good.prefix, /unknown/, 'the prefix alone'],
    [`${good.secret}x`, /unknown/, 'one more'],
    [good.secret.toUpperCase(), /unknown/, 'case'],
    ['', /unknown/, 'nothing'],
    [`svcg_ffffffff_${'a'.repeat(43)}`, /unknown/, 'no such prefix'],
    ["svcg_' or 1=1 --", /unknown/, 'SQL'],
  ] as const)
    await t.rejects(keys.authenticate(secret), { code: 'unauthorized', message }, why)
  t.equal((await keys.authenticate(good.secret)).id, good.id, 'the others still do')
})

t.test('revocation is immediate and permanent, and keeps its first date', async (t) => {
  const { keys, clock, again } = await open(t)
  const { id, secret } = await keys.create({ org: 1, name: 'x', scopes: [] }, deed)
  await keys.authenticate(secret)
  await keys.revoke(id, deed)
  await t.rejects(keys.authenticate(secret), { code: 'unauthorized' })
  clock.now = new Date('2026-12-01T00:00:00.000Z')
  await keys.revoke(id, deed)
  t.equal((await keys.list())[0]?.revoked_at, START.toISOString())
  await t.rejects(again().authenticate(secret), { code: 'unauthorized' }, 'after a restart too')
  await t.rejects(keys.revoke(99, deed), { code: 'not_found' })
})

t.test('uses are counted in memory, written in batches, and survive failures', async (t) => {
  const { keys, clock, again, records } = await open(t)
  const { id, secret } = await keys.create({ org: 1, name: 'x', scopes: [] }, deed)
  t.same(await keys.usage(id), { id, requests: 0 })
  await keys.authenticate(secret)
  clock.now = new Date('2026-11-21T10:05:00.000Z')
  await keys.authenticate(secret)
  const expected = { id, requests: 2, last_used_at: '2026-11-21T10:05:00.000Z' }
  t.same(await keys.usage(id), expected, 'before the flush')
  t.same(await again().usage(id), { id, requests: 0 }, 'not yet written')
  await records.write(raw('alter table keys rename to gone'))
  await t.rejects(keys.flush())
  await records.write(raw('alter table gone rename to keys'))
  const flushed = [keys.flush(), keys.flush()]
  t.same(await keys.usage(id), expected, 'while it is written')
  await Promise.all(flushed)
  t.same(await again().usage(id), expected, 'written')
  await keys.flush()
  t.same(await keys.usage(id), expected, 'once')
})

t.test('rejects keys for unknown sites and organisations and with a past expiry', async (t) => {
  const { keys } = await open(t)
  const at = { org: 1, name: 'x', scopes: [] }
  await t.rejects(keys.create({ ...at, org: 2 }, deed), { code: 'not_found', field: 'org' })
  await t.rejects(keys.create({ ...at, site: 2 }, deed), { code: 'not_found', field: 'site' })
  await t.rejects(keys.create({ ...at, expires_at: '2026-11-21T10:00:00Z' }, deed), {
    field: 'expires_at',
    message: /future/,
  })
  t.same(await keys.list(), [])
})

t.test('revoked keys do not count towards the limit', async (t) => {
  const { records, keys } = await open(t)
  await records.write(sql`
    insert into keys (id, org, site, name, prefix, digest, scopes, created_at, expires_at, revoked_at, last_used_at, requests)
    select i::integer, 1, null, 'old', 'p' || i, 'd', '[]', ${START}, null, ${START}, null, 0 from generate_series(1, 150000) r(i)`)
  t.equal((await keys.create({ org: 1, name: 'ci', scopes: [] }, deed)).id, 150_001)
})
