import t from 'tap'
import { createDescribeMe } from '../../src/api/account/session.js'
import { accountService, PASSWORD } from '../fixtures/account-service.js'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const OTHER = 'the moon pulls both ways'
const register = (email: string) => ({ email, password: PASSWORD, name: 'Ann', organisation: 'Tides' })
const login = (email: string, more: object = {}) => ({ email, password: PASSWORD, ...more })

t.test('at the first start a link signs the first owner in, once', async (t) => {
  const { visitor, operator, linkToken, clock } = await accountService(t)
  const listed = await operator('GET', '/control/users')
  t.match(listed.data, [
    { id: 1, email: 'owner@localhost', has_password: false, totp: false, organisations: [{ org: 1, role: 'owner' }] },
  ])
  const made = await operator('POST', '/control/login-link', {})
  t.match(made.data.link, /^http:\/\/127\.0\.0\.1:8081\/sign-in\?token=[\w-]{43}$/, 'where the service listens')
  t.equal(made.data.expires_at, '2026-11-21T10:15:00.000Z')
  const token = new URL(made.data.link).searchParams.get('token')
  const [ann, bob] = [visitor(), visitor()]
  const both = await Promise.all([ann, bob].map((one) => one.ask('POST', '/api/auth/link', { token })))
  t.same(both.map(({ status }) => status).sort(), [200, 401], 'of two at once one is in')
  const one = ann.cookie === undefined ? bob : ann
  const me = await one.ask('GET', '/api/auth/me')
  t.match(me.data, {
    user: { email: 'owner@localhost' },
    organisations: [{ id: 1, role: 'owner', locked: false }],
    session: { current: true, ip: '203.0.113.7' },
  })
  const site = { id: 1, org: 1, name: 'My site', domains: [], timezone: 'UTC', currency: 'EUR' }
  t.same(me.data.sites, [site], 'the sites of the organisation, by what a dashboard needs first')
  t.equal((await visitor().ask('POST', '/api/auth/link', { token })).status, 401, 'not again')

  const changed = await one.ask('POST', '/api/auth/change-password', { password: PASSWORD })
  t.equal(changed.status, 204, 'a first password needs no current one')
  t.equal((await visitor().ask('POST', '/api/auth/login', login('owner@localhost'))).status, 200)

  const late = await linkToken()
  clock.now += 15 * MINUTE
  t.equal((await visitor().ask('POST', '/api/auth/link', { token: late })).status, 401, 'not after 15 minutes')
})

t.test('register, me, log out, log in', async (t) => {
  const { visitor, records } = await accountService(t)
  const ann = visitor()
  const made = await ann.ask('POST', '/api/auth/register', register('Ann@Example.com'))
  t.equal(made.status, 201)
  t.match(made.data, {
    user: { id: 2, email: 'ann@example.com', name: 'Ann', has_password: true, totp: false },
    organisations: [{ id: 2, name: 'Tides', role: 'owner' }],
  })
  t.same(made.data.sites, [], 'no site of another organisation')
  t.match(
    made.headers.get('set-cookie'),
    /^service_session=[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/,
    'no Secure over http',
  )
  const again = await visitor().ask('POST', '/api/auth/register', register('ann@example.com'))
  t.match(again, { status: 409, error: { code: 'conflict', field: 'email' } })
  const renamed = await ann.ask('PATCH', '/api/auth/me', { name: 'Ann B' })
  t.equal(renamed.data.user.name, 'Ann B')
  t.match(await ann.ask('PATCH', '/api/auth/me', {}), { status: 200, data: { user: { name: 'Ann B' } } }, 'in part')
  for (const name of [null, 1, '', 'a\u0000b'])
    t.match(await ann.ask('PATCH', '/api/auth/me', { name }), { status: 422, error: { field: 'name' } }, `${name}`)

  const before = ann.cookie
  const out = await ann.ask('POST', '/api/auth/logout')
  t.equal(out.status, 204)
  t.match(out.headers.get('set-cookie'), /^service_session=; Max-Age=0;/)
  ann.cookie = before
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 401, 'the cookie is worth nothing any more')

  const wrong = await visitor().ask('POST', '/api/auth/login', { email: 'ann@example.com', password: OTHER })
  const unknown = await visitor().ask('POST', '/api/auth/login', { email: 'bob@example.com', password: OTHER })
  const none = await visitor().ask('POST', '/api/auth/login', { email: 'owner@localhost', password: OTHER })
  t.equal(wrong.status, 401)
  for (const same of [unknown, none]) t.same([same.status, same.text], [wrong.status, wrong.text], 'the same bytes')
  t.equal((await ann.ask('POST', '/api/auth/login', login('ann@example.com'))).status, 200)

  const kept = JSON.stringify(await records.query({ text: ['select * from users'], values: [] }))
  t.notMatch(kept, PASSWORD)
  t.notMatch(
    JSON.stringify(await records.query({ text: ['select * from sessions'], values: [] })),
    ann.cookie ?? 'none',
  )
})

t.test('registration can be closed', async (t) => {
  const { visitor } = await accountService(t, { flags: { disable_registration: true } })
  const refused = await visitor().ask('POST', '/api/auth/register', register('ann@example.com'))
  t.match(refused, { status: 403, error: { code: 'forbidden' } })
})

t.test('account routes refuse malformed bodies with the field', async (t) => {
  const { registered, visitor, clock } = await accountService(t)
  const ann = await registered('ann@example.com')
  const token = 'x'.repeat(43)
  const bodies: Record<string, Record<string, unknown>> = {
    'POST /api/auth/login': login('ann@example.com'),
    'POST /api/auth/register': register('bob@example.com'),
    'POST /api/auth/forgot-password': { email: 'ann@example.com' },
    'POST /api/auth/reset-password': { token, password: OTHER },
    'POST /api/auth/confirm-email': { token },
    'POST /api/auth/link': { token },
    'POST /api/auth/change-password': { password: OTHER },
    'POST /api/auth/change-email': { email: 'new@example.com' },
    'POST /api/auth/totp/confirm': { totp: '123456' },
  }
  for (const [route, body] of Object.entries(bodies)) {
    const [method = '', path = ''] = route.split(' ')
    // Whole windows pass between requests: this test is not about limits.
    const send = (sent: unknown, headers = {}) => {
      clock.now += 61 * MINUTE
      return ann.ask(method, path, sent, headers)
    }
    t.match(await send('{'), { status: 400, error: { code: 'bad_request' } }, `${route}: no JSON`)
    t.equal((await send('')).status, 400, `${route}: nothing`)
    t.equal((await send('[]')).status, 422, `${route}: a list`)
    t.equal((await send({ ...body, extra: 1 })).error?.field, 'extra', `${route}: a field too many`)
    t.equal((await send(JSON.stringify(body), { 'content-type': 'text/plain' })).status, 415, `${route}: as text`)
    t.equal((await send({ ...body, name: 'x'.repeat(70_000) })).status, 413, `${route}: 70 KB`)
    for (const field of Object.keys(body)) {
      const { [field]: _, ...rest } = body
      t.match(await send(rest), { status: 422, error: { field } }, `${route}: without ${field}`)
      for (const wrong of [null, 1, true, {}, ['x']])
        t.match(
          await send({ ...body, [field]: wrong }),
          { status: 422, error: { field } },
          `${route}: ${field} ${wrong}`,
        )
    }
    t.match(await send({ ...body, ...('name' in body ? { name: 'a\u0000b' } : { email: 'a\r\nb@c.de' }) }), {
      status: 422,
    })
  }
  const huge = await fetch(`${(await accountService(t)).at}/api/auth/login`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: `{"email":"${'x'.repeat(10_000_000)}"}`,
  }).then(
    ({ status }) => status,
    () => 413,
  )
  t.equal(huge, 413, '10 MB')
  const emoji = await visitor('192.0.2.77').ask('POST', '/api/auth/register', {
    ...register('wave@example.com'),
    ...{ name: 'Wave 🌊', organisation: '潮汐' },
  })
  t.match(emoji, { status: 201, data: { user: { name: 'Wave 🌊' }, organisations: [{ name: '潮汐' }] } })
})

t.test('each sign-in starts a new session; sessions can be listed and ended', async (t) => {
  const { registered, visitor, clock } = await accountService(t)
  const ann = await registered('ann@example.com')
  const laptop = visitor('192.0.2.1')
  const phone = visitor('192.0.2.2')
  // A planted cookie never becomes a session.
  laptop.cookie = 'x'.repeat(43)
  await laptop.ask('POST', '/api/auth/login', login('ann@example.com'))
  t.not(laptop.cookie, 'x'.repeat(43))
  const first = laptop.cookie
  await laptop.ask('POST', '/api/auth/login', login('ann@example.com'))
  t.not(laptop.cookie, first)
  const stale = visitor()
  stale.cookie = first
  t.equal((await stale.ask('GET', '/api/auth/me')).status, 401, 'it took the place of the one before')

  clock.now += MINUTE
  await phone.ask('POST', '/api/auth/login', login('ann@example.com'))
  const { data } = await phone.ask('GET', '/api/auth/sessions')
  t.match(
    data.map(({ ip, current }: { ip: string; current: boolean }) => [ip, current]),
    [
      ['192.0.2.2', true],
      ['192.0.2.1', false],
      ['198.51.100.1', false],
    ],
    'the last used first',
  )
  const bob = await registered('bob@example.com')
  t.equal((await bob.ask('DELETE', `/api/auth/sessions/${data[1].id}`)).status, 404, "not somebody else's")
  t.equal((await phone.ask('DELETE', `/api/auth/sessions/${data[1].id}`)).status, 204)
  t.equal((await laptop.ask('GET', '/api/auth/me')).status, 401)
  t.equal((await phone.ask('DELETE', '/api/auth/sessions')).status, 204, 'all others')
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 401)
  t.equal((await phone.ask('GET', '/api/auth/me')).status, 200)
  t.equal((await bob.ask('GET', '/api/auth/me')).status, 200)
})

t.test('a session ends after 14 days without use, and after 90 days', async (t) => {
  const { registered, clock } = await accountService(t)
  const [idle, busy] = [await registered('ann@example.com'), await registered('bob@example.com')]
  const me = async (one: typeof idle) => (await one.ask('GET', '/api/auth/me')).status
  clock.now += 14 * DAY
  t.equal(await me(idle), 200, 'to the millisecond')
  clock.now += 14 * DAY + 1
  t.equal(await me(idle), 401)
  const lively = busy
  await lively.ask('POST', '/api/auth/login', login('bob@example.com'))
  const begun = clock.now
  for (let day = 10; day <= 90; day += 10) {
    clock.now = begun + day * DAY
    t.equal(await me(lively), 200, `day ${day}`)
  }
  clock.now += 1
  t.equal(await me(lively), 401, 'however much it is used')
})

t.test('a new password ends every other session', async (t) => {
  const { registered, visitor } = await accountService(t)
  const ann = await registered('ann@example.com')
  const other = visitor()
  await other.ask('POST', '/api/auth/login', login('ann@example.com'))
  const rows: [object, number, string, string][] = [
    [{ password: OTHER }, 401, 'password', 'without the one of now'],
    [{ password: OTHER, current_password: OTHER }, 401, 'password', 'with a wrong one'],
    [{ password: 'password123', current_password: PASSWORD }, 422, 'password', 'to a common one'],
    [{ password: 'ann@example.com', current_password: PASSWORD }, 422, 'password', 'to the address'],
  ]
  for (const [body, status, field, why] of rows)
    t.match(await ann.ask('POST', '/api/auth/change-password', body), { status, error: { field } }, why)
  const before = ann.cookie
  const changed = await ann.ask('POST', '/api/auth/change-password', { password: OTHER, current_password: PASSWORD })
  t.equal(changed.status, 204)
  t.not(ann.cookie, before)
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 200, 'under another cookie')
  t.equal((await other.ask('GET', '/api/auth/me')).status, 401)
  ann.cookie = before
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 401)
  t.equal((await visitor().ask('POST', '/api/auth/login', login('ann@example.com'))).status, 401)
  t.equal((await visitor().ask('POST', '/api/auth/login', { email: 'ann@example.com', password: OTHER })).status, 200)
})

t.test('deleting an account deletes organisations without other members', async (t) => {
  const { registered, operator, visitor, records } = await accountService(t)
  const ann = await registered('ann@example.com')
  const remove = (body: object) => ann.ask('DELETE', '/api/auth/me', body)
  t.equal((await remove({})).status, 401, 'it takes the password')
  const bob = { email: 'bob@example.com', org: 2, role: 'admin', password: PASSWORD }
  t.equal((await operator('POST', '/control/users', bob)).status, 201)
  const refused = await remove({ password: PASSWORD })
  t.match(refused, { status: 409, error: { code: 'conflict' } }, 'the last owner of others')
  await operator('POST', '/control/users', { ...bob, email: 'eve@example.com', role: 'owner' })
  const gone = await remove({ password: PASSWORD })
  t.equal(gone.status, 204)
  t.equal(ann.cookie, undefined)
  t.equal((await visitor().ask('POST', '/api/auth/login', login('ann@example.com'))).status, 401)
  const eve = await registered('carl@example.com')
  t.equal((await eve.ask('DELETE', '/api/auth/me', { password: PASSWORD })).status, 204)
  const orgs = await records.query({ text: ['select id, delete_after from organisations order by id'], values: [] })
  t.match(orgs, [
    { id: 1, delete_after: null },
    { id: 2, delete_after: null },
    { id: 3, delete_after: new Date('2026-11-28T10:00:00.000Z') },
  ])
})

t.test('the operator and API keys are not people', async (t) => {
  const { operator, visitor } = await accountService(t)
  t.equal((await operator('GET', '/api/auth/me')).status, 401)
  const { data } = await operator('POST', '/api/keys', { name: 'all', scopes: ['manage:write'] })
  const authorization = `Bearer ${data.secret}`
  t.equal((await visitor().ask('GET', '/api/auth/me', undefined, { authorization })).status, 403)
  for (const path of ['/control/users', '/control/links'])
    t.equal((await visitor().ask('GET', path)).status, 404, `${path} is the operator's`)
})

t.test('sites of an organisation that locks its member out are not shown', async (t) => {
  const [org, site] = [
    { version: 1, created_at: '', require_totp: true },
    { version: 1, excluded_paths: [], sections: [], domains: [] },
  ]
  const fields = { ...site, currency: 'EUR', timezone: 'UTC', respect_gpc: false, visitor_salt: 'month' as const }
  const describe = createDescribeMe(
    { list: async () => [1, 2, 3].map((id) => ({ ...org, id, name: `Org ${id}` })) },
    { list: async () => [1, 2, 3].map((id) => ({ ...fields, id: id * 10, org: id, name: `Site ${id}` })) },
    true,
  )
  const at = new Date()
  const { organisations, sites } = await describe({
    user: { id: 1, email: 'a@b.example', name: 'A', has_password: true, totp: false, created_at: '' },
    session: { id: 1, user_id: 1, created_at: at, last_seen_at: at, agent: null, ip: null },
    roles: new Map([
      [1, 'viewer'],
      [2, 'owner'],
    ]),
    locked: new Set([2]),
  })
  t.strictSame(
    [organisations.map(({ id, locked }) => [id, locked]), sites.map(({ id }) => id)],
    [
      [
        [1, false],
        [2, true],
      ],
      [10],
    ],
  )
})
