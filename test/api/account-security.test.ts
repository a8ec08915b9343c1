import t from 'tap'
import { accountService, PASSWORD } from '../fixtures/account-service.js'
import { totpCode } from '../fixtures/authenticator.js'

/**
 * An attacker guesses passwords or codes, or lures a signed-in person to a page that sends requests for them. Accounts are
 * protected by two-factor codes, limits for each address, checks of the sending page, and a Secure cookie.
 */

const MINUTE = 60_000
const OTHER = 'the moon pulls both ways'
const register = (email: string) => ({ email, password: PASSWORD, name: 'Ann', organisation: 'Tides' })
const login = (email: string, more: object = {}) => ({ email, password: PASSWORD, ...more })

t.test('two-factor sign-in works from enrolment to removal', async (t) => {
  const { registered, visitor, clock, operator } = await accountService(t)
  const ann = await registered('ann@example.com')
  const other = visitor()
  await other.ask('POST', '/api/auth/login', login('ann@example.com'))
  const code = (ms = 0) => totpCode(secret, new Date(clock.now + ms))
  const enter = (more?: object) => visitor().ask('POST', '/api/auth/login', login('ann@example.com', more))

  t.equal((await ann.ask('POST', '/api/auth/totp/enroll', {})).status, 401, 'it takes the password')
  t.equal((await ann.ask('POST', '/api/auth/totp/confirm', { totp: '123456' })).status, 409, 'not enrolled')
  const enrolled = await ann.ask('POST', '/api/auth/totp/enroll', { password: PASSWORD })
  const { secret, uri, qr } = enrolled.data
  t.match(secret, /^[A-Z2-7]{32}$/)
  t.equal(new URL(uri).searchParams.get('secret'), secret)
  t.match(qr, /^<svg /)
  t.equal((await enter()).status, 200, 'not on before it is confirmed')
  t.match(await ann.ask('POST', '/api/auth/totp/confirm', { totp: '000000' }), {
    status: 401,
    error: { field: 'totp' },
  })

  const before = ann.cookie
  const confirmed = await ann.ask('POST', '/api/auth/totp/confirm', { totp: code() })
  const codes: string[] = confirmed.data.recovery_codes
  t.equal(codes.length, 10)
  t.equal(new Set(codes).size, 10)
  t.match(codes[0], /^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
  t.not(ann.cookie, before)
  t.equal((await ann.ask('GET', '/api/auth/me')).data.user.totp, true)
  t.equal((await other.ask('GET', '/api/auth/me')).status, 401, 'what was signed in by one factor is over')

  t.match(await enter(), { status: 401, error: { code: 'unauthorized', field: 'totp' } }, 'a code is wanted')
  t.match(await enter({ totp: code() }), { status: 401, error: { field: 'totp' } }, 'not the one that confirmed')
  const wrong = await visitor().ask('POST', '/api/auth/login', { ...login('ann@example.com'), password: OTHER })
  t.equal(wrong.error.field, undefined, 'a wrong password learns nothing of codes')

  clock.now += MINUTE
  const totp = code()
  const many = await Promise.all(Array.from({ length: 4 }, () => enter({ totp })))
  t.same(many.map(({ status }) => status).sort(), [200, 401, 401, 401], 'one code, four at once: one is in')

  clock.now += 5 * MINUTE
  const [recovery = '', second = ''] = codes
  const twice = await Promise.all([1, 2].map(() => enter({ totp: recovery.toLowerCase().replaceAll('-', ' ') })))
  t.same(twice.map(({ status }) => status).sort(), [200, 401], 'and so of a recovery code')

  const renewed = await ann.ask('POST', '/api/auth/totp/recovery-codes', { password: PASSWORD, totp: code() })
  t.equal(renewed.data.recovery_codes.length, 10)
  t.equal((await enter({ totp: second })).status, 401, 'those before are not good any more')

  clock.now += 5 * MINUTE
  for (let n = 0; n < 10; n++) t.equal((await enter({ totp: '000000' })).status, 401)
  const limited = await enter({ totp: code() })
  t.match(limited, { status: 429, error: { code: 'rate_limited' } }, 'ten tries in five minutes')
  clock.now += 5 * MINUTE

  for (const body of [{}, { password: PASSWORD }, { totp: code() }])
    t.equal((await ann.ask('POST', '/api/auth/totp/disable', body)).status, 401, Object.keys(body).join() || 'neither')
  const off = await ann.ask('POST', '/api/auth/totp/disable', { password: PASSWORD, totp: code() })
  t.equal(off.status, 204)
  t.equal((await ann.ask('GET', '/api/auth/me')).data.user.totp, false, 'signed in under another cookie')
  t.equal((await enter()).status, 200)
  t.equal((await ann.ask('POST', '/api/auth/totp/disable', { password: PASSWORD })).status, 409)

  const again = await ann.ask('POST', '/api/auth/totp/enroll', { password: PASSWORD })
  const fresh = totpCode(again.data.secret, new Date(clock.now))
  t.equal((await ann.ask('POST', '/api/auth/totp/confirm', { totp: fresh })).status, 200)
  const lost = await operator('POST', '/control/users/disable-totp', { email: 'ann@example.com' })
  t.match(lost, { status: 200, data: { totp: false } }, 'the operator can turn it off')
  t.equal((await enter()).status, 200)
})

t.test('attempts of an address are limited', async (t) => {
  const { visitor, clock } = await accountService(t)
  const ann = visitor('2001:db8:1:2::1')
  const near = visitor('2001:db8:1:2:ffff::9')
  const far = visitor('2001:db8:1:3::1')
  const wrong = { email: 'ann@example.com', password: OTHER }
  clock.now += MINUTE
  const statuses = await Promise.all(Array.from({ length: 40 }, () => ann.ask('POST', '/api/auth/login', wrong)))
  t.ok(
    statuses.every(({ status }) => status === 401),
    '40 in five minutes',
  )
  const limited = await near.ask('POST', '/api/auth/login', wrong)
  t.match(limited, { status: 429, error: { code: 'rate_limited' } }, 'the 41st of one /64')
  t.equal(limited.headers.get('retry-after'), '240', 'one minute of the five is over')
  t.equal((await far.ask('POST', '/api/auth/login', wrong)).status, 401, 'the /64 beside it')
  clock.now += 4 * MINUTE
  t.equal((await near.ask('POST', '/api/auth/login', wrong)).status, 401, 'the next window')

  for (const [path, body, status] of [
    ['/api/auth/register', register('owner@localhost'), 409],
    ['/api/auth/forgot-password', { email: 'nobody@example.com' }, 202],
  ] as const) {
    for (let n = 0; n < 5; n++) t.equal((await ann.ask('POST', path, body)).status, status)
    t.equal((await ann.ask('POST', path, body)).status, 429, `${path}: the sixth of an hour`)
    t.equal((await far.ask('POST', path, body)).status, status, 'another address')
  }
})

t.test('pages of other origins cannot act for their visitors', async (t) => {
  const { registered, visitor, at } = await accountService(t)
  const ann = await registered('ann@example.com')
  const host = new URL(at).host
  const rows: [Record<string, string>, number, number, string][] = [
    [{ 'sec-fetch-site': 'same-origin' }, 200, 200, 'our own page'],
    [{ 'sec-fetch-site': 'cross-site' }, 403, 403, 'another site'],
    [{ 'sec-fetch-site': 'same-site' }, 403, 403, 'another host of the site'],
    [{ 'sec-fetch-site': '', origin: `http://${host}` }, 403, 403, 'an empty value'],
  ]
  const change = { name: 'Ann' }
  for (const [headers, open, signedIn, why] of rows) {
    t.equal((await visitor().ask('POST', '/api/auth/login', login('ann@example.com'), headers)).status, open, why)
    t.equal((await ann.ask('PATCH', '/api/auth/me', change, headers)).status, signedIn, why)
  }
  const bare = async (method: string, path: string, body: object, headers: Record<string, string>) => {
    const sent = { 'content-type': 'application/json', cookie: `service_session=${ann.cookie}`, ...headers }
    return (await fetch(at + path, { method, headers: sent, body: JSON.stringify(body) })).status
  }
  const old: [Record<string, string>, number, number, string][] = [
    [{ origin: `http://${host}` }, 200, 200, 'an old browser, our page'],
    [{ origin: 'https://evil.example' }, 403, 403, 'an old browser, another page'],
    [{ origin: 'null' }, 403, 403, 'a page that hides'],
    [{}, 200, 403, 'a program: it may sign in, and a cookie alone proves nothing'],
  ]
  for (const [headers, open, signedIn, why] of old) {
    t.equal(await bare('PATCH', '/api/auth/me', change, headers), signedIn, why)
    t.equal(await bare('POST', '/api/auth/login', login('ann@example.com'), { cookie: '', ...headers }), open, why)
  }
})

t.test('the cookie is Secure over HTTPS, also behind a trusted proxy', async (t) => {
  const { registered, visitor } = await accountService(t)
  await registered('ann@example.com')
  const rows: [Record<string, string>, boolean, string][] = [
    [{}, false, 'http'],
    [{ 'x-forwarded-proto': 'https' }, true, 'TLS ends before us'],
    [{ 'x-forwarded-proto': 'http' }, false, 'it does not'],
    [{ 'x-forwarded-proto': 'javascript' }, false, 'nonsense'],
  ]
  for (const [headers, secure, why] of rows) {
    const { headers: answered } = await visitor().ask('POST', '/api/auth/login', login('ann@example.com'), headers)
    t.equal(/; Secure/.test(answered.get('set-cookie') ?? ''), secure, why)
  }
})
