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

t.test('pages and mails speak the browser’s language; a link on the page chooses the other', async (t) => {
  const { visitor, registered } = await accountService(t)
  const rows: [string, string, string, string][] = [
    ['/sign-in', 'de-AT,de;q=0.9,en;q=0.8', 'Anmelden', 'German first'],
    ['/sign-in', 'en-GB,en;q=0.9,de;q=0.8', 'Sign in', 'English first'],
    ['/sign-in', 'fr,de;q=0.5,en;q=0.3', 'Anmelden', 'the first that exists'],
    ['/sign-in', 'en;q=0.1, de;q=0.7', 'Anmelden', 'by weight'],
    ['/sign-in', 'de;q=0, en', 'Sign in', 'refused'],
    ['/sign-in', 'ja', 'Sign in', 'none of both'],
    ['/sign-in', '', 'Sign in', 'no header'],
    ['/sign-in?lang=de&next=settings', 'en', 'Anmelden', 'chosen'],
    ['/sign-in?lang=xx', 'de', 'Anmelden', 'an unknown choice'],
    ['/register', 'de', 'Konto anlegen', 'registration'],
    ['/reset-password', 'de', 'Passwort zurücksetzen', 'reset'],
    ['/confirm-email?token=x', 'de', 'E-Mail-Adresse bestätigen', 'confirmation'],
    ['/invitation?token=x', 'de', 'Einladung', 'an invitation'],
    ['/invitation?token=x', 'en', 'Invitation', 'an invitation in English'],
    ['/api/docs', 'de', 'Endpunkte', 'the documentation'],
    ['/api/docs', 'en', 'Endpoints', 'the documentation in English'],
  ]
  for (const [path, language, expected, why] of rows) {
    const { text } = await visitor().ask('GET', path, undefined, { 'accept-language': language })
    t.match(text, expected, why)
    t.match(text, /^<!doctype html>\s*<html lang="(?:de|en)">/, why)
  }
  const chosen = await visitor().ask('GET', '/sign-in?lang=de&next=settings', undefined, { 'accept-language': 'en' })
  t.match(chosen.text, '<html lang="de">')
  t.match(chosen.text, 'href="?lang=en&amp;next=settings"', 'the other language, at the same place')
  t.match(chosen.text, 'href="register?lang=de"', 'the next page stays in it')

  await registered('ann@example.com')
  const wrong = await visitor().ask(
    'POST',
    '/sign-in?lang=de',
    new URLSearchParams({ email: 'ann@example.com', password: OTHER, totp: '' }).toString(),
    {
      'content-type': 'application/x-www-form-urlencoded',
    },
  )
  t.match([wrong.status, wrong.text], [401, 'role="alert">Die E-Mail-Adresse oder das Passwort ist falsch.'])

  const mails: string[] = []
  const mailing = await accountService(t, { send: async ({ subject, text }) => void mails.push(subject, text) })
  await mailing.operator('POST', '/control/users', { email: 'ann@example.com', password: PASSWORD })
  await mailing
    .visitor()
    .ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' }, { 'accept-language': 'de' })
  await eventually('the mail', async () => mails.length === 2)
  t.match(mails, ['Setzen Sie Ihr Passwort zurück', /öffnen Sie innerhalb einer Stunde diesen Link:\n\nhttp/])
})

t.test('sign-in tells owners about the printed link, and what a new account does not open', async (t) => {
  const open = await accountService(t)
  const { text } = await open.visitor().ask('GET', '/sign-in')
  t.match(text, 'it printed a link in the terminal or the log')
  t.match(text, '<code>npx readership login-link</code>')
  const warning = 'makes a new organisation without sites; it does not let you see anybody’s data.'
  t.match(text, warning)
  t.match((await open.visitor().ask('GET', '/register')).text, warning)
})

t.test('without a mail server a reset says that no mail goes out, before and after', async (t) => {
  const none = await accountService(t)
  t.match((await none.visitor().ask('GET', '/reset-password')).text, 'no mail server')
  const asked = await none.visitor().form('/reset-password', { email: 'ann@example.com' })
  t.match(asked.text, 'No mail was sent')
  t.match(asked.text, 'readership users reset-password name@example.com')
  t.notMatch(asked.text, 'on its way')
  const json = await none.visitor().ask('POST', '/api/auth/forgot-password', { email: 'ann@example.com' })
  t.same(json.data, { sent: true, mail_server: false })
  const ann = await none.registered('bob@example.com')
  t.equal((await ann.ask('GET', '/api/auth/me')).data.mail_server, false)

  const mailing = await accountService(t, { send: async () => {} })
  t.notMatch((await mailing.visitor().ask('GET', '/reset-password')).text, 'no mail server')
  t.match((await mailing.visitor().form('/reset-password', { email: 'ann@example.com' })).text, 'on its way')
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
