import t from 'tap'
import { countSectionPages, findSections, fittingPages } from '../../../src/analytics/query/found-sections.js'
import { type ReadDependencies, runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import { filterQuery, sessionRows } from '../../fixtures/ask-reads.js'
import { generateRows } from '../../fixtures/generated-sessions.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow } from '../../fixtures/rows.js'

const NOW = new Date('2026-11-21T12:05:00.000Z')
const START = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T08:01:00.000Z'
const LAST = '2026-11-21T08:02:00.000Z'
const is = (dimension: string, value: unknown, op = 'is') => ({ dimension, op, value })

const visit = (id: bigint, entry_page: string, visitor = id) =>
  sessionRows(visitor, id + 100n, START, { entry_page, channel: 'Direct' })
const ROWS = {
  events: [
    // Ann begins at /blog, reads /blog/a and leaves at /.
    visit(1n, '/blog')(START, '/blog'),
    visit(1n, '/blog')(LATER, '/blog/a', { engaged_ms: 20_000, scroll: 50 }),
    visit(1n, '/blog')(LAST, '/'),
    // Bob begins at / and leaves at /blog/a. His second session is one page of 2026, which is a section of its own.
    visit(2n, '/')(START, '/'),
    visit(2n, '/')(LATER, '/blog/a', { engaged_ms: 4_000, scroll: 100 }),
    visit(3n, '/blog/2026/x', 2n)(START, '/blog/2026/x'),
    // Eve sees two pages of one section, and one with every sign that is special somewhere.
    visit(4n, '/docs/a')(START, '/docs/a'),
    visit(4n, '/docs/a')(LATER, '/docs/b'),
    visit(4n, '/docs/a')(LAST, "/100%_'[\\/x"),
  ],
  agent_events: [
    agentRow({ pathname: '/docs/c', timestamp: new Date(START) }),
    agentRow({ pathname: '/docs/c', timestamp: new Date(LATER), agent_id: 'claudebot', operator: 'Anthropic' }),
    agentRow({ pathname: '/docs/none', status: 404, is_pageview: false, timestamp: new Date(LATER) }),
    agentRow({ pathname: '/', timestamp: new Date(START) }),
  ],
}
const WRITTEN = ['/blog/2026/*', '/blog/*', "/100%_'[\\/*"]

async function openSite(t: Parameters<typeof openStore>[0]) {
  const store = await openStore(t)
  await store.append(ROWS)
  await store.append({
    events: ROWS.events.map((row) => ({ ...row, site_id: 2 })),
    agent_events: ROWS.agent_events.map((row) => ({ ...row, site_id: 2 })),
  })
  const ask = async (path: string, query: string, more: Partial<ReadDependencies> = {}) => {
    const read = reads.find((each) => each.path === `/api/${path}`)
    if (!read) throw new Error(path)
    const { data, meta } = await runRead(
      read,
      new URLSearchParams(`${query.includes('site=') ? '' : 'site=1&'}range=today&${query}`),
      {
        ...{ store, now: () => NOW, segment: async () => undefined, catalog: [], assistants: [] },
        site: async (id) => ({
          ...{ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true },
          ...(id === 1 ? { sections: WRITTEN } : {}),
        }),
        ...more,
      },
    )
    return { data, meta }
  }
  return { store, ask }
}

t.test('a breakdown by section, by hand', async (t) => {
  const { store, ask } = await openSite(t)
  const numbers = async (query: string, ...names: readonly string[]) => {
    const { data } = await ask('stats/breakdown', `dimension=section&${query}`)
    return Object(data).map((row: Record<string, unknown>) => [row.value, ...names.map((name) => row[name])])
  }
  for (const when of ['by its hits', 'aggregated']) {
    t.strictSame(
      await numbers('', 'visitors', 'sessions', 'pageviews', 'bounce'),
      [
        // No bounce: Ann's session, the only one that began there, has three pages.
        ['/blog/*', 2, 2, 3, 0],
        ['/docs/*', 1, 1, 2, 0],
        // Two sessions saw the front page; only Bob's began there.
        [undefined, 2, 2, 2, 0],
        ["/100%_'[\\/*", 1, 1, 1, undefined],
        ['/blog/2026/*', 1, 1, 1, 1],
      ].toSorted(
        (a, b) => Number(b[1]) - Number(a[1]) || Number(b[3]) - Number(a[3]) || (String(a[0]) < String(b[0]) ? -1 : 1),
      ),
      `people, ${when}`,
    )
    t.strictSame(
      await numbers('audience=agent', 'fetches', 'pageviews', 'agents'),
      [
        ['/docs/*', 3, 2, 2],
        [undefined, 1, 1, 1],
      ],
      `agents, ${when}`,
    )
    t.strictSame(
      await numbers('audience=all', 'pageviews'),
      [
        ['/docs/*', 4],
        ['/blog/*', 3],
        [undefined, 3],
        ["/100%_'[\\/*", 1],
        ['/blog/2026/*', 1],
      ],
      `both, ${when}`,
    )
    t.strictSame(
      await numbers('site=2&audience=all', 'pageviews'),
      [
        ['/blog/*', 4],
        ['/docs/*', 4],
        [undefined, 4],
      ],
      `another site has the sections that were found, ${when}`,
    )
    await store.aggregate(new Date('2026-11-21T11:00:00.000Z'))
  }
})

t.test('a breakdown by section is the same from aggregates and by the hits', async (t) => {
  const store = await openStore(t)
  await store.append(generateRows({ seed: 11, sessions: 300, agents: 200 }))
  const now = new Date('2026-11-01T12:34:56.789Z')
  await store.aggregate(now)
  const asked: string[] = []
  const byHits: ReadDependencies['store'] = {
    dialect: store.dialect,
    query: async (statement) => {
      asked.push(statement.text.join('?'))
      return statement.text[0]?.includes('aggregated_until') ? [] : store.query(statement)
    },
  }
  const read = reads.find(({ path }) => path === '/api/stats/breakdown')
  const few = ['/docs/*/b', '/d*', '/*']
  // More than 50 do not fit into one number.
  const many = [...Array.from({ length: 60 }, (_, i) => `/nothing/${i}`), ...few]
  const ask = async (sections: readonly string[], query: string, from: ReadDependencies['store']) => {
    if (!read) throw new Error('no breakdown')
    const { data } = await runRead(read, new URLSearchParams(`site=1&dimension=section&limit=1000&${query}`), {
      ...{ store: from, now: () => now, segment: async () => undefined, catalog: [], assistants: [] },
      site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true, sections }),
    })
    return JSON.stringify(data, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(10)) : value))
  }
  for (const sections of [few, many])
    for (const window of ['range=12mo', 'range=30d', 'start=2026-10-20T05:11:00Z&end=2026-10-30T17:00:00Z'])
      for (const filter of [undefined, is('section', '/d*'), is('pathname', 'a', 'contains'), is('country', 'DE')])
        for (const audience of ['human', 'agent']) {
          const query = `${window}&audience=${audience}${filter ? filterQuery(filter) : ''}`
          t.equal(await ask(sections, query, store), await ask(sections, query, byHits), `${sections.length}: ${query}`)
        }
  t.ok(
    asked.some((text) => text.includes('from events')),
    'the rows were read',
  )
})

t.test('a filter on a section works in every read', async (t) => {
  const { ask } = await openSite(t)
  const overview = async (filter: object, audience = 'human') =>
    Object((await ask('stats/overview', `audience=${audience}${filterQuery(filter)}`)).data)
  const cases: readonly (readonly [filter: object, people: number, reads: number, why: string])[] = [
    [is('section', '/blog/*'), 3, 0, 'the folder itself, and not what an earlier pattern takes'],
    [is('section', '/blog/2026/*'), 1, 0, 'the earlier pattern'],
    [is('section', ['/blog/*', '/blog/2026/*']), 4, 0, 'a list matches any'],
    [is('section', '/blog/*', 'is_not'), 6, 3, 'all other pages, those in no section too'],
    [{ dimension: 'section', op: 'is_not_set' }, 2, 1, 'in no section'],
    [{ dimension: 'section', op: 'is_set' }, 7, 2, 'in any'],
    [is('section', 'blog', 'contains'), 4, 0, 'text of the pattern'],
    [is('section', '2026/*', 'ends_with'), 1, 0, 'text of the pattern'],
    [is('section', '^/[bd]', 'matches'), 6, 2, 'a regular expression'],
    [is('section', '^/[bd]', 'matches_not'), 3, 1, 'and its opposite'],
    [{ ...is('section', '/BLOG/*'), case_sensitive: false }, 3, 0, 'in any case'],
    [is('section', '/docs/*'), 2, 2, 'a section that was found: three pages that were read, by people or agents'],
    [is('section', '/docs/a*'), 0, 0, 'a pattern that is not listed is tried after the list'],
    [is('section', '/*'), 2, 1, 'a pattern that is not listed is tried after the list'],
    [is('section', 'no pattern'), 0, 0, 'text that is no pattern'],
    [is('section', 'no pattern', 'is_not'), 9, 3, 'and its opposite'],
  ]
  for (const [filter, people, reads, why] of cases) {
    t.equal((await overview(filter)).pageviews, people, `people: ${JSON.stringify(filter)} ${why}`)
    t.equal((await overview(filter, 'agent')).pageviews, reads, `agents: ${JSON.stringify(filter)} ${why}`)
    t.equal((await overview(filter, 'all')).pageviews, people + reads, `both: ${JSON.stringify(filter)} ${why}`)
  }
  const query = filterQuery(is('section', '/docs/*'))
  for (const read of reads) {
    if (read.staticResult || /\{id\}|breakdown|violations$/.test(read.path)) continue
    const { meta } = await ask(read.path.slice(5), `${query}&steps=/`)
    t.strictSame(meta.query.filters, [is('section', '/docs/*')], `${read.path} names the filter as it was asked`)
  }
  const { meta } = await ask('stats/overview', filterQuery(is('section', '/blogs/*')))
  t.match(meta.warnings, [{ code: 'no_such_value', nearest: '/blog/*' }], 'the nearest section is named')
})

t.test('a filter of a share link does not open when a found section is found no longer', async (t) => {
  const { ask } = await openSite(t)
  const shown = async (foundSections: string[]) => {
    const { data } = await ask('stats/overview', '', {
      mandatory: [{ dimension: 'section', op: 'is_not', value: '/docs/*' }],
      foundSections: async () => foundSections,
    })
    return Object(data).pageviews
  }
  t.equal(await shown(['/docs/*']), 7)
  t.equal(await shown([]), 7)
})

t.test('sections are found in the pages that were read', async (t) => {
  const store = await openStore(t)
  const view = (pathname: string, at: string, more = {}) =>
    sessionRows(1n, 1n, at, { entry_page: pathname })(at, pathname, more)
  await store.append({
    events: [
      ...['/b/1', '/b/2', '/b'].map((path) => view(path, START)),
      ...['/two/1', '/two/2'].map((path) => view(path, START)),
      // Two pages of a person and one of an agent.
      ...['/mixed/1', '/mixed/2'].map((path) => view(path, START)),
      ...['/old/1', '/old/2'].map((path) => view(path, START)),
      view('/old/3', '2026-08-22T23:59:59.999Z'),
      ...['/edge/1', '/edge/2'].map((path) => view(path, START)),
      view('/edge/3', '2026-08-23T00:00:00.000Z'),
      ...['/soon/1', '/soon/2'].map((path) => view(path, START)),
      view('/soon/3', '2026-11-21T12:00:00.000Z'),
      ...['/st*r/1', '/st*r/2', '/st*r/3', '//1', '//2', '//3'].map((path) => view(path, START)),
      ...['/acts/1', '/acts/2', '/acts/3'].map((path) => view(path, START, { kind: 'custom', event_name: 'x' })),
    ],
    agent_events: [
      agentRow({ pathname: '/mixed/3', timestamp: new Date(START) }),
      ...['/gone/1', '/gone/2', '/gone/3'].map((pathname) =>
        agentRow({ pathname, status: 404, is_pageview: false, timestamp: new Date(START) }),
      ),
      ...['/b/1', '/other/1', '/other/2', '/other/3'].map((pathname) =>
        agentRow({ pathname, site_id: 2, timestamp: new Date(START) }),
      ),
    ],
  })
  for (const when of ['by its rows', 'counted']) {
    t.strictSame(await findSections(store, 1, NOW), ['/b/*', '/edge/*', '/mixed/*'], when)
    t.strictSame(await findSections(store, 2, NOW), ['/other/*'], `another site has others, ${when}`)
    const nextStep = new Date('2026-11-21T12:10:00.000Z')
    t.strictSame(await findSections(store, 1, nextStep), ['/b/*', '/edge/*', '/mixed/*', '/soon/*'], `later, ${when}`)
    await store.aggregate(new Date('2026-11-21T11:00:00.000Z'))
  }
})

t.test('the pages of each section, and of a pattern that is not stored', async (t) => {
  const { store } = await openSite(t)
  const asked = { store, site: 1, now: NOW }
  const found = await findSections(store, 1, NOW)
  t.strictSame(found, ['/blog/*', '/docs/*'], 'three pages each: those of /docs by two people and an agent')
  t.strictSame(await countSectionPages(asked, WRITTEN, found), {
    pages: [
      { pattern: '/blog/2026/*', origin: 'written', pages: 1 },
      { pattern: '/blog/*', origin: 'written', pages: 2 },
      { pattern: "/100%_'[\\/*", origin: 'written', pages: 1 },
      { pattern: '/docs/*', origin: 'found', pages: 3 },
    ],
    outside: 1,
  })
  const cases: readonly (readonly [pattern: string, pages: number, taken: number, examples: string[], why: string])[] =
    [
      ['/docs/*', 3, 0, ['/docs/c', '/docs/a', '/docs/b'], 'the page that was read most comes first'],
      ['/blog*', 3, 3, ['/blog/a', '/blog', '/blog/2026/x'], 'written sections take all of them'],
      ['/*', 8, 4, ['/', '/blog/a', '/docs/c', "/100%_'[\\/x", '/blog'], 'five examples, and what sections take'],
      ["/100%_'[\\/*", 1, 0, ["/100%_'[\\/x"], 'a section that is stored already'],
      ["/' or 1=1 --*", 0, 0, [], 'a pattern is text'],
    ]
  for (const [pattern, pages, taken, examples, why] of cases)
    t.strictSame(await fittingPages(asked, WRITTEN, pattern), { pattern, pages, taken, examples }, why)
})

t.test('of many folders those with the most pages are sections', async (t) => {
  const store = await openStore(t)
  const pages = Array.from({ length: 40 }, (_, i) =>
    [1, 2, 3, ...(i % 2 ? [4] : [])].map((n) => `/f${10 + i}/${n}`),
  ).flat()
  await store.append({
    events: [],
    agent_events: pages.map((pathname) => agentRow({ pathname, timestamp: new Date(START) })),
  })
  const found = await findSections(store, 1, NOW)
  t.equal(found.length, 30)
  t.equal(found.filter((pattern) => Number(pattern.slice(2, 4)) % 2 === 1).length, 20, 'all with four pages')
  t.strictSame(found.filter((pattern) => Number(pattern.slice(2, 4)) % 2 === 0).at(-1), '/f28/*', 'then by name')
  t.strictSame(found, found.toSorted())
})
