import t, { type Test } from 'tap'
import { accountService, PASSWORD, type Visitor } from '../fixtures/account-service.js'
import { eventually } from '../fixtures/instance.js'
import { mailServer } from '../fixtures/smtp.js'

const GUEST = 'guest@example.com'
const tokenOf = (link: string) => new URL(link).searchParams.get('token') ?? ''

/** Ann owns an organisation and invites the guest; `mailed` is undefined without a mail server. */
async function invited(t: Test, { mails = true, closed = false } = {}) {
  const post = mails ? await mailServer(t) : undefined
  const service = await accountService(t, {
    flags: { disable_registration: closed },
    ...(post ? { send: post.send } : {}),
  })
  const ann = service.visitor('198.51.100.77')
  await ann.form('/sign-in', { token: await service.linkToken() })
  const made = await ann.ask('POST', '/api/orgs/1/invitations', { email: GUEST, role: 'member' })
  const mailed = post ? tokenOf((await post.next(GUEST)).link ?? '') : undefined
  return { ...service, ann, handed: tokenOf(made.data.link), mailed }
}
const roles = async (visitor: Visitor) =>
  (await visitor.ask('GET', '/api/auth/me')).data?.organisations.map(({ id, role }: { id: number; role: string }) => [
    id,
    role,
  ])
const join = (token: string) => ({ act: 'join', token, name: 'Guest', password: PASSWORD })
const signIn = (token: string, password = PASSWORD) => ({ act: 'sign-in', token, password, totp: '' })

t.test('a mailed invitation creates an account, also where registration is closed', async (t) => {
  const { visitor, mailed = '', ann } = await invited(t, { closed: true })
  for (let n = 0; n < 2; n++) {
    const opened = await visitor().ask('GET', `/invitation?token=${mailed}`)
    t.equal(opened.status, 200)
    t.match(opened.text, /“My organisation”, as member, for guest@example.com/)
    t.match(opened.text, /value="sign-in".*value="join"/s, 'the page does not tell whether an account exists')
    t.match(opened.headers.get('content-security-policy'), /default-src 'none'/)
    t.equal(opened.headers.get('cache-control'), 'no-store')
    t.equal(opened.headers.get('referrer-policy'), 'strict-origin')
  }
  const guest = visitor()
  t.equal((await guest.form('/invitation', { ...join(mailed), password: 'short' })).status, 422)
  const joined = await guest.form('/invitation', join(mailed))
  t.match([joined.status, joined.headers.get('location')], [303, './'])
  t.same(await roles(guest), [[1, 'member']], 'a member of that organisation, and of no other')
  t.equal((await visitor().form('/invitation', join(mailed))).status, 409, 'an invitation is used once')
  t.equal((await guest.form('/invitation', { act: 'accept', token: mailed })).status, 409)
  t.equal((await ann.ask('GET', '/api/orgs/1/invitations')).data.length, 0)
  const { data } = await ann.ask('GET', '/api/orgs/1/audit')
  t.match(data[0], { action: 'accept', actor: GUEST })
})

t.test('the inviter cannot create an account for the invited address', async (t) => {
  const { visitor, handed, mailed = '' } = await invited(t)
  const opened = await visitor().ask('GET', `/invitation?token=${handed}`)
  t.equal(opened.status, 200)
  t.notMatch(opened.text, 'value="join"')
  t.match(opened.text, 'Open the link in the mail')
  const refused = await visitor().form('/invitation', join(handed))
  t.equal(refused.status, 403)
  t.equal((await visitor().form('/invitation', join(mailed))).status, 303)
})

t.test('without a mail server the returned link creates an account', async (t) => {
  const { visitor, handed } = await invited(t, { mails: false })
  const guest = visitor()
  t.equal((await guest.form('/invitation', join(handed))).status, 303)
  t.same(await roles(guest), [[1, 'member']])
})

t.test('only the invited account can accept', async (t) => {
  const { visitor, registered, handed, at } = await invited(t, { mails: false })
  const guest = await registered(GUEST)
  const other = await registered('other@example.com')
  const seen = await other.ask('GET', `/invitation?token=${handed}`)
  t.match(seen.text, 'You are signed in as other@example.com')
  t.notMatch(seen.text, 'value="accept"')
  t.equal((await other.form('/invitation', { act: 'accept', token: handed })).status, 403)
  t.equal(
    (await visitor().form('/invitation', { act: 'accept', token: handed })).status,
    401,
    'a visitor without a session',
  )
  t.match((await guest.ask('GET', `/invitation?token=${handed}`)).text, 'value="accept"')
  t.equal((await visitor().form('/invitation', join(handed))).status, 409, 'the address has an account')
  const wrong = await visitor().form('/invitation', signIn(handed, 'not the password'))
  t.equal(wrong.status, 401)
  t.match(wrong.text, /role="alert">The e-mail address or the password is wrong/)
  t.notMatch(wrong.text, 'not the password')

  const foreign = await fetch(`${at}/invitation`, {
    ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ act: 'accept', token: handed }) },
    headers: { cookie: `service_session=${guest.cookie}`, 'sec-fetch-site': 'cross-site' },
  })
  t.equal(foreign.status, 403, 'not by a page of another')
  const anywhere = await fetch(`${at}/invitation`, {
    ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams(signIn(handed)) },
    headers: { origin: 'https://evil.example' },
  })
  t.equal(anywhere.status, 403)

  const again = visitor()
  t.equal((await again.form('/invitation', { ...signIn(handed), email: 'other@example.com' })).status, 303)
  t.match(await roles(again), [[1, 'member'], []], 'whatever address the form names')
})

t.test('invalid tokens and pages of other origins are refused', async (t) => {
  const { visitor, handed, ann, clock } = await invited(t, { mails: false })
  for (const token of ['', 'x', 'a'.repeat(43), '"><script>alert(1)</script>', "' or 1=1 --"]) {
    const opened = await visitor().ask('GET', `/invitation?token=${encodeURIComponent(token)}`)
    t.equal(opened.status, 404, token)
    t.notMatch(opened.text, '<script', token)
    for (const act of ['accept', 'sign-in', 'join', 'nothing'])
      t.ok([401, 404, 422].includes((await visitor().form('/invitation', { ...join(token), act })).status), act)
  }
  t.equal((await visitor().ask('GET', '/invitation')).status, 404)
  await ann.ask('PATCH', '/api/orgs/1', { name: '<script>alert(1)</script>' })
  const opened = await visitor().ask('GET', `/invitation?token=${handed}`)
  t.match(opened.text, '&lt;script&gt;')
  t.notMatch(opened.text, '<script')
  clock.now += 7 * 86_400_000
  t.equal((await visitor().ask('GET', `/invitation?token=${handed}`)).status, 404, 'seven days are over')
  let looked = 0
  const eager = visitor('192.0.2.9')
  while ((await eager.ask('GET', '/invitation?token=x')).status === 404) looked += 1
  t.equal(looked, 120, 'an address looks so often in five minutes')
})

t.test('invitations end with the account that sent them, also after it was renamed', async (t) => {
  const { registered, visitor, operator } = await accountService(t)
  const ann = await registered('ann@example.com')
  const me = (await ann.ask('GET', '/api/auth/me')).data
  const { data } = await ann.ask('POST', `/api/orgs/${me.organisations[0].id}/invitations`, {
    ...{ email: GUEST, role: 'owner' },
  })
  t.equal(
    (await ann.ask('POST', '/api/auth/change-email', { email: 'anna@example.com', password: PASSWORD })).status,
    202,
  )
  const links = async () => (await operator('GET', '/control/links')).data
  await eventually('the link', async () => (await links()).length > 0)
  t.equal((await visitor().form('/confirm-email', { token: tokenOf((await links())[0].link) })).status, 303)
  const path = `/invitation?token=${tokenOf(data.link)}`
  t.equal((await visitor().ask('GET', path)).status, 200)
  t.equal((await ann.ask('DELETE', '/api/auth/me', { password: PASSWORD })).status, 204)
  t.equal((await visitor().ask('GET', path)).status, 404)
})
