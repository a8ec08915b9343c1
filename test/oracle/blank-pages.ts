import type { Test } from 'tap'
import { z } from 'zod'
import { PAGE_PROBLEMS } from '../../src/analytics/query/blank-pages.js'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import blankPages from '../../src/analytics/reads/blank-pages.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { PageEdition } from '../../src/storage/page-samples.js'
import type { AgentEventRow, EventRow } from '../../src/storage/rows.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, editionRow, eventRow } from '../fixtures/rows.js'

/** Stores random pages of two sites with requests, and finds their problems page by page. */
const NOW = Date.parse('2026-11-01T12:00:00.000Z')
const START = NOW - 7 * 86_400_000
const random = seeded(20261129)
const HOSTS = ['one.example', 'www.one.example'] as const
const PATHS = Array.from({ length: 60 }, (_, i) => `/page-${i}`)
const moment = () => new Date(START - 86_400_000 + Math.floor(random() * (NOW - START + 2 * 86_400_000)))
const where = () => ({
  site_id: random() < 0.9 ? 1 : 2,
  hostname: random.of(HOSTS),
  pathname: PATHS[random.int(PATHS.length - 1)] ?? '/',
  timestamp: moment(),
  country: random.of(['DE', 'US']),
})
const events = Array.from({ length: 1_500 }, () => {
  const row = { ...where(), session_id: BigInt(random.int(400)), kind: random.of(['pageview', 'pageview', 'custom']) }
  return eventRow({
    ...row,
    entry_page: random.of([row.pathname, '/elsewhere']),
    // A later view of the entry page, perhaps of another hostname.
    session_start: random.of([row.timestamp, row.timestamp, new Date(+row.timestamp - 1_000)]),
    channel: random.of(['Organic Search', 'AI Assistants', 'Direct', 'Referral']),
    status: random.of([200, 200, null, 404, 500]),
  })
})
const agent_events = Array.from({ length: 1_500 }, () =>
  agentRow({
    ...where(),
    agent_id: random.of(['gptbot', 'claude-user']),
    method: random.of(['GET', 'GET', 'HEAD']),
    status: random.of([200, 200, 304, 403, 401, 402, 451, 404, 429, 503]),
    is_pageview: random() < 0.5,
    action: random.of([null, null, 'allow', 'block']),
    verification: random.of(['ranges', 'unverifiable', 'spoofed']),
  }),
)
const lengthOf = () => random.of([0, 49, 50, 199, 200, 400, 999, 1_000, 5_000])
const editions: PageEdition[] = HOSTS.flatMap((hostname) =>
  PATHS.filter(() => random() < 0.8).map((pathname) => {
    const living = random() < 0.7
    const other = random() < 0.4
    const site_id = random() < 0.9 ? 1 : 2
    return editionRow({
      ...{ site_id, hostname, pathname, digest: `${pathname} for all` },
      ...{ first_seen: new Date(random.of([START, NOW - 1, NOW])), last_seen: new Date(NOW) },
      // An edition counts until the next one begins: one that ended at the window's end was present in all of it.
      replaced_at: random.of([null, null, null, new Date(NOW - 1), new Date(NOW), new Date(NOW + 1)]),
      ...{ text_length: lengthOf(), headings: random.int(2), links: 3, lang: random.of(['de', null]) },
      ...{ title: 'A page', first_line: random.of(['Welcome', null]) },
      notice: random.of([null, null, null, 'not_found', 'consent', 'challenge'] as const),
      ...(living && { living_seen: new Date(NOW - 2_000), living_text_length: lengthOf() }),
      ...(living && { living_headings: 2, living_links: 4, living_line: 'Hello' }),
      ...(other && { agent_seen: new Date(NOW - 3_000), agent_samples: random.int(5), agent_text_length: lengthOf() }),
      ...(other && { agent_headings: 1, agent_links: 0, agent_line: random.of(['For agents', null]) }),
      ...(other && { agent_digest: random.of([`${pathname} for agents`, `${pathname} of old`]) }),
    })
  }),
)

/** Texts of old editions: people had the first, agents alone the other. */
const OLD = (['both', 'agents'] as const).flatMap((served_to, n) =>
  PATHS.slice(n * 30, n * 30 + 30).map((pathname) =>
    editionRow({
      ...{ hostname: 'one.example', pathname, digest: `${pathname} of old`, served_to },
      ...{ first_seen: new Date(START - 1_000), replaced_at: new Date(START) },
    }),
  ),
)

/** Browsers show 499 and 500 characters more than was served, and more than twice as much. */
for (const [n, more] of [499, 500].entries()) {
  const page = editions.find(
    ({ site_id, living_seen, replaced_at, first_seen }, i) =>
      i > n * 9 && site_id === 1 && living_seen && !replaced_at && +first_seen < NOW,
  )
  if (page) Object.assign(page, { text_length: 400, living_text_length: 400 + more, notice: null })
}

type CheckedStore = Pick<EventStore, 'append' | 'query' | 'dialect' | 'writePageEditions'>
const depsOf = (store: CheckedStore): ReadDependencies => ({
  redirects: async () => () => undefined,
  ...{ store, catalog: [], blockedUrls: async () => undefined, now: () => new Date(NOW) },
  site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true }),
  segment: async () => undefined,
  assistants: [],
})

type Row = EventRow | AgentEventRow
const FILTERS: readonly [object[], (row: Row) => boolean, why: string][] = [
  [[], () => true, 'none'],
  [[{ dimension: 'country', op: 'is', value: 'DE' }], (row) => row.country === 'DE', 'of both'],
  [[{ dimension: 'hostname', op: 'is', value: 'one.example' }], (row) => row.hostname === 'one.example', 'a hostname'],
]

/** Whether agents got another text three times in turn, which no edition of the page had for people. */
const isOtherText = ({ agent_digest, agent_samples, hostname, pathname }: PageEdition): boolean =>
  (agent_samples ?? 0) >= 3 &&
  ![...OLD, ...editions].some(
    (one) =>
      one.site_id === 1 &&
      one.hostname === hostname &&
      one.pathname === pathname &&
      one.served_to !== 'agents' &&
      one.digest === agent_digest,
  )

/** Names the problems of a page, by the definitions in `src/analytics/reads/README.md`. */
function findProblems(page: PageEdition | undefined, refusals: number, views: number): string[] {
  const found: string[] = []
  if (page !== undefined) {
    const { text_length: served, living_text_length: living, headings, notice } = page
    const isEmpty = living === null ? served < 50 && headings === 0 : living >= 200 && living >= 5 * served
    if (served < 200 && isEmpty) found.push('empty_shell')
    if (served >= 200 && living !== null && living >= 2 * served && living >= served + 500)
      found.push('written_by_scripts')
    if (notice !== null) found.push(notice)
    if (isOtherText(page)) found.push('other_text')
  }
  if (refusals > 0 && views > 0) found.push('agents_refused')
  return found
}

function recount(passes: (row: Row) => boolean) {
  const within = ({ timestamp, site_id }: Row) =>
    site_id === 1 && timestamp.getTime() >= START && timestamp.getTime() < NOW
  return HOSTS.flatMap((hostname) =>
    PATHS.flatMap((pathname) => {
      const isHere = (row: { hostname: string; pathname: string }) =>
        row.hostname === hostname && row.pathname === pathname
      const page = editions.find(
        (one) => isHere(one) && one.site_id === 1 && +one.first_seen < NOW && +(one.replaced_at ?? NOW) >= NOW,
      )
      const shown = page && passes(agentRow({ hostname, pathname, country: 'DE' })) ? page : undefined
      const people = events.filter(
        (row) => within(row) && isHere(row) && passes(row) && row.kind === 'pageview' && (row.status ?? 200) < 400,
      )
      const agents = agent_events.filter(
        (row) => within(row) && isHere(row) && passes(row) && row.verification !== 'spoofed' && row.action !== 'block',
      )
      const turned = agents.filter(({ method, status }) => method === 'GET' && [401, 402, 403, 451].includes(status))
      const sent = people.filter(
        ({ entry_page, channel, timestamp, session_start: start }) =>
          entry_page === pathname && +timestamp === +start && /Search|AI/.test(channel),
      )
      const problems = findProblems(shown, turned.length, people.length)
      if (problems.length === 0) return []
      return {
        ...{ hostname, pathname, problems, views: people.length, refusals: turned.length },
        readers: new Set(sent.map(({ session_id }) => session_id)).size,
        fetches: agents.filter(({ is_pageview }) => is_pageview).length,
        refused: ['claude-user', 'gptbot']
          .map((agent_id) => ({
            agent_id,
            name: agent_id,
            refusals: turned.filter((row) => row.agent_id === agent_id).length,
          }))
          .filter(({ refusals }) => refusals > 0)
          .sort((a, b) => b.refusals - a.refusals),
        served: shown?.text_length,
        living: shown?.living_text_length ?? undefined,
        served_to_agents: shown && isOtherText(shown) ? (shown.agent_line ?? '') : undefined,
      }
    }),
  )
}

const Found = z.array(
  z.looseObject({
    hostname: z.string(),
    pathname: z.string(),
    problems: z.array(z.string()),
    served: z
      .object({ text_length: z.int() })
      .transform(({ text_length }) => text_length)
      .optional(),
    living: z
      .object({ text_length: z.int() })
      .transform(({ text_length }) => text_length)
      .optional(),
    served_to_agents: z
      .object({ first_line: z.string().default('') })
      .transform(({ first_line }) => first_line)
      .optional(),
  }),
)

/** Stores the pages and compares the read with their recount, for each filter. */
export async function checkBlankPages(t: Test, store: CheckedStore): Promise<void> {
  await store.append({ events, agent_events }, undefined)
  await store.writePageEditions({ put: [...OLD, ...editions], remove: [] })
  for (const [filters, passes, why] of FILTERS) {
    const query = new URLSearchParams({ site: '1', limit: '1000', filters: JSON.stringify(filters) })
    query.set('start', new Date(START).toISOString())
    query.set('end', new Date(NOW).toISOString())
    const { data, meta } = await runRead(blankPages, query, depsOf(store))
    const wanted = recount(passes)
    for (const problem of PAGE_PROBLEMS)
      t.ok(
        wanted.some(({ problems }) => problems.includes(problem)),
        `some page has ${problem}`,
      )
    t.equal(meta.total, wanted.length)
    const isApart = Found.parse(data).map(({ problems }) => JSON.stringify(problems) === '["not_found"]')
    t.ok(isApart.includes(true) && !isApart.includes(false, isApart.indexOf(true)), 'missing pages follow blank ones')
    const nameOf = (row: { hostname: string; pathname: string }) => `${row.hostname} ${row.pathname}`
    const inOrder = <R extends { hostname: string; pathname: string }>(rows: R[]) =>
      rows.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    assertEqual(t, inOrder(Found.parse(data)), inOrder(JSON.parse(JSON.stringify(wanted))), why)
  }
}
