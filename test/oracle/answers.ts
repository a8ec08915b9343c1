import type { Test } from 'tap'
import { z } from 'zod'
import type { Goal } from '../../src/analytics/query/goals.js'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import answersSummary from '../../src/analytics/reads/answers/summary.js'
import answers from '../../src/analytics/reads/answers.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { AgentEventRow, EventRow } from '../../src/storage/rows.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** Stores random live fetches and visits of two sites, and gives each arrival to its fetch row by row. */
const NOW = Date.parse('2026-11-04T12:00:00.000Z')
const DAY = 86_400_000
const START = NOW - 2 * DAY
const random = seeded(20261129)
const SOURCES = { ChatGPT: 'OpenAI', Claude: 'Anthropic', 'claude.ai': 'Anthropic', Perplexity: 'Perplexity' } as const
const HOSTS = ['one.example', 'www.one.example'] as const
const PATHS = ['/a', '/b', "/it's", '/über', '/a/'] as const
/** Three days and an hour around the window; two of three times are on a whole minute, so that many are equal. */
const moment = () => {
  const at = START - DAY - 3_600_000 + Math.floor(random() * (3 * DAY + 2 * 3_600_000))
  return new Date(random() < 0.67 ? at - (at % 60_000) : at)
}
const where = () => ({
  ...{ site_id: random() < 0.95 ? 1 : 2, hostname: random.of(HOSTS), pathname: random.of(PATHS) },
  ...{ timestamp: moment(), country: random.of(['DE', 'DE', 'US']) },
})
/** Fetches; a third come in the same moment as one before, by the same agent, so that moments alone do not tell pages apart. */
const agent_events: AgentEventRow[] = []
for (let i = 0; i < 2_000; i++) {
  const before = i % 3 === 0 ? agent_events.at(-1) : undefined
  const [agent_id, operator] = random.of<readonly [string, string]>([
    ['chatgpt-user', 'OpenAI'],
    ['chatgpt-agent', 'OpenAI'],
    ['claude-user', 'Anthropic'],
    ['perplexity-user', 'Perplexity'],
    ['mcp-fetch', 'Model Context Protocol'],
  ])
  const fetch = agentRow({
    ...{ ...where(), agent_id, operator },
    purpose: random.of(['assistant', 'assistant', 'assistant', 'search']),
    is_pageview: random() < 0.9,
    action: random.of([null, null, null, 'allow', 'block']),
    // Log 7 names referrers, log 8 does not.
    import_id: random.of([null, null, null, 7, 8]),
    ...random.of<Pick<AgentEventRow, 'verified' | 'verification'>>([
      { verified: true, verification: 'ranges' },
      { verified: null, verification: 'unverifiable' },
      { verified: false, verification: 'spoofed' },
    ]),
  })
  const { hostname, pathname } = where()
  agent_events.push(before === undefined ? fetch : { ...before, hostname, pathname })
}
/** A visit: where it began, and its later hits, some of them past midnight or past the window's end. */
const visits = Array.from({ length: 1_600 }, (_, i): EventRow[] => {
  const from = random.of(['ChatGPT', 'Claude', 'Perplexity', 'paid', 'direct', 'unknown'])
  const near = agent_events[random.int(agent_events.length)]
  const entry = eventRow({
    ...where(),
    // Half come soon after a fetch, at its page.
    ...(near && random() < 0.5
      ? {
          hostname: near.hostname,
          pathname: near.pathname,
          timestamp: new Date(near.timestamp.getTime() + random.int(400_000)),
        }
      : {}),
    ...{ session_id: BigInt(i) + 1n, visitor_id: BigInt(i % 400) },
    ...(from === 'direct' ? {} : { channel: 'AI Assistants', source: from }),
    // An advertisement's tags outrank the assistant that repeated the link.
    ...(from === 'paid' ? { channel: 'Paid Search', source: 'Google', referrer: 'https://claude.ai/' } : {}),
    import_id: from === 'direct' ? 8 : null,
  })
  const first = { ...entry, entry_page: entry.pathname }
  const later = Array.from({ length: random.int(3) }, () => {
    const timestamp = new Date(first.timestamp.getTime() + 1 + random.int(20 * 60_000))
    const kind = random.of(['pageview', 'pageview', 'custom', 'engagement'])
    const pathname = random.of(['/thanks', '/thanks', '/a', '/b'])
    return { ...first, timestamp, kind, pathname, event_name: kind === 'custom' ? 'signup' : null }
  })
  // A page that was loaded twice in one millisecond is one arrival.
  return [first, ...(random() < 0.1 ? [first] : []), ...later]
})
const imported = eventRow({ ...where(), referrer: 'https://a.example/', import_id: 7, session_id: 99_999n })
const events = [...visits.flat(), imported]
const goal = (id: number, name: string, of: Pick<Goal, 'type' | 'match'>): Goal => ({ id, name, ...of })
const GOALS = [
  goal(1, 'thanks', { type: 'page', match: { op: 'is', value: '/thanks' } }),
  goal(2, 'signup', { type: 'event', match: { op: 'is', value: 'signup' } }),
  goal(3, 'long', { type: 'duration', match: { op: 'gte', value: 600 } }),
]

/** Counts of search engines: the window has one whole day in UTC. */
const ADDITIONS = [
  ['2026-11-03', '2026-11-03'],
  ['2026-11-03', '2026-11-03'],
  ['2026-11-02', '2026-11-03'],
  ['2026-11-03', '2026-11-04'],
  ['2026-10-03', '2026-11-02'],
].map(([first_day = '', last_day = ''], i) => ({
  ...{ id: i + 1, tool: `Engine ${i}`, first_day, last_day },
  pages: HOSTS.flatMap((hostname) => PATHS.map((pathname) => ({ hostname, pathname })))
    .filter(() => random() < 0.6)
    .map((page) => {
      const figure = () => random.of([null, 0, random.int(1_000)])
      return { ...page, citations: figure(), clicks: figure(), impressions: figure() }
    }),
}))
const countedPages: NonNullable<ReadDependencies['countedPages']> = async () => ({
  additions: ADDITIONS,
  list: async (ids, pathnames) =>
    ADDITIONS.filter(({ id }) => ids.includes(id)).flatMap(({ pages }) =>
      pages.filter(({ pathname }) => pathnames.includes(pathname)),
    ),
})
/** Adds up what the two additions of the whole day say about a page. */
function recountPages(page: Keys): object {
  const of = ADDITIONS.slice(0, 2).flatMap(({ pages }) =>
    pages.filter((one) => pageOf(one) === pageOf({ hostname: '', pathname: '', ...page })),
  )
  const sum = (name: string, values: readonly (number | null)[]) =>
    values.every((value) => value === null) ? {} : { [name]: values.reduce<number>((n, value) => n + (value ?? 0), 0) }
  return {
    ...sum(
      'cited',
      of.map(({ citations }) => citations),
    ),
    ...sum(
      'search_clicks',
      of.map(({ clicks }) => clicks),
    ),
    ...sum(
      'search_impressions',
      of.map(({ impressions }) => impressions),
    ),
  }
}

type CheckedStore = Pick<EventStore, 'append' | 'query' | 'dialect'>
const depsOf = (store: CheckedStore, goals: readonly Goal[]): ReadDependencies => ({
  countedPages,
  ...{ store, catalog: [], now: () => new Date(NOW), segment: async () => undefined, goals: async () => goals },
  site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true }),
  assistants: Object.entries(SOURCES).map(([source, operator]) => ({ source, operator })),
})

const ms = ({ timestamp }: { timestamp: Date }) => timestamp.getTime()
const pageOf = ({ hostname, pathname }: { hostname: string; pathname: string }) => `${hostname} ${pathname}`
const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const half = (sorted.length - 1) / 2
  return ((sorted[Math.floor(half)] ?? 0) + (sorted[Math.ceil(half)] ?? 0)) / 2
}
const operators: readonly string[] = Object.values(SOURCES)
const FETCHES = agent_events.filter(
  (row) =>
    row.site_id === 1 &&
    row.purpose === 'assistant' &&
    row.is_pageview &&
    row.verification !== 'spoofed' &&
    (row.action === null || row.action === 'allow') &&
    operators.includes(row.operator),
)
/** Sessions of site 1 that an assistant sent, with all of their hits. */
const ARRIVALS = visits.flatMap((hits) => {
  const [entry] = hits
  if (entry === undefined || entry.site_id !== 1) return []
  const source = entry.channel === 'Paid Search' ? 'claude.ai' : entry.source
  const operator = Object.entries(SOURCES).find(([name]) => name === source)?.[1]
  return operator === undefined ? [] : [{ entry, operator, hits }]
})
interface Question {
  readonly minutes: number
  readonly passes: (row: EventRow | AgentEventRow) => boolean
  /** Whether the filter selects a page, which it does for fetches alone. */
  readonly isOfPage: boolean
  readonly operator: string | undefined
}
const length = (hits: readonly EventRow[]) => Math.max(...hits.map(ms)) - Math.min(...hits.map(ms))
const goalsOf = (hits: readonly EventRow[]): number =>
  [
    hits.some(({ kind, pathname }) => kind === 'pageview' && pathname === '/thanks'),
    hits.some(({ event_name }) => event_name === 'signup'),
    length(hits) >= 600_000,
  ].filter(Boolean).length

/** Gives each arrival, moved by a time, to its fetch: those of the window that pass the filter. */
function follow({ minutes, passes, isOfPage, operator }: Question, moved = 0) {
  const known = FETCHES.filter(({ import_id }) => import_id !== 8)
  return ARRIVALS.flatMap((arrival) => {
    if (!isOfPage && !passes(arrival.entry)) return []
    if (operator !== undefined && arrival.operator !== operator) return []
    const came = ms(arrival.entry) + moved
    const before = known.filter(
      (row) => row.operator === arrival.operator && ms(row) <= came && came - ms(row) <= minutes * 60_000,
    )
    const own = before.filter((row) => pageOf(row) === pageOf(arrival.entry))
    const near = own.length > 0 ? own : before
    const latest = Math.max(...near.map(ms))
    const [page] = near
      .filter((row) => ms(row) === latest)
      .map(({ hostname, pathname }) => ({ hostname, pathname }))
      .toSorted((a, b) => Buffer.compare(Buffer.from(pageOf(b)), Buffer.from(pageOf(a))))
    if (page === undefined || latest < START || latest >= NOW) return []
    const found = near.filter((row) => ms(row) === latest && pageOf(row) === pageOf(page))
    if (!found.some(passes)) return []
    return [{ ...arrival, page, fetched: latest, delay: came - latest, same: own.length > 0 }]
  })
}

/** Counts the fetches that arrivals followed, each once. */
const countFetches = (of: ReturnType<typeof follow>) =>
  new Set(of.map(({ page, operator, fetched }) => `${operator} ${pageOf(page)} ${fetched}`)).size

type Keys = { hostname?: string; pathname?: string; operator?: string }
type Group = (of: { hostname: string; pathname: string; operator: string }) => Keys
const GROUPS: Readonly<Record<string, Group>> = {
  page: ({ hostname, pathname }) => ({ hostname, pathname }),
  operator: ({ operator }) => ({ operator }),
  page_operator: ({ hostname, pathname, operator }) => ({ hostname, pathname, operator }),
  total: () => ({}),
}

function recount(question: Question, group: Group, hasGoals: boolean): object[] {
  const within = FETCHES.filter(
    (row) =>
      row.import_id !== 8 &&
      ms(row) >= START &&
      ms(row) < NOW &&
      question.passes(row) &&
      (question.operator === undefined || row.operator === question.operator),
  )
  const followed = follow(question)
  const names = new Set(within.map((row) => JSON.stringify(group(row))))
  return [...names].map((name) => {
    const fetches = within.filter((row) => JSON.stringify(group(row)) === name)
    const own = followed.filter(({ page, operator }) => JSON.stringify(group({ ...page, operator })) === name)
    const ofSame = own.filter(({ same }) => same)
    const same = ofSame.length
    const delays = own.map(({ delay }) => delay / 1000)
    return {
      ...JSON.parse(name),
      ...{ fetches: fetches.length, followed: countFetches(own), followed_same_page: countFetches(ofSame) },
      arrivals: own.length,
      ...{ same_page: same, other_page: own.length - same },
      not_followed: (fetches.length - countFetches(own)) / fetches.length,
      ...(own.length >= 5
        ? { delay: median(delays), stay: median(own.map(({ hits }) => length(hits) / 1000)) }
        : own.length > 0
          ? { delays: delays.toSorted((a, b) => a - b) }
          : {}),
      ...(hasGoals ? { goals: own.reduce((sum, { hits }) => sum + goalsOf(hits), 0) } : {}),
    }
  })
}

const FILTERS: readonly [object[], Question['passes'], isOfPage: boolean, why: string][] = [
  [[], () => true, false, 'none'],
  [[{ dimension: 'country', op: 'is', value: 'DE' }], (row) => row.country === 'DE', false, 'of both'],
  [[{ dimension: 'pathname', op: 'is', value: '/a' }], (row) => row.pathname === '/a', true, 'a page'],
  [
    [{ dimension: 'agent_id', op: 'is', value: 'chatgpt-user' }],
    (row) => !('agent_id' in row) || row.agent_id === 'chatgpt-user',
    false,
    'of agents',
  ],
]
const Rows = z.array(z.looseObject({}))
const sorted = (rows: unknown) =>
  Rows.parse(
    JSON.parse(JSON.stringify(rows, (_, value) => (typeof value === 'number' ? +value.toPrecision(12) : value))),
  )
    .map((row) => Object.fromEntries(Object.entries(row).toSorted()))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

/** Stores the rows and compares the reads with their recount, for each filter, grouping and time. */
export async function checkAnswers(t: Test, store: CheckedStore): Promise<void> {
  await store.append({ events, agent_events })
  let found = 0
  for (const [i, [filters, passes, isOfPage, why]] of FILTERS.entries())
    for (const minutes of i === 0 ? [1, 10, 60] : [10])
      t.test(`answers within ${minutes} minutes, filter: ${why}`, async (t) => {
        const query = new URLSearchParams({
          site: '1',
          limit: '1000',
          filters: JSON.stringify(filters),
          compare: 'none',
        })
        query.set('start', new Date(START).toISOString())
        query.set('end', new Date(NOW).toISOString())
        query.set('minutes', String(minutes))
        for (const operator of i === 0 ? [undefined, 'Anthropic'] : [undefined]) {
          if (operator !== undefined) query.set('operator', operator)
          const question: Question = { minutes, passes, isOfPage, operator }
          for (const [by, group] of Object.entries(GROUPS).slice(0, 3)) {
            query.set('by', by)
            const { data, meta } = await runRead(answers, query, depsOf(store, GOALS))
            const isCounted = by === 'page' && (filters.length === 0 || isOfPage)
            const wanted = recount(question, group, true).map((row) =>
              isCounted ? { ...row, ...recountPages(row) } : row,
            )
            found += wanted.length
            t.equal(meta.total, wanted.length)
            assertEqual(t, sorted(data), sorted(wanted), `${by}, ${why}`)
          }
          query.delete('by')
          query.delete('limit')
          const { data } = await runRead(answersSummary, query, depsOf(store, i === 0 ? [] : GOALS))
          query.set('limit', '1000')
          const bins = (moved: number) => {
            const counts = Array.from({ length: 20 }, () => 0)
            for (const { delay } of follow(question, moved)) {
              const bin = Math.min(19, Math.floor(delay / (minutes * 3_000)))
              counts[bin] = (counts[bin] ?? 0) + 1
            }
            return counts
          }
          const [now, moved] = [bins(0), bins(DAY)]
          const by_delay = now.map((arrivals, bin) => ({
            ...{ from: bin * minutes * 3, to: (bin + 1) * minutes * 3, arrivals, chance: moved[bin] ?? 0 },
          }))
          const byChance = follow(question, DAY)
          const chance = {
            chance: byChance.length,
            chance_followed: countFetches(byChance),
            chance_followed_same_page: countFetches(byChance.filter(({ same }) => same)),
          }
          const total = recount(question, GROUPS.total ?? (() => ({})), i > 0)
          assertEqual(t, sorted([data]), sorted([{ ...total[0], ...chance, by_delay }]), `summary, ${why}`)
        }
      })
  t.test('something was counted', async (t) => t.ok(found > 50))
}
