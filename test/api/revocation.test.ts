import { randomBytes } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createPdfRenderer } from '../../src/analytics/export/pdf.js'
import { createApp } from '../../src/api/app.js'
import { exportRoutes } from '../../src/api/export.js'
import { readRoutes } from '../../src/api/reads.js'
import type { Route } from '../../src/api/route.js'
import { listenAdmin } from '../../src/api/server.js'
import { SESSION_COOKIE } from '../../src/api/session-cookie.js'
import type { ShareGrant } from '../../src/api/share/access.js'
import { ApiError } from '../../src/base/errors.js'
import { createKeys } from '../../src/manage/keys.js'
import { createLoginSessions } from '../../src/manage/login-sessions.js'
import { createMembers } from '../../src/manage/members.js'
import { bootstrap, createOrgs } from '../../src/manage/orgs.js'
import { createPeople } from '../../src/manage/people.js'
import { createSites } from '../../src/manage/sites.js'
import { createUsers } from '../../src/manage/users.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import { eventRow } from '../fixtures/rows.js'

/** Revocation takes effect on the next request, and cuts a response under way. */

const NOW = new Date('2026-11-21T10:00:00.000Z')
/** Several megabytes as CSV: more than sockets buffer for a reader who waits. */
const PAGES = 30_000
const CSV = '/api/stats/export.csv?site=1&range=7d&report=pages'

/** Streams a line every few milliseconds. */
const endless: Route = {
  ...{
    method: 'get',
    path: '/api/stats/endless',
    access: 'stats:read',
    tag: 'stats',
    summary: 'x',
    contentType: 'text/plain',
  },
  run: async () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await sleep(5)
          controller.enqueue(Buffer.from('a line\n'))
        },
      }),
    ),
}

async function open(t: Test) {
  const clock = { now: NOW }
  const now = () => clock.now
  const { workerClient, commit } = await createInProcessEngine(t)
  const { records } = workerClient
  await bootstrap(records, { domains: [], timezone: 'UTC', now: NOW })
  const sites = createSites(records)
  const deps = { records, now, random: randomBytes }
  const keys = createKeys({ ...deps, sites })
  const sessions = createLoginSessions(deps)
  const [users, members, orgs] = [createUsers(records), createMembers(records), createOrgs(records)]
  const shared = new Map<string, ShareGrant>()
  const shares = {
    async authenticate(word: string) {
      const share = shared.get(word)
      if (!share) throw new ApiError('unauthorized', 'This link does not exist, or has ended.')
      return share
    },
  }
  const credentials = { keys, shares, people: createPeople({ sessions, users, members, orgs }) }
  const reads = { store: workerClient.events, now, catalog: [], sites }
  const app = createApp({
    routes: [...readRoutes(reads), ...exportRoutes({ ...reads, pdf: createPdfRenderer(undefined), log() {} }), endless],
    ...{ credentials, version: '0', now, log: (error) => t.fail('nothing is our own fault', { error }) },
  })
  const { at, close } = await listenAdmin(app, '127.0.0.1', 0)
  t.teardown(() => close())

  const key = async (expires_at?: string) => {
    const { id, secret } = await keys.create({ org: 1, name: 'k', scopes: [], ...(expires_at && { expires_at }) }, deed)
    return { id, headers: { authorization: `Bearer ${secret}` } }
  }
  let people = 0
  const person = async () => {
    const id = ++people
    await records.write(
      sql`insert into users (id, email, name, password, totp_secret, totp_on, totp_step, created_at)
        values (${id}, ${`${id}@a.example`}, 'A', null, null, false, null, ${NOW})`,
      sql`insert into members (org, user_id, role, created_at) values (1, ${id}, 'viewer', ${NOW})`,
    )
    users.invalidate()
    members.invalidate()
    const token = await sessions.begin(id, { agent: null, ip: '' })
    return { id, headers: { cookie: `${SESSION_COOKIE}=${token}` } }
  }
  const share = () => {
    const word = randomBytes(12).toString('base64url')
    const all = { includes: () => true, assertDimension: () => true, allowsUrl: () => true }
    const grant = { id: 1, version: 1, site: 1, filters: [], ...all }
    shared.set(word, grant)
    return { word, headers: {}, change: () => shared.set(word, { ...grant, version: 2 }) }
  }
  const remove = async (user: number) => {
    await records.write(sql`delete from members where user_id = ${user}`)
    members.invalidate()
  }
  const endSessions = async (user: number) => sessions.end((await sessions.list(user)).map(({ id }) => id))
  const lock = async () => {
    await records.write(sql`update organisations set require_totp = true where id = 1`)
    orgs.invalidate()
  }
  return { at, clock, commit, keys, key, person, share, shared, remove, endSessions, lock }
}
type Opened = Awaited<ReturnType<typeof open>>
interface Held {
  readonly headers: Readonly<Record<string, string>>
  readonly query?: string
  /** Revokes it; requests after it resolves are refused. */
  end(): Promise<void> | void
}

/** [what happens, the credential, the status from then on] */
const ENDS: readonly [string, (made: Opened) => Promise<Held> | Held, number][] = [
  [
    'a key is revoked',
    async ({ key, keys }) => {
      const { id, headers } = await key()
      return { headers, end: () => keys.revoke(id, deed) }
    },
    401,
  ],
  [
    'a key expires',
    async ({ key, clock }) => {
      const end = new Date(clock.now.getTime() + 60_000)
      return {
        headers: (await key(end.toISOString())).headers,
        end() {
          clock.now = end
        },
      }
    },
    401,
  ],
  [
    'a session is ended',
    async ({ person, endSessions }) => {
      const { id, headers } = await person()
      return { headers, end: () => endSessions(id) }
    },
    401,
  ],
  [
    'a member is removed',
    async ({ person, remove }) => {
      const { id, headers } = await person()
      return { headers, end: () => remove(id) }
    },
    403,
  ],
  [
    'a share is deleted',
    ({ share, shared }) => {
      const { word, headers } = share()
      return {
        ...{ headers, query: `&share=${word}` },
        end() {
          shared.delete(word)
        },
      }
    },
    401,
  ],
  // The last one, because it locks everybody out of the organisation.
  ['the organisation asks for a second factor', async ({ person, lock }) => ({ ...(await person()), end: lock }), 403],
]

t.test('a revoked credential is refused on the next request, also under load', { timeout: 300_000 }, async (t) => {
  const made = await open(t)
  for (const [what, holding, refused] of ENDS) {
    const { headers, query = '', end } = await holding(made)
    const ask = async () => (await fetch(`${made.at}/api/stats/realtime?site=1${query}`, { headers })).status
    t.equal(await ask(), 200, `${what}: let in before`)
    const asked: { late: boolean; status: Promise<number> }[] = []
    let ended = false
    const running = setInterval(() => asked.push({ late: ended, status: ask() }), 20)
    await sleep(300)
    await end()
    ended = true
    t.equal(await ask(), refused, `${what}: the next request`)
    await sleep(300)
    clearInterval(running)
    const late = asked.filter((one) => one.late)
    t.ok(asked.length > late.length && late.length > 0, `${what}: before and after`)
    const statuses = await Promise.all(late.map(({ status }) => status))
    t.same([...new Set(statuses)], [refused], `${what}: ${late.length} requests after`)
    // Some requests are under way at that moment.
    const before = await Promise.all(asked.filter((one) => !one.late).map(({ status }) => status))
    t.same([...new Set(before.slice(0, 3))], [200], `${what}: ${before.length} before it`)
  }
})

t.test('an export under way is cut off', { timeout: 300_000 }, async (t) => {
  const made = await open(t)
  const rows = Array.from({ length: PAGES }, (_, n) =>
    eventRow({ timestamp: new Date(NOW.getTime() - n), pathname: `/${'x'.repeat(300)}/${n}` }),
  )
  await made.commit({ events: rows })
  const start = (headers: Held['headers'], query: string, path = CSV) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(`${made.at}${path}${query}`, { headers, agent: false }, resolve).on('error', reject)
    })
  /** The lines that arrived, and whether the response was complete. */
  const rest = async (response: IncomingMessage) => {
    let lines = 0
    let last = ''
    try {
      for await (const chunk of response) {
        last = String(chunk)
        lines += last.split('\n').length - 1
      }
    } catch {}
    t.notMatch(last, /revoked/, 'the file contains no error text')
    return { lines, whole: response.complete }
  }
  const { headers } = await made.key()
  t.same(await rest(await start(headers, '')), { lines: PAGES, whole: true }, 'whole, but for the end of the last line')
  for (const [what, holding] of ENDS) {
    const { headers, query = '', end } = await holding(made)
    const response = await start(headers, query)
    t.equal(response.statusCode, 200)
    response.pause()
    await sleep(50)
    await end()
    const { lines, whole } = await rest(response)
    t.notOk(whole, `${what}: ${lines} lines of ${PAGES}`)
    t.ok(lines < PAGES)
  }
})

t.test('a stream under way is cut off', { timeout: 300_000 }, async (t) => {
  const { at, key, keys, share } = await open(t)
  const { id, headers } = await key()
  const { word, change } = share()
  const rows: [what: string, end: () => unknown, query: string, headers: Record<string, string>][] = [
    ['a key is revoked', () => keys.revoke(id, deed), '', headers],
    ['a share gets other filters or scopes', change, `&share=${word}`, {}],
  ]
  for (const [what, end, query, headers] of rows) {
    const response = await fetch(`${at}/api/stats/endless?site=1${query}`, { headers })
    const reading = response.text()
    await sleep(100)
    await end()
    await t.rejects(Promise.race([reading, sleep(2_000)]), `${what}: the connection is cut without a final chunk`)
  }
})

t.test('1,000 requests are counted, and written together', async (t) => {
  const { workerClient } = await createInProcessEngine(t)
  await bootstrap(workerClient.records, { domains: [], timezone: 'UTC', now: NOW })
  let writes = 0
  const records = {
    ...workerClient.records,
    write(...given: Parameters<typeof workerClient.records.write>) {
      writes += 1
      return workerClient.records.write(...given)
    },
  }
  const deps = { records, now: () => NOW, random: randomBytes }
  const keys = createKeys({ ...deps, sites: createSites(records) })
  const sessions = createLoginSessions(deps)
  const { id, secret, prefix } = await keys.create({ org: 1, name: 'k', scopes: [] }, deed)
  const token = await sessions.begin(1, { agent: null, ip: '' })
  const before = writes
  for (let n = 0; n < 1_000; n++) {
    await keys.authenticate(secret)
    await sessions.authenticate(token)
    if (n % 250 === 249) await Promise.all([keys.flush(), sessions.flush()])
    await keys.isActive({ prefix })
  }
  t.equal(writes - before, 8, 'one each time that they are flushed')
  t.equal((await keys.usage(id)).requests, 1_000, 're-checks of a response do not count as use')
  await Promise.all([keys.flush(), sessions.flush()])
  t.equal(writes - before, 8, 'nothing new is nothing written')
  t.equal((await createKeys({ ...deps, sites: createSites(records) }).usage(id)).requests, 1_000, 'as it is stored')
})
