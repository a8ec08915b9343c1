import { zipSync } from 'fflate'
import t from 'tap'
import { collectHistory } from '../../../src/history/other-tools/collect.js'
import { createHistories, NewHistory } from '../../../src/manage/other-tools.js'
import { all, asker, IN, user } from '../../analytics/reads/url-rows.js'
import { deed } from '../../fixtures/audit-context.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { agentRow } from '../../fixtures/rows.js'

/** As Bing writes them: a mark of the encoding, quotes, CRLF, and days as Americans write them. */
const PAGES = [
  '\uFEFF"Page","Citations"',
  '"https://example.com/a","1,204"',
  '"http://example.com/a?utm_source=x","6"',
  '"https://www.example.com/a","5"',
  '"https://example.com/%C3%BC","7"',
  '"https://example.com/c","many"',
].join('\r\n')
const DAYS =
  '\uFEFF"Date","Citations","Cited Pages"\r\n"11/2/2026 12:00:00 AM","9","2"\r\n"11/11/2026 12:00:00 AM","3","1"\r\n'
/** The ZIP of Search Console: only two of its files are read, and its filters must not leave anything out. */
const console_ = (files: Record<string, string> = {}) =>
  Buffer.from(
    zipSync(
      Object.fromEntries(
        Object.entries({
          'Queries.csv': 'Top queries,Clicks,Impressions,CTR,Position\nslack water,3,40,7.5%,3.1\n',
          'Pages.csv':
            'Top pages,Clicks,Impressions,CTR,Position\nhttps://example.com/a,12,340,3.53%,7.7\nhttps://example.com/b,0,9,0%,41\n',
          'Countries.csv': 'Country,Clicks,Impressions,CTR,Position\nGermany,12,340,3.53%,7.7\n',
          'Chart.csv':
            'Date,Clicks,Impressions,CTR,Position\n2026-11-03,4,100,4%,8\n2026-11-01,4,100,4%,8\n2026-11-02,4,149,2.7%,8\n',
          'Filters.csv': 'Filter,Value\nSearch type,Web\nDate,Last 3 days\n',
          ...files,
        }).map(([name, text]) => [name, Buffer.from(text)]),
      ),
    ),
  )

t.test('exports of search engines give the pages that a count by hand gives', async (t) => {
  const dir = t.testdir({ 'pages.csv': PAGES, 'days.csv': DAYS, 'console.zip': console_() })
  const none = { citations: null, clicks: null, impressions: null }
  const bing = await collectHistory([`${dir}/days.csv`, `${dir}/pages.csv`], { tz: 'UTC' })
  t.strictSame(bing.pages, {
    ...{ first_day: '2026-11-02', last_day: '2026-11-11' },
    rows: [
      { ...none, hostname: 'example.com', pathname: '/a', citations: 1210 },
      { ...none, hostname: 'www.example.com', pathname: '/a', citations: 5 },
      { ...none, hostname: 'example.com', pathname: '/%C3%BC', citations: 7 },
    ],
  })
  t.match(bing, { tool: 'Bing Webmaster Tools', days: [], unused: [], files: [{}, { rows: 5, broken: 1 }] })
  const google = await collectHistory([`${dir}/console.zip`], { tz: 'UTC' })
  t.strictSame(google.pages, {
    ...{ first_day: '2026-11-01', last_day: '2026-11-03' },
    rows: [
      { ...none, hostname: 'example.com', pathname: '/a', clicks: 12, impressions: 340 },
      { ...none, hostname: 'example.com', pathname: '/b', clicks: 0, impressions: 9 },
    ],
  })
  t.match(google, { tool: 'Search Console', unused: ['Queries.csv', 'Countries.csv', 'Filters.csv'] })
  const period = { first: '2026-10-01', last: '2026-10-31' }
  const named = await collectHistory([`${dir}/pages.csv`], { tz: 'UTC', period })
  t.match(named.pages, { first_day: '2026-10-01', last_day: '2026-10-31' }, 'a single file, with its days named')
})

t.test('an export that is not understood whole is refused', async (t) => {
  const url = 'https://example.com/a'
  const cases: [files: Record<string, string | Buffer>, message: RegExp, why: string][] = [
    [{ a: `Page,Zitate\n${url},3\n` }, /^a: Column ‘Zitate’ is not known\. Nothing was imported\./, 'German'],
    [
      { a: `Beliebteste Seiten;Klicks\n${url};3\n` },
      /Column ‘Beliebteste Seiten’ is not known/,
      'German, with semicolons',
    ],
    [{ a: `Page,Citations,Mood\n${url},3,good\n` }, /Column ‘Mood’ is not known/, 'a column of the future'],
    [{ a: `Page,Citation Share\n${url},3%\n` }, /Column ‘citations’ is missing/, 'no number'],
    [{ a: `Top pages,Clicks\n${url},3\n` }, /Column ‘impressions’ is missing/, 'half of the numbers'],
    [{ a: PAGES }, /does not say which days .* --period/, 'no days'],
    [{ a: PAGES, b: PAGES, c: DAYS }, /^b: a has pages too/, 'two exports'],
    [{ a: PAGES, b: console_() }, /Pages.csv: a has pages too/, 'two tools'],
    [{ a: console_({ 'Filters.csv': 'Filter,Value\nQuery,+tide\n' }) }, /a part only \(Query: \+tide\)/, 'a filter'],
    [{ a: console_({ 'Filters.csv': 'Filter,Value\nSearch type,Image\n' }) }, /a part only/, 'another search'],
    [{ a: 'Page,Citations\n', b: DAYS }, /no row with a day or a page/, 'no row'],
  ]
  for (const [files, message, why] of cases) {
    const dir = t.testdir(files)
    const paths = Object.keys(files).map((name) => `${dir}/${name}`)
    await t.rejects(collectHistory(paths, { tz: 'UTC' }), { message }, why)
  }
})

t.test('a page shows what was counted in a window that has the whole time', async (t) => {
  const { records } = (await createInProcessEngine(t)).workerClient
  const histories = createHistories(records)
  const fetches = ['/a', '/b'].map((pathname) => agentRow({ ...user, pathname, timestamp: IN }))
  const ask = await asker(all({ agent_events: fetches }), { countedPages: histories.pagesOfSite })
  const cited = async (query = '') => {
    const { data, meta } = await ask('answers', query)
    const rows: Record<string, unknown>[] = Array.isArray(data) ? data : []
    return {
      rows: rows.map((row) =>
        [row.pathname, row.cited, row.search_clicks, row.search_impressions].map((cell) => cell ?? '-').join(' '),
      ),
      codes: (meta.warnings ?? []).map(({ code }) => code).filter((code) => code.includes('counted')),
    }
  }
  const without = { rows: ['/a - - -', '/b - - -'] }
  t.strictSame(await cited(), { ...without, codes: ['no_counted_pages'] }, 'nothing was imported')
  const page = (pathname: string, of: object) => ({ hostname: 'example.com', pathname, ...of })
  const add = (tool: string, first_day: string, last_day: string, ...rows: object[]) =>
    histories.create(1, NewHistory.parse({ tool, pages: { first_day, last_day, rows } }), deed)
  const bing = await add('Bing', '2026-11-02', '2026-11-11', page('/a', { citations: 5 }), page('/c', { citations: 9 }))
  t.match(bing, { id: 1, days: 10, pages: 2, left_out: 0 })
  await t.rejects(
    add('Bing', '2026-11-11', '2026-11-20', page('/a', { citations: 5 })),
    { code: 'conflict', message: /from 2026-11-02 to 2026-11-11 already: delete addition 1 first/ },
    'the same days again would be counted twice',
  )
  await add('Bing', '2026-11-12', '2026-11-12', page('/a', { citations: 2 }))
  await add(
    'Google',
    '2026-10-21',
    '2026-11-19',
    page('/a', { clicks: 0, impressions: 7 }),
    page('/b', { clicks: 3, impressions: 4 }),
  )
  await add('Google', '2026-09-01', '2026-10-20', page('/b', { clicks: 100, impressions: 100 }))
  const both = { rows: ['/a 7 0 7', '/b - 3 4'], codes: ['counted_pages'] }
  t.strictSame(await cited(), both, 'added up; a page that no file has stays without a number')
  t.strictSame(await cited('compare=none&filters=[{"dimension":"pathname","op":"is","value":"/b"}]'), {
    ...both,
    rows: ['/b - 3 4'],
  })
  const filtered = 'filters=[{"dimension":"agent_id","op":"is","value":"chatgpt-user"}]'
  t.strictSame(await cited(filtered), { ...without, codes: ['counted_pages_filtered'] }, 'no filter of agents')
  t.strictSame(await cited('by=page_operator'), { ...without, codes: [] }, 'not known of one operator')
  const cut = await cited('tz=America/Los_Angeles')
  t.strictSame(cut, { rows: ['/a 7 - -', '/b - - -'], codes: ['counted_pages', 'counted_pages_cut'] }, 'a day is cut')
  t.equal(await histories.ofSite(1), undefined, 'they are no days')
  await histories.delete(1, 1, deed)
  t.strictSame(await cited(), { ...both, rows: ['/a 2 0 7', '/b - 3 4'] }, 'deleted')
})
