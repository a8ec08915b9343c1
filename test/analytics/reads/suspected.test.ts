import t from 'tap'
import { openReads, sessionRows } from '../../fixtures/ask-reads.js'

/** In this window two people read eight pages, in three sessions that started in it and one that started before it. */
const WINDOW = 'site=1&start=2026-11-20&end=2026-11-21'
const NOW = new Date('2026-11-22T12:00:00Z')
const parts = { suspected_by: 'behaviour:no_assets' }
const hosting = { suspected_by: 'network:hosting' }
const both = { suspected: true, suspected_by: 'headers:order,headers:http1,network:hosting' }

const before = sessionRows(1n, 10n, '2026-11-19T10:00:00Z')
// One visit over midnight, of which only the part before the window is suspected.
const midnight = sessionRows(1n, 11n, '2026-11-19T23:50:00Z')
const suspected = sessionRows(1n, 12n, '2026-11-20T10:00:00Z', { source: 'Google', country: 'DE' })
const one = sessionRows(2n, 20n, '2026-11-20T11:00:00Z', { country: 'DE' })
const other = sessionRows(2n, 21n, '2026-11-21T09:00:00Z')
const ask = await openReads(
  t,
  {
    events: [
      before('2026-11-19T10:00:00Z', '/a'),
      midnight('2026-11-19T23:50:00Z', '/a', both),
      midnight('2026-11-20T00:05:00Z', '/b'),
      suspected('2026-11-20T10:00:00Z', '/a', hosting),
      suspected('2026-11-20T10:01:00Z', '/b', both),
      suspected('2026-11-20T10:01:30Z', '/b', both),
      suspected('2026-11-20T10:02:00Z', '/b', { kind: 'custom', event_name: 'signup', ...both }),
      one('2026-11-20T11:00:00Z', '/a', hosting),
      other('2026-11-21T09:00:00Z', '/a', parts),
      other('2026-11-21T09:01:00Z', '/c', parts),
      other('2026-11-21T09:02:00Z', '/d', parts),
    ],
    agent_events: [],
  },
  NOW,
)

t.test('suspected views, counted by hand', async (t) => {
  const { data, meta } = await ask('suspected', `${WINDOW}&granularity=day`)
  t.match(meta.warnings, [{ code: 'suspected_is_a_floor' }])
  const counts = (pageviews: number, suspected_pageviews: number) => ({ pageviews, suspected_pageviews })
  const figures = JSON.parse(JSON.stringify(data, (key, value) => (/^(?:t|meaning)$/.test(key) ? undefined : value)))
  t.strictSame(figures, {
    ...counts(8, 2),
    ...{ share: 2 / 8, sessions: 3, suspected_sessions: 1, granularity: 'day' },
    signals: [
      ['headers:no_navigation', 0, 0],
      ['headers:no_language', 0, 0],
      ['headers:accept', 0, 0],
      ['headers:no_gzip', 0, 0],
      ['headers:client_hints', 0, 0],
      ['headers:stale_browser', 0, 0],
      ['headers:order', 2, 2],
      ['headers:http1', 2, 2],
      ['network:hosting', 4, 2],
      ['behaviour:burst', 0, 0],
      ['behaviour:sweep', 0, 0],
      ['behaviour:policy_first', 0, 0],
      ['behaviour:no_assets', 3, 0],
      ['behaviour:network_sweep', 0, 0],
    ].map(([signal, views, suspected]) => ({
      ...{ signal, family: `${signal}`.replace(/:.*/, '') },
      ...counts(Number(views), Number(suspected)),
    })),
    pages: [{ value: '/b', ...counts(3, 2), share: 2 / 3 }],
    sources: [{ value: 'Google', ...counts(3, 2), share: 2 / 3 }],
    countries: [{ value: 'DE', ...counts(4, 2), share: 2 / 4 }],
    buckets: [counts(5, 2), counts(3, 0)],
  })
})

t.test('people without suspected sessions, and what answers say about it', async (t) => {
  const rows: [path: string, query: string, expected: unknown, codes: string[], why: string][] = [
    ['overview', '', { visitors: 2, sessions: 3, pageviews: 8 }, [], 'everybody'],
    [
      'overview',
      '&suspected=exclude',
      { visitors: 1, sessions: 2, pageviews: 4 },
      [],
      'without both suspected sessions, one of them suspected before the window',
    ],
    [
      'breakdown',
      '&dimension=pathname&suspected=exclude',
      [
        { value: '/a', pageviews: 2 },
        { value: '/c', pageviews: 1 },
        { value: '/d', pageviews: 1 },
      ],
      [],
      'nor their pages that no signal spoke against',
    ],
    ['events', '&suspected=exclude', [], [], 'nor their events'],
    ['hours', '&audience=agent&suspected=exclude', {}, ['suspected_are_people'], 'agents'],
    [
      'suspected',
      '&suspected=exclude',
      { pageviews: 4, suspected_pageviews: 0 },
      ['suspected_is_a_floor'],
      'nothing left',
    ],
  ]
  for (const [path, query, expected, codes, why] of rows) {
    const { data, meta } = await ask(path, WINDOW + query)
    t.match(data, expected, why)
    if (Array.isArray(expected)) t.equal(Array.isArray(data) && data.length, expected.length, why)
    t.strictSame(
      (meta.warnings ?? []).map(({ code }) => code),
      codes,
      `${why}: warnings`,
    )
  }
})
