import t, { type Test } from 'tap'
import type { Post } from '../../../src/base/outbound/guarded-outbound.js'
import { createPoster } from '../../../src/base/outbound/guarded-outbound.js'
import { createDeliverer } from '../../../src/manage/notify/deliverer.js'
import { createIndexNow, sendPing } from '../../../src/manage/notify/indexnow.js'
import { createOutbox } from '../../../src/manage/notify/notices.js'
import { bootstrap } from '../../../src/manage/orgs.js'
import { createSites, type SiteChange } from '../../../src/manage/sites.js'
import { postAnywhere, resolveNothing } from '../../fixtures/alert-deliveries.js'
import { deed } from '../../fixtures/audit-context.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { receiver } from '../../fixtures/receiver.js'
import { agentRow, editionRow } from '../../fixtures/rows.js'

const NOW = Date.UTC(2026, 10, 21, 10)
const MINUTE = 60_000
const KEY = { indexnow_key: 'abcdef-0123' }
const ago = (minutes: number) => new Date(NOW - minutes * MINUTE)
type Edition = Parameters<typeof editionRow>[0]

/** The editions of a page that was the same in two samples and changed. */
const changed = (pathname: string, minutes: number, given: Edition = {}, before: Edition = {}) => {
  const page = { hostname: 'example.com', pathname, ...given }
  return [
    editionRow({ ...page, first_seen: ago(9_000), replaced_at: ago(minutes), samples: 2, ...before }),
    editionRow({ samples: 1, ...page, first_seen: ago(minutes), prior_seen: ago(minutes + 10), digest: 'new' }),
  ]
}

/** Site 1 of example.com with these settings; `pass` looks for changes at a minute and delivers what is due. */
async function open(t: Test, settings: SiteChange, url: string | undefined, post: Post = postAnywhere) {
  const { workerClient, writePageEditions, commit } = await createInProcessEngine(t)
  const { records, events } = workerClient
  let at = NOW
  const now = () => new Date(at)
  await bootstrap(records, { domains: ['example.com', 'b.example'], timezone: 'UTC', now: now() })
  const sites = createSites(records)
  await sites.change(1, settings, deed)
  const outbox = createOutbox({ records, random: () => 0.5 })
  const warned: object[] = []
  const deps = { sites, post, now, indexnow_url: url, log: { warn: (details: object) => warned.push(details) } }
  const log = (error: unknown) => t.fail(String(error))
  const deliverer = createDeliverer({ outbox, send: (one) => sendPing(one, deps), now, log, onFinish() {} })
  const pings = { records, store: () => events, sites, indexnow_url: url, now, wakeDelivery() {} }
  let indexNow = createIndexNow(pings)
  /** Stores editions of pages that search engines have read, unless `purpose` names another reader. */
  const put = async (editions: ReturnType<typeof changed>, purpose = 'search', days = 89) => {
    const read = { timestamp: ago(days * 1_440), purpose, status: 200, verification: 'unverifiable' }
    const pages = editions.map(({ site_id, hostname, pathname }) => ({ site_id, hostname, pathname }))
    await commit({ events: [], agent_events: pages.map((page) => agentRow({ ...read, ...page })) })
    await writePageEditions({ put: editions, remove: [] })
  }
  const pass = async (minute: number) => {
    at = NOW + minute * MINUTE
    await indexNow.tick()
    await deliverer.pass()
    await deliverer.idle()
  }
  const restart = () => {
    indexNow = createIndexNow(pings)
  }
  return { sites, warned, put, pass, restart, list: () => outbox.list({ site: 1 }) }
}

t.test('the changed pages of a site are announced, once, and no other pages', async (t) => {
  const other = (hostname: string) => changed('/other', 6, { hostname })
  const CASES: [editions: ReturnType<typeof changed>, url: string | undefined, why: string][] = [
    [changed('/a', 5), 'https://example.com/a', 'a change'],
    [changed('/c%20d', 4), 'https://example.com/c%20d', 'the path as it was requested'],
    [changed('/new', 3, { samples: 2 }, { samples: 1 }), 'https://example.com/new', 'the new text was there twice'],
    [other('www.b.example'), 'https://www.b.example/other', 'another host of the site has a request of its own'],
    [[editionRow({ hostname: 'example.com', first_seen: ago(5), samples: 2 })], undefined, 'nothing changed'],
    [changed('/varies', 5, { varies: true }), undefined, 'the page varies'],
    [changed('/for-agents', 5, { served_to: 'agents' }), undefined, 'only agents get the text'],
    [changed('/users/ann', 5), undefined, 'a path that is excluded'],
    [changed('/once', 5, {}, { samples: 1 }), undefined, 'neither text was there twice'],
    [changed('/old', 1_441), undefined, 'too long ago'],
    [other('c.example'), undefined, 'a host of no site'],
    [changed('/second', 5, { site_id: 2 }), undefined, 'another site'],
  ]
  const { received, url } = await receiver(t, (_, res) => res.writeHead(202).end())
  const { put, pass, restart, list, sites } = await open(t, {}, url)
  await put(CASES.flatMap(([editions]) => editions))
  await put(changed('/draft', 5), 'training')
  await put(changed('/forgotten', 5), 'search', 91)
  await sites.change(1, { excluded_paths: ['/users/**'] }, deed)
  await pass(0)
  t.equal(received.length, 0, 'a site without a key announces nothing')
  await sites.change(1, KEY, deed)
  await pass(1)
  restart()
  await pass(12)
  const urls = CASES.flatMap(([, one]) => one ?? [])
  t.same(
    received.map(({ body }) => JSON.parse(body)).sort((one, next) => (one.host < next.host ? -1 : 1)),
    ['example.com', 'www.b.example'].map((host) => ({
      ...{ host, key: 'abcdef-0123', keyLocation: `https://${host}/abcdef-0123.txt` },
      urlList: urls.filter((one) => new URL(one).host === host),
    })),
  )
  t.match(await list(), [{ state: 'done' }, { state: 'done' }])
})

t.test('a site has one ping in ten minutes, and none while one waits; later changes follow together', async (t) => {
  let status = 200
  const { received, url } = await receiver(t, (_, res) => res.writeHead(status).end())
  const { put, pass, list, sites, warned } = await open(t, KEY, url)
  const paths = () => received.map(({ body }) => JSON.parse(body).urlList.map((one: string) => new URL(one).pathname))
  await put(changed('/a', 5))
  await pass(0)
  await put([...changed('/b', -1), ...changed('/c', -2)])
  await pass(9)
  t.same(paths(), [['/a']], 'not yet')
  status = 429
  await pass(11)
  t.same(paths(), [['/a'], ['/b', '/c']])
  await put([...changed('/d', -12), ...changed('/a', -13)])
  status = 503
  await pass(22)
  t.same(paths().slice(2), [['/b', '/c']], 'the same once more, and no other while it waits')
  t.match(warned, [{ host: 'example.com', error: 'the receiver returned status 429' }, { urls: 2 }])
  status = 200
  await pass(25)
  t.same(paths().slice(3), [['/b', '/c']])
  await pass(26)
  t.same(paths().slice(4), [['/d', '/a']], 'a page that changed again is announced again')
  await put(changed('/e', -30))
  status = 422
  await pass(40)
  await pass(60)
  t.same(paths().slice(5), [['/e']], 'a refusal ends the attempts')
  t.match((await list())[0], { state: 'failed', attempts: 1, last_error: 'the receiver returned status 422' })
  await put(changed('/f', -61))
  await sites.change(1, { indexnow_key: null }, deed)
  await pass(80)
  t.equal(received.length, 6, 'off again')
})

t.test('the file of the key may have an address of its own, for its host; private addresses get nothing', async (t) => {
  const location = 'https://b.example/key.txt'
  const { received, url } = await receiver(t, (_, res) => res.end())
  const settings = { ...KEY, indexnow_key_location: location }
  const { put, pass } = await open(t, settings, url)
  await put([...changed('/a', 5), ...changed('/a', 5, { hostname: 'b.example' })])
  await pass(0)
  t.same(received.map(({ body }) => JSON.parse(body).keyLocation).sort(), [
    location,
    'https://example.com/abcdef-0123.txt',
  ])
  const guarded = createPoster({ resolve: resolveNothing, version: '1', anywhere: false })
  const refused = await open(t, KEY, url, guarded)
  await refused.put(changed('/a', 5))
  await refused.pass(0)
  t.equal(received.length, 2)
  t.match(await refused.list(), [{ state: 'failed', last_error: 'this address is not allowed' }])
  const offline = await open(t, KEY, undefined)
  await offline.put(changed('/a', 5))
  await offline.pass(0)
  t.same(await offline.list(), [], 'without a URL that may be called nothing is queued')
})
