import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runProgram } from '../../../src/app/cli/index.js'
import { openStores } from '../../../src/storage/duckdb/open-files.js'
import { dataDir, eventually, freePort, startInstance, startOrigin, startService } from '../../fixtures/instance.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { storeOptions } from '../../fixtures/store.js'

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

t.test('after the records are lost the operator assigns old rows to a site and accepts the rest', async (t) => {
  const data = dataDir(t)
  mkdirSync(data, { recursive: true })
  const { settings, ...common } = storeOptions('').options
  const stores = await openStores({
    ...{ ...common, data, random: randomBytes },
    settings: { events: settings, records: settings },
  })
  const old = { site_id: 2, hostname: 'old.example', timestamp: new Date('2026-11-20T10:00:00Z') }
  await stores.events.append({
    events: [
      eventRow(old),
      eventRow(old),
      ...[0, 1].map(() => eventRow({ ...old, site_id: 3, hostname: 'gone.example' })),
    ],
    agent_events: [agentRow({ ...old, timestamp: new Date('2026-11-21T10:00:00Z') })],
  })
  await stores.events.close()
  await stores.records.close()
  rmSync(join(data, 'control.duckdb'))
  rmSync(join(data, 'control.duckdb.wal'), { force: true })

  const missing = await run(data, ['doctor', '--offline'])
  t.match(missing.stdout, /stored data: control\.duckdb is missing from .*\n.*Put it back from a backup/)
  const app = await startService({ data, port: await freePort() })
  t.teardown(() => app.stop())
  const lost = await run(data, ['doctor', '--offline'])
  t.equal(lost.code, 1, 'a loss is a failed check')
  t.match(lost.stdout, /stored data: control\.duckdb was missing or damaged.*\n.*`readership store status` says/)
  t.equal((await app.ready()).status, 503)

  const table: [args: string[], code: number, says: RegExp, why: string][] = [
    [['store', 'status'], 0, /Z control\.duckdb was missing or damaged/, 'names the loss'],
    [
      ['store', 'status'],
      0,
      /\n +2 +3 +2026-11-20 +2026-11-21 +old\.example\n +3 +2 +2026-11-20 /,
      'and the old sites',
    ],
    [['store', 'status'], 0, /Until you decide, registration is closed.*store accept/s, 'and the choices'],
    [['store', 'assign', 'two', '1'], 2, /^error: Both must be site IDs/, 'a number is needed'],
    [['sites', 'list'], 0, /^ *4 /m, 'the first site of the new records has a number without rows'],
    [['store', 'assign', '9', '4'], 1, /^error: There is no old site 9/, 'an old site without rows'],
    [['store', 'assign', '2', '9'], 1, /^error: There is no such site/, 'a site that does not exist'],
    [['store', 'accept'], 1, /^error: There are rows of sites that do not exist \(2\)/, 'nothing is deleted unasked'],
    [['store', 'assign', '2', '4'], 0, /^Gave 3 rows of the old site 2 to site 4\.\n$/, 'two views and a fetch'],
    [['store', 'assign', '2', '4'], 1, /^error: There is no old site 2/, 'which is none any more'],
    [['store', 'accept', '--delete-old-rows'], 0, /^Accepted\. 2 rows of old sites are being deleted\.\n$/, 'the rest'],
    [['store', 'accept'], 0, /^There was no loss to accept\.\n$/, 'once'],
    [['store', 'status'], 0, /^No loss waits for a decision\.\n$/, 'and decided'],
  ]
  for (const [args, code, says, why] of table) {
    const result = await run(data, args)
    t.equal(result.code, code, `${args.join(' ')}: ${result.stderr}`)
    t.match(result.stdout + result.stderr, says, why)
  }
  await eventually('the instance is ready', async () => (await app.ready()).status === 200)
  t.notMatch((await run(data, ['doctor', '--offline'])).stdout, /stored data/)
  const { data: pages } = await app.ask('/api/stats/pages?site=4&start=2026-11-19&end=2026-11-22')
  t.match(pages, [{ pageviews: 2 }], 'the rows of site 2 are read as those of site 4')
})
