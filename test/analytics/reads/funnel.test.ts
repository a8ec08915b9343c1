import fc from 'fast-check'
import t from 'tap'
import type { Funnel } from '../../../src/analytics/query/funnels.js'
import { type ReadDependencies, runRead } from '../../../src/analytics/query/prepare-read.js'
import funnelRead from '../../../src/analytics/reads/stats/funnel/id.js'
import type { EventRow } from '../../../src/storage/rows.js'
import { openStore } from '../../fixtures/open-store.js'
import { eventRow } from '../../fixtures/rows.js'

const START = Date.parse('2026-11-20T00:00:00Z')
const END = Date.parse('2026-11-21T00:00:00Z')
const DAY = `start=${new Date(START).toISOString()}&end=${new Date(END).toISOString()}`
const step = (pathname: string): Funnel['steps'][number] => ({
  ...{ label: pathname, type: 'page' },
  match: { op: 'is', value: pathname },
})
const shop: Funnel = {
  ...{ id: 1, name: 'Shop' },
  steps: [
    step('/'),
    { label: 'Product', type: 'page', match: { op: 'matches_wildcard', value: '/product/*' } },
    { label: 'Bought', type: 'event', match: { op: 'is', value: 'buy', props: [{ key: 'n', op: 'gt', value: 1 }] } },
  ],
}
const hour: Funnel = { ...shop, id: 2, window_minutes: 60 }
const twice: Funnel = { id: 3, name: 'Twice', steps: [step('/'), step('/')] }

const store = await openStore(t)
const funnels = new Map<string, Funnel>([shop, hour, twice].map((funnel) => [String(funnel.id), funnel]))
const deps: ReadDependencies = {
  store,
  now: () => new Date('2026-11-22T00:00:00Z'),
  site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'month', owns: () => true }),
  segment: async () => undefined,
  funnel: async (id, site) => (site === 9 ? undefined : funnels.get(id)),
  catalog: [],
  assistants: [],
}
const ask = async (id: string, query: string) => (await answer(id, query)).data
const answer = (id: string, query: string) => runRead(funnelRead, new URLSearchParams(`${DAY}&${query}`), deps, { id })
const filters = (value: unknown) => `&filters=${encodeURIComponent(JSON.stringify(value))}`

const minute = 60_000
const hex = (id: bigint) => id.toString(16).padStart(16, '0')
/** `[minutes since the window's start, path or event, more columns]` */
type Hit = readonly [minutes: number, what: string, more?: Partial<EventRow>]
const session = (
  visitor_id: bigint,
  session_id: bigint,
  hits: readonly Hit[],
  more: Partial<EventRow> = {},
): EventRow[] => {
  const session_start = new Date(START + Math.min(...hits.map(([at]) => at)) * minute)
  return hits.map(([at, what, own]) =>
    eventRow({
      ...{ visitor_id, session_id, session_start, timestamp: new Date(START + at * minute) },
      ...(what.startsWith('/') ? { pathname: what } : { kind: 'custom', event_name: what, pathname: '/cart' }),
      ...more,
      ...own,
    }),
  )
}
const buys = (n: unknown): Partial<EventRow> => ({ props: JSON.stringify({ n }) })

await store.append({
  events: [
    // In order but slow: the last step is 70 minutes after the first, and 50 after the second visit to it.
    ...session(
      1n,
      1n,
      [
        [0, '/'],
        [20, '/'],
        [25, '/product/a'],
        [70, 'buy', buys(2)],
      ],
      { country: 'DE' },
    ),
    // The product comes before the start, too; its second visit counts.
    ...session(2n, 2n, [
      [10, '/product/a'],
      [11, '/'],
      [12, '/product/b'],
      [13, 'buy', buys(1)],
    ]),
    // All at one moment: none is later than another.
    ...session(3n, 3n, [
      [30, '/'],
      [30, '/product/a'],
      [30, 'buy', buys(3)],
    ]),
    // Bought first.
    ...session(
      4n,
      4n,
      [
        [40, 'buy', buys(9)],
        [41, '/'],
        [42, '/product/a'],
      ],
      { country: 'DE' },
    ),
    // Over midnight: it belongs to this day as a whole.
    ...session(
      5n,
      5n,
      [
        [1439, '/'],
        [1441, '/product/x'],
        [1445, 'buy', buys('12')],
      ],
      { country: 'DE' },
    ),
    // Began the day before.
    ...session(6n, 6n, [
      [-5, '/'],
      [5, '/product/x'],
      [6, 'buy', buys(5)],
    ]),
    // One visitor with two sessions, which form a chain only together.
    ...session(7n, 7n, [[100, '/']], { country: 'US' }),
    ...session(
      7n,
      8n,
      [
        [200, '/product/a/b'],
        [201, '/product/c'],
        [202, 'buy', buys(2)],
      ],
      { country: 'DE' },
    ),
    // No step at all.
    ...session(8n, 9n, [[300, '/about']]),
    // Another site's session.
    ...session(
      1n,
      1n,
      [
        [0, '/'],
        [1, '/product/a'],
        [2, 'buy', buys(2)],
      ],
      { site_id: 2 },
    ),
    ...session(
      9n,
      10n,
      [
        [0, '/'],
        [1, '/'],
      ],
      { site_id: 3 },
    ),
    ...session(9n, 11n, [[60, '/']], { site_id: 3 }),
  ],
  agent_events: [],
})

const rows = (per: 'sessions' | 'visitors', labels: readonly string[], counts: readonly number[]) =>
  counts.map((n, i) => {
    const earlier = counts[i - 1]
    const first = counts[0] ?? 0
    return {
      ...{ label: labels[i], [per]: n },
      ...(earlier ? { drop_off: (earlier - n) / earlier } : {}),
      ...(first ? { rate: n / first } : {}),
    }
  })

t.test('funnels counted by hand', async (t) => {
  const labels = ['/', 'Product', 'Bought']
  const german = filters([{ dimension: 'country', op: 'is', value: 'DE' }])
  const cases: [id: string, query: string, per: 'sessions' | 'visitors', all: number, counts: number[], why: string][] =
    [
      ['1', 'site=1', 'sessions', 8, [6, 4, 2], '1 2 3 4 5 7; 1 2 4 5; 1 and 5, whose number is in a string'],
      ['2', 'site=1', 'sessions', 8, [6, 4, 2], 'from its second start the first is in time'],
      [
        '1',
        'site=1&per=visitor',
        'visitors',
        7,
        [6, 5, 3],
        'the seventh over two sessions; of the sixth nothing is asked',
      ],
      ['2', 'site=1&per=visitor', 'visitors', 7, [6, 4, 2], 'who was too slow'],
      ['1', `site=1${german}`, 'sessions', 4, [3, 3, 2], 'sessions 1 4 5 8'],
      ['1', `site=1&per=visitor${german}`, 'visitors', 4, [3, 3, 2], 'the start of the seventh was American'],
      [
        '1',
        `site=1${filters([{ dimension: 'pathname', op: 'is', value: '/cart' }])}`,
        'sessions',
        6,
        [5, 4, 2],
        'filters choose sessions, and cut none of their steps',
      ],
      ['1', 'site=2', 'sessions', 1, [1, 1, 1], "another site's"],
    ]
  for (const [id, query, per, all, counts, why] of cases) {
    const expected = { id: Number(id), name: 'Shop', [per]: all, steps: rows(per, labels, counts) }
    t.strictSame(await ask(id, query), expected, why)
  }
  const unknown = { id: 1, name: 'Shop', steps: labels.map((label) => ({ label })) }
  t.strictSame(await ask('1', 'site=4'), unknown, 'a site without rows: no number is known')
  t.match(await ask('3', 'site=3'), { sessions: 2, steps: [{ sessions: 2 }, { sessions: 1 }] }, 'one hit is one step')
  t.match(await ask('3', 'site=3&per=visitor'), { visitors: 1, steps: [{ visitors: 1 }, { visitors: 1 }] })
})

t.test('step lists the ids that reached it or dropped off', async (t) => {
  const cases: [query: string, ids: bigint[], why: string][] = [
    ['step=1', [5n, 7n, 4n, 3n, 2n, 1n], 'latest first'],
    ['step=3', [5n, 1n], 'who bought'],
    ['step=3&outcome=dropped', [4n, 2n], 'who came to a product, and no further'],
    ['step=2&outcome=dropped', [7n, 3n], 'who came to no product'],
    ['step=1&limit=2&page=2', [4n, 3n], 'a page'],
    ['step=1&limit=2&page=9', [], 'no page'],
    ['per=visitor&step=3', [5n, 7n, 1n], 'visitors'],
  ]
  for (const [query, ids, why] of cases) {
    const { data, meta } = await answer('1', `site=1&${query}`)
    t.match(data, { behind: ids.map(hex) }, `${query}: ${why}`)
    t.equal(meta.rows, ids.length)
    t.match(meta, { total: query.startsWith('step=1') ? 6 : ids.length })
  }
  t.notOk('behind' in Object(await ask('1', 'site=1')))
})

t.test('funnels are compared, and invalid steps refused', async (t) => {
  const query = new URLSearchParams('site=1&start=2026-11-21T00:00:00Z&end=2026-11-22T00:00:00Z&compare=previous')
  const { data } = await runRead(funnelRead, query, deps, { id: '1' })
  t.match(data, {
    sessions: 0,
    comparison: { sessions: 8 },
    change: { sessions: -1 },
    steps: [
      { sessions: 0, comparison: { sessions: 6, rate: 1 } },
      { comparison: { sessions: 4, drop_off: 1 / 3 } },
      {},
    ],
  })
  const refused: [id: string, query: string, error: { code: string; field?: string }][] = [
    ['4', 'site=1', { code: 'not_found' }],
    ['', 'site=1', { code: 'not_found' }],
    ['1', 'site=9', { code: 'not_found' }],
    ["1' or 1=1", 'site=1', { code: 'not_found' }],
    ['1', 'site=1&per=person', { code: 'validation_error', field: 'per' }],
    ['1', 'site=1&step=0', { code: 'validation_error', field: 'step' }],
    ['1', 'site=1&step=4', { code: 'validation_error', field: 'step' }],
    ['1', 'site=1&step=11', { code: 'validation_error', field: 'step' }],
    ['1', 'site=1&step=1.5', { code: 'validation_error', field: 'step' }],
    ['1', 'site=1&step=1&outcome=dropped', { code: 'validation_error', field: 'outcome' }],
    ['1', 'site=1&step=2&outcome=lost', { code: 'validation_error', field: 'outcome' }],
  ]
  for (const [id, query, error] of refused) await t.rejects(ask(id, query), error, `${id} ${query}`)
})

/** The number of steps that these hits make, found by trying every chain. */
function furthest(hits: readonly EventRow[], steps: readonly string[], window: number | undefined): number {
  const from = (n: number, first: number | undefined, after: number): number =>
    Math.max(
      n,
      ...hits
        .filter(({ pathname, timestamp }) => {
          const at = timestamp.getTime()
          return pathname === steps[n] && at > after && at - (first ?? at) <= (window ?? Infinity) * minute
        })
        .map(({ timestamp }) => from(n + 1, first ?? timestamp.getTime(), timestamp.getTime())),
    )
  return from(0, undefined, -Infinity)
}

t.test('any funnel finds a chain if one exists', async () => {
  const path = fc.constantFrom('/a', '/b', '/c')
  const visit = fc.record({
    visitor: fc.bigInt({ min: 1n, max: 3n }),
    start: fc.constantFrom(-2, -0.5, 0, 30, 60, 1436, 1439.5, 1440),
    hits: fc.array(fc.tuple(fc.integer({ min: 0, max: 12 }), path), { minLength: 1, maxLength: 9 }),
  })
  const world = fc.record({
    visits: fc.array(visit, { minLength: 1, maxLength: 12 }),
    steps: fc.array(path, { minLength: 2, maxLength: 5 }),
    window_minutes: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    filter: fc.option(path, { nil: undefined }),
  })
  let site = 100
  const property = fc.asyncProperty(world, async ({ visits, steps, window_minutes, filter }) => {
    site += 1
    const events = visits.flatMap(({ visitor, start, hits }, i) => {
      const first = Math.min(...hits.map(([half]) => half))
      const moved: Hit[] = hits.map(([half, what]) => [start + (half - first) / 2, what])
      return session(visitor, BigInt(i + 1), moved, { site_id: site })
    })
    await store.append({ events, agent_events: [] })
    funnels.set('random', { id: 4, name: 'Random', steps: steps.map(step), window_minutes })
    const began = events.filter(({ session_start: at }) => at.getTime() >= START && at.getTime() < END)
    const passing = new Set(began.filter(({ pathname }) => pathname === (filter ?? pathname)).map((e) => e.session_id))
    const asked = began.filter(({ session_id }) => passing.has(session_id))
    const query = `site=${site}${filter === undefined ? '' : filters([{ dimension: 'pathname', op: 'is', value: filter }])}`
    for (const per of ['session', 'visitor'] as const) {
      const units = new Map<bigint, EventRow[]>()
      for (const row of asked) units.set(row[`${per}_id`], [...(units.get(row[`${per}_id`]) ?? []), row])
      const came = [...units].map(([id, rows]) => ({ id: hex(id), steps: furthest(rows, steps, window_minutes) }))
      const at = (n: number) => came.filter(({ steps }) => steps >= n)
      const wanted = [0, ...steps.keys()].map((_, n) => at(n).length)
      const [reached, dropped] = await Promise.all([
        ask('random', `${query}&per=${per}&step=2`),
        ask('random', `${query}&per=${per}&step=2&outcome=dropped`),
      ])
      // The ids at a step are returned beside the steps.
      for (const data of [Object(reached), Object(dropped)]) {
        const counts = [data[`${per}s`], ...data.steps.map((one: Record<string, number>) => one[`${per}s`])]
        if (JSON.stringify(counts) !== JSON.stringify(wanted)) throw new Error(`${per}: ${counts} instead of ${wanted}`)
      }
      const ids = (data: unknown) => JSON.stringify([...Object(data).behind].toSorted())
      const sorted = (some: { id: string }[]) => JSON.stringify(some.map(({ id }) => id).toSorted())
      if (ids(reached) !== sorted(at(2))) throw new Error(`${per} at 2: ${ids(reached)}`)
      if (ids(dropped) !== sorted(at(1).filter(({ steps }) => steps === 1)))
        throw new Error(`${per} before 2: ${ids(dropped)}`)
    }
  })
  await fc.assert(property, { numRuns: Number(process.env.FUNNEL_RUNS ?? 20), seed: 7 })
})
