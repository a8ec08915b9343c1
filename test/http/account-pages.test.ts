import t from 'tap'
import { accountService, PASSWORD } from '../fixtures/account-service.js'
import { eventually } from '../fixtures/instance.js'

const OTHER = 'the moon pulls both ways'

t.test('opening a sign-in link changes nothing; its button signs in', async (t) => {
  const { visitor, linkToken, at } = await accountService(t)
  const token = await linkToken()
  const scanner = visitor()
  for (let n = 0; n < 3; n++) {
    const opened = await scanner.ask('GET', `/sign-in?token=${token}`)
    t.equal(opened.status, 200)
    t.match(opened.text, `value="${token}"`)
    t.equal(scanner.cookie, undefined)
    const { headers } = opened
    t.match(headers.get('content-security-policy'), /default-src 'none'.*form-action 'self'; base-uri 'none'/)
    t.equal(headers.get('referrer-policy'), 'strict-origin', 'the token is not sent on')
    t.equal(headers.get('cache-control'), 'no-store')
  }
  const foreign = await fetch(`${at}/sign-in`, {
    ...{ method: 'POST', headers: { origin: 'https://evil.example' }, redirect: 'manual' },
    body: new URLSearchParams({ token }),
  })
  t.equal(foreign.status, 403, 'no page of another signs its visitors in')
  const ann = visitor()
  const pressed = await ann.form('/sign-in', { token })
  t.equal(pressed.status, 303)
  t.equal(pressed.headers.get('location'), './', 'below a base path too')
  t.equal((await ann.ask('GET', '/api/auth/me')).data.user.email, 'owner@localhost')
  const again = await visitor().form('/sign-in', { token })
  t.equal(again.status, 401)
  t.match(again.text, /role="alert">This link was already used/)
})

t.test('the pages sign in by password, reset it and confirm an address', async (t) => {
  const { registered, visitor, operator } = await accountService(t)
  await registered('ann@example.com')
  const ann = visitor()
  const wrong = await ann.form('/sign-in', { email: 'ann@example.com', password: OTHER, totp: '' })
  t.equal(wrong.status, 401)
  t.match(wrong.text, /value="ann@example.com"/, 'what was typed is there again')
  t.notMatch(wrong.text, OTHER, 'but for the password')
  const right = await ann.form('/sign-in', { email: 'ann@example.com', password: PASSWORD, totp: '' })
  t.equal(right.status, 303)
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 200)

  const asked = await visitor().form('/reset-password', { email: 'ann@example.com' })
  t.equal(asked.status, 200)
  await eventually('the link', async () => (await operator('GET', '/control/links')).data.length === 1)
  const [{ link }] = (await operator('GET', '/control/links')).data
  const token = new URL(link).searchParams.get('token') ?? ''
  t.match((await visitor().ask('GET', `/reset-password?token=${token}`)).text, /new-password/)
  t.equal((await visitor().form('/reset-password', { token, password: 'short' })).status, 422)
  const reset = await visitor().form('/reset-password', { token, password: OTHER })
  t.match([reset.status, reset.headers.get('location')], [303, 'sign-in'])
  t.equal((await ann.ask('GET', '/api/auth/me')).status, 401)
  t.equal((await visitor().form('/confirm-email', { token })).status, 401)
})

t.test('input is escaped in pages', async (t) => {
  const { visitor } = await accountService(t)
  const evil = `"><script>alert(1)</script>`
  const query = encodeURIComponent(evil)
  for (const path of [`/sign-in?token=${query}`, `/sign-in?email=${query}`, `/confirm-email?token=${query}`])
    t.notMatch((await visitor().ask('GET', path)).text, '<script', path)
  t.notMatch((await visitor().form('/sign-in', { email: evil, password: evil })).text, '<script')
  t.equal((await visitor().form('/sign-in', {})).status, 422, 'nothing at all')
  t.equal((await visitor().ask('POST', '/sign-in', '{', { 'content-type': 'text/plain' })).status, 422, 'no form')
})
