import t from 'tap'
import { accountService, PASSWORD, type Visitor } from '../fixtures/account-service.js'
import { eventually } from '../fixtures/instance.js'
import { mailServer } from '../fixtures/smtp.js'

const MINUTE = 60_000
const OTHER = 'the moon pulls both ways'
const PUBLIC = 'http://stats.example.com/r'
const register = (email: string) => ({ email, password: PASSWORD, name: 'Ann', organisation: 'Tides' })
const login = (one: Visitor, email: string, password = PASSWORD) =>
  one.ask('POST', '/api/auth/login', { email, password })
const tokenOf = (link: string | undefined) => new URL(link ?? '').searchParams.get('token') ?? ''

t.test('with a mail server a registration is completed by its link', async (t) => {
  const mails = await mailServer(t)
  const { visitor, clock } = await accountService(t, { send: mails.send, flags: { public_url: PUBLIC } })
  const ann = visitor()
  const asked = await ann.ask('POST', '/api/auth/register', register('Ann@Example.com'))
  t.match(asked, { status: 202, data: { sent: true } })
  t.equal(ann.cookie, undefined)
  const { link, raw } = await mails.next('ann@example.com')
  t.match(link, /^http:\/\/stats\.example\.com\/r\/confirm-email\?token=[\w-]{43}$/)
  t.notMatch(raw, /Tides|noon/, 'no input of the client')
  t.equal((await login(ann, 'ann@example.com')).status, 401, 'the account does not exist yet')
  const token = tokenOf(link)
  const both = await Promise.all([1, 2].map(() => ann.ask('POST', '/api/auth/confirm-email', { token })))
  t.same(both.map(({ status }) => status).sort(), [200, 401], 'of two at once one makes it')
  t.equal(ann.cookie, undefined, 'the link does not sign in: another person may have chosen the password')
  t.equal((await login(ann, 'ann@example.com')).status, 200)

  const again = await visitor('192.0.2.1').ask('POST', '/api/auth/register', register('ann@example.com'))
  t.same([again.status, again.text], [asked.status, asked.text], 'a known address: the same bytes')
  t.match((await mails.next('ann@example.com')).raw, /already has an account/)

  await visitor('192.0.2.2').ask('POST', '/api/auth/register', register('bob@example.com'))
  const late = tokenOf((await mails.next('bob@example.com')).link)
  clock.now += 24 * 60 * MINUTE
  t.equal((await ann.ask('POST', '/api/auth/confirm-email', { token: late })).status, 401, 'not after a day')
})

t.test('a mailed link resets a password', async (t) => {
  const mails = await mailServer(t)
  const { visitor, clock, operator } = await accountService(t, { send: mails.send, flags: { public_url: PUBLIC } })
  const body = { email: 'ann@example.com', password: PASSWORD }
  await operator('POST', '/control/users', body)
  await operator('POST', '/control/users', { ...body, email: 'bob@example.com' })
  const [ann, mallory] = [visitor(), visitor('192.0.2.9')]
  await login(ann, 'ann@example.com')
  const known = await mallory.ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' })
  const unknown = await mallory.ask('POST', '/api/auth/forgot-password', { email: 'nobody@example.com' })
  t.match(known, { status: 202, data: { sent: true } })
  t.same([unknown.status, unknown.text], [known.status, known.text], 'the same bytes')
  const first = tokenOf((await mails.next('ann@example.com')).link)
  await ann.ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' })
  const token = tokenOf((await mails.next('ann@example.com')).link)

  const reset = (given: object) =>
    visitor().ask('POST', '/api/auth/reset-password', { token, password: OTHER, ...given })
  t.equal((await reset({ password: 'password123' })).status, 422, 'a common one')
  t.equal((await reset({ password: 'ann@example.com' })).status, 422, 'the address')
  const both = await Promise.all([1, 2, 3].map(() => reset({})))
  t.same(both.map(({ status }) => status).sort(), [204, 401, 401], 'one token, three at once: one counts')
  t.equal((await reset({ token: first })).status, 401, 'the link before it went with it')
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 401, 'all sessions are over')
  t.equal((await login(visitor(), 'ann@example.com')).status, 401)
  t.equal((await login(visitor(), 'ann@example.com', OTHER)).status, 200)
  t.match((await mails.next('ann@example.com')).raw, /password was changed/)

  await ann.ask('POST', '/api/auth/forgot-password', { email: 'bob@example.com' })
  const late = tokenOf((await mails.next('bob@example.com')).link)
  clock.now += 60 * MINUTE
  t.equal((await reset({ token: late })).status, 401, 'not after an hour')
  t.equal(mails.received.length, 0, 'no other address got mail')
})

t.test('a changed address takes effect when its link is opened', async (t) => {
  const mails = await mailServer(t)
  const { visitor, operator } = await accountService(t, { send: mails.send, flags: { public_url: PUBLIC } })
  for (const email of ['ann@example.com', 'bob@example.com'])
    await operator('POST', '/control/users', { email, password: PASSWORD })
  const ann = visitor()
  await login(ann, 'ann@example.com')
  const change = (email: string, password?: string) => ann.ask('POST', '/api/auth/change-email', { email, password })
  t.equal((await change('new@example.com')).status, 401, 'it takes the password')
  const free = await change('New@Example.com', PASSWORD)
  const taken = await change('bob@example.com', PASSWORD)
  t.same([taken.status, taken.text], [free.status, free.text], 'the same bytes')
  t.match((await mails.next('bob@example.com')).raw, /already has an account/)
  const token = tokenOf((await mails.next('new@example.com')).link)
  t.equal((await login(visitor(), 'new@example.com')).status, 401, 'not yet')
  await visitor().ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' })
  const reset = tokenOf((await mails.next('ann@example.com')).link)
  const confirmed = await visitor().ask('POST', '/api/auth/confirm-email', { token })
  t.match(confirmed, { status: 200, data: { email: 'new@example.com' } })
  t.match((await mails.next('ann@example.com')).raw, /address was changed/, 'the previous address is notified')
  t.equal((await ann.ask('GET', '/api/auth/me')).data.user.email, 'new@example.com')
  t.equal((await login(visitor(), 'ann@example.com')).status, 401)
  t.equal((await login(visitor(), 'new@example.com')).status, 200)
  const stale = await visitor().ask('POST', '/api/auth/reset-password', { token: reset, password: OTHER })
  t.equal(stale.status, 401, 'what went to the address before proves nothing')
})

t.test('a Host header never gets into a mail', async (t) => {
  const mails = await mailServer(t)
  const { instance, operator, said } = await accountService(t, { send: mails.send })
  await operator('POST', '/control/users', { email: 'ann@example.com', password: PASSWORD })
  t.ok(
    said.some(({ message }) => /^public_url is not set/.test(message)),
    'a warning is logged at start without a public URL',
  )
  const rows: [string, string][] = [
    ['http://evil.example/api/auth/forgot-password', 'http://127.0.0.1:8081'],
    ['http://localhost.evil.example/api/auth/forgot-password', 'http://127.0.0.1:8081'],
    ['http://localhost:9000/api/auth/forgot-password', 'http://localhost:9000'],
  ]
  for (const [url, base] of rows) {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ email: 'ann@example.com' })
    await instance.fetch(new Request(url, { method: 'POST', headers, body }), { ip: '192.0.2.1' })
    t.equal(new URL((await mails.next('ann@example.com')).link ?? '').origin, base, url)
  }
})

t.test('a failing mail server does not change responses', async (t) => {
  let tries = 0
  const { visitor, operator, said } = await accountService(t, {
    flags: { public_url: PUBLIC },
    async send() {
      tries += 1
      throw new Error('no route to the mail server')
    },
  })
  await operator('POST', '/control/users', { email: 'ann@example.com', password: PASSWORD })
  const asked = await visitor().ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' })
  t.equal(asked.status, 202)
  await eventually('the log to say it', () => said.some(({ message }) => /could not be sent/.test(message)))
  t.equal(tries, 1)
})

t.test('without a mail server the operator passes links on', async (t) => {
  const { visitor, operator, said } = await accountService(t)
  await operator('POST', '/control/users', { email: 'ann@example.com', password: PASSWORD })
  const asked = await visitor().ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' })
  t.match(asked, { status: 202, data: { sent: true } }, 'the API says only that')
  await eventually('the link to be there', async () => (await operator('GET', '/control/links')).data.length === 1)
  const [kept] = (await operator('GET', '/control/links')).data
  t.match(kept, { to: 'ann@example.com', link: /\/reset-password\?token=[\w-]{43}$/, at: '2026-11-21T10:00:00.000Z' })
  t.ok(
    said.some(({ details }) => JSON.stringify(details).includes(kept.link)),
    'and in the log',
  )
  const token = tokenOf(kept.link)
  const reset = await visitor().ask('POST', '/api/auth/reset-password', { token, password: OTHER })
  t.equal(reset.status, 204)
})
