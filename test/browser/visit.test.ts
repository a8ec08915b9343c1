import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { z } from 'zod'
import { startSite } from '../../examples/site/server.js'
import { scriptName } from '../../src/api/tracker-script.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { isFullBrowser, openBrowser } from '../fixtures/browser.js'
import { command } from '../fixtures/command.js'
import { CHROME, dataDir, eventually, GPTBOT, type Instance, startInstance } from '../fixtures/instance.js'
import { openStoreAt, storeOptions } from '../fixtures/store.js'
import { VITALS } from '../fixtures/tracked.js'
import { portOf } from '../site/proxy/fixtures/sockets.js'
import { applicationVisit, plainVisit, type Row, SHORT_VISIT_ROWS, shortVisit } from './sample-visits.js'

/**
 * Visits to the sample site in a real browser, through a real `readership proxy`: the stored rows against those that were
 * worked out by hand.
 */
const browser = await openBrowser(t, ['--disable-back-forward-cache'], [`--user-agent=${CHROME}`])
const site = await startSite({ port: 0, interval: 100 })
t.teardown(() => site.close())

/** Relays each request to `target` with more headers; `edit` changes the pages. */
async function relayServer(
  target: string,
  more: Record<string, string>,
  edit?: (page: string) => string,
): Promise<number> {
  const server = createServer((req, res) => {
    const headers = { ...req.headers, ...more, ...(edit && { 'accept-encoding': 'identity' }) }
    const onward = request(target + req.url, { method: req.method ?? 'GET', headers }, async (answer) => {
      const { 'content-length': length, ...fields } = answer.headers
      const edited = edit && fields['content-type']?.startsWith('text/html') ? edit(await text(answer)) : undefined
      res.writeHead(answer.statusCode ?? 500, { ...fields, ...(length && !edited && { 'content-length': length }) })
      if (edited === undefined) answer.pipe(res)
      else res.end(edited)
    })
    onward.on('error', () => res.destroy())
    res.on('close', () => onward.destroy())
    req.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return portOf(server)
}
/** The sample site with the tag in its pages, as its author would write it. */
const tagged = async () => {
  const tag = `<script defer src="/_readership/${scriptName()}" data-site="1"></script>`
  return `http://127.0.0.1:${await relayServer(site.url, {}, (page) => page.replace('</head>', `${tag}</head>`))}`
}

/** Makes `localhost` a site of its own, which honours Sec-GPC; any other name is the first one's. */
async function addQuietSite(data: string): Promise<void> {
  await command('sites', 'create', '--name', 'Quiet', '--domain', 'localhost', '--data', data)
  const records = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
  await records.write(sql`update sites set respect_gpc = true where id = 2`)
  await records.close()
}

const Event = z.looseObject({
  kind: z.string(),
  pathname: z.string(),
  entry_page: z.string(),
  visitor_id: z.string(),
  engaged_ms: z.int().positive().nullable(),
  scroll: z.int().min(1).max(100).nullable(),
  props: z.string().nullable(),
  error: z.string().nullable(),
  traits: z.string().nullable(),
})
type Event = z.output<typeof Event>
const record = (json: string | null): Record<string, unknown> =>
  z.record(z.string(), z.unknown()).parse(JSON.parse(json ?? '{}'))

/** A stored row as `sample-visits.ts` writes it: a word stands for values that differ each time. */
function describeRow(row: Event): unknown[] {
  const { fingerprint: _, frame: __, ...error } = record(row.error)
  const { identified_id, event_name, status, kind, traits } = row
  const more = {
    ...(identified_id !== null && { identified_id }),
    ...(traits !== null && { traits: record(traits) }),
    ...record(row.props),
    ...error,
  }
  const measured = VITALS.split(' ')
    .filter((name) => row[name] !== null)
    .join(' ')
  const words = [status, event_name, row.engaged_ms && row.scroll && 'engaged', measured, more]
  return [kind, row.pathname, ...words.filter((one) => one !== null && one !== '' && JSON.stringify(one) !== '{}')]
}
const inOrder = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort()

const relayed = async (to: string, ip: string, more: Record<string, string> = {}, name = '127.0.0.1') =>
  `http://${name}:${await relayServer(to, { 'x-forwarded-for': ip, ...more })}`

const GPC = { 'sec-gpc': '1' }
const others = async (at: string) =>
  (
    await Promise.all([
      relayed(at, '198.51.100.3', GPC).then((url) => shortVisit(browser, url, '/privacy')),
      relayed(at, '198.51.100.4', GPC, 'localhost').then((url) => shortVisit(browser, url, '/about')),
      relayed(at, '198.51.100.5').then((url) => shortVisit(browser, url, '/glossary', 'readership.optOut()')),
      relayed(at, '198.51.100.6', { 'user-agent': GPTBOT }).then((url) => shortVisit(browser, url, '/contributors')),
    ])
  ).flat()

const Timeline = z.object({
  entry_page: z.string(),
  timeline: z.array(z.looseObject({ kind: z.string(), pathname: z.string() })),
})
async function timelines({ ask }: Instance) {
  const { data } = await ask('/api/stats/sessions?site=1&range=24h')
  const ids = z.array(z.object({ id: z.string() })).parse(data)
  const read = await Promise.all(ids.map(async ({ id }) => (await ask(`/api/stats/sessions/${id}?site=1`)).data))
  return read.map((one) => Timeline.parse(one))
}

async function visited(origin: string, flags: string[], more: (at: string) => Promise<string[]>) {
  const data = dataDir(t)
  if (more === others) await addQuietSite(data)
  const instance = await startInstance(origin, data, ...flags)
  t.teardown(() => instance.stop())
  const at = instance.site
  const [plain, application, said] = await Promise.all([
    plainVisit(browser, at, site.url),
    relayed(at, '198.51.100.2').then((url) => applicationVisit(browser, url)),
    more(at),
  ])
  const rows = plain.rows.length + application.rows.length + (more === others ? SHORT_VISIT_ROWS.length + 1 : 0)
  const whole = async () => (await timelines(instance)).flatMap(({ timeline }) => timeline).length >= rows
  await eventually('every row', whole)
  const ask = async (read: string) => (await instance.ask(`/api/stats/${read}?site=1&range=24h`)).data
  const reads = { overview: await ask('overview'), errors: await ask('errors'), performance: await ask('performance') }
  const lists = { pages: await ask('pages'), events: await ask('events'), timelines: await timelines(instance) }
  const metrics = await (await fetch(`${instance.admin}/metrics`)).text()
  await instance.stop()
  const store = await openStoreAt(join(instance.data, 'events.duckdb'))
  const events = z.array(Event).parse(await store.query(sql`select * from events order by timestamp`))
  const agents = await store.query(sql`
    select agent_id, pathname, status from agent_events where is_pageview order by timestamp`)
  await store.close()
  return { plain, application, said, reads, lists, metrics, events, agents }
}

const WAYS = [
  ['with injection', async () => site.url, ['--inject'], others],
  ['with the tag in the pages', tagged, [], async () => []],
] as const
const visits = await Promise.all(
  WAYS.map(async ([how, origin, flags, more]) => ({ how, ...(await visited(await origin(), [...flags], more)) })),
)

/** Columns that the browser and the loopback address give every row of a visit. */
const SAME = 'browser,lg,en-US,Europe/Berlin,false,Chrome'
const same = ({ recorded_by, screen_class, language, timezone, suspected, browser, session_id, visitor_id }: Event) => [
  [recorded_by, screen_class, language, timezone, suspected, browser].join(),
  session_id,
  visitor_id,
]
const views = (rows: readonly (readonly unknown[])[]) =>
  rows.filter(([kind]) => kind === 'pageview').map(([, at]) => at)
const kinds = (rows: readonly (readonly unknown[])[]) => inOrder(rows.map(([kind, at]) => [kind, at]))

for (const { how, plain, application, said, reads, lists, metrics, events, agents } of visits)
  t.test(`the sample site ${how}`, async (t) => {
    const injected = how === 'with injection'
    const expected: [string, string, readonly Row[], string | null][] = [
      ['plain pages', '/', plain.rows, 'Organic Search'],
      ['a single-page application', '/tides', application.rows, 'Organic Search'],
    ]
    if (injected)
      expected.push(
        ['Sec-GPC where the site does not honour it', '/privacy', SHORT_VISIT_ROWS, 'Direct'],
        ['a visitor who opts out: the view before', '/glossary', [['pageview', '/glossary', 200]], 'Direct'],
      )
    for (const [name, entry, table, channel] of expected) {
      const own = events.filter(({ entry_page }) => entry_page === entry)
      const rows = own.map(describeRow)
      t.same(inOrder(rows), inOrder(table), `${name}: every row`)
      t.same(views(rows), views(table), `${name}: in the order they were seen`)
      t.equal(new Set(own.map((row) => JSON.stringify(same(row)))).size, 1, `${name}: one visit by one person`)
      t.same([own[0]?.channel, own[0] && same(own[0])[0]], [channel, SAME], name)
      const line = lists.timelines.find(({ entry_page }) => entry_page === entry)?.timeline ?? []
      t.same(kinds(line.map(({ kind, pathname }) => [kind, pathname])), kinds(table), `${name}: its timeline`)
    }
    t.equal(events.length, expected.flatMap(([, , table]) => table).length, 'and no other visitor')
    t.same([plain.said, application.said, said], [['no tide'], [], []], 'the console shows only the thrown error')
    t.same(
      agents.map(({ agent_id, pathname, status }) => [agent_id, pathname, status]),
      injected ? ['/contributors', '/articles', '/press'].map((path) => ['gptbot', path, 200]) : [],
      'an agent that runs scripts: one fetch a view',
    )
    // Two pages of the site that honours Sec-GPC, one after the opt-out.
    t.match(metrics, injected ? /drops_total\{reason="opted_out"\} 3\n/ : /^(?!.*opted_out)/s)

    const scrolled = (entry: string, path: string) =>
      Math.max(
        ...events.filter((row) => row.entry_page === entry && row.pathname === path).map((row) => row.scroll ?? 0),
      )
    t.same([scrolled('/', '/'), scrolled('/tides', '/articles')], [100, 100], 'scrolled to their ends')
    for (const [entry, { ms }] of [
      ['/', plain],
      ['/tides', application],
    ] as const) {
      const rows = events.filter(({ entry_page }) => entry_page === entry)
      const engaged = rows.reduce((sum, row) => sum + (row.engaged_ms ?? 0), 0)
      t.ok(engaged > 500 && engaged <= ms, `${engaged} ms of ${ms}, without the hidden time`)
    }
    if (injected) return
    const painted = isFullBrowser ? 9 : 10
    t.match(reads, {
      overview: { visitors: 2, sessions: 2, pageviews: views([...plain.rows, ...application.rows]).length, bounce: 0 },
      errors: [{ type: 'RangeError', message: 'no tide', count: 1, pathname: '/articles/two-bulges' }],
      performance: { lcp: { samples: painted }, cls: { samples: painted }, ttfb: { samples: painted } },
    })
    const pages = z.array(z.looseObject({ pathname: z.string(), pageviews: z.int() })).parse(lists.pages)
    t.same(Object.fromEntries(pages.map(({ pathname, pageviews }) => [pathname, pageviews])), {
      ...{
        '/': 1,
        '/tides': 1,
        '/articles': 3,
        '/articles/two-bulges': 2,
        '/contact': 2,
        '/press': isFullBrowser ? 2 : 1,
      },
      ...{ '/subscribe': 2, '/thank-you': 2, '/gauge': 1 },
    })
    const names = z.array(z.looseObject({ name: z.string(), events: z.int() })).parse(lists.events)
    t.same(Object.fromEntries(names.map(({ name, events }) => [name, events])), {
      ...{ read: 2, file_download: 1, form: 2, outbound: 1 },
    })
  })
