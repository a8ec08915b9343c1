import t from 'tap'
import { sql } from '../../src/storage/sql.js'
import { type ApiResponse, openTenants } from '../fixtures/tenants.js'

const DAY = 86_400_000
const PATH = '/api/orgs/1/invitations'
const tokenOf = ({ data }: ApiResponse) => ({ token: new URL(data.link).searchParams.get('token') })
const accept = '/api/invitations/accept'

t.test('an invitation is mailed and accepted', async (t) => {
  const { person, mails, records, audit } = await openTenants(t)
  const admin = await person({ 1: 'admin' })
  const guest = await person({}, { email: 'guest@x.example' })
  const other = await person({ 2: 'owner' })
  const made = await admin.ask('POST', PATH, { email: ' Guest@X.example', role: 'member' })
  t.match(made, {
    status: 201,
    data: {
      ...{ id: 1, org: 1, email: 'guest@x.example', role: 'member', invited_by: admin.email },
      ...{ created_at: '2026-11-21T10:00:00.000Z', expires_at: '2026-11-28T10:00:00.000Z' },
      link: /^https:\/\/r\.example\/invitation\?token=[\w-]{43}$/,
    },
  })
  t.match(mails, [{ to: 'guest@x.example', subject: 'Invitation to My organisation' }])
  const mailed = /\?token=([\w-]{43})\n/.exec(mails[0]?.text ?? '')?.[1]
  t.ok(mailed)
  t.notMatch(made.text, mailed, 'the inviter does not see the mailed token')
  const { token } = tokenOf(made)
  const [row] = await records.query(sql`select * from invitations`)
  t.notOk(JSON.stringify(row).includes(String(token)), 'only its digest is kept')
  const { data, text } = await admin.ask('GET', PATH)
  t.equal(data.length, 1)
  t.notMatch(text, /link|token|digest/, 'and it is shown once')
  t.match(
    await other.ask('POST', accept, { token }),
    { status: 403, error: { code: 'forbidden' } },
    'of another address',
  )
  t.equal((await guest.ask('GET', '/api/orgs/1')).status, 403)
  t.match(await guest.ask('POST', accept, { token }), { status: 200, data: { id: 1, role: 'member' } })
  t.equal((await guest.ask('GET', '/api/orgs/1')).status, 200, 'from the next request on')
  t.equal((await guest.ask('POST', accept, { token })).status, 409, 'once')
  t.equal((await admin.ask('GET', PATH)).meta?.total, 0, 'the invitation is no longer open')
  const again = await admin.ask('POST', PATH, { email: 'guest@x.example', role: 'viewer' })
  t.match(again, { status: 409, error: { field: 'email' } }, 'a member is not invited')
  const { entries } = await audit.list({ org: 1, object: 'invitation', limit: 5, page: 1 })
  t.match(entries, [
    { action: 'accept', actor: 'guest@x.example', details: { role: 'member' } },
    { action: 'invite', actor: admin.email, object_id: '1', details: { email: 'guest@x.example', role: 'member' } },
  ])
})

t.test('an invitation is accepted once, also by two requests at the same moment', async (t) => {
  const { person, members } = await openTenants(t)
  const admin = await person({ 1: 'admin' })
  const guest = await person({}, { email: 'guest@x.example' })
  const body = tokenOf(await admin.ask('POST', PATH, { email: guest.email, role: 'viewer' }))
  const both = await Promise.all([guest.ask('POST', accept, body), guest.ask('POST', accept, body)])
  t.same(both.map(({ status }) => status).toSorted(), [200, 409])
  t.equal((await members.ofUser(guest.id)).length, 1)
})

t.test('other tokens, addresses and organisations are refused', async (t) => {
  const { person, clock, cleanUp, records } = await openTenants(t)
  const owner = await person({ 1: 'owner' })
  const admin = await person({ 1: 'admin' })
  const guest = await person({ 2: 'viewer' }, { email: 'guest@x.example' })
  const body = { email: guest.email, role: 'viewer' }
  const first = tokenOf(await admin.ask('POST', PATH, body))
  const second = await admin.ask('POST', PATH, { ...body, role: 'member' })
  t.equal((await admin.ask('GET', PATH)).meta?.total, 1, 'one of an address')
  t.equal((await guest.ask('POST', accept, first)).status, 404, 'the one before is replaced')
  t.equal((await admin.ask('DELETE', `${PATH}/${second.data.id}`)).status, 204)
  t.equal((await guest.ask('POST', accept, tokenOf(second))).status, 404, 'taken back')
  t.equal((await admin.ask('DELETE', `${PATH}/${second.data.id}`)).status, 404)
  const third = tokenOf(await admin.ask('POST', PATH, body))
  await owner.ask('DELETE', `/api/orgs/1/members/${admin.id}`)
  t.equal((await guest.ask('POST', accept, third)).status, 404, 'its sender was removed')
  const fourth = tokenOf(await owner.ask('POST', PATH, body))
  clock.now = new Date(clock.now.getTime() + 7 * DAY)
  t.equal((await guest.ask('POST', accept, fourth)).status, 404, 'seven days are over')
  t.equal((await owner.ask('GET', PATH)).meta?.total, 0)
  await cleanUp()
  t.strictSame(await records.query(sql`select count(*) as n from invitations`), [{ n: 0 }])
  for (const [bad, status, why] of [
    [{}, 422, 'no token'],
    [{ token: 7 }, 422, 'no text'],
    [{ token: '' }, 404, 'empty'],
    [{ token: "' or 1=1 --" }, 404, 'SQL'],
    [{ token: 'x'.repeat(1_001) }, 422, 'too long'],
    [{ ...fourth, org: 1 }, 422, 'more than is asked'],
  ] as const)
    t.equal((await guest.ask('POST', accept, bad)).status, status, why)
})

t.test('roles limit who may invite whom', async (t) => {
  const { person, mails } = await openTenants(t)
  const owner = await person({ 1: 'owner' })
  const admin = await person({ 1: 'admin', 2: 'viewer' })
  const member = await person({ 1: 'member' })
  const to = (email: unknown, role: unknown = 'viewer') => ({ email, role })
  const cases: [typeof owner, unknown, number, string][] = [
    [admin, to('a@b.example', 'owner'), 403, 'a role above the own one'],
    [owner, to('a@b.example', 'owner'), 201, 'an owner may invite an owner'],
    [admin, to('b@b.example', 'admin'), 201, 'a role equal to the own one'],
    [member, to('c@b.example'), 403, 'a member may not invite'],
    [admin, to('a@b.example', 'god'), 422, 'no role'],
    [admin, {}, 422, 'no address and no role'],
    [admin, to('a'), 422, 'no address'],
    [admin, to('a@b.example\r\nBcc: c@d.example'), 422, 'a second header'],
    [admin, to('a@b.example, c@d.example'), 422, 'two'],
    [admin, to('"a b"@b.example'), 422, 'quoted'],
    [admin, to('\u0430@b.example'), 422, 'a Cyrillic a'],
    [admin, to('🦆@b.example'), 422, 'an emoji'],
    [admin, to(7), 422, 'no text'],
    [admin, to(['a@b.example']), 422, 'a list'],
    [admin, { ...to('a@b.example'), org: 2 }, 422, 'of another organisation'],
    [admin, JSON.stringify(to('x'.repeat(10_000_000))), 413, '10 MB'],
  ]
  for (const [{ ask }, body, status, why] of cases) t.equal((await ask('POST', PATH, body)).status, status, why)
  t.same(
    mails.map((mail) => mail.to),
    ['a@b.example', 'b@b.example'],
  )
  t.equal((await admin.ask('POST', '/api/orgs/2/invitations', to('d@b.example'))).status, 403, 'a viewer there')
})

t.test('thirty invitations an hour are allowed', async (t) => {
  const { person, clock, records } = await openTenants(t)
  const { ask, email } = await person({ 1: 'owner', 2: 'owner' })
  // The same as if they had sent that many.
  await records.write(sql`
    insert into audit (id, org, happened_at, actor_kind, actor, action, object)
    select 1000 + i, 2, ${clock.now}, 'user', ${email}, 'invite', 'invitation' from generate_series(0, 28) as r (i)`)
  t.equal((await ask('POST', PATH, { email: 'a@b.example', role: 'viewer' })).status, 201, 'the thirtieth')
  const over = await ask('POST', PATH, { email: 'b@b.example', role: 'viewer' })
  t.match(over, { status: 429, error: { code: 'rate_limited' } }, 'of whichever organisation')
  clock.now = new Date(clock.now.getTime() + 3_600_000)
  t.equal((await ask('POST', PATH, { email: 'b@b.example', role: 'viewer' })).status, 201)
})
