import { createHmac, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { SIGNATURE_HEADER } from '../../src/api/auth.js'
import { loadExamples } from '../../src/api/examples.js'
import type { OpenApiDocument } from '../../src/api/openapi.js'
import { listenAdmin } from '../../src/api/server.js'
import { SESSION_COOKIE } from '../../src/api/session-cookie.js'
import { SCOPES, type Scope } from '../../src/manage/keys.js'
import { createLoginSessions } from '../../src/manage/login-sessions.js'
import { sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { copySite } from '../fixtures/copy-site.js'
import { BODIES, resolve } from '../fixtures/examples.js'
import { NOW, sampleService } from '../fixtures/sample.js'
import { CALLERS, type Caller, ROWS, type Row, verdict } from './access-matrix.js'

const HOUR = 3_600_000
/** The people who sign in; the last is a member whom rows change and remove. */
const PEOPLE: readonly [caller: Caller, org: number, role: string, id: number][] = [
  ['owner', 1, 'owner', 91],
  ['admin', 1, 'admin', 92],
  ['member', 1, 'member', 93],
  ['viewer', 1, 'viewer', 94],
  ['stranger', 2, 'owner', 95],
  ['spare', 1, 'member', 99],
]
/** Rows that end sessions: for each of them every caller needs a session of its own. */
const ENDING = [...ROWS.values()].filter(({ ends }) => ends)
/** The id of no resource. */
const NOWHERE = 999_999

const Made = z.object({ data: z.looseObject({ id: z.int().optional(), secret: z.string().optional() }) })
/** Changes the last character but one: of the last of 43 base64url characters some bits are unused. */
const tampered = (word: string) => `${word.slice(0, -2)}${word.at(-2) === 'a' ? 'b' : 'a'}${word.at(-1)}`

/** The headers and parameters that a caller adds to a request. */
interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly share?: string
  readonly operator?: true
}

/** Organisation 1 with its people, keys and shares, over real HTTP and through the listener's function. */
async function open(t: Test) {
  const clock = { now: NOW }
  const tokens = new Map<Caller, string[]>()
  const service = await sampleService(t, {
    now: () => clock.now,
    async prepare(records) {
      for (const [caller, ...who] of PEOPLE) tokens.set(caller, await signIn(records, ...who))
      await records.write(
        copySite(4, { name: 'to be deleted', domains: '["gone.example"]' }, 2),
        sql`update last_ids set id = 4 where kind = 'sites'`,
      )
    },
  })
  const { instance, operator, makeRecords } = service
  const { port, close } = await listenAdmin((request, peer) => instance.fetch(request, peer), '127.0.0.1', 0)
  t.teardown(() => close())
  const text = await (await operator('/api/openapi.json')).text()
  const document: OpenApiDocument = JSON.parse(text)
  const make = async (path: string, body: object) => {
    const response = await operator(path, { method: 'POST', body: JSON.stringify(body) })
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return Made.parse(await response.json()).data
  }

  await makeRecords()
  for (const name of [
    'annotations',
    'rules',
    'flags',
    'alerts',
    'reports',
    'redirects',
    'shares',
    'orgs/1/invitations',
  ])
    await make(`/api/${name}`, BODIES[`post /api/${name.replace('/1/', '/{id}/')}`] ?? {})

  const callers = new Map<Caller, (row: Row, body: string | undefined) => Sent>()
  const as = (caller: Caller, sent: Sent) => callers.set(caller, () => sent)
  const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })
  as('none', {})
  as('basic', { headers: { authorization: 'Basic eDp5' } })
  as('operator', { operator: true })
  const cookie = (token: string) => ({
    headers: { cookie: `${SESSION_COOKIE}=${token}`, 'sec-fetch-site': 'same-origin' },
  })
  for (const [caller, [first = '', ...spare]] of tokens)
    callers.set(caller, (row) => cookie(row.ends ? (spare[ENDING.indexOf(row)] ?? '') : first))
  callers.delete('spare')
  as('tampered_session', cookie(tampered(tokens.get('owner')?.[0] ?? '')))

  const key = async (more: { scopes?: readonly Scope[]; org?: number; site?: number; expires_at?: string }) =>
    String((await make('/api/keys', { org: 1, name: 'matrix', scopes: SCOPES, ...more })).secret)
  as('key_stats', bearer(await key({ scopes: ['stats:read'] })))
  as('key_manage_read', bearer(await key({ scopes: ['manage:read'] })))
  as('key_manage_write', bearer(await key({ scopes: ['manage:write'] })))
  as('key_ingest', bearer(await key({ scopes: ['ingest:write'] })))
  const all = await key({})
  as('key_all', bearer(all))
  as('key_tampered', bearer(tampered(all)))
  as('key_unknown', bearer(`svcg_00000000_${'a'.repeat(43)}`))
  as('key_bound', bearer(await key({ site: 2 })))
  as('key_foreign', bearer(await key({ org: 2 })))
  const soon = new Date(NOW.getTime() + HOUR).toISOString()
  as('key_expired', bearer(await key({ expires_at: soon })))
  const revoked = await make('/api/keys', { org: 1, name: 'revoked', scopes: SCOPES })
  await operator(`/api/keys/${revoked.id}`, { method: 'DELETE' })
  as('key_revoked', bearer(String(revoked.secret)))

  const ingest = await (await operator('/api/sites/1/ingest-key')).json()
  const { data } = z.object({ data: z.object({ ingest_key: z.string() }) }).parse(ingest)
  const signed = (key: string) => (_: Row, body: string | undefined) => {
    const at = Math.floor(clock.now.getTime() / 1_000)
    const v1 = createHmac('sha256', key)
      .update(`${at}.${body ?? ''}`)
      .digest('hex')
    return { headers: { [SIGNATURE_HEADER]: `t=${at},v1=${v1}` } }
  }
  callers.set('signature', signed(data.ingest_key))
  callers.set('signature_wrong', signed(`${data.ingest_key}x`))

  const share = async (more: object) =>
    String((await make('/api/shares', { site: 1, name: `${randomBytes(4).toString('hex')}`, ...more })).slug)
  const reads = ['overview', 'timeseries', 'realtime', 'pages', 'sources', 'locations', 'devices', 'breakdown']
  const scopes = [
    ...reads,
    'changes',
    'hours',
    'events',
    'goals',
    'funnel',
    'journeys',
    'retention',
    'performance',
    'errors',
    'agents',
  ]
  const password = 'correct horse battery'
  as('share', { share: await share({ scopes }) })
  as('share_narrow', { share: await share({ scopes: ['realtime'] }) })
  as('share_expired', { share: await share({ scopes, expires_at: soon }) })
  const slug = await share({ scopes, password })
  as('share_locked', { share: slug })
  clock.now = new Date(NOW.getTime() + 2 * HOUR)
  const unlocked = await instance.fetch(
    new Request(`http://127.0.0.1:${port}/api/share/${slug}/unlock`, {
      method: 'POST',
      body: JSON.stringify({ password }),
      headers: { 'content-type': 'application/json' },
    }),
    { ip: '127.0.0.1' },
  )
  const token = z.object({ data: z.object({ token: z.string() }) }).parse(await unlocked.json()).data.token
  as('share_unlocked', { share: token })
  as('share_tampered', { share: tampered(token) })

  const ask = async (method: string, path: string, body: string | undefined, sent: Sent, wired = false) => {
    const url = new URL(path, `http://127.0.0.1:${port}`)
    if (sent.share !== undefined) url.searchParams.set('share', sent.share)
    // The Origin of a page of the site, which flag evaluation requires.
    const referer = 'https://slackwater.example/glossary'
    const headers = { referer, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...sent.headers }
    const init = { method, headers, ...(body === undefined ? {} : { body }) }
    const response = await (sent.operator
      ? operator(`${url.pathname}${url.search}`, init)
      : wired
        ? fetch(url, init)
        : instance.fetch(new Request(url, init), { ip: '127.0.0.1' }))
    const { status } = response
    return { status, challenge: response.headers.get('www-authenticate') ?? '', text: await response.text() }
  }
  return { document, callers, ask }
}

/** Signs a person of an organisation in several times. */
async function signIn(records: Records, org: number, role: string, id: number): Promise<string[]> {
  await records.write(
    sql`insert into users (id, email, name, password, totp_secret, totp_on, totp_step, created_at)
      values (${id}, ${`${id}@matrix.example`}, ${role}, null, null, false, null, ${NOW})`,
    sql`insert into members (org, user_id, role, created_at) values (${org}, ${id}, ${role}, ${NOW})`,
    sql`update last_ids set id = greatest(id, ${id}) where kind = 'users'`,
  )
  const sessions = createLoginSessions({ records, now: () => NOW, random: randomBytes })
  const tokens: string[] = []
  for (let n = 0; n <= ENDING.length; n++) tokens.push(await sessions.begin(id, { agent: null, ip: '127.0.0.1' }))
  return tokens
}

/** One caller for each kind of credential goes over a socket: the other callers send the same headers. */
const WIRED: readonly Caller[] = ['none', 'basic', 'owner', 'key_all', 'signature', 'share']
/**
 * Callers for whom each read runs. The others ask for a segment that does not exist: the response says so after every check
 * of access and before the first statement.
 */
const READERS: readonly Caller[] = ['operator', 'share']
const READS: readonly Row['kind'][] = ['read', 'narrow', 'unshared']
const ORDER = ['get', 'post', 'patch', 'delete']
const PROOFLESS = [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]

/** The same path for a site, organisation or record that does not exist. */
const elsewhere = (path: string): string =>
  /[?&](site|org)=/.test(path)
    ? path.replace(/([?&](?:site|org)=)\d+/, `$1${NOWHERE}`)
    : path.replace(/\/\d+(?=\/|$)/, `/${NOWHERE}`)
const bodyElsewhere = (body: string | undefined) =>
  body?.replace(/"(site|site_id|org)":\d+/, (_, name) => `"${name}":${NOWHERE}`)

t.test('every route answers every credential as the matrix says', { timeout: 110_000 }, async (t) => {
  const { document, callers, ask } = await open(t)
  t.same([...callers.keys()].sort(), [...CALLERS].sort(), 'everybody of the table asks')
  const examples = loadExamples()
  const routes = Object.entries(document.paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ path, method, name: `${method} ${path}` })))
    .sort((a, b) => ORDER.indexOf(a.method) - ORDER.indexOf(b.method))
  t.same(routes.map(({ name }) => name).sort(), [...ROWS.keys()].sort(), 'every route has a row')

  let cells = 0
  const lines = routes.flatMap((route) => {
    const row = ROWS.get(route.name)
    return row ? [{ ...route, row }] : []
  })
  for (const { name, path, method, row } of lines.sort((a, b) => Number(!!a.row.ends) - Number(!!b.row.ends))) {
    const example = examples.get(name)
    const target = row.asks ?? example?.request ?? path.replaceAll(/\{\w+\}/g, '1')
    const sent = row.body ?? (method === 'delete' ? undefined : (example?.body ?? BODIES[name] ?? {}))
    const body = method === 'get' || sent === undefined ? undefined : JSON.stringify(sent)
    const wrong: string[] = []
    const parameters = (document.paths[path]?.[method]?.parameters ?? []).map((one) => resolve(document, one).name)
    const isRead = READS.includes(row.kind) && parameters.includes('segment')

    const call = async (caller: Caller) => {
      const of = callers.get(caller)?.(row, body) ?? {}
      const expected = verdict(row.kind, caller)
      const { cookie } = of.headers ?? {}
      // A page of another origin cannot act on behalf of its visitor.
      if (expected === 'in' && cookie && method !== 'get' && row.kind !== 'open' && row.kind !== 'sign_in')
        for (const headers of PROOFLESS) {
          const { status } = await ask(method.toUpperCase(), target, body, { headers: { cookie, ...headers } })
          if (status !== 403) wrong.push(`${caller} with ${JSON.stringify(headers)}: ${status}, not 403`)
          cells++
        }
      const isCheap = isRead && expected === 'in' && !READERS.includes(caller)
      const asked = isCheap ? `${target}&segment=${NOWHERE}` : target
      const { status, challenge, text } = await ask(method.toUpperCase(), asked, body, of, WIRED.includes(caller))
      cells++
      const wanted = isCheap ? [404] : expected === 'in' ? row.answers : [expected]
      if (!wanted.includes(status) || (isCheap && !text.includes('"field":"segment"')))
        wrong.push(`${caller}: ${status}, not ${wanted.join(' or ')}: ${text.slice(0, 200)}`)
      if (challenge !== (status === 401 ? 'Bearer' : '')) wrong.push(`${caller}: WWW-Authenticate ${challenge}`)
      if (expected !== 404) return
      // A resource that the caller cannot reach answers as one that does not exist.
      const there = callers.get(caller)?.(row, bodyElsewhere(body)) ?? {}
      const nothing = await ask(method.toUpperCase(), elsewhere(target), bodyElsewhere(body), there)
      cells++
      if (elsewhere(target) === target && bodyElsewhere(body) === body) wrong.push(`${caller}: asked for nothing else`)
      if (nothing.status !== status || nothing.text !== text) wrong.push(`${caller}: ${text}, not ${nothing.text}`)
    }
    const isIn = (caller: Caller) => verdict(row.kind, caller) === 'in'
    // Refused callers come first, while the target still exists.
    await Promise.all(CALLERS.filter((caller) => !isIn(caller)).map(call))
    if (method === 'get') await Promise.all(CALLERS.filter(isIn).map(call))
    else for (const caller of CALLERS.filter(isIn)) await call(caller)
    t.same(wrong, [], `${name} (${row.kind})`)
  }
  t.comment(`${routes.length} routes, ${callers.size} callers, ${cells} calls`)
})
