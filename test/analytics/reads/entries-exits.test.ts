import t from 'tap'
import { z } from 'zod'
import { filterQuery, sessionRows } from '../../fixtures/ask-reads.js'
import { openStore } from '../../fixtures/open-store.js'
import { askRead } from '../../fixtures/random-visits.js'

const NOW = Date.parse('2026-11-21T12:00:00.000Z')
const START = '2026-11-21T08:00:00.000Z'
const is = (dimension: string, value: unknown, op = 'is') => ({ dimension, op, value })
const Pages = z.array(z.looseObject({ pathname: z.string(), entries: z.number(), exits: z.number() }))

t.test('every session has one entry and one exit, also one of events only', async (t) => {
  const store = await openStore(t)
  const acted = sessionRows(1n, 11n, START, { entry_page: '/a', kind: 'custom', event_name: 'play' })
  const read = sessionRows(2n, 12n, START, { entry_page: '/a' })
  await store.append({
    events: [
      acted(START, '/a'),
      acted('2026-11-21T08:01:00.000Z', '/b', { kind: 'outbound', event_name: null }),
      acted('2026-11-21T08:02:00.000Z', '/c', { kind: 'engagement', event_name: null, engaged_ms: 60_000 }),
      read(START, '/a'),
      read('2026-11-21T08:01:00.000Z', '/c'),
      read('2026-11-21T08:02:00.000Z', '/b', { kind: 'custom', event_name: 'play' }),
    ],
    agent_events: [],
  })
  for (const when of ['by its hits', 'aggregated']) {
    const { data } = await askRead(store, NOW, 'pages', 'site=1&range=24h')
    t.strictSame(
      new Map(Pages.parse(data).map(({ pathname, entries, exits }) => [pathname, [entries, exits]])),
      new Map([
        ['/a', [2, 0]],
        ['/c', [0, 1]],
        ['/b', [0, 1]],
      ]),
      when,
    )
    const sessions = await askRead(store, NOW, 'sessions', 'site=1&range=24h')
    t.match(new Set(Object(sessions.data).map((one: { exit_page?: string }) => one.exit_page)), new Set(['/b', '/c']))
    await store.aggregate(new Date('2026-11-21T11:00:00.000Z'))
  }
})

t.test('bounce: with a filter on pathname, of the sessions whose entry passes the filter', async (t) => {
  const store = await openStore(t)
  const later = '2026-11-21T08:01:00.000Z'
  const german = { country: 'DE' }
  const french = { country: 'FR' }
  const one = (id: bigint, entry_page: string, of: object) => sessionRows(id, id + 10n, START, { entry_page, ...of })
  await store.append({
    events: [
      // Bounces: a German at /a, a French at /a, a German at /b. No bounce: a German from /a to /b, a French from /b to /a.
      one(1n, '/a', german)(START, '/a'),
      one(2n, '/a', french)(START, '/a'),
      one(3n, '/b', german)(START, '/b'),
      one(4n, '/a', german)(START, '/a'),
      one(4n, '/a', german)(later, '/b'),
      one(5n, '/b', french)(START, '/b'),
      one(5n, '/b', french)(later, '/a'),
    ],
    agent_events: [],
  })
  const [atA, inGermany] = [is('pathname', '/a'), is('country', 'DE')]
  // Filter, its sessions, the bounce rate among those that entered where the filter allows.
  const rows: [unknown, number, number, string][] = [
    [atA, 4, 2 / 3, 'entered at /a: 1, 2 and 4'],
    [{ not: atA }, 3, 1 / 2, 'entered elsewhere: 3 and 5'],
    [{ not: { and: [atA, inGermany] } }, 4, 2 / 3, 'not at /a from Germany: 2, 3 and 5, but not 4'],
    [{ or: [{ not: atA }, { not: inGermany }] }, 4, 2 / 3, 'the same filter in other words'],
    [{ not: { or: [atA, inGermany] } }, 1, 0, 'neither at /a nor from Germany: 5'],
    [{ or: [atA, inGermany] }, 5, 3 / 4, 'at /a or from Germany: 1 to 4'],
    [{ not: { and: [inGermany, { or: [atA, is('browser', 'Chrome')] }] } }, 4, 2 / 3, 'nested: 2, 3 and 5'],
    [inGermany, 3, 2 / 3, 'no path is named: all'],
  ]
  for (const when of ['by its hits', 'aggregated']) {
    for (const [filter, sessions, bounce, why] of rows) {
      const { data } = await askRead(store, NOW, 'overview', `site=1&range=24h${filterQuery(filter)}`)
      t.match(data, { sessions, bounce }, `${JSON.stringify(filter)}: ${why}, ${when}`)
    }
    await store.aggregate(new Date('2026-11-21T11:00:00.000Z'))
  }
})
