import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t, { type Test } from 'tap'
import { createMailer } from '../../../src/manage/notify/smtp-mailer.js'

const pem = (name: string) => readFileSync(new URL(`../../../../test/site/proxy/fixtures/tls/${name}`, import.meta.url))
/** A self-signed certificate. */
const TLS = { cert: pem('first.cert.pem'), key: pem('first.key.pem') }
const PASSWORD = 'hunter2:/@"'
const from = 'Tides <tides@example.com>'
const mail = { to: 'a@example.com', subject: 'x', text: 'hello' }

async function portOf(server: Server): Promise<number> {
  await once(server, 'listening')
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}

/** A real server on loopback; records how each mail arrived. */
async function mailServer(t: Test, options: SMTPServerOptions) {
  const mails: { user: unknown; secure: boolean }[] = []
  const heard: string[] = []
  const server = new SMTPServer({
    ...{ ...TLS, disableReverseLookup: true },
    onAuth({ username, password }, session, done) {
      heard.push(`${session.secure ? 'in TLS' : 'in the clear'}: ${password}`)
      if (username === 'ann' && password === PASSWORD) done(null, { user: username })
      // Some servers repeat the password in their response.
      else done(new Error(`no such password: ${password}`))
    },
    onData(stream, { user, secure }, done) {
      stream.resume().on('end', () => {
        mails.push({ user, secure })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)))
  return { mails, heard, port: await portOf(server.server) }
}

/** Name of this machine that the mailer does not recognise as local. */
const ELSEWHERE = '0.0.0.0'
const user = (name: string, password = PASSWORD) => `${name}:${encodeURIComponent(password)}@`

// Attack: an attacker on the path to the mail server, or with a server of their own, wants the SMTP password or the mails.
// They remove STARTTLS from the server's greeting, present a certificate of their own or one for another name, offer plain
// authentication before TLS, or repeat the password in an error so that it ends up in a log.
// Defence: with a password the mailer insists on TLS with a trusted certificate, except towards this machine, and errors
// never contain what was sent to the server in any encoding.
t.test('a password is sent over TLS with a trusted certificate, or to this machine, and never shown', async (t) => {
  const none = { disabledCommands: ['STARTTLS'] }
  const open = { ...none, authOptional: true }
  const clear = { ...none, allowInsecureAuth: true }
  const anybody = { authOptional: true }
  const cases: [
    why: string,
    server: SMTPServerOptions,
    scheme: 'smtp' | 'smtps',
    user: string,
    host: string,
    outcome: { secure: boolean; user: unknown } | RegExp,
    heard: string[],
  ][] = [
    [
      'STARTTLS to this machine, with any certificate',
      {},
      'smtp',
      user('ann'),
      'localhost',
      { secure: true, user: 'ann' },
      [`in TLS: ${PASSWORD}`],
    ],
    [
      'smtps to this machine',
      { secure: true },
      'smtps',
      user('ann'),
      '127.0.0.1',
      { secure: true, user: 'ann' },
      [`in TLS: ${PASSWORD}`],
    ],
    [
      'without TLS to this machine',
      clear,
      'smtp',
      user('ann'),
      '127.0.0.1',
      { secure: false, user: 'ann' },
      [`in the clear: ${PASSWORD}`],
    ],
    [
      'STARTTLS with an untrusted certificate',
      {},
      'smtp',
      user('ann'),
      ELSEWHERE,
      /^TLS with the mail server failed: self-signed .*NODE_EXTRA/,
      [],
    ],
    [
      'smtps with an untrusted certificate',
      { secure: true },
      'smtps',
      user('ann'),
      ELSEWHERE,
      /^TLS with the mail server failed: self-signed/,
      [],
    ],
    [
      'an untrusted certificate, without a password',
      anybody,
      'smtp',
      '',
      ELSEWHERE,
      /^TLS with the mail server failed: self-signed/,
      [],
    ],
    [
      'a password needs TLS',
      clear,
      'smtp',
      user('ann'),
      ELSEWHERE,
      /^the mail server does not offer TLS, which is required$/,
      [],
    ],
    ['without a password TLS is optional', open, 'smtp', '', ELSEWHERE, { secure: false, user: undefined }, []],
    ['a server without smtps', open, 'smtps', '', '127.0.0.1', /^TLS with the mail server failed: /, []],
    [
      'another password',
      {},
      'smtp',
      user('ann', 'wrong-secret'),
      'localhost',
      /^the mail server rejected the sign-in \(535\)$/,
      ['in TLS: wrong-secret'],
    ],
  ]
  for (const [why, options, scheme, user, host, outcome, expected] of cases) {
    const { mails, heard, port } = await mailServer(t, options)
    const mailer = createMailer({ smtp: `${scheme}://${user}${host}:${port}`, from, connect_timeout_ms: 5_000 })
    const error = await mailer.send(mail).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (outcome instanceof RegExp) {
      t.match(error, { name: 'MailError', message: outcome, permanent: false }, why)
      t.strictSame(mails, [], why)
    } else {
      t.equal(error, undefined, why)
      t.strictSame(mails, [outcome], why)
    }
    t.strictSame(heard, expected, why)
    let said = ''
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      said += `${cause.stack} ${JSON.stringify(cause, Object.getOwnPropertyNames(cause))}`
    for (const secret of [PASSWORD, 'wrong-secret', encodeURIComponent(PASSWORD)])
      for (const form of [secret, Buffer.from(secret).toString('base64').slice(0, 8)])
        t.notOk(said.includes(form), `${why}: the error has no password`)
    mailer.close()
  }
})

t.test('a server that hangs at any command is left after the timeout', async (t) => {
  /** The responses to the commands in turn; after the last one the server is silent. */
  const cases: [where: string, says: readonly string[], message: RegExp][] = [
    ['at the greeting', [], /took too long/],
    ['at EHLO', ['220 x ESMTP'], /took too long/],
    ['in the middle of a line', ['220 x ESMTP', '250-x\r\n250 STAR'], /took too long/],
    ['at TLS', ['220 x ESMTP', '250-x\r\n250 STARTTLS', '220 go'], /took too long/],
    ['at AUTH', ['220 x ESMTP', '250-x\r\n250 AUTH PLAIN'], /took too long/],
    ['at the recipient', ['220 x ESMTP', '250-x\r\n250 AUTH PLAIN', '235 in', '250 ok'], /took too long/],
    [
      'after the mail',
      ['220 x ESMTP', '250-x\r\n250 AUTH PLAIN', '235 in', '250 ok', '250 ok', '354 go'],
      /took too long/,
    ],
  ]
  await Promise.all(
    cases.map(async ([where, says, message]) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        let next = 0
        const say = () => {
          const line = says[next++]
          if (line !== undefined) socket.write(line.endsWith('STAR') ? line : `${line}\r\n`)
        }
        socket.on('error', () => {})
        socket.on('data', say)
        socket.on('close', () => sockets.delete(socket))
        say()
      }).listen(0, '127.0.0.1')
      t.teardown(() => server.close())
      const smtp = `smtp://${user('ann')}127.0.0.1:${await portOf(server)}`
      const mailer = createMailer({ smtp, from, mail_timeout_ms: 500 })
      const began = performance.now()
      await t.rejects(mailer.send(mail), { name: 'MailError', message, permanent: false }, where)
      t.ok(performance.now() - began < 4_000, where)
      for (let i = 0; i < 100 && sockets.size > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10))
      t.equal(sockets.size, 0, `${where}: no connection is left`)
    }),
  )
})

t.test('closing the mailer ends mails in every state at once', async (t) => {
  // Its accept queue is full: a new connection gets no response, as from an unused address.
  const full = new Worker(
    `const { parentPort } = require('node:worker_threads')
    const server = require('node:net').createServer()
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`,
    { eval: true },
  )
  t.teardown(() => full.terminate())
  const [port] = await once(full, 'message')
  const others = Array.from({ length: 4 }, () => connect({ host: '127.0.0.1', port }).on('error', () => {}))
  t.teardown(() => {
    for (const other of others) other.destroy()
  })
  let heard = 0
  const server = createServer((socket) => {
    heard += 1
    socket.destroy()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  const cases: [where: string, port: number, ms: number][] = [
    ['while it connects', port, 200],
    ['before', await portOf(server), 0],
  ]
  for (const [where, to, ms] of cases) {
    const mailer = createMailer({ smtp: `smtp://127.0.0.1:${to}`, from })
    const sent = t.rejects(mailer.send(mail), { name: 'MailError', message: 'the mailer is closed' }, where)
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    const began = performance.now()
    mailer.close()
    await sent
    t.ok(performance.now() - began < 4_000, where)
  }
  t.equal(heard, 0, 'no server is contacted')
})
