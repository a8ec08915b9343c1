import t from 'tap'
import { runProgram } from '../../src/cli/index.js'
import { dataDir, eventually, startInstance, startOrigin } from '../fixtures/instance.js'

/** Runs a command in this process against the data directory, with `typed` on standard input. */
async function run(data: string, args: readonly string[], typed?: string) {
  const said = { stdout: '', stderr: '' }
  const code = await runProgram([...args, '--data', data], {
    out: (text) => {
      said.stdout += text
    },
    err: (text) => {
      said.stderr += text
    },
    ...(typed === undefined
      ? {}
      : {
          input: async function* () {
            yield* typed
          },
        }),
    colour: false,
    version: '1.2.3',
    pid: 1,
    env: {},
    onSignal: () => {},
    onUncaughtError: () => {},
    exit: (code) => {
      throw new Error(`exit ${code}`)
    },
  })
  return { ...said, code }
}

const LINK = /sign in: (http:\/\/127\.0\.0\.1:\d+)\/sign-in\?token=([\w-]{43})/

t.test('the first start prints a sign-in link, and commands manage accounts', async (t) => {
  const origin = await startOrigin()
  const data = dataDir(t)
  const first = await startInstance(origin.url, data)
  t.teardown(async () => {
    await first.stop()
    await origin.close()
  })
  await eventually('the link', () => LINK.test(first.output()))
  const [, base, token] = LINK.exec(first.output()) ?? []
  t.equal(base, first.admin)
  const post = (path: string, body: object) =>
    fetch(first.admin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  t.equal((await post('/api/auth/link', { token })).status, 200)
  t.equal((await post('/api/auth/link', { token })).status, 401, 'once')

  const rows: [string[], string | undefined, number, RegExp, string][] = [
    [['users', 'create'], undefined, 2, /--email: is missing/, 'no address'],
    [['users', 'create', '--email', 'ann'], undefined, 2, /This is not a valid e-mail address/, 'no such address'],
    [
      ['users', 'create', '--email', 'a@b.c', '--role', 'boss'],
      undefined,
      2,
      /--role: must be one of owner/,
      'no role',
    ],
    [['users', 'create', '--email', 'a@b.c', '--org', '9'], undefined, 1, /no such organisation/i, 'no organisation'],
    [['users', 'create', '--email', 'a@b.c', '--password-stdin'], '', 2, /nothing on standard input/, 'no password'],
    [['users', 'create', '--email', 'a@b.c', '--password-stdin'], 'short\n', 2, /at least 10/, 'a short one'],
    [
      ['users', 'create', '--email', 'a@b.c', '--password-stdin'],
      'slack water at noon\r\nmore',
      0,
      /Created: a@b\.c/,
      'created',
    ],
    [['users', 'create', '--email', 'A@B.c'], undefined, 1, /has an account/, 'the same again'],
    [['users', 'list'], undefined, 0, /a@b\.c +a@b\.c +owner of 1 +password/, 'listed'],
    [['users', 'reset-password', 'no@b.c'], undefined, 1, /There is no account no@b\.c/, 'unknown address'],
    [['users', 'disable-totp', 'a@b.c'], undefined, 0, /without a code/, 'a lost second factor'],
    [['login-link', '--email', 'no@b.c'], undefined, 1, /There is no account/, 'a link for an unknown address'],
  ]
  for (const [args, typed, code, says, why] of rows) {
    const said = await run(data, args, typed)
    t.equal(said.code, code, `${why}: ${said.stderr}`)
    t.match(said.stdout + said.stderr, says, why)
  }
  const signIn = (password: string) => post('/api/auth/login', { email: 'a@b.c', password })
  t.equal((await signIn('slack water at noon')).status, 200)
  const set = await run(data, ['users', 'reset-password', 'a@b.c', '--password-stdin'], 'another one by hand')
  t.equal(set.code, 0)
  t.equal((await signIn('slack water at noon')).status, 401)
  t.equal((await signIn('another one by hand')).status, 200)
  const reset = JSON.parse((await run(data, ['users', 'reset-password', 'a@b.c', '--json'])).stdout)
  t.match(reset, { email: 'a@b.c', link: new RegExp(`^${first.admin}/reset-password\\?token=`) })
  const link = JSON.parse((await run(data, ['login-link', '--json'])).stdout)
  t.match(link, { email: 'owner@localhost', link: new RegExp(`^${first.admin}/sign-in\\?token=`) })
  t.equal((await run(data, ['login-link', '--email', 'a@b.c'])).stdout.startsWith(`${first.admin}/sign-in`), true)

  await first.stop()
  const second = await startInstance(origin.url, data)
  t.notMatch(second.output(), LINK, 'no link once an account has a password')
  await second.stop()
})
