import t from 'tap'
import { createGoals } from '../../src/manage/goals.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { openShareService } from '../fixtures/share-service.js'

const MINUTE = 60_000

const share = { site: 1, name: 'Press', scopes: ['pages', 'overview'] }
const german = { dimension: 'visit:country', op: 'eq', value: 'DE' }

t.test('shares can be created, read, changed and deleted, and are in the audit log', async (t) => {
  const { ask, records } = await openShareService(t)
  const made = await ask('POST', '/api/shares', {
    ...{ ...share, name: ' Press ', filters: german, password: 'slack water', expires_at: '2026-11-22T12:00:00+01:00' },
  })
  const { slug } = made.data
  t.match(slug, /^[\w-]{24}$/, '144 bits, ours')
  const shown = {
    ...{ id: 1, version: 1, site: 1, name: 'Press', slug, scopes: ['overview', 'pages'], password: true },
    filters: [{ dimension: 'country', op: 'is', value: 'DE' }],
    ...{ embed: [], badge: false },
    ...{ created_at: '2026-11-21T10:00:00.000Z', expires_at: '2026-11-22T11:00:00.000Z' },
  }
  t.strictSame([made.status, made.etag, made.data], [201, '"1"', shown])
  t.notMatch(made.text, /argon2|slack water/, 'neither the password nor its hash')
  t.strictSame((await ask('GET', '/api/shares?site=1')).data, [shown])
  t.strictSame((await ask('GET', '/api/shares/1')).data, shown)
  const renamed = await ask('PATCH', '/api/shares/1', { name: 'All', scopes: ['agents', 'agents'] })
  t.strictSame(renamed.data, { ...shown, version: 2, name: 'All', scopes: ['agents'] }, 'in part')
  t.equal((await ask('PATCH', '/api/shares/1', { name: 'x' }, { 'if-match': '"1"' })).status, 409, 'seen too long ago')
  const bare = await ask('PATCH', '/api/shares/1', { password: null, expires_at: null, filters: [] })
  const { expires_at: _, ...rest } = shown
  t.strictSame(bare.data, { ...rest, version: 3, name: 'All', scopes: ['agents'], password: false, filters: [] })
  t.equal((await ask('POST', '/api/shares', { ...share, name: 'All' })).status, 409, 'a name is one link’s')
  t.equal((await ask('DELETE', '/api/shares/1')).status, 204)
  t.equal((await ask('GET', '/api/shares/1')).status, 404)
  const again = await ask('POST', '/api/shares', share)
  t.equal(again.data.id, 2)
  t.not(again.data.slug, slug)
  const audit = await records.query(sql`select action, object, object_id, details from audit order by id`)
  t.strictSame(
    audit.map(({ action }) => action),
    ['create', 'change', 'change', 'delete', 'create'],
  )
  t.notMatch(JSON.stringify(audit), new RegExp(`${slug}|argon2|slack water`), 'without what opens it')
})

t.test('malformed shares are refused with the field', async (t) => {
  const { ask, send, logged } = await openShareService(t)
  const long = 'x'.repeat(10_000)
  const bad: [body: unknown, field: string | undefined, why: string][] = [
    [[], undefined, 'no object'],
    [{}, 'site', 'an empty object'],
    [{ ...share, slug: 'mine' }, 'slug', 'the slug cannot be chosen'],
    [{ ...share, id: 1 }, 'id', 'the id cannot be chosen'],
    [{ ...share, scopes: [] }, 'scopes', 'no scope'],
    [{ ...share, scopes: 'pages' }, 'scopes', 'no list'],
    [{ ...share, scopes: ['sessions'] }, 'scopes[0]', 'visitor ids'],
    [{ ...share, scopes: ['pages', 'visitors'] }, 'scopes[1]', 'visitor ids'],
    [{ ...share, scopes: ['settings'] }, 'scopes[0]', 'no read'],
    [{ ...share, name: '' }, 'name', 'no name'],
    [{ ...share, name: 'a\u001b[2J' }, 'name', 'an escape'],
    [{ ...share, name: long }, 'name', 'too long'],
    [{ ...share, password: '' }, 'password', 'an empty password'],
    [{ ...share, password: 'short' }, 'password', 'too short'],
    [{ ...share, password: long }, 'password', 'too long'],
    [{ ...share, password: 12345678 }, 'password', 'no text'],
    [{ ...share, password: null }, 'password', 'null, which only a change may have'],
    [{ ...share, expires_at: 'tomorrow' }, 'expires_at', 'no instant'],
    [{ ...share, expires_at: '2026-11-21T10:00:00Z' }, 'expires_at', 'over by now'],
    [{ ...share, expires_at: '2026-11-21T10:59:00+01:00' }, 'expires_at', 'over by now, elsewhere'],
    [{ ...share, filters: 'country' }, 'filters', 'no filters'],
    [{ ...share, filters: [{ dimension: 'site_id', op: 'is', value: '2' }] }, 'filters', 'no dimension'],
    [{ ...share, filters: [{ dimension: 'pathname', op: 'matches', value: '(' }] }, 'filters', 'no RE2'],
    [{ ...share, filters: [{ dimension: 'goal', op: 'is', value: 'None' }] }, 'filters', 'no goal'],
    [{ ...share, site: 9 }, 'site', 'no site'],
  ]
  const { data } = await ask('POST', '/api/shares', { ...share, name: 'there', password: 'slack water' })
  for (const [body, field, why] of bad) {
    const { status, error } = await ask('POST', '/api/shares', body)
    t.strictSame(
      [status, error?.field],
      [field === 'site' && why === 'no site' ? 404 : 422, field],
      `${why}: ${error?.message}`,
    )
    const key = field?.replace(/\[.*/, '')
    if (key === undefined || ['site', 'id', 'slug'].includes(key) || Object(body)[key] === null) continue
    const changed = await ask('PATCH', '/api/shares/1', { [key]: Object(body)[key] })
    t.strictSame([changed.status, changed.error?.field], [422, field], `a change: ${why}`)
  }
  t.equal((await ask('PATCH', '/api/shares/1', { site: 2 })).error.field, 'site', 'it stays where it is')
  t.strictSame((await ask('GET', '/api/shares/1')).data, data, 'nothing of it was taken')
  const unlock = `/api/share/${data.slug}/unlock`
  const bodies: [unknown, number, string][] = [
    ['{', 400, 'no JSON'],
    [{}, 422, 'an empty object'],
    [{ password: 1 }, 422, 'no text'],
    [{ password: 'x'.repeat(201) }, 422, 'too long'],
    [{ password: 'slack water', slug: 'x' }, 422, 'more'],
    ['x'.repeat(70_000), 413, 'too large'],
  ]
  for (const [body, status, why] of bodies) t.equal((await send(unlock, body)).status, status, why)
  t.strictSame(logged, [])
})

t.test('only signed-in admins manage shares', async (t) => {
  const { visit, keys } = await openShareService(t)
  const { secret } = await keys.create(
    {
      org: 1,
      name: 'x',
      scopes: ['stats:read', 'manage:read', 'manage:write', 'ingest:write'],
    },
    deed,
  )
  t.equal(
    (await visit('/api/shares?site=1', { authorization: `Bearer ${secret}` })).status,
    403,
    'no key (spec 5.3 rule 3)',
  )
  t.equal((await visit('/api/shares?site=1')).status, 401)
})

t.test('an address with the slug of a share is never sent on as a referrer', async (t) => {
  const { ask, visit, send } = await openShareService(t)
  const { data } = await ask('POST', '/api/shares', { ...share, password: 'slack water' })
  const { slug } = data
  const rows: [path: string, policy: string, why: string][] = [
    [`/api/share/${slug}`, 'no-referrer', 'the link'],
    [`/api/share/${slug}?share=x`, 'no-referrer', 'the link, unlocked'],
    ['/api/share/unknown', 'no-referrer', 'a slug with a slip of the pen'],
    [`/api/stats/pages?site=1&share=${slug}`, 'no-referrer', 'a read, refused'],
    [`/api/docs?share=${slug}`, 'no-referrer', 'any other page'],
    ['/api/stats/pages?site=1&token=x', 'strict-origin', 'a token of a mail'],
    ['/api/docs', 'same-origin', 'no secret'],
  ]
  for (const [path, policy, why] of rows) t.equal((await visit(path)).policy, policy, why)
  const unlocked = await send(`/api/share/${slug}/unlock`, { password: 'slack water' })
  t.strictSame([unlocked.status, unlocked.policy], [200, 'no-referrer'], 'unlocking')
  const read = await visit(`/api/stats/pages?site=1&share=${unlocked.data.token}`)
  t.strictSame([read.status, read.policy], [200, 'no-referrer'], 'a read')
})

t.test('a share opens the reads of its scopes, for its site only', async (t) => {
  const { ask, visit, send, clock } = await openShareService(t)
  const { data } = await ask('POST', '/api/shares', { ...share, expires_at: '2026-11-21T11:00:00Z' })
  const { slug } = data
  const rows: [path: string, status: number, why: string][] = [
    ['/api/stats/overview?site=1', 200, 'named'],
    ['/api/stats/pages?site=1', 200, 'named'],
    ['/api/stats/dimensions?', 200, 'what can be asked'],
    ['/api/stats/timeseries?site=1', 403, 'not named'],
    ['/api/agents/overview?site=1', 403, 'not named'],
    ['/api/stats/sessions?site=1', 403, 'visitor ids'],
    ['/api/stats/visitors?site=1', 403, 'visitor ids'],
    ['/api/stats/%70ages?site=1', 403, 'spelt otherwise'],
    ['/api/stats/overview?site=2', 404, 'another site of the same organisation'],
    ['/api/shares?site=1', 403, 'settings'],
  ]
  for (const [path, status, why] of rows)
    t.equal((await visit(`${path}&share=${slug}`)).status, status, `${path}: ${why}`)
  for (const method of ['POST', 'DELETE', 'PATCH', 'HEAD'])
    t.not((await visit(`/api/stats/overview?site=1&share=${slug}`, {}, method)).status, 200, `${method}: GET only`)
  const key = { authorization: 'Bearer svcg_x' }
  t.equal((await visit(`/api/stats/pages?site=1&share=${slug}`, key)).status, 200, 'the link counts')
  const wrong = [
    slug.slice(1),
    `${slug}x`,
    `${slug.slice(0, -1)}${slug.endsWith('A') ? 'B' : 'A'}`,
    '',
    '%00',
    'svcs_1_1_1',
    'x'.repeat(3_000),
  ]
  for (const word of wrong) {
    t.equal((await visit(`/api/stats/pages?site=1&share=${word}`)).status, 401, word.slice(0, 40))
    if (word !== '') t.equal((await visit(`/api/share/${word}`)).status, 404)
  }
  t.strictSame((await visit(`/api/share/${slug}`)).data, {
    ...{ password: false, name: 'Press', site: { id: 1, name: 'My site', timezone: 'Europe/Oslo' } },
    ...{ scopes: ['overview', 'pages'], expires_at: '2026-11-21T11:00:00.000Z' },
  })
  t.equal(
    (await send(`/api/share/${slug}/unlock`, { password: 'slack water' })).status,
    409,
    'there is nothing to unlock',
  )
  clock.at += 60 * MINUTE
  t.equal((await visit(`/api/stats/pages?site=1&share=${slug}`)).status, 401, 'over')
  t.strictSame(
    await visit(`/api/share/${slug}`),
    await visit(`/api/share/${'x'.repeat(24)}`),
    'as if it had never been',
  )
  t.equal((await ask('PATCH', `/api/shares/${data.id}`, { expires_at: null })).status, 200)
  t.equal((await visit(`/api/stats/pages?site=1&share=${slug}`)).status, 200, 'for longer')
  await ask('DELETE', `/api/shares/${data.id}`)
  t.equal((await visit(`/api/stats/pages?site=1&share=${slug}`)).status, 401, 'gone with the next request')
})

t.test('a password unlocks a share for an hour', async (t) => {
  const { ask, visit, send, clock, restart } = await openShareService(t)
  const { data } = await ask('POST', '/api/shares', { ...share, password: 'slack water' })
  const other = await ask('POST', '/api/shares', { ...share, name: 'Other', password: 'ebb'.repeat(3) })
  const { slug } = data
  const unlock = `/api/share/${slug}/unlock`
  const pages = (word: string) => visit(`/api/stats/pages?site=1&share=${word}`).then(({ status }) => status)
  const unlocked = async () => (await send(unlock, { password: 'slack water' })).data.token
  t.equal(await pages(slug), 401, 'the slug alone')
  t.strictSame((await visit(`/api/share/${slug}`)).data, { password: true })
  t.equal((await send(unlock, { password: 'slack Water' })).status, 401)
  const { data: opened } = await send(unlock, { password: 'slack water' })
  t.match(opened.token, /^svcs_/)
  t.equal(opened.expires_at, '2026-11-21T11:00:00.000Z')
  t.equal(await pages(opened.token), 200)
  t.match((await visit(`/api/share/${slug}?share=${opened.token}`)).data, { name: 'Press', password: true })
  t.strictSame(
    (await visit(`/api/share/${other.data.slug}?share=${opened.token}`)).data,
    { password: true },
    'another link’s token',
  )
  const [, id, end] = opened.token.split('_')
  const later = (Number.parseInt(end, 36) + 3600).toString(36)
  for (const [token, why] of [
    [`${opened.token.slice(0, -1)}${opened.token.endsWith('A') ? 'B' : 'A'}`, 'one bit'],
    [opened.token.replace(`_${end}_`, `_${later}_`), 'for longer'],
    [opened.token.replace(`svcs_${id}_`, 'svcs_2_'), 'another link'],
    [opened.token.replace('svcs_', 'svcs_0'), 'written otherwise'],
    [`${opened.token}A`, 'more of it'],
  ])
    t.equal(await pages(token), 401, why)
  t.equal((await ask('PATCH', '/api/shares/1', { name: 'Renamed' })).status, 200)
  t.equal(await pages(opened.token), 200, 'what else changes ends nothing')
  await ask('PATCH', '/api/shares/1', { password: 'neap tide' })
  t.equal(await pages(opened.token), 401, 'another password')
  await ask('PATCH', '/api/shares/1', { password: 'slack water' })
  t.equal(await pages(opened.token), 401, 'the same again is another')
  const second = await unlocked()
  clock.at += 60 * MINUTE - 1
  t.equal(await pages(second), 200)
  clock.at += 1
  t.equal(await pages(second), 401, 'after an hour')
  await ask('PATCH', '/api/shares/1', { expires_at: new Date(clock.at + 5 * MINUTE).toISOString() })
  const short = await send(unlock, { password: 'slack water' })
  t.equal(short.data.expires_at, new Date(clock.at + 5 * MINUTE).toISOString(), 'no longer than the link')
  await ask('PATCH', '/api/shares/1', { password: null })
  t.equal(await pages(short.data.token), 401, 'no password, no token')
  t.equal(await pages(slug), 200)
  await ask('PATCH', '/api/shares/1', { password: 'slack water', expires_at: null })
  const third = await unlocked()
  t.equal(await pages(third), 200)
  restart()
  t.equal(await pages(third), 200, 'another process accepts it')
  await ask('DELETE', '/api/shares/1')
  t.equal(await pages(third), 401)
})

t.test('password attempts are limited', async (t) => {
  const { ask, send, clock } = await openShareService(t, {
    hash: async (password) => password,
    verify: async (kept, password) => kept === password,
  })
  const { data } = await ask('POST', '/api/shares', { ...share, password: 'slack water' })
  const unlock = (password: string, ip: string) => send(`/api/share/${data.slug}/unlock`, { password }, { ip })
  const tried = async (n: number, ip: (i: number) => string) =>
    (await Promise.all(Array.from({ length: n }, (_, i) => unlock('guess guess', ip(i))))).map(({ status }) => status)
  const of = (statuses: number[], status: number) => statuses.filter((each) => each === status).length
  const first = await tried(12, () => '2001:db8::1')
  t.strictSame([of(first, 401), of(first, 429)], [10, 2], 'ten from one address')
  const refused = await unlock('slack water', '2001:db8::2')
  t.strictSame([refused.status, refused.retry], [429, '60'], 'from the same house, and with the right one')
  t.equal((await unlock('slack water', '192.0.2.9')).status, 200, 'others are not held up')
  const many = await tried(100, (i) => `198.51.100.${i}`)
  t.strictSame([of(many, 401), of(many, 429)], [89, 11], 'a hundred of one link from wherever')
  clock.at += 5 * MINUTE
  t.equal((await unlock('slack water', '2001:db8::1')).status, 200, 'five minutes later')
})

t.test('a link with agents alone shows no goals and stays of readers', async (t) => {
  const { ask, visit, commit, records } = await openShareService(t)
  const match = { op: 'is' as const, value: '/a' }
  await createGoals(records).create({ site: 1, name: 'A', type: 'page', match }, deed)
  const at = (seconds: number) => new Date(Date.parse('2026-11-20T10:00:00.000Z') + seconds * 1000)
  const user = { agent_id: 'chatgpt-user', operator: 'OpenAI', purpose: 'assistant', verified: true, pathname: '/a' }
  const events = [1, 2, 3, 4, 5].flatMap((id) => {
    const session = { session_id: BigInt(id), visitor_id: BigInt(id), session_start: at(id), entry_page: '/a' }
    const row = { ...session, pathname: '/a', channel: 'AI Assistants', source: 'ChatGPT' }
    return [eventRow({ ...row, timestamp: at(id) }), eventRow({ ...row, timestamp: at(id + 60) })]
  })
  await commit({ agent_events: [agentRow({ ...user, verification: 'ranges', timestamp: at(0) })], events })
  const rows: [scopes: string[], visits: object, why: string][] = [
    [['agents'], { goals: undefined, stay: undefined }, 'agents alone'],
    [['agents', 'goals'], { goals: 5, stay: 60 }, 'with goals'],
  ]
  for (const [scopes, visits, why] of rows) {
    const { data } = await ask('POST', '/api/shares', { site: 1, name: why, scopes })
    for (const path of ['/api/answers', '/api/answers/summary']) {
      const read = await visit(`${path}?site=1&range=7d&compare=previous&share=${data.slug}`)
      const found = [read.data].flat()[0]
      t.match(found, { arrivals: 5, delay: 3, ...visits }, `${path}: ${why}`)
      t.equal(/goals|stay/.test(JSON.stringify(found)), scopes.length > 1, `${path}: ${why}, also of the time before`)
    }
  }
})
