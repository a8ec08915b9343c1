import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import type { BlockedUrls } from '../../../src/analytics/query/blocked-urls.js'
import { ASSISTANTS } from '../../../src/base/assistants.js'
import type { AgentEventRow, EventRow, Rows } from '../../../src/storage/rows.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { all, asker, day, IN, proven, rowsWith, search, spoofed, times, user } from './url-rows.js'

/** Fetches and arrivals at one URL. */
const cited = (pathname: string, fetches: number, arrivals: number, of: Partial<AgentEventRow> = {}): Rows => ({
  agent_events: times(fetches, () => agentRow({ timestamp: IN, pathname, ...user, ...of })),
  events: times(arrivals, (i) =>
    eventRow({
      ...{ timestamp: IN, pathname, entry_page: pathname, channel: 'AI Assistants', source: 'ChatGPT' },
      ...{ session_id: BigInt(i) + BigInt(pathname.length) * 1000n, visitor_id: BigInt(i) },
    }),
  ),
})
const viewed = (pathname: string, n = 1): Partial<Rows> => ({
  events: times(n, () => eventRow({ timestamp: IN, pathname })),
})

t.test('citation-gap: which hits are fetches and arrivals', async (t) => {
  const fetch = (of: Partial<AgentEventRow>): [string, number] => {
    const pathname = `/${JSON.stringify(of).replaceAll('/', '.')}${of.pathname ?? ''}`
    return [pathname, 0]
  }
  const counted: [of: Partial<AgentEventRow>, counts: boolean, why: string][] = [
    [{}, true, 'HTML, 200'],
    [{ status: 206 }, true, 'a part'],
    [{ status: 304 }, true, 'the same as before'],
    [{ status: 304, content_type: null, is_pageview: true }, true, 'which names no type, of a page'],
    [{ status: 304, content_type: null, is_pageview: false, pathname: '.PDF' }, true, 'of a document by its ending'],
    [{ status: 304, content_type: null, is_pageview: false, pathname: '.png' }, false, 'of an image'],
    [{ status: 200, content_type: null, is_pageview: true }, false, 'nobody knows of what'],
    [{ content_type: 'application/xhtml+xml' }, true, 'XHTML'],
    [{ content_type: 'text/markdown' }, true, 'Markdown'],
    [{ content_type: 'application/pdf' }, true, 'PDF'],
    [{ content_type: 'text/plain' }, false, 'text'],
    [{ status: 201 }, false, 'made'],
    [{ status: 404 }, false, 'missing'],
    [{ method: 'HEAD' }, false, 'no body'],
    [{ ...search }, true, 'for an index'],
    [{ purpose: 'training' }, false, 'training never enters'],
    [{ ...proven }, true, 'proven'],
    [{ ...spoofed }, false, 'not the one it says'],
  ]
  const ask = await asker(
    all(
      ...counted.map(([of]) => ({
        agent_events: [agentRow({ ...user, ...of, timestamp: IN, pathname: fetch(of)[0] })],
      })),
      ...counted.map(([of]) => viewed(fetch(of)[0])),
    ),
  )
  const { data } = await ask('citation-gap', 'limit=1000')
  for (const [of, counts, why] of counted)
    t.match(data, rowsWith(data, { pathname: fetch(of)[0], fetches: counts ? 1 : 0 }), why)

  const visit = (of: Partial<EventRow>) =>
    eventRow({ timestamp: IN, channel: 'AI Assistants', source: 'Claude', ...of })
  const came: [of: Partial<EventRow>[], arrivals: number, why: string][] = [
    [[{}], 1, 'came'],
    [[{ channel: 'Direct' }], 0, 'came by itself'],
    [[{}, {}], 1, 'loaded twice in one millisecond'],
    [[{ entry_page: '/elsewhere' }], 0, 'entered elsewhere at that moment'],
    [[{ session_start: new Date(IN.getTime() - 1000) }], 0, 'entered before'],
    [[{ kind: 'engagement' }], 0, 'no pageview'],
    [[{ timestamp: day(20, -1) }], 0, 'before the window'],
    [[{ entry_page: null }], 0, 'nobody knows where'],
  ]
  const rows = came.flatMap(([of], i) =>
    of.map((each) =>
      visit({
        pathname: `/${i}`,
        entry_page: `/${i}`,
        session_id: BigInt(i),
        session_start: each.timestamp ?? IN,
        ...each,
      }),
    ),
  )
  const second = await asker({ events: rows, agent_events: [] })
  const found = await second('citation-gap')
  for (const [i, [, arrivals, why]] of came.entries()) {
    if (arrivals === 0 && why !== 'came by itself') t.notMatch(found.data, [{ pathname: `/${i}`, arrivals: 1 }], why)
    else t.match(found.data, rowsWith(found.data, { pathname: `/${i}`, arrivals }), why)
  }
  t.match(found.meta.warnings, [{ metric: 'arrivals', code: 'arrivals_are_a_floor' }])
})

t.test('citation-gap: verdicts', async (t) => {
  // Ratios that count for the median: 1, 4/3 (/refused), 1.5, six times 4, 12, 13. The median is 4, a third of it 4/3.
  const world = all(
    ...[cited('/balanced', 12, 3), cited('/balanced.', 12, 3), cited('/balanced..', 12, 3)],
    ...[cited('/thrice', 36, 3), cited('/gap', 39, 3), cited('/earning', 4, 4), cited('/over.third', 6, 4)],
    ...[cited('/third....', 9, 2), cited('/ten', 10, 0), cited('/nine', 9, 0), cited('/unfetched', 0, 3)],
    ...[cited('/one', 0, 1), viewed('/unseen', 5)],
    ...[
      cited('/refused', 4, 3),
      cited('/refused', 5, 0, { status: 403 }),
      cited('/half', 12, 3, {}),
      cited('/half', 12, 0, { status: 429 }),
    ],
    ...[cited('/shut/one', 12, 3), viewed('/shut/unseen'), cited('/shut/open', 12, 3)],
    ...[cited('/gap/index.md', 12, 0), cited('/none.md', 12, 0)],
  )
  const wanted: [pathname: string, verdict: string, why: string][] = [
    ['/balanced', 'balanced', 'the median'],
    ['/thrice', 'balanced', 'three times the median is not over it'],
    ['/gap', 'gap', 'over three times'],
    ['/earning', 'earning', 'under a third'],
    ['/over.third', 'balanced', 'a little over a third'],
    ['/third....', 'insufficient', 'too few of both'],
    ['/ten', 'gap', 'ten fetches and nobody came'],
    ['/nine', 'insufficient', 'nine'],
    ['/unfetched', 'unfetched', 'came from an index'],
    ['/one', 'insufficient', 'one arrival is too few to say so'],
    ['/unseen', 'unseen', 'people read it'],
    ['/refused', 'blocked', 'five of nine were refused'],
    ['/half', 'balanced', 'half is not over half'],
    ['/shut/one', 'blocked', 'by policy'],
    ['/shut/unseen', 'blocked', 'first of all'],
    ['/shut/open', 'balanced', 'an exception that the patterns do not tell'],
    ['/gap/index.md', 'twin', 'the Markdown form of /gap, to which no one is sent'],
    ['/none.md', 'gap', 'a page of its own'],
  ]
  const blocked: BlockedUrls = {
    candidates: [{ hostname: 'example.com', patterns: ['/shut/'] }],
    areBlocked: async (urls) => urls.map(({ pathname }) => pathname.startsWith('/shut/') && pathname !== '/shut/open'),
  }
  const ask = await asker(world, { blockedUrls: async () => blocked })
  const { data } = await ask('citation-gap')
  for (const [pathname, verdict, why] of wanted) t.match(data, rowsWith(data, { ...{ pathname, verdict } }), why)
  const only = '{"dimension":"pathname","op":"is","value":"/gap"}'
  for (const filters of [only, `{"and":[${only},{"dimension":"hostname","op":"is","value":"example.com"}]}`]) {
    const { data: alone } = await ask('citation-gap', `filters=${encodeURIComponent(filters)}`)
    t.match(alone, [{ pathname: '/gap', verdict: 'gap', ratio: 13 }], "the median stays the site's")
  }
  const markdown = JSON.stringify([{ dimension: 'pathname', op: 'is', value: '/gap/index.md' }])
  t.match(
    (await ask('citation-gap', `filters=${encodeURIComponent(markdown)}`)).data,
    [{ pathname: '/gap/index.md', verdict: 'twin' }],
    'its page is looked for in the whole site',
  )
  const beside = `{"and":[${only},{"dimension":"country","op":"is_not_set"}]}`
  const { data: nested } = await ask('citation-gap', `filters=${encodeURIComponent(beside)}`)
  t.match(nested, [{ pathname: '/gap', verdict: 'gap', ratio: 13 }], 'also where only a part of a filter picks URLs')
  const summary = await ask('citation-gap/summary')
  const urls = { blocked: 3, twin: 1, unseen: 1, insufficient: 3, unfetched: 1, gap: 3, earning: 1, balanced: 7 }
  t.match(summary.data, { urls, median: 4, threshold: 3 })
  const noUrl = { fetches: 0, arrivals: 0, operators: [] }
  const noVerdict = { blocked: 0, twin: 0, unseen: 0, insufficient: 0, unfetched: 0, gap: 0, earning: 0, balanced: 0 }
  const medians: [pathname: string, wanted: object, why: string][] = [
    ['/gap', { urls: { ...noVerdict, gap: 1 }, fetches: 39, arrivals: 3, ratio: 13, median: 4 }, "the site's median"],
    ['/unread', { urls: noVerdict, ...noUrl, median: 4, threshold: 3 }, 'also of a page that has no rows'],
  ]
  for (const [value, wanted, why] of medians) {
    const filters = JSON.stringify([{ dimension: 'pathname', op: 'is', value }])
    t.match((await ask('citation-gap/summary', `filters=${encodeURIComponent(filters)}`)).data, wanted, why)
  }
  const open = await asker(world)
  t.match(
    (await open('citation-gap/summary')).data,
    { urls: { ...urls, blocked: 1, unseen: 2, balanced: 8 } },
    'no policy',
  )
  const strict = await asker(world, {
    site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true, citation_threshold: 2.5 }),
  })
  const { data: judged } = await strict('citation-gap')
  t.match(judged, rowsWith(judged, { ...{ pathname: '/thrice', verdict: 'gap' } }), "the site's own threshold")
  t.match((await strict('citation-gap/summary')).data, { threshold: 2.5 }, 'here too')
  t.strictSame(
    (await (await asker(all()))('citation-gap/summary')).data,
    { operators: [], threshold: 3, urls: noVerdict },
    'without a row no number is known',
  )
})

t.test('citation-gap/summary: operators', async (t) => {
  const from = (source: string | null, n: number, pathname: string): Partial<Rows> => ({
    events: cited(pathname, 0, n).events.map((row) => ({ ...row, source })),
  })
  const ask = await asker(
    all(
      cited('/a', 6, 0),
      cited('/aa', 2, 0, search),
      from('ChatGPT', 3, '/aaa'),
      from('Grok', 2, '/aaaa'),
      from(null, 1, '/b'),
    ),
  )
  const operators = [
    { operator: 'OpenAI', fetches: 6, arrivals: 3, ratio: 2 },
    { operator: 'Microsoft', fetches: 2, arrivals: 0 },
    { operator: 'xAI', fetches: 0, arrivals: 2, ratio: 0 },
    { fetches: 0, arrivals: 1, ratio: 0 },
  ]
  t.match((await ask('citation-gap/summary')).data, { fetches: 8, arrivals: 6, ratio: 8 / 6, operators })
  const { data } = await ask('citation-gap/summary', 'operator=OpenAI')
  t.match(data, { fetches: 6, arrivals: 3, ratio: 2, operators: operators.slice(0, 1) })
  await t.rejects(ask('citation-gap', 'operator='), { code: 'validation_error', field: 'operator' })
})

t.test('every assistant’s operator is in the catalog, or has no agent there', async (t) => {
  const known = new Set(loadCatalog().agents.map(({ operator }) => operator))
  const strangers = ASSISTANTS.filter(({ operator }) => !known.has(operator)).map(({ operator }) => operator)
  // Looked up one by one: neither these names nor a part of them is an operator in the catalog. A misspelt operator is
  // neither there nor here.
  const LOOKED_UP = new Set(
    `xAI, Cursor, Inflection, Character.AI, Jasper, Writesonic, Codeium, Tencent, Genspark, T3, Felo, Venice, Elicit,
    Consensus, Hugging Face, OpenRouter, Proton, MiniMax, Sber, Monica, Sider, Merlin, LMArena, Blackbox AI, Metaso, iFlytek,
    SciSpace, Infomaniak, Luzia, Komo, Chat+, Zapia, Scite, Globe, OpenEvidence, Kunlun`.split(/,\s+/),
  )
  for (const name of strangers) t.ok(LOOKED_UP.has(name), `${name} has no agent`)
  const names = [...known].map((name) => name.toLowerCase())
  for (const name of strangers)
    t.notOk(
      names.some((each) => each.split(/[^a-z0-9.]+/).includes(name.toLowerCase())),
      `${name} is nobody's name`,
    )
})
