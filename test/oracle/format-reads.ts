import type { Test } from 'tap'
import { z } from 'zod'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import formats from '../../src/analytics/reads/agents/formats.js'
import llmsLinks from '../../src/analytics/reads/agents/llms-links.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { AgentEventRow } from '../../src/storage/rows.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** Stores random fetches of two sites and recounts formats and the links of llms.txt row by row. */
const NOW = Date.parse('2026-11-10T12:00:00.000Z')
const DAY = 86_400_000
const START = NOW - 7 * DAY
const random = seeded(20261129)
const HOST = 'one.example'
type Texts = readonly [string, ...string[]]
const PAGES: Texts = ['/', '/a', '/a.html', '/b/', '/c/index.html', '/d', '/über']
const TWINS = [
  '/index.md',
  '/a.md',
  '/a.html.md',
  '/b/index.md',
  '/b.MD',
  '/c/index.html.md',
  '/none.md',
  '/d.markdown',
]
const LLMS = ['/llms.txt', '/llms.txt', '/llms-full.txt']
const PATHS: Texts = [...PAGES, ...PAGES, ...TWINS, ...LLMS, '/data.json', '/logo.png']
/** Up to two days before the window; a third of the times are on a whole twenty minutes, so that many are equal. */
const moment = () => {
  const at = START - 2 * DAY + random.int(NOW - START + 2 * DAY)
  return new Date(random() < 0.3 ? at - (at % 1_200_000) : at)
}
const AGENTS = ['chatgpt-user', 'claude-user', 'gptbot', 'other', 'other'] as const
const TEXT_TYPES = ['text/html', 'text/html', 'text/markdown', 'text/x-markdown', 'text/plain'] as const
const TYPES = [...TEXT_TYPES, 'application/json', 'application/ld+json', 'image/png', null] as const
const agent_events = Array.from({ length: 2_500 }, (_, i) =>
  agentRow({
    ...{ site_id: random() < 0.95 ? 1 : 2, timestamp: moment(), agent_id: random.of(AGENTS) },
    hostname: random.of([HOST, HOST, HOST, 'www.one.example']),
    pathname: random.of(PATHS),
    user_agent: random.of(['probe/1', 'probe/2']),
    method: random() < 0.95 ? 'GET' : 'HEAD',
    status: random.of([200, 200, 200, 200, 206, 304, 404]),
    verification: random.of(['ranges', 'unverifiable', 'unverifiable', 'spoofed']),
    accepts: random.of(['markdown', 'markdown', 'any', 'html', 'json', null]),
    content_type: random.of(TYPES),
    is_pageview: random() < 0.5,
    country: random.of(['DE', null]),
    action: random.of([null, null, null, 'allow', 'block']),
    import_id: i % 50 === 0 ? 1 : null,
  }),
)
/** Only a person read the page of `/d.markdown`, and with a status that a browser does not report. */
const events = [
  eventRow({ hostname: HOST, pathname: '/d', timestamp: new Date(START), status: null }),
  eventRow({ hostname: HOST, pathname: '/none', timestamp: new Date(START + 1), status: 404 }),
]

/** The versions of llms.txt: the first ends before the window, and between the last two there is a gap. */
const VERSIONS = [
  { since: START - 30 * DAY, until: START - 12 * 3_600_000, paths: ['/a', '/d'] },
  { since: START - 12 * 3_600_000, until: START + 2 * DAY, paths: ['/a', '/b/', '/über'] },
  { since: START + 3 * DAY, until: NOW + DAY, paths: ['/b/', '/a.md', '/a', '/never', '/data.json'] },
]
const iso = (at: number) => new Date(at).toISOString()
const policyVersions = async () => ({
  hostname: HOST,
  versions: VERSIONS.toReversed().map(({ since, until, paths }) => ({
    ...{ kind: 'llms', standing: 'served', status: 200, since: iso(since), until: iso(until) },
    targets: paths.map((path) => ({ title: path, pathname: encodeURI(path), section: 'Docs' })),
  })),
})

type Fetch = AgentEventRow
const ms = ({ timestamp }: Fetch) => timestamp.getTime()
const isGenuine = ({ verification, action, site_id, method }: Fetch) =>
  site_id === 1 && verification !== 'spoofed' && (action === null || action === 'allow') && method === 'GET'
const within = (row: Fetch) => ms(row) >= START && ms(row) < NOW
const hasBody = (row: Fetch) => isGenuine(row) && within(row) && (row.status === 200 || row.status === 206)
const servedAs = (type: string | null) =>
  type === null ? '' : (['html', 'markdown', 'json', 'plain'].find((word) => type.endsWith(word)) ?? 'other')
const served = ({ content_type }: Fetch) => servedAs(content_type).replace('plain', 'text')

/** The URLs that a twin may belong to, spelled out. */
const pagesOf = (twin: string): string[] => {
  const page = twin
    .replace(/\.(md|markdown)$/i, '')
    .replace(/\.html$/, '')
    .replace(/\/index$/, '')
    .replace(/\/$/, '')
  return [page, `${page}/`, `${page}.html`, `${page}/index.html`]
}
const isTwin = ({ pathname }: { pathname: string }) => /\.(md|markdown)$/i.test(pathname)
const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]
const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) / 2
  return ((sorted[Math.floor(at)] ?? 0) + (sorted[Math.ceil(at)] ?? 0)) / 2
}
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function recountFormats(passes: (row: Fetch) => boolean) {
  const fetched = agent_events.filter((row) => hasBody(row) && passes(row))
  const living = new Set([
    ...agent_events
      .filter((row) => hasBody(row) && row.is_pageview && !isTwin(row))
      .map((row) => `${row.hostname}${row.pathname}`),
    `${HOST}/d`,
  ])
  const isTwinOfPage = (row: Fetch) =>
    isTwin(row) && pagesOf(row.pathname).some((page) => living.has(`${row.hostname}${page}`))
  const cells = (rows: readonly Fetch[]) =>
    distinct(rows.map((row) => `${row.accepts ?? ''} ${served(row)}`)).map((name) => {
      const [accepts, format] = name.split(' ')
      return {
        ...(accepts === '' ? {} : { accepts }),
        ...(format === '' ? {} : { served: format }),
        fetches: rows.filter((row) => `${row.accepts ?? ''} ${served(row)}` === name).length,
      }
    })
  const sums = (rows: readonly Fetch[]) => {
    const unknown = rows.filter(({ accepts }) => accepts === null).length
    const asked = rows.filter(({ accepts }) => accepts === 'markdown')
    const known = asked.filter((row) => row.content_type !== null).length
    const got = asked.filter((row) => served(row) === 'markdown').length
    return {
      ...{ fetches: rows.length, twins: rows.filter(isTwinOfPage).length, pairs: cells(rows) },
      ...(unknown > 0 ? { unknown } : {}),
      ...(rows.length > unknown ? { markdown_asked: asked.length, markdown_served: got } : {}),
      ...(known > 0 ? { markdown_share: got / known } : {}),
    }
  }
  const urls = (rows: readonly Fetch[]) =>
    distinct(rows.map(({ hostname, pathname }) => `${hostname} ${pathname}`)).map((name) => {
      const [hostname, pathname] = name.split(' ')
      const own = rows.filter((row) => `${row.hostname} ${row.pathname}` === name)
      return { hostname, pathname, fetches: own.length, agents: distinct(own.map((row) => row.agent_id)).length }
    })
  return {
    ...sums(fetched),
    agents: distinct(fetched.map(({ agent_id }) => agent_id)).map((agent_id) => ({
      ...{ agent_id, name: agent_id === 'other' ? 'Other agents' : agent_id },
      ...sums(fetched.filter((row) => row.agent_id === agent_id)),
    })),
    pages: urls(fetched.filter((row) => row.accepts === 'markdown' && served(row) === 'html')),
    twin_pages: urls(fetched.filter(isTwinOfPage)),
  }
}

/** Each read of llms.txt with the links that were first fetched after it: their delays and places. */
function recountFollows(hours: number, { passes, selects }: Selection) {
  const rows = agent_events.filter((row) => isGenuine(row) && row.hostname === HOST && passes(row) && ms(row) < NOW)
  const isRead = (row: Fetch) => row.pathname === '/llms.txt' && row.status >= 200 && row.status < 400
  const client = (row: Fetch) => (row.agent_id === 'other' ? `other ${row.user_agent}` : row.agent_id)
  const found = new Map<string, { agent_id: string; pathname: string; ms: number; fetches: number; read: string }>()
  for (const row of rows.filter(within)) {
    const reads = rows.filter((one) => isRead(one) && client(one) === client(row) && ms(one) <= ms(row)).map(ms)
    const latest = Math.max(...reads)
    if (row.pathname === '/llms.txt' || ms(row) - latest > hours * 3_600_000) continue
    const version = VERSIONS.find(({ since, until }) => latest >= since && latest < until)
    if (!version?.paths.map(encodeURI).includes(row.pathname) || !selects(row.pathname)) continue
    const read = `${client(row)} ${latest}`
    const own = found.get(`${read} ${row.pathname}`)
    const delay = ms(row) - latest
    found.set(`${read} ${row.pathname}`, {
      ...{ agent_id: row.agent_id, pathname: row.pathname, read },
      ms: Math.min(delay, own?.ms ?? delay),
      fetches: 1 + (own?.fetches ?? 0),
    })
  }
  const all = [...found.values()].sort((a, b) => a.ms - b.ms || byText(a.pathname, b.pathname))
  return all.map((one) => ({ ...one, place: 1 + all.filter(({ read }) => read === one.read).indexOf(one) }))
}

function recountLinks(hours: number, { passes, selects }: Selection) {
  const follows = recountFollows(hours, { passes, selects })
  const sums = (own: typeof follows) => ({
    ...{ follows: own.length, fetches: own.reduce((sum, { fetches }) => sum + fetches, 0) },
    seconds: median(own.map((one) => one.ms / 1000)),
    place: median(own.map(({ place }) => place)),
  })
  const readsOf = (file: string) =>
    agent_events.filter(
      (row) =>
        isGenuine(row) &&
        within(row) &&
        passes(row) &&
        row.hostname === HOST &&
        row.pathname === file &&
        row.status < 400,
    )
  const [short, full] = [readsOf('/llms.txt'), readsOf('/llms-full.txt')]
  const ids = distinct([...short, ...full, ...follows].map(({ agent_id }) => agent_id))
  const agents = ids.map((agent_id) => {
    const of = <R extends { agent_id: string }>(rows: readonly R[]) => rows.filter((row) => row.agent_id === agent_id)
    const own = of(follows)
    const steps = distinct(own.map(({ pathname }) => pathname)).map((pathname) => ({
      ...{ pathname, ...sums(own.filter((one) => one.pathname === pathname)) },
    }))
    const last = Math.max(...of([...short, ...full]).map(ms))
    return {
      ...{ agent_id, name: agent_id === 'other' ? 'Other agents' : agent_id, steps },
      ...{ reads: of(short).length, full_reads: of(full).length, links: steps.length },
      fetches: own.reduce((sum, { fetches }) => sum + fetches, 0),
      ...(Number.isFinite(last) ? { last_read: iso(last) } : {}),
      ...(own.length > 0 ? { seconds: sums(own).seconds } : {}),
    }
  })
  const current = VERSIONS.at(-1)?.paths ?? []
  const listed = distinct([...current, '/a', '/b/', '/über']).filter((path) => selects(encodeURI(path)))
  const links = listed.map((path) => {
    const own = follows.filter(({ pathname }) => pathname === encodeURI(path))
    return {
      ...{ title: path, pathname: encodeURI(path), section: 'Docs', current: current.includes(path) },
      agents: distinct(own.map(({ agent_id }) => agent_id)).length,
      ...(own.length > 0 ? sums(own) : { follows: 0, fetches: 0 }),
    }
  })
  return {
    ...{ hostname: HOST, reads: short.length, full_reads: full.length, agents, links },
    readers: distinct(short.map(({ agent_id }) => agent_id)).length,
    followers: distinct(follows.map(({ agent_id }) => agent_id)).length,
    listed: links.length,
    unfollowed: links.filter((link) => link.follows === 0).length,
  }
}

/** The selection of filters in llms.txt: fetches, and paths of its links. */
interface Selection {
  passes: (row: Fetch) => boolean
  selects: (pathname: string) => boolean
}
const every = () => true
const inA = (pathname: string) => pathname.startsWith('/a')

const FILTERS: readonly [object[], passes: (row: Fetch) => boolean, ofLinks?: Selection][] = [
  [
    [{ dimension: 'pathname', op: 'starts_with', value: '/a' }],
    ({ pathname }) => inA(pathname),
    { passes: every, selects: inA },
  ],
  [[], () => true],
  [[{ dimension: 'country', op: 'is', value: 'DE' }], (row) => row.country === 'DE'],
  [[{ dimension: 'accepts', op: 'is_not', value: 'markdown' }], (row) => row.accepts !== 'markdown'],
  [[{ dimension: 'agent_id', op: 'is', value: 'other' }], (row) => row.agent_id === 'other'],
]

/** Returns the value with every list in one order, because the recount has none. */
function sorted(value: unknown): unknown {
  if (typeof value === 'number') return Number(value.toPrecision(12))
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => byText(JSON.stringify(a), JSON.stringify(b)))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, sorted(one)] as const)
      .sort(([a], [b]) => byText(a, b)),
  )
}

/** Compares both reads with their recounts. */
export async function checkFormatReads(
  t: Test,
  store: Pick<EventStore, 'query' | 'append' | 'dialect'>,
): Promise<void> {
  await store.append({ events, agent_events })
  const deps: ReadDependencies = {
    ...{ store, catalog: [], assistants: [], policyVersions, now: () => new Date(NOW) },
    site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true }),
    segment: async () => undefined,
  }
  const ask = async (read: typeof formats, filters: object[], more = '') => {
    const window = `start=${iso(START)}&end=${iso(NOW)}&filters=${encodeURIComponent(JSON.stringify(filters))}`
    return runRead(read, new URLSearchParams(`site=1&${window}${more}`), deps)
  }
  for (const [filters, passes, ofLinks = { passes, selects: every }] of FILTERS) {
    const name = JSON.stringify(filters)
    const { data, meta } = await ask(formats, filters)
    assertEqual(t, sorted(data), sorted(recountFormats(passes)), `formats ${name}`)
    t.ok(
      meta.warnings?.some(({ code }) => code === 'accept_not_logged'),
      'imported fetches are named',
    )
    for (const hours of [1, 24, 168])
      assertEqual(
        t,
        sorted((await ask(llmsLinks, filters, `&hours=${hours}`)).data),
        sorted(recountLinks(hours, ofLinks)),
        `llms-links ${hours} ${name}`,
      )
  }
  const List = z.object({ links: z.array(z.object({ agents: z.number(), pathname: z.string() })) })
  const { links } = List.parse((await ask(llmsLinks, [])).data)
  t.strictSame(
    links.map(({ agents }) => agents),
    links.map(({ agents }) => agents).toSorted((a, b) => b - a),
  )
  t.ok(
    links.some(({ pathname, agents }) => pathname === '/never' && agents === 0),
    'a link that no fetch followed',
  )
  const without = await runRead(llmsLinks, new URLSearchParams(`site=1&start=${iso(START)}&end=${iso(NOW)}`), {
    ...deps,
    policyVersions: async () => ({ versions: [] }),
  })
  t.ok(
    without.meta.warnings?.some(({ code }) => code === 'no_llms_links'),
    'no version is known: absent, with the reason',
  )
  t.match(without.data, { followers: undefined, listed: undefined, unfollowed: undefined, links: [] })
}
