import type { Test } from 'tap'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import summary from '../../src/analytics/reads/editions/summary.js'
import editions from '../../src/analytics/reads/editions.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { PageEdition } from '../../src/storage/page-samples.js'
import type { AgentEventRow, EventRow } from '../../src/storage/rows.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, editionRow, eventRow } from '../fixtures/rows.js'

/** Stores random editions, fetches and arrivals of two sites, and recounts who has which edition row by row. */
const NOW = Date.parse('2026-11-01T12:00:00.000Z')
const DAY = 86_400_000
const START = NOW - 7 * DAY
/** Editions and reads begin long before the window. */
const FIRST = START - 14 * DAY
const random = seeded(20261129)
const PATHS = ['/', '/a', "/it's", '/über', '/never-read', '/never-sampled']
const HOSTS = ['one.example', 'www.one.example'] as const
const ASSISTANTS = [
  { source: 'chatgpt.com', operator: 'OpenAI' },
  { source: 'claude.ai', operator: 'Anthropic' },
]
const AGENTS = [
  ['gptbot', 'OpenAI', 'training'],
  ['chatgpt-user', 'OpenAI', 'assistant'],
  ['oai-searchbot', 'OpenAI', 'search'],
  ['claude-user', 'Anthropic', 'assistant'],
  ['bingbot', 'Microsoft', 'search'],
  ['uptime', 'Uptime', 'monitor'],
] as const
/** One of a list that is not empty. */
function pick<V>(list: readonly V[]): V {
  const [first] = list
  const value = list[random.int(list.length - 1)] ?? first
  if (value === undefined) throw new Error('an empty list')
  return value
}
const between = (from: number, to: number) => new Date(from + random.int(Math.max(0, to - from - 1)))

/** The editions of a page: some have only one, some vary, and now and then two moments are the same. */
function editionsOf(site_id: number, hostname: string, pathname: string): PageEdition[] {
  const page = { site_id, hostname, pathname, title: random.of([null, `Title of ${pathname}`]) }
  if (random() < 0.15) return [editionRow({ ...page, first_seen: between(FIRST, NOW), varies: true })]
  const starts = Array.from({ length: random.int(4) + 1 }, () => between(FIRST, NOW + DAY).getTime())
  const sorted = [...new Set(starts)].sort((a, b) => a - b)
  let prior: Date | null = null
  return sorted.map((start, n) => {
    const end = sorted[n + 1]
    const last_seen = between(start, Math.min(end ?? NOW + DAY, start + 3 * DAY))
    const row = editionRow({ ...page, first_seen: new Date(start), last_seen, prior_seen: prior, digest: `${n}` })
    prior = last_seen
    return { ...row, replaced_at: end === undefined ? null : new Date(end) }
  })
}
const URLS = HOSTS.flatMap((hostname) => PATHS.map((pathname) => ({ hostname, pathname })))
const SAMPLED = [
  ...URLS.filter(({ pathname }) => pathname !== '/never-sampled').flatMap((url) =>
    editionsOf(1, url.hostname, url.pathname),
  ),
  ...editionsOf(2, 'one.example', '/'),
]
const SITEMAP = URLS.filter(() => random() < 0.8).map((url) => ({
  ...url,
  lastmod: random() < 0.2 ? null : between(FIRST, NOW),
}))
const MOMENTS = SAMPLED.flatMap(({ first_seen, prior_seen }) => [first_seen, ...(prior_seen ? [prior_seen] : [])])
const fetches = Array.from({ length: 400 }, () => {
  const [agent_id, operator, purpose] = pick(AGENTS)
  return agentRow({
    ...{ site_id: random() < 0.9 ? 1 : 2, ...pick(URLS.filter(({ pathname }) => pathname !== '/never-read')) },
    ...{ agent_id, operator, purpose },
    // Some reads are at the very moment of a sample.
    timestamp: random() < 0.2 ? pick(MOMENTS) : between(FIRST, NOW + DAY),
    status: random.of([200, 200, 200, 304, 404, 500]),
    method: random.of(['GET', 'GET', 'GET', 'HEAD']),
    is_pageview: random() < 0.9,
    country: random.of(['DE', 'US']),
    action: random.of([null, null, 'allow', 'block']),
    ...random.of<Pick<AgentEventRow, 'verified' | 'verification'>>([
      { verified: true, verification: 'ranges' },
      { verified: null, verification: 'unverifiable' },
      { verified: false, verification: 'spoofed' },
    ]),
  })
})
const people = Array.from({ length: 300 }, (_, n): EventRow => {
  const url = pick(URLS)
  const source = random.of(['chatgpt.com', 'claude.ai', 'other.example'])
  return eventRow({
    ...{ site_id: random() < 0.9 ? 1 : 2, ...url, entry_page: url.pathname, source, channel: 'AI Assistants' },
    ...{ timestamp: between(START - DAY, NOW + DAY), visitor_id: BigInt(n), session_id: BigInt(n) },
    country: random.of(['DE', 'US']),
  })
})

type Store = Pick<EventStore, 'append' | 'query' | 'dialect' | 'writePageEditions' | 'replaceSitemap'>
type Url = Pick<PageEdition, 'hostname' | 'pathname'>
type Passes = (row: Url & { country?: string | null; agent_id?: string }) => boolean
const FILTERS: readonly [object[], Passes, why: string][] = [
  [[], () => true, 'none'],
  [
    [{ dimension: 'country', op: 'is', value: 'DE' }],
    ({ country }) => country === undefined || country === 'DE',
    'both',
  ],
  [[{ dimension: 'pathname', op: 'is', value: '/a' }], ({ pathname }) => pathname === '/a', 'a page'],
  [
    [{ dimension: 'agent_id', op: 'is', value: 'claude-user' }],
    ({ agent_id }) => agent_id === undefined || agent_id === 'claude-user',
    'agents',
  ],
]

const isSame = (a: Url) => (b: Url) => a.hostname === b.hostname && a.pathname === b.pathname
const isGenuine = ({ verification, action }: AgentEventRow) =>
  verification !== 'spoofed' && (action === null || action === 'allow')
const isForPeople = ({ purpose }: AgentEventRow) => purpose === 'search' || purpose === 'assistant'
const latest = (rows: readonly AgentEventRow[]) =>
  rows.length === 0 ? undefined : Math.max(...rows.map(({ timestamp }) => timestamp.getTime()))
const operatorOf = ({ source }: EventRow) => ASSISTANTS.find((one) => one.source === source)?.operator

function rowsOf(passes: Passes) {
  const reads = fetches.filter(
    (row) =>
      row.site_id === 1 &&
      +row.timestamp < NOW &&
      row.method === 'GET' &&
      (row.status === 200 || row.status === 304) &&
      isGenuine(row) &&
      passes(row),
  )
  const arrivals = people.filter(
    (row) => row.site_id === 1 && +row.timestamp >= START && +row.timestamp < NOW && passes(row),
  )
  const own = SAMPLED.filter((row) => row.site_id === 1 && passes({ hostname: row.hostname, pathname: row.pathname }))
  const present = own.filter(
    ({ first_seen, replaced_at }) => +first_seen < NOW && (replaced_at === null || +replaced_at >= NOW),
  )
  return { reads, arrivals, own, present }
}

/** The date of the sitemap, and whether it agrees with the samples. */
function lastmodOf(edition: PageEdition): { lastmod?: string; lastmod_verdict?: string } {
  const lastmod = SITEMAP.find(isSame(edition))?.lastmod
  if (!lastmod) return {}
  const date = { lastmod: lastmod.toISOString() }
  if (edition.varies) return date
  if (edition.prior_seen && +lastmod < +edition.prior_seen - DAY) return { ...date, lastmod_verdict: 'missed' }
  const isLater = +lastmod > +edition.first_seen + DAY && +lastmod <= +edition.last_seen
  return { ...date, lastmod_verdict: isLater ? 'unfounded' : 'agrees' }
}

/** The edition that a reader has whose last read was then. */
function editionAt(last: number | undefined, { first_seen, prior_seen }: PageEdition) {
  if (last === undefined) return { state: 'never' }
  const isOld = prior_seen !== null && last <= +prior_seen
  return { state: last >= +first_seen ? 'current' : isOld ? 'old' : 'unknown', last_read: new Date(last).toISOString() }
}

function recountPages(passes: Passes) {
  const { reads, arrivals, present } = rowsOf(passes)
  const active = new Map<string, AgentEventRow[]>()
  for (const row of reads.filter((one) => one.is_pageview && +one.timestamp >= START && one.purpose !== 'monitor'))
    active.set(row.agent_id, [...(active.get(row.agent_id) ?? []), row])
  return present.map((edition) => {
    const { hostname, pathname, title, first_seen, last_seen, prior_seen, varies } = edition
    const ofPage = reads.filter(isSame(edition))
    const came = arrivals.filter(isSame(edition))
    const stale = [...new Set(came.map(operatorOf))].filter((operator) => {
      if (operator === undefined || prior_seen === null || varies) return false
      const last = latest(ofPage.filter((row) => row.operator === operator && isForPeople(row)))
      return last === undefined || last <= +prior_seen
    })
    const agents = [...active].map(([agent_id, [one]]) => {
      const last = latest(ofPage.filter((row) => row.agent_id === agent_id))
      return { ...{ agent_id, name: agent_id, operator: one?.operator }, ...editionAt(last, edition) }
    })
    const operators = ASSISTANTS.flatMap(({ operator }) => {
      const readers = came.filter((row) => operatorOf(row) === operator).length
      const last = latest(ofPage.filter((row) => row.operator === operator && isForPeople(row)))
      return readers === 0 ? [] : [{ operator, readers, ...editionAt(last, edition) }]
    })
    return {
      ...{ hostname, pathname, ...(title === null ? {} : { title }) },
      ...(prior_seen === null || varies ? {} : { changed_at: first_seen.toISOString() }),
      ...{ sampled_since: first_seen.toISOString(), sampled_at: last_seen.toISOString() },
      ...(varies ? { varies: true } : {}),
      readers: came.length,
      at_stake: came.filter((row) => stale.includes(operatorOf(row))).length,
      ...lastmodOf(edition),
      agents: varies ? [] : agents,
      operators: varies ? [] : operators.sort((a, b) => b.readers - a.readers || (a.operator < b.operator ? -1 : 1)),
    }
  })
}

function recountSummary(passes: Passes) {
  const { reads, own, present } = rowsOf(passes)
  const changes = own.filter(
    (row) => row.prior_seen && !row.varies && +row.first_seen >= START && +row.first_seen < NOW,
  )
  const verdicts = present.map((edition) => lastmodOf(edition).lastmod_verdict)
  const count = (verdict: string) => verdicts.filter((one) => one === verdict).length
  const agents = AGENTS.flatMap(([agent_id, operator, purpose]) => {
    if (purpose !== 'search' && purpose !== 'assistant') return []
    if (!ASSISTANTS.some((one) => one.operator === operator)) return []
    const ofAgent = reads.filter((row) => row.agent_id === agent_id)
    const known = changes.filter((row) =>
      ofAgent.some((read) => isSame(row)(read) && +read.timestamp <= Number(row.prior_seen)),
    )
    const delays = known
      .flatMap((row) => {
        const again = ofAgent.filter(
          (read) =>
            isSame(row)(read) &&
            read.timestamp >= row.first_seen &&
            (!row.replaced_at || read.timestamp < row.replaced_at),
        )
        return again.length === 0 ? [] : [Math.min(...again.map(({ timestamp }) => +timestamp)) - +row.first_seen]
      })
      .sort((a, b) => a - b)
    const [low = 0, high = 0] = [
      delays[Math.floor((delays.length - 1) / 2)],
      delays[Math.ceil((delays.length - 1) / 2)],
    ]
    const delay = delays.length === 0 ? {} : { delay: (low + high) / 2_000 }
    if (known.length === 0) return []
    return [{ agent_id, name: agent_id, operator, changes: known.length, reread: delays.length, ...delay }]
  })
  return {
    pages: present.length,
    changed: new Set(changes.map(({ hostname, pathname }) => `${hostname} ${pathname}`)).size,
    varying: present.filter(({ varies }) => varies).length,
    lastmod: { agrees: count('agrees'), missed: count('missed'), unfounded: count('unfounded') },
    agents: agents.sort((a, b) => b.changes - a.changes || (a.agent_id < b.agent_id ? -1 : 1)),
  }
}

/** Stores the rows and compares both reads with their recount, for each filter. */
export async function checkEditions(t: Test, store: Store): Promise<void> {
  await store.append({ events: people, agent_events: fetches })
  await store.writePageEditions({ put: SAMPLED, remove: [] })
  for (const hostname of HOSTS)
    await store.replaceSitemap(
      hostname,
      SITEMAP.filter((url) => url.hostname === hostname).map(({ pathname, lastmod }) => ({ pathname, lastmod })),
    )
  const deps: ReadDependencies = {
    ...{ store, catalog: [], blockedUrls: async () => undefined, now: () => new Date(NOW), assistants: ASSISTANTS },
    site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: (name) => name.endsWith('one.example') }),
    segment: async () => undefined,
  }
  for (const [filters, passes, why] of FILTERS)
    t.test(`recounted with a filter on: ${why}`, async (t) => {
      const query = new URLSearchParams({ site: '1', limit: '1000', audience: 'all', filters: JSON.stringify(filters) })
      query.set('start', new Date(START).toISOString())
      query.set('end', new Date(NOW).toISOString())
      const { data, meta } = await runRead(editions, query, deps)
      const wanted = recountPages(passes)
      t.ok(wanted.length > 0)
      t.equal(meta.total, wanted.length)
      assertEqual(t, inOrder(data), inOrder(wanted), 'pages')
      const rankOf = (row: { at_stake: number; changed_at?: string }) => row.at_stake * 2 + (row.changed_at ? 1 : 0)
      const ranks = wanted.map(rankOf).sort((a, b) => b - a)
      t.same(Array.isArray(data) && data.map(rankOf), ranks, 'most readers at stake first, then pages that changed')
      query.delete('limit')
      const found = await runRead(summary, query, deps)
      assertEqual(t, JSON.parse(JSON.stringify(found.data)), recountSummary(passes), 'summary')
    })
}

/** Pages by address, and their agents by id. */
function inOrder(rows: unknown) {
  const pages: ReturnType<typeof recountPages> = JSON.parse(JSON.stringify(rows))
  const byId = (a: { agent_id: string }, b: { agent_id: string }) => (a.agent_id < b.agent_id ? -1 : 1)
  const name = ({ hostname, pathname }: Url) => `${hostname} ${pathname}`
  return pages
    .map((page) => ({ ...page, agents: page.agents.toSorted(byId) }))
    .sort((a, b) => (name(a) < name(b) ? -1 : 1))
}
