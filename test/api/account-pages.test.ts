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

t.test('signing in returns to the address of the dashboard that was wanted, and to no other', async (t) => {
  const { visitor, registered } = await accountService(t)
  await registered('ann@example.com')
  const page = 'sites/1/pages/%2Fpricing?range=7d&filters=%5B%7B%22dimension%22%3A%22country%22%7D%5D'
  const rows: [string, string, string][] = [
    [page, `./${page}`, 'a place in the dashboard'],
    ['settings', './settings', 'settings'],
    ['share/abc?embed=1', './share/abc?embed=1', 'a share link'],
    ['', './', 'nothing'],
    ['/sites/1', './', 'from the root of the host, which may be another site’s'],
    ['//evil.example/sites/1', './', 'another host'],
    ['https://evil.example/sites', './', 'another origin'],
    ['sites:1', './', 'a scheme'],
    ['javascript:alert(1)', './', 'a script'],
    ['\\\\evil.example', './', 'backslashes'],
    ['sites\\..\\..\\evil', './', 'backslashes below'],
    ['sites/../../evil', './', 'out of the service'],
    ['sites/..', './', 'up'],
    ['sites/%2e%2E/evil', './', 'up, escaped'],
    ['sites/.%2e?x', './', 'up, in part escaped'],
    ['sites/..%2Fevil', './sites/..%2Fevil', 'an escaped slash is none'],
    ['sites/1\r\nset-cookie: a=b', './', 'another header'],
    ['sites/1\0', './', 'NUL'],
    ['sites/ü', './', 'not as browsers write it'],
    ['api/sites', './', 'no page'],
    ['sitesevil', './', 'another word'],
    [`sites/${'x'.repeat(10_000)}`, './', '10,000 letters'],
  ]
  for (const [i, [next, expected, why]] of rows.entries()) {
    // An address of its own, because sign-ins are counted for each.
    const ann = visitor(`198.51.100.${100 + i}`)
    const url = `/sign-in?next=${encodeURIComponent(next)}`
    if (i === 0) {
      const wrong = await ann.form(url, { email: 'ann@example.com', password: OTHER, totp: '' })
      t.match([wrong.status, wrong.text], [401, '<form method="post">'], 'the form is sent to the same address again')
    }
    const { status, headers } = await ann.form(url, { email: 'ann@example.com', password: PASSWORD, totp: '' })
    t.same([status, headers.get('location')], [303, expected], why)
  }
})

t.test('a page creates an account where registration is open', async (t) => {
  const open = await accountService(t)
  t.match((await open.visitor().ask('GET', '/sign-in')).text, 'href="register"')
  const ann = open.visitor()
  const fields = { name: 'Ann', organisation: 'Ti"des', email: 'ann@example.com', password: PASSWORD }
  const short = await ann.form('/register', { ...fields, password: 'short' })
  t.equal(short.status, 422)
  t.match(short.text, /value="Ti&quot;des".*value="ann@example.com"/s, 'what was typed is there again')
  t.notMatch(short.text, 'value="short"')
  const made = await ann.form('/register', fields)
  t.same([made.status, made.headers.get('location')], [303, './'])
  t.match((await ann.ask('GET', '/api/auth/me')).data.organisations, [{ name: 'Ti"des', role: 'owner' }])

  const closed = await accountService(t, { flags: { disable_registration: true } })
  t.notMatch((await closed.visitor().ask('GET', '/sign-in')).text, 'register')
  t.notMatch((await closed.visitor().ask('GET', '/register')).text, '<form')
  t.equal((await closed.visitor().form('/register', fields)).status, 403)

  const mails: string[] = []
  const mailing = await accountService(t, { send: async ({ to }) => void mails.push(to) })
  const page = await mailing.visitor().form('/register', fields)
  t.match([page.status, page.text], [200, 'Check your inbox'], 'the mail completes it')
  t.equal(page.headers.get('set-cookie'), null)
  await eventually('the mail', async () => mails.length === 1)
})
