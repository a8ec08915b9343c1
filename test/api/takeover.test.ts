import t from 'tap'
import { sql } from '../../src/storage/sql.js'
import { accountService, PASSWORD, type Visitor } from '../fixtures/account-service.js'
import { mailServer } from '../fixtures/smtp.js'

/**
 * An attacker who once had access, because they knew a password or were a member, tries to keep it: with a reset or address
 * link requested earlier, with an invitation that they sent to a second account, or with sessions that are still open. After
 * a password change or a removal none of these may work, and an attacker must not use up memory with sessions.
 */

const OTHER = 'the moon pulls both ways'
const tokenOf = (link: string | undefined) => new URL(link ?? '').searchParams.get('token') ?? ''
const login = (one: Visitor, email: string, password = PASSWORD) =>
  one.ask('POST', '/api/auth/login', { email, password })

t.test('a new password ends links that were requested before', async (t) => {
  const mails = await mailServer(t)
  const { visitor, operator } = await accountService(t, { send: mails.send })
  await operator('POST', '/control/users', { email: 'ann@example.com', password: PASSWORD })
  const [ann, mallory] = [visitor('192.0.2.1'), visitor('192.0.2.2')]
  const recoveries: [string, () => Promise<unknown>][] = [
    [
      'changed',
      async () => {
        await login(ann, 'ann@example.com')
        const given = { password: OTHER, current_password: PASSWORD }
        t.equal((await ann.ask('POST', '/api/auth/change-password', given)).status, 204)
      },
    ],
    [
      'reset',
      async () => {
        await ann.ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' })
        const token = tokenOf((await mails.next('ann@example.com')).link)
        t.equal((await ann.ask('POST', '/api/auth/reset-password', { token, password: OTHER })).status, 204)
      },
    ],
    [
      'set by the operator',
      () => operator('POST', '/control/users/reset-password', { email: 'ann@example.com', password: OTHER }),
    ],
  ]
  for (const [name, recover] of recoveries) {
    await operator('POST', '/control/users/reset-password', { email: 'ann@example.com', password: PASSWORD })
    t.equal((await login(mallory, 'ann@example.com')).status, 200)
    const asked = { email: 'mallory@example.com', password: PASSWORD }
    t.equal((await mallory.ask('POST', '/api/auth/change-email', asked)).status, 202)
    const token = tokenOf((await mails.next('mallory@example.com')).link)
    await recover()
    const confirmed = await visitor('192.0.2.3').ask('POST', '/api/auth/confirm-email', { token })
    t.equal(confirmed.status, 401, `${name}: the account stays with its address`)
    if (name === 'changed') await mails.next('ann@example.com')
  }
})

t.test('a removed member cannot return by an invitation of their own', async (t) => {
  const mails = await mailServer(t)
  const { visitor, operator } = await accountService(t, { send: mails.send })
  for (const [email, role] of [
    ['ann@example.com', 'owner'],
    ['mallory@example.com', 'admin'],
    ['eve@example.com', 'admin'],
  ])
    await operator('POST', '/control/users', { email, role, password: PASSWORD })
  await operator('POST', '/control/users', { email: 'second@example.com', password: PASSWORD, role: 'viewer' })
  const [ann, mallory, eve, second] = [1, 2, 3, 4].map((n) => visitor(`192.0.2.${n}`))
  if (!ann || !mallory || !eve || !second) throw new Error('there are four')
  await login(ann, 'ann@example.com')
  await login(mallory, 'mallory@example.com')
  await login(eve, 'eve@example.com')
  await login(second, 'second@example.com')
  const inviting = async (one: Visitor, email: string) => {
    const { status, data } = await one.ask('POST', '/api/orgs/1/invitations', { email, role: 'admin' })
    t.equal(status, 201)
    return tokenOf(data.link)
  }
  const me = async (one: Visitor) => (await one.ask('GET', '/api/auth/me')).data.user.id
  // The second account leaves, and tries to return as an admin.
  t.equal((await second.ask('DELETE', `/api/orgs/1/members/${await me(second)}`)).status, 204)

  const first = await inviting(mallory, 'second@example.com')
  const asked = { email: 'mallory2@example.com', password: PASSWORD }
  await mallory.ask('POST', '/api/auth/change-email', asked)
  const token = tokenOf((await mails.next('mallory2@example.com')).link)
  t.equal((await mallory.ask('POST', '/api/auth/confirm-email', { token })).status, 200)
  t.equal((await ann.ask('DELETE', `/api/orgs/1/members/${await me(mallory)}`)).status, 204)
  const back = await second.ask('POST', '/api/invitations/accept', { token: first })
  t.equal(back.status, 404, 'after another address')

  const left = await inviting(eve, 'second@example.com')
  t.equal((await eve.ask('DELETE', '/api/auth/me', { password: PASSWORD })).status, 204)
  t.equal(
    (await second.ask('POST', '/api/invitations/accept', { token: left })).status,
    404,
    'after the account is gone',
  )
})

t.test('sessions of one person are bounded', async (t) => {
  const { visitor, operator, clock, records } = await accountService(t)
  for (const email of ['ann@example.com', 'bob@example.com'])
    await operator('POST', '/control/users', { email, password: PASSWORD })
  const [ann, bob] = [visitor(), visitor()]
  await login(ann, 'ann@example.com')
  await login(bob, 'bob@example.com')
  const since = new Date(clock.now)
  const rows = Array.from({ length: 150 }, (_, n) => n)
  const { data } = await bob.ask('GET', '/api/auth/me')
  const later = new Date(clock.now + 1_000)
  await records.write(
    ...rows.map(
      (n) => sql`insert into sessions (id, user_id, digest, created_at, last_seen_at, agent, ip)
        values (${1_000 + n}, ${data.user.id}, ${`d${n}`}, ${since}, ${n < 75 ? since : later}, null, '')`,
    ),
  )
  const again = visitor()
  await login(again, 'bob@example.com')
  const mine = (await again.ask('GET', '/api/auth/sessions')).data
  t.equal(mine.length, 100, 'a hundred of one person, the new one among them')
  t.equal((await again.ask('GET', '/api/auth/me')).status, 200)
  t.equal(mine.filter(({ last_seen_at }: { last_seen_at: string }) => last_seen_at === later.toISOString()).length, 75)
  t.equal((await bob.ask('GET', '/api/auth/me')).status, 401, 'the one that was used first is over')
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 200, "nobody else's")
})
