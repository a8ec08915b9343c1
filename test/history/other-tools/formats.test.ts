import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { zipSync } from 'fflate'
import t from 'tap'
import { type CollectedHistory, collectHistory } from '../../../src/history/other-tools/collect.js'
import { findCsvFormat, type Tool } from '../../../src/history/other-tools/formats.js'

const SAMPLES = 'test/fixtures/exports'
const sample = (name: string) => readFileSync(`${SAMPLES}/${name}`)
/** A day as one line: visitors, visits, pageviews, bounces and seconds, `-` where the tool does not know. */
const linesOf = ({ days }: Pick<CollectedHistory, 'days'>) =>
  days.map(({ day, visitors, visits, pageviews, bounces, seconds }) =>
    [day, ...[visitors, visits, pageviews, bounces, seconds].map((one) => one ?? '-')].join(' '),
  )
const read = (paths: readonly string[], tool?: Tool, website?: string) =>
  collectHistory(paths, { tz: 'Europe/Berlin', tool, website })

/** Days of a sample by hand, with the tool, the title, and the counts of rows: all, broken, not counted. */
const GOLDEN: readonly (readonly [file: string, tool: string, rows: string, days: readonly string[]])[] = [
  [
    'plausible-imported_visitors.csv',
    'Plausible',
    '21 0 0',
    [
      ...['2024-03-11 5 7 50 2 8640', '2024-03-12 3 3 4 2 43', '2024-03-13 3 4 6 2 2313', '2024-03-14 0 0 0 0 0'],
      ...['2024-03-15 1 1 1 1 0', '2024-03-16 12 13 31 4 5100', '2024-03-17 14 15 40 5 6020'],
      ...['2024-03-18 9 9 18 4 1200', '2024-03-19 8 8 17 3 1100', '2024-03-20 7 7 16 2 1000'],
      ...['2024-03-21 6 6 15 1 900', '2024-03-22 5 5 14 0 800', '2024-03-23 4 5 13 1 700', '2024-03-24 3 5 12 2 600'],
      ...['2024-03-25 2 5 11 3 500', '2024-03-26 1234 1500 5678 600 100000', '2024-03-27 2 2 10 1 350'],
      ...['2024-03-28 2 2 9 1 340', '2024-03-29 2 2 8 1 330', '2024-03-30 2 2 7 1 320', '2024-03-31 2 2 6 1 310'],
    ],
  ],
  [
    'matomo-api-get.csv',
    'Matomo',
    '20 1 0',
    [
      ...['2023-01-01 10 12 28 4 1200', '2023-01-02 11 13 29 5 1300', '2023-01-03 12 14 30 6 1400'],
      ...['2023-01-04 13 15 31 7 1500', '2023-01-05 14 16 32 8 1600', '2023-01-06 15 17 33 9 1700'],
      ...['2023-01-07 0 0 0 0 0', '2023-01-08 17 19 35 9 1900', '2023-01-09 1017 1019 3500 409 190000'],
      ...['2023-01-10 18 20 36 9 2000', '2023-01-11 19 21 37 9 2100', '2023-01-12 20 22 38 9 2200'],
      ...['2023-01-13 21 23 39 9 2300', '2023-01-14 22 24 40 9 2400', '2023-01-15 23 25 41 9 2500'],
      ...['2023-01-16 24 26 42 9 2600', '2023-01-17 25 27 43 9 2700', '2023-01-18 26 28 44 9 2800'],
      '2023-01-20 28 30 46 9 3000',
    ],
  ],
  [
    'ga4-report.csv',
    'Google Analytics',
    '21 0 1',
    [
      ...['2024-02-10 100 120 300 40 7380', '2024-02-11 101 121 301 40 7563', '2024-02-12 102 122 302 40 1220'],
      ...['2024-02-13 103 123 303 40 1230', '2024-02-14 104 124 304 40 1240', '2024-02-15 105 125 305 40 1250'],
      ...['2024-02-16 106 126 306 40 1260', '2024-02-17 107 127 307 40 1270', '2024-02-18 108 128 308 40 1280'],
      ...['2024-02-19 109 129 309 40 1290', '2024-02-20 110 130 310 40 1300', '2024-02-21 111 131 311 40 1310'],
      ...['2024-02-22 112 132 312 40 1320', '2024-02-23 113 133 313 40 1330', '2024-02-24 114 134 314 40 1340'],
      ...['2024-02-25 115 135 315 40 1350', '2024-02-26 116 136 316 40 1360', '2024-02-27 117 137 317 40 1370'],
      ...['2024-02-28 118 138 318 40 1380', '2024-02-29 119 139 319 40 9730'],
    ],
  ],
  [
    'ga4-bigquery.ndjson',
    'Google Analytics',
    '21 1 0',
    // An event without a person is a pageview and no more; a session of two days belongs to the first.
    ['2024-05-31 1 1 1 0 0', '2024-06-01 3 4 5 2 270', '2024-06-02 3 2 10 1 51'],
  ],
  [
    'umami-website_event.csv',
    'Umami',
    '20 2 1',
    // The clocks of Berlin went forward on 31 March 2024, a day of 23 hours.
    ['2024-03-29 4 5 5 3 600', '2024-03-30 1 1 1 0 1200', '2024-03-31 4 3 7 1 153', '2024-04-01 2 2 2 2 30'],
  ],
  [
    'goatcounter.csv',
    'GoatCounter',
    '20 1 3',
    // The clocks went back on 27 October 2024, a day of 25 hours.
    ['2024-10-26 2 - 2 - -', '2024-10-27 2 - 6 - -', '2024-10-28 3 - 8 - -'],
  ],
  [
    'simple-analytics-datapoints.csv',
    'Simple Analytics',
    '20 1 1',
    ['2024-05-01 4 4 7 1 239', '2024-05-02 5 6 11 5 30'],
  ],
]

t.test('each export gives the days that a count by hand gives', async (t) => {
  for (const [name, tool, rows, days] of GOLDEN) {
    const found = await read([`${SAMPLES}/${name}`])
    t.equal(found.tool, tool)
    t.strictSame(linesOf(found), days, name)
    t.same(
      found.files.map((file) => `${file.rows} ${file.broken} ${file.skipped}`),
      [rows],
      `${name}: rows, broken, not counted`,
    )
    const named = found.files[0]?.tool
    t.strictSame(linesOf(await read([`${SAMPLES}/${name}`], named)), days, `${name} with its tool named`)
  }
})

const head = 'date,visitors,pageviews,bounces,visits,visit_duration'
/** Texts that are read, or the message with which they are refused. */
const TEXTS: readonly (readonly [text: string | Buffer, days: readonly string[] | RegExp, why: string])[] = [
  [`\ufeff${head}\r\n2024-01-01,1,2,0,1,9\r\n`, ['2024-01-01 1 1 2 0 9'], 'a mark of UTF-8, and CRLF'],
  [`${head}\n2024-01-01,1,2,0,1,9`, ['2024-01-01 1 1 2 0 9'], 'no line break at the end'],
  [
    Buffer.from(`\ufeffdate,nb_uniq_visitors,nb_visits\n2024-01-01,3,4\n`, 'utf16le'),
    ['2024-01-01 3 4 - - -'],
    'UTF-16, as Matomo writes it: pageviews are not in VisitsSummary.get',
  ],
  [
    Buffer.from('\ufeffdate\tnb_pageviews\n2024-01-01\t34\n', 'utf16le').swap16(),
    ['2024-01-01 - - 34 - -'],
    'big-endian, with tabs: Actions.get',
  ],
  ['date;nb_visits\n2024-01-01;"1.234"\n', ['2024-01-01 - 1234 - - -'], 'semicolons, and points of thousands'],
  [
    `date,nb_visits\n2024-01-01,1\u202f234\n2024-01-02,12.5\n2024-01-03,-1\n`,
    ['2024-01-01 - 1234 - - -'],
    'spaces of thousands; a fraction and a negative number are broken rows',
  ],
  [`${head}\n2024-02-30,1,1,1,1,1\n2024-03-01,1,,1,1,1\n`, ['2024-03-01 1 1 - 1 1'], 'no such day; an empty cell'],
  [`${head}\n2024-03-01,5,9,7,6,1\n`, ['2024-03-01 5 6 9 6 1'], 'bounces are never more than visits'],
  [
    'date,visitors,pageviews,visits,views_per_visit,bounce_rate,visit_duration\n2024-03-01,9,30,10,3.0,45,61\n',
    ['2024-03-01 9 10 30 5 610'],
    'the dashboard of Plausible has a rate in percent and a mean: 4.5 bounces are rounded',
  ],
  ['date,pageviews,visitors\n2024-03-01,3,2\n', ['2024-03-01 2 - 3 - -'], 'Simple Analytics by day'],
  [
    '# Start date: 20240228\n# End date: 20240301\nNth day,Active users\n0000,5\n0001,6\n0002,7\n\n# Start date: 20240228\nNth day,Sessions\n0000,8\n2,9\n',
    ['2024-02-28 5 8 - - -', '2024-02-29 6 - - - -', '2024-03-01 7 9 - - -'],
    'tables of a report by the number of the day, across 29 February',
  ],
  [
    'date,sessions,bounceRate,screenPageViews\n20240301,10,0.25,40\n20240302,10,30%,40\n',
    ['2024-03-01 - 10 40 3 -', '2024-03-02 - 10 40 3 -'],
    'names of the Data API, and shares in both forms',
  ],
  [
    '1Path,Title,Event,Bot,Session,FirstVisit,Referrer,Referrer scheme,Browser,Screen size,Location,Date\n/,,false,0,a,true,,,,,,2020-01-01T10:00:00Z\n',
    ['2020-01-01 1 - 1 - -'],
    'the first version of GoatCounter',
  ],
  ['', /has the columns of an export/, 'an empty file'],
  [`${head}\n`, /no row with a day or a page could be read/, 'no rows'],
  ['a,b\n1,2\n', /has the columns of an export/, 'another table'],
  ['date,page,visitors,pageviews\n2024-01-01,/,1,1\n', /has the columns of an export/, 'pages by day have no totals'],
  ['date,label,nb_visits\n2024-01-01,/,1\n', /has the columns of an export/, 'pages of Matomo'],
  ['date,Sessions,Page\n20240301,1,/\n20240301,2,/a\n', /2024-03-01 has several rows/, 'another dimension'],
  [`${head}\n2024-01-01,"1,2\n${'x'.repeat(1_100_000)}`, /a quoted field has no end/, 'an open quote'],
  ['{"a":1}\n{"b":2}\n', /has the columns of an export/, 'other JSON'],
]

t.test('hostile and unusual files', async (t) => {
  for (const [text, expected, why] of TEXTS) {
    const dir = t.testdir({ file: text })
    const found = read([`${dir}/file`])
    if (expected instanceof RegExp) await t.rejects(found, { message: expected }, why)
    else t.strictSame(linesOf(await found), expected, why)
  }
})

const WEBSITE = '7c2a4c1e-0f5b-4d8e-9a53-1f6f0a7a2b10'
const OTHER_WEBSITE = 'e1b0c44e-98fc-4c14-9afb-f4c8996fb924'

t.test('a dump of the database gives the days of one website', async (t) => {
  const most = ['2024-03-29 4 5 5 3 600', '2024-03-30 1 1 1 0 1200']
  const dumps: [file: string, days: readonly string[]][] = [
    ['umami-pg_dump.sql', [...most, '2024-03-31 4 3 7 1 153', '2024-04-01 2 2 2 2 30']],
    // MySQL has no half seconds: the visit of 150.5 s lasted 150 s, and the day's sum is not rounded up.
    ['umami-mysqldump.sql', [...most, '2024-03-31 4 3 7 1 152', '2024-04-01 2 2 2 2 30']],
  ]
  for (const [name, days] of dumps) {
    const file = `${SAMPLES}/${name}`
    const found = await read([file], undefined, WEBSITE)
    t.strictSame(linesOf(found), days, name)
    const [{ tool, title, rows, broken, skipped } = {}] = found.files
    t.strictSame([tool, title], ['umami', 'Umami, rows of website_event'])
    // The type 5 is not counted, nor are the three hits of the other website.
    t.strictSame([rows, broken, skipped], [21, 0, 4], `${name}: rows, broken, not counted`)
    t.strictSame(linesOf(await read([file], 'umami', OTHER_WEBSITE)), ['2024-03-30 3 3 3 3 0'], 'the other website')
    const several = new RegExp(`several websites, ${WEBSITE} and ${OTHER_WEBSITE}: choose one with --website`)
    await t.rejects(read([file]), { message: several })
    await t.rejects(read([file], 'umami', 'another'), { message: /no row of website another with a day/ })
    await t.rejects(read([file], 'matomo'), { message: /has the columns of an export/ })
    const dir = t.testdir({ 'a.zip': Buffer.from(zipSync({ 'dump.sql': readFileSync(file) })) })
    t.strictSame(linesOf(await read([`${dir}/a.zip`], undefined, WEBSITE)), days, 'in a ZIP')
  }
  const dir = t.testdir({ dump: 'PGDMP\x01\x0e', 'none.sql': '-- PostgreSQL database dump\nSELECT 1;\n' })
  await t.rejects(read([`${dir}/dump`]), { message: /is an archive of pg_dump: write one with --format=plain/ })
  await t.rejects(read([`${dir}/none.sql`]), { message: /has the columns of an export/ }, 'no such table')
})

t.test('a ZIP is read without unpacking what has no totals of days', async (t) => {
  const zip = zipSync({
    'imported_visitors_20240311_20240331.csv': sample('plausible-imported_visitors.csv'),
    'imported_pages_20240311_20240331.csv': sample('plausible-imported_pages.csv'),
    'picture.png': new Uint8Array([1, 2, 3]),
    '__MACOSX/._imported_visitors.csv': new Uint8Array([0, 5]),
  })
  const dir = t.testdir({
    'export.zip': Buffer.from(zip),
    'cut.zip': Buffer.from(zip.subarray(0, 200)),
    'goatcounter.csv.gz': gzipSync(sample('goatcounter.csv')),
    'cut.csv.gz': gzipSync(sample('goatcounter.csv')).subarray(0, 400),
    'a.csv': `${head}\n2024-01-01,1,1,1,1,1\n2024-01-02,1,1,1,1,1\n`,
    'b.csv': `${head}\n2024-01-02,1,1,1,1,1\n2024-01-03,1,1,1,1,1\n`,
    'other.csv': `${head}\n2024-01-02,1,7,1,1,1\n`,
    'summary.csv': 'date,nb_visits\n2024-01-01,4\n',
    'actions.csv': 'date,nb_pageviews\n2024-01-01,9\n2024-01-02,8\n',
  })
  const found = await read([`${dir}/export.zip`])
  t.equal(found.days.length, 21)
  t.same(found.unused, ['imported_pages_20240311_20240331.csv'])
  t.equal((await read([`${dir}/goatcounter.csv.gz`])).days.length, 3)
  t.strictSame(
    linesOf(await read([`${dir}/a.csv`, `${dir}/b.csv`])),
    ['2024-01-01 1 1 1 1 1', '2024-01-02 1 1 1 1 1', '2024-01-03 1 1 1 1 1'],
    'files that overlap and agree',
  )
  t.strictSame(
    linesOf(await read([`${dir}/summary.csv`, `${dir}/actions.csv`])),
    ['2024-01-01 - 4 9 - -', '2024-01-02 - - 8 - -'],
    'two reports of one tool complete each other',
  )
  const refused: [paths: readonly string[], message: RegExp][] = [
    [['cut.zip'], /cut\.zip is damaged: it is cut short at byte 200, before the list of its files\./],
    [['cut.csv.gz'], /cut\.csv\.gz is cut short or damaged after byte 400: unexpected end of file/],
    [['nothing.csv'], /nothing\.csv cannot be read: ENOENT/],
    [['a.csv', 'other.csv'], /other\.csv: 2024-01-02 has 7 pageviews, and another file has 1/],
    [['b.csv', 'summary.csv'], /exports of Plausible and Matomo: add one tool at a time/],
  ]
  for (const [names, message] of refused)
    await t.rejects(read(names.map((name) => `${dir}/${name}`)), { message }, names.join())
  await t.rejects(read([`${dir}/a.csv`], 'umami'), { message: /has the columns of an export/ }, 'another tool is named')
})

t.test('people and visits in memory are bounded', async (t) => {
  const { createVisitCounter } = await import('../../../src/history/other-tools/visit-counter.js')
  const counter = createVisitCounter('UTC', { visitors: true, visits: true, bounces: 'one_pageview' }, 3)
  const hit = (visitor: string) => counter.add({ at: 0, isPageview: true, visitor, visit: visitor })
  hit('a')
  t.throws(() => ['b', 'c'].forEach(hit), { message: /too many people and visits/ })
})

t.test('a line of NDJSON that is too long is broken, and its rest skipped', async (t) => {
  const lines = sample('ga4-bigquery.ndjson').toString().split('\n')
  const [whole, file] = [linesOf(await read([`${SAMPLES}/ga4-bigquery.ndjson`])), 'long.ndjson']
  const long = [...lines.slice(0, 2), `{"x":"${'y'.repeat(3_000_000)}"}`, ...lines.slice(2)]
  const found = await read([`${t.testdir({ [file]: long.join('\n') })}/${file}`])
  t.strictSame(linesOf(found), whole)
  const [before] = (await read([`${SAMPLES}/ga4-bigquery.ndjson`])).files
  t.equal(found.files[0]?.broken, (before?.broken ?? 0) + 1)
})

t.test("GoatCounter's JSON export has the pageviews of each day, without events", async (t) => {
  const found = await read([`${SAMPLES}/goatcounter-2.7.zip`])
  // 19:00 and 15:00 UTC are the same day in Berlin; the third row is of an event.
  t.strictSame(linesOf(found), ['2026-03-05 - - 4 - -', '2026-03-07 - - 6 - -'])
  t.match(found, { tool: 'GoatCounter', files: [{ rows: 3, broken: 0, skipped: 1 }] })
})

t.test('one shared column identifies no tool', async (t) => {
  const known: readonly [columns: string, found: boolean, why: string][] = [
    ['Date,Bounce Rate', true, 'a report of one figure by day'],
    ['Date,Visits,Actions,Bounce Rate', false, 'only the bounce rate is known'],
    ['Date,Users,Sessions', true, 'two figures of Google Analytics'],
  ]
  for (const [columns, isKnown, why] of known)
    t.equal(findCsvFormat(columns.toLowerCase().split(',')) !== undefined, isKnown, why)
  const translated = `${SAMPLES}/matomo-translated-columns.csv`
  await t.rejects(read([translated]), { message: /no file has the columns of an export/ }, "Matomo's shown names")
})
