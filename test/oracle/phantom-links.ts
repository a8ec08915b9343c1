import type { Test } from 'tap'
import { z } from 'zod'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import phantomLinks from '../../src/analytics/reads/phantom-links.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { AgentEventRow, EventRow } from '../../src/storage/rows.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** Stores random requests of two sites and recounts the missing pages row by row. */
const NOW = Date.parse('2026-11-01T12:00:00.000Z')
const START = NOW - 7 * 86_400_000
const HALF_HOUR = 30 * 60_000
const random = seeded(20261128)
const PATHS = ['/gone', '/gone/', '/a', "/it's", '/über', '/x?', '/deep/er/page', '/wp-login.php', '/.env', '/back']
const HOSTS = ['one.example', 'www.one.example'] as const
/** Up to two days before the window; half of the times are on a whole ten minutes, so that many are equal. */
const moment = () => {
  const at = START - 2 * 86_400_000 + Math.floor(random() * (NOW - START + 2 * 86_400_000))
  return new Date(random() < 0.5 ? at - (at % 600_000) : at)
}
const where = () => ({
  site_id: random() < 0.9 ? 1 : 2,
  hostname: random.of(HOSTS),
  pathname: PATHS[random.int(PATHS.length - 1)] ?? '/gone',
  timestamp: moment(),
  country: random.of(['DE', 'US', null]),
})
const person = (of: Partial<EventRow>) =>
  eventRow({
    ...where(),
    visitor_id: BigInt(random.int(60)),
    session_id: BigInt(random.int(900)),
    suspected: random() < 0.06,
    ...of,
  })
const events = [
  ...Array.from({ length: 1_200 }, () =>
    person({ pathname: random.of(['/back', '/home', '/a']), status: random.of([200, null]) }),
  ),
  // Another server declared these views.
  ...Array.from({ length: 80 }, () => person({ status: random.of([404, 410]) })),
  ...Array.from({ length: 80 }, () => person({ kind: 'custom', status: null })),
]
const loose = [
  ...Array.from({ length: 700 }, () => person({ kind: 'missing_page', status: random.of([404, 404, 410]) })),
  // A redirect answered in place of the origin.
  ...Array.from({ length: 60 }, () => person({ kind: 'missing_page', status: 301 })),
  ...Array.from({ length: 60 }, () => person({ kind: 'web_vitals', status: null })),
]
const agent_events = Array.from({ length: 900 }, () =>
  agentRow({
    ...where(),
    agent_id: random.of(['chatgpt-user', 'claude-user']),
    purpose: random.of(['assistant', 'assistant', 'training']),
    status: random.of([404, 404, 410, 200, 301, 500]),
    // A rule of the operator's answers in place of the origin.
    action: random.of([null, null, null, 'allow', 'block', 'gone']),
    ...random.of<Pick<AgentEventRow, 'verified' | 'verification'>>([
      { verified: true, verification: 'ranges' },
      { verified: null, verification: 'unverifiable' },
      { verified: false, verification: 'spoofed' },
    ]),
  }),
)
const DAY = 86_400_000
/** Redirects by path: three whole days on each side, two, none before the window's end, and none in the window. */
const REDIRECTS = new Map([
  ['/gone', { id: 1, created_at: new Date(START + 3 * DAY + 3 * HALF_HOUR) }],
  ['/a', { id: 2, created_at: new Date(NOW - 2 * DAY - 1) }],
  ['/über', { id: 3, created_at: new Date(NOW - DAY + 1) }],
  ["/it's", { id: 4, created_at: new Date(START - DAY) }],
])
type CheckedStore = Pick<EventStore, 'append' | 'query' | 'dialect'>
const depsOf = (store: CheckedStore): ReadDependencies => ({
  redirects: async () => (pathname) => REDIRECTS.get(pathname),
  ...{ store, catalog: [], blockedUrls: async () => undefined, now: () => new Date(NOW) },
  site: async (id) => ({
    id,
    timezone: 'UTC',
    visitor_salt: 'never',
    owns: (hostname) => hostname.endsWith('one.example'),
  }),
  segment: async () => undefined,
  assistants: [],
})

type Row = EventRow | AgentEventRow
const Rows = z.array(z.looseObject({ hostname: z.string(), pathname: z.string(), nearest: z.unknown().optional() }))
const isMissing = ({ status }: Row) => status === 404 || status === 410
const isGenuine = ({ verification, action }: AgentEventRow) =>
  verification !== 'spoofed' && (action === null || action === 'allow')
const isProbe = ({ pathname }: Row) => pathname === '/wp-login.php' || pathname === '/.env'
const ms = ({ timestamp }: Row) => timestamp.getTime()
const nameOf = ({ hostname, pathname }: { hostname: string; pathname: string }) => `${hostname} ${pathname}`
const suspected = new Set(
  events.flatMap(({ site_id, session_id, suspected }) => (suspected ? [`${site_id} ${session_id}`] : [])),
)
const FILTERS: readonly [object[], (row: Row) => boolean, why: string, more?: string][] = [
  [
    [],
    // A request for a missing page is in no session.
    (row) => 'agent_id' in row || row.kind === 'missing_page' || !suspected.has(`${row.site_id} ${row.session_id}`),
    'without suspected sessions',
    'suspected=exclude',
  ],
  [[], () => true, 'none'],
  [[{ dimension: 'country', op: 'is', value: 'DE' }], (row) => row.country === 'DE', 'of both'],
  [[{ dimension: 'pathname', op: 'is', value: '/gone' }], (row) => row.pathname === '/gone', 'a page'],
  [
    [{ dimension: 'agent_id', op: 'is', value: 'claude-user' }],
    (row) => !('agent_id' in row) || row.agent_id === 'claude-user',
    'of agents',
  ],
]

function recount(passes: (row: Row) => boolean) {
  const people = [
    ...events.filter((row) => row.kind === 'pageview' && isMissing(row)),
    ...loose.filter((row) => row.kind === 'missing_page' && isMissing(row)),
  ].filter(({ site_id }) => site_id === 1)
  const fetches = agent_events.filter(
    (row) => row.site_id === 1 && row.purpose === 'assistant' && isMissing(row) && isGenuine(row) && passes(row),
  )
  const moved = loose.filter(
    (row) => row.site_id === 1 && row.kind === 'missing_page' && row.status === 301 && !isProbe(row),
  )
  const shown = people.filter((row) => passes(row) && !isProbe(row))
  const within = (row: Row) => ms(row) >= START && ms(row) < NOW
  const visits = [
    ...people.filter((row) => within(row) && !isProbe(row)).map((row) => ({ row, missing: true })),
    ...events
      .filter((row) => row.site_id === 1 && row.kind === 'pageview' && !isMissing(row))
      .map((row) => ({ row, missing: false })),
  ]
  const isLost = (row: EventRow, others = visits) =>
    !others.some(({ row: next, missing }) => {
      if (next === row || next.visitor_id !== row.visitor_id || ms(next) - ms(row) > HALF_HOUR || ms(next) < ms(row))
        return false
      if (ms(next) > ms(row) || !missing) return true
      return nameOf(next) > nameOf(row)
    })
  const withMoved = [...visits, ...moved.filter(within).map((row) => ({ row, missing: true }))]
  /** The requests of a URL between two instants, redirected ones included. */
  const side = (name: string, start: number, end: number) => {
    const rows = [...shown, ...moved.filter(passes)].filter(
      (row) => nameOf(row) === name && ms(row) >= start && ms(row) < end,
    )
    const readers = new Set(rows.map((row) => row.visitor_id)).size
    const lost = new Set(rows.filter((row) => isLost(row, withMoved)).map((row) => row.visitor_id)).size
    return { requests: rows.length, readers, lost, ...(rows.length >= 20 ? { share: lost / readers } : {}) }
  }
  const redirectOf = (name: string, pathname: string) => {
    const redirect = REDIRECTS.get(pathname)
    if (redirect === undefined) return {}
    const at = redirect.created_at.getTime()
    const days = { '/gone': 3, '/a': 2 }[pathname] ?? 0
    const counted =
      days === 0 ? {} : { before: side(name, at - days * DAY, at), after: side(name, at, at + days * DAY) }
    return { redirect: { id: redirect.id, since: redirect.created_at.toISOString(), days, ...counted } }
  }
  const found = new Map<string, { people: EventRow[]; agents: AgentEventRow[] }>()
  const of = (row: Row) => {
    const own = found.get(nameOf(row)) ?? { people: [], agents: [] }
    found.set(nameOf(row), own)
    return own
  }
  for (const row of shown.filter(within)) of(row).people.push(row)
  for (const row of fetches.filter((row) => within(row) && !isProbe(row))) of(row).agents.push(row)
  return [...found].map(([name, { people, agents }]) => {
    const [hostname = '', pathname = ''] = name.split(' ')
    const same = (row: Row) => row.site_id === 1 && nameOf(row) === name && ms(row) < NOW && passes(row)
    const served = Math.max(
      ...events.filter((row) => same(row) && row.kind === 'pageview' && (row.status ?? 999) < 400).map(ms),
      ...agent_events.filter((row) => same(row) && row.status === 200 && isGenuine(row)).map(ms),
    )
    const asked = [
      ...events.filter((row) => row.kind === 'pageview'),
      ...loose.filter((row) => row.kind === 'missing_page'),
      ...fetches,
    ].filter((row) => same(row) && isMissing(row))
    const latest = Math.max(...asked.map(ms))
    const since = Math.min(...asked.map(ms).filter((at) => at > served))
    const ids = [...new Set(agents.map(({ agent_id }) => agent_id))].sort()
    const counted = ids.map((agent_id) => ({
      agent_id,
      name: agent_id,
      fetches: agents.filter((row) => row.agent_id === agent_id).length,
    }))
    return {
      ...{ hostname, pathname, requests: people.length, fetches: agents.length },
      readers: new Set(people.map((row) => row.visitor_id)).size,
      lost: new Set(people.filter((row) => isLost(row)).map((row) => row.visitor_id)).size,
      agents: counted.sort((a, b) => b.fetches - a.fetches),
      ...redirectOf(name, pathname),
      status: Math.max(...asked.filter((row) => ms(row) === latest).map((row) => row.status ?? 0)),
      ...(Number.isFinite(since) ? { since: new Date(since).toISOString() } : {}),
      ...(Number.isFinite(served) ? { last_served: new Date(served).toISOString() } : {}),
    }
  })
}

/** Stores the requests and compares the read with their recount, for each audience and filter. */
export async function checkPhantomLinks(t: Test, store: CheckedStore): Promise<void> {
  await store.append({ events, agent_events }, undefined, { loose })
  for (const [filters, passes, why, more = ''] of FILTERS)
    for (const audience of ['human', 'agent', 'all'])
      t.test(`recounted for ${audience}, filter: ${why}`, async (t) => {
        const query = new URLSearchParams(more)
        for (const [name, value] of Object.entries({ site: '1', limit: '1000', audience })) query.set(name, value)
        query.set('filters', JSON.stringify(filters))
        query.set('start', new Date(START).toISOString())
        query.set('end', new Date(NOW).toISOString())
        const { data, meta } = await runRead(phantomLinks, query, depsOf(store))
        const wanted = recount(passes)
        t.ok(wanted.length > 0)
        t.equal(meta.total, wanted.length)
        const inOrder = (rows: unknown) =>
          Rows.parse(JSON.parse(JSON.stringify(rows)))
            .map(({ nearest: _, ...row }) => row)
            .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
        assertEqual(t, inOrder(data), inOrder(wanted), why)
      })
}
