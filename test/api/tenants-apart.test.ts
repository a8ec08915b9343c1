import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { createPdfRenderer } from '../../src/analytics/export/pdf.js'
import type { Sheet } from '../../src/analytics/export/sheet.js'
import { listenAdmin } from '../../src/api/server.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { sql } from '../../src/storage/sql.js'
import type { ResultRow } from '../../src/storage/store.js'
import { startWorkerClient } from '../../src/worker-client/worker-client.js'
import { exportService } from '../fixtures/export-service.js'
import { directory } from '../fixtures/files.js'
import { logLine } from '../fixtures/importer.js'
import { eventually, GPTBOT } from '../fixtures/instance.js'

/** Tests two organisations of one instance over real sockets: what one has open never refuses the other. */

const Answer = z.object({
  data: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
})
const Id = z.object({ id: z.int() })
const Link = z.object({ link: z.url() })
const Key = z.object({ secret: z.string() })
const START = Date.UTC(2026, 2, 10, 10)
const LOG = `${logLine(START, '20.171.206.1', '/', GPTBOT)}\n`
/** Words that would tell one organisation about another: its name, its sites and its imports, and their times. */
const TELLS = /[Ii]mport \d|[Ss]ite \d|\d{4}-\d\d-\d\d|a\.example|b\.example/

async function openInstanceOfTwo(t: Test) {
  const data = directory(t)
  const log = { info() {}, warn() {}, error() {} }
  const instance = await openInstance(
    { data, domain: ['a.example'], min_free_disk: 0, offline: true, ranges: [] },
    { log, start: startWorkerClient, service: () => 'http://127.0.0.1:8081' },
  )
  const listener = await listenAdmin((incoming, peer) => instance.fetch(incoming, peer), '127.0.0.1', 0)
  t.teardown(async () => {
    await listener.close()
    await instance.close()
  })
  const operator = async (method: string, path: string, body?: unknown) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) }
    const response = await instance.control(new Request(`http://readership${path}`, init))
    return Answer.parse(await response.json()).data
  }
  const org = Id.parse(await operator('POST', '/api/orgs', { name: 'B' })).id
  const site = Id.parse(await operator('POST', '/api/sites', { org, name: 'B', domains: ['b.example'] })).id
  /** Signs an admin of an organisation in. */
  const admin = async (org: number, email: string) => {
    await operator('POST', '/control/users', { email, org, role: 'admin' })
    const { link } = Link.parse(await operator('POST', '/control/login-link', { email }))
    const token = new URL(link).searchParams.get('token')
    const own = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
    const signed = await fetch(`${listener.at}/api/auth/link`, {
      method: 'POST',
      headers: own,
      body: JSON.stringify({ token }),
    })
    const [cookie = ''] = (signed.headers.get('set-cookie') ?? '').split(';')
    const headers = { ...own, cookie }
    const ask = async (method: string, path: string, body?: string) => {
      const response = await fetch(listener.at + path, { method, headers, ...(body === undefined ? {} : { body }) })
      const text = await response.text()
      return { status: response.status, text, ...(text === '' ? {} : Answer.parse(JSON.parse(text))) }
    }
    const key = async (site: number) =>
      Key.parse((await ask('POST', '/api/keys', JSON.stringify({ org, name: 'k', site, scopes: ['stats:read'] }))).data)
        .secret
    return { ask, headers, key }
  }
  return { at: listener.at, operator, org, site, a: await admin(1, 'a@x.example'), b: await admin(org, 'b@x.example') }
}

/** Opens a request, and returns the head of its response. */
const open = (
  at: string,
  headers: Record<string, string>,
): Promise<{ response: IncomingMessage; sent: ClientRequest }> =>
  new Promise((resolve, reject) => {
    const sent = request(at, { headers, agent: false })
    sent.on('response', (response) => resolve({ response, sent }))
    sent.on('error', reject)
    sent.end()
  })

t.test('uploads, imports, undos and streams of one organisation refuse nothing to another', async (t) => {
  const { at, operator, site, a, b } = await openInstanceOfTwo(t)
  const ended = async (who: typeof a, site: number, id: number) => {
    let found: unknown
    await eventually('the end of the import', async () => {
      found = (await who.ask('GET', `/api/imports/${id}?site=${site}`)).data
      return z.object({ state: z.string() }).parse(found).state !== 'running'
    })
    return found
  }
  // An admin of B sends a log, and does not end it.
  const trickle = request(`${at}/api/imports?site=${site}&name=slow.log`, {
    method: 'POST',
    headers: b.headers,
    agent: false,
  })
  trickle.on('error', () => {})
  trickle.write(LOG)
  await eventually('the refusal of a second log of B', async () => {
    const second = await b.ask('POST', `/api/imports?site=${site}`, LOG)
    if (second.status === 202) await ended(b, site, Id.parse(second.data).id)
    else t.match(second, { status: 409, error: { message: 'Another log of this organisation is being uploaded.' } })
    return second.status === 409
  })
  const first = await a.ask('POST', '/api/imports?site=1', LOG)
  t.equal(first.status, 202, first.text)
  t.match(await ended(a, 1, Id.parse(first.data).id), { state: 'done', agent: 1 })
  trickle.destroy()

  // A follows a log for hours.
  const options = { dry_run: false, verify_now: false, host: 'a.example', robots: null }
  const about = { site: 1, source: 'access.log', format: null, total: null, options }
  const { id } = Id.parse(await operator('POST', '/control/imports', about))
  await eventually('the end of the upload that was broken off', async () => {
    const own = await b.ask('POST', `/api/imports?site=${site}`, LOG.replace('"/', '"/b'))
    if (own.status !== 202) t.notMatch(own.text, TELLS)
    else t.match(await ended(b, site, Id.parse(own.data).id), { state: 'done' })
    return own.status === 202
  })
  t.match(await a.ask('POST', '/api/imports?site=1', LOG), {
    status: 409,
    error: { message: new RegExp(`^Import ${id} of site 1 runs since .*: an organisation imports one log at a time`) },
  })
  t.match(await a.ask('GET', `/api/imports/${id}?site=1`), { data: { state: 'running' } }, 'nothing has stopped it')
  const [own] = z.array(Id).parse((await b.ask('GET', `/api/imports?site=${site}`)).data)
  t.equal((await b.ask('DELETE', `/api/imports/${own?.id}?site=${site}`)).status, 202, 'B undoes while A imports')
  t.match(await b.ask('DELETE', `/api/imports/${id}?site=1`), { status: 404 }, "none of another's")

  const [keyOfA, keyOfB] = [await a.key(1), await b.key(site)]
  const stream = (key: string, site: number) =>
    open(`${at}/api/stats/realtime/stream?site=${site}&n=0`, { authorization: `Bearer ${key}` })
  const warnings: string[] = []
  const warn = ({ name }: Error) => warnings.push(name)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const streams = await Promise.all(Array.from({ length: 110 }, () => stream(keyOfA, 1)))
  const statuses = streams.map(({ response }) => response.statusCode)
  t.strictSame(
    [200, 429].map((status) => statuses.filter((one) => one === status).length),
    [100, 10],
    'one organisation has half of all streams',
  )
  const another = await stream(await a.key(1), 1)
  t.equal(another.response.statusCode, 429, 'whatever key it uses')
  const ofB = await stream(keyOfB, site)
  t.equal(ofB.response.statusCode, 200)
  t.same(warnings, [], 'and Node warns of no leak')
  for (const { sent } of [...streams, another, ofB]) sent.destroy()
  await eventually('room after they left', async () => {
    const { response, sent } = await stream(keyOfA, 1)
    sent.destroy()
    return response.statusCode === 200
  })
})

t.test('CSV exports that are read slowly refuse nothing to another organisation', async (t) => {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  async function* stream(): AsyncGenerator<ResultRow[]> {
    yield Array.from({ length: 2_000 }, (_, i) => ({ value: `/${i}`, visitors: 1, pageviews: 1 }))
    await released
  }
  const { app, records } = await exportService(t, undefined, undefined, stream)
  await records.write(
    sql`insert into organisations (id, name, created_at) select 2, 'B', created_at from organisations where id = 1`,
  )
  await records.write(sql`update sites set org = 2 where id = 2`)
  const listener = await listenAdmin((incoming) => app(incoming, { ip: '127.0.0.1', operator: true }), '127.0.0.1', 0)
  const csv = (site: number) =>
    open(`${listener.at}/api/stats/export.csv?report=breakdown&dimension=pathname&site=${site}`, {})
  const ofA = await Promise.all(Array.from({ length: 6 }, () => csv(1)))
  t.strictSame(ofA.map(({ response }) => response.statusCode).sort(), [200, 200, 200, 200, 429, 429])
  const ofB = await csv(2)
  t.equal(ofB.response.statusCode, 200)
  release()
  for (const { response } of [...ofA, ofB]) for await (const _ of response);
  await eventually('room when they have ended', async () => {
    const { response, sent } = await csv(1)
    sent.destroy()
    return response.statusCode === 200
  })
  await listener.close()
})

t.test('PDFs that wait refuse none to another organisation, which has the next turn', async (t) => {
  const pdf = createPdfRenderer(undefined)
  const sheet: Sheet = {
    ...{ title: 'A', subtitle: '', facts: [], notes: [], charts: [], flows: [], grids: [], tables: [] },
    ...{ attribution: { text: 'readership', link: 'https://readership.example/' }, created: new Date(START) },
  }
  const leaving = new AbortController()
  const outcome = (drawn: Promise<unknown>) =>
    drawn.then(
      () => 'drawn',
      (error: unknown) => (error instanceof Error && /Too many PDFs/.test(error.message) ? 'refused' : 'left'),
    )
  const ofA = Array.from({ length: 20 }, () => outcome(pdf.draw(sheet, 1, leaving.signal)))
  const ofB = outcome(pdf.draw(sheet, 2))
  t.equal(await ofB, 'drawn')
  leaving.abort()
  const found = await Promise.all(ofA)
  t.equal(found.filter((one) => one === 'refused').length, 2, 'half of 36 are its own')
  t.ok(found.filter((one) => one === 'left').length > 0, 'it came before those that waited longer')
})
