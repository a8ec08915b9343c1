import t from 'tap'
import { findReport, REPORT_NAMES } from '../../src/analytics/export/report-names.js'
import { exportService } from '../fixtures/export-service.js'
import { pdfText } from '../fixtures/pdf-text.js'
import { eventRow } from '../fixtures/rows.js'
import { WORLD } from '../fixtures/world.js'

t.test('a PDF contains what the JSON contains', async (t) => {
  const { ask } = await exportService(t, WORLD, 'Berlin Zoo \u2014 Зоопарк \u0001')
  const filters = encodeURIComponent('[{"dimension":"country","op":"is_not","value":["FR","IT"]}]')
  const overview = await ask(`stats/export.pdf?site=1&range=yesterday&compare=previous&filters=${filters}`)
  t.equal(overview.headers.get('content-type'), 'application/pdf')
  const text = await pdfText(new Uint8Array(await overview.arrayBuffer()))
  for (const says of [
    /Berlin Zoo — Зоопарк/,
    /Overview/,
    /Window +25 Oct 2026 \(Europe\/Berlin\)/,
    // The day had 25 hours.
    /Compared with +23 Oct 2026, 23:00 to 25 Oct 2026, 00:00/,
    /Audience +People/,
    /Filters +country is not “FR” nor “IT”/,
    // 3 visitors after 1, 4 pageviews after 1, half of the sessions bounced, 480 seconds after 1,200.
    /\n *3 +2 +4 +50\.0 % +8 m 0 s/,
    /\+200\.0 % +\+100\.0 % +\+300\.0 % .*\u221260\.0 %/,
    /People per hour/,
    // The column beside it is empty: its window is before the first row.
    /25 Oct 2026, 02:00 +1\n/,
    /Nothing is recorded before 2026-10-24T10:00:00\.000Z/,
    /readership · IP Geolocation by DB-IP/,
    /1 ?\/ ?1\n/,
  ])
    t.match(text, says)
  const pages = await pdfText(
    new Uint8Array(await (await ask('stats/export.pdf?site=1&range=7d&report=agents/coverage')).arrayBuffer()),
  )
  const gap = await ask('stats/export.pdf?site=1&report=citation-gap')
  t.match(
    await pdfText(new Uint8Array(await gap.arrayBuffer())),
    /Arrivals are a lower bound: native apps/,
    'the basis of the numbers is printed',
  )
  t.match(pages, /example\.com +\/docs .* 1 +0 .* gptbot/)
  const long = Array.from({ length: 1_500 }, (_, i) =>
    eventRow({
      pathname: `/p/${i}`,
      visitor_id: BigInt(i),
      session_id: BigInt(i),
      timestamp: new Date('2026-10-26T08:00:00Z'),
    }),
  )
  const { ask: askLong } = await exportService(t, { events: long, agent_events: [] })
  const bounded = await pdfText(
    new Uint8Array(await (await askLong('stats/export.pdf?site=1&report=pages')).arrayBuffer()),
  )
  t.match(bounded, /the first 1,000 of 1,500 rows; the CSV file has all/)
  t.equal([...bounded.matchAll(/^ *\/p\/\d+ /gm)].length, 1_000)
  t.equal(
    [...bounded.matchAll(/^ *Pathname +People/gm)].length,
    Number(/1 ?\/ ?(\d+)\n/.exec(bounded)?.[1]),
    'each page repeats the header row',
  )
})

t.test('every report about people, asked about agents, is a file or a refusal', { timeout: 110_000 }, async (t) => {
  const { ask, logged } = await exportService(t)
  const reports = REPORT_NAMES.filter((name) => 'peopleOnly' in findReport(name).read.audience)
  t.ok(reports.includes('journeys') && reports.includes('retention'))
  for (const report of reports) {
    const { status } = await ask(
      `stats/export.pdf?site=1&range=7d&audience=agent&report=${report.replace('{id}', '1')}`,
    )
    t.ok(status < 500, `${report}: ${status}`)
  }
  t.same(logged, [])
})

t.test('journeys and retention are drawn, and a run of empty buckets is one line', async (t) => {
  const hit = (visitor_id: bigint, session_id: bigint, at: string, pathname: string) =>
    eventRow({ visitor_id, session_id, pathname, timestamp: new Date(at) })
  // Two visitors come on 24 October; one reads on, and comes back the next day.
  const events = [
    hit(1n, 1n, '2026-10-24T10:00:00Z', '/a'),
    { ...hit(1n, 1n, '2026-10-24T10:01:00Z', '/b'), session_start: new Date('2026-10-24T10:00:00Z') },
    hit(2n, 2n, '2026-10-24T11:00:00Z', '/a'),
    hit(1n, 3n, '2026-10-25T10:00:00Z', '/a'),
  ]
  const { ask } = await exportService(t, { events, agent_events: [] })
  const textOf = async (query: string) =>
    pdfText(new Uint8Array(await (await ask(`stats/export.pdf?site=1&range=7d&${query}`)).arrayBuffer()))
  for (const [query, says, never] of [
    [
      'report=retention&granularity=day',
      [/no data until 24 Oct/, /People +0 +1/, /24 Oct +2 +100\.0 % +50\.0 %/],
      /Periods|Rate|23 Oct /,
    ],
    ['report=journeys', [/Step 1 +Step 2/, /\/a +3/, /\/b +1/, /left the site +2/], /Source|Target|Depth/],
    [
      'report=timeseries&granularity=day',
      [/no data until 24 Oct 2026/, /24 Oct 2026 \(in part\) +2/],
      /2[123] Oct 2026 +0/,
    ],
  ] as const) {
    const text = await textOf(query)
    for (const pattern of says) t.match(text, pattern, query)
    t.notMatch(text, never, query)
  }
})
