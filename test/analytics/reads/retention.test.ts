import t from 'tap'
import { z } from 'zod'
import { asker, at, filters, hex, is, session, THREE, WORLD } from './behaviour-site.js'

type Cohort = [start: string, size: number, visitors: number[]]
const cohorts = (of: Cohort[]) =>
  of.map(([start, size, visitors]) => ({
    start: at(start).toISOString(),
    size,
    periods: visitors.map((n, period) => ({ period, visitors: n, ...(size > 0 ? { rate: n / size } : {}) })),
  }))

t.test('retention', async (t) => {
  const ask = await asker(t, WORLD)
  const SAT = '23T22:00:00'
  const SUN = '24T22:00:00'
  const MON = '25T23:00:00'
  const days: [query: string, cohorts: Cohort[], why: string][] = [
    [
      THREE,
      [
        [SAT, 2, [2, 0, 1]],
        [SUN, 1, [1, 0]],
        [MON, 1, [1]],
      ],
      'reading on after midnight is not a return; whom June knew is not a newcomer; the long Sunday is one day',
    ],
    [
      THREE.replace('26T23', '26T12'),
      [
        [SAT, 2, [2, 0]],
        [SUN, 1, [1]],
        [MON, 0, []],
      ],
      'Monday is not over in the window: absent, never 0',
    ],
    [
      `${THREE}${filters([is('pathname', '/docs')])}`,
      [
        [SAT, 2, [2, 0, 1]],
        [SUN, 0, [0, 0]],
        [MON, 1, [1]],
      ],
      'visits with a hit that passes',
    ],
    [
      `${THREE}${filters([is('event_name', 'signup')])}`,
      [
        [SAT, 0, [0, 0, 0]],
        [SUN, 0, [0, 0]],
        [MON, 0, [0]],
      ],
      'no newcomer had such a visit in the first period',
    ],
    [
      `${THREE}${filters([{ has_done: is('event_name', 'signup') }])}`,
      [
        [SAT, 1, [1, 0, 1]],
        [SUN, 0, [0, 0]],
        [MON, 0, [0]],
      ],
      'of those who did it at any time in the window',
    ],
    [
      'site=2&start=2026-10-23T22:00:00Z&end=2026-10-25T23:00:00Z',
      [
        [SAT, 2, [2, 0]],
        [SUN, 0, [0]],
      ],
      'another site, another first visit',
    ],
    ['site=1&start=2026-10-24T00:00:00Z&end=2026-10-24T00:00:00Z', [], 'an empty window'],
  ]
  for (const [query, expected, why] of days) {
    const { data, meta } = await ask('retention', `${query}&granularity=day`)
    t.strictSame(data, { granularity: 'day', cohorts: cohorts(expected) }, why)
    t.equal(meta.rows, expected.length)
  }

  const others: [query: string, data: object, why: string][] = [
    [
      'site=1&granularity=month&start=2026-05-31T22:00:00Z&end=2026-10-31T23:00:00Z',
      {
        granularity: 'month',
        cohorts: cohorts([
          ['2026-05-31T22:00:00Z', 1, [1, 0, 0, 0]],
          ['2026-06-30T22:00:00Z', 0, [0, 0, 0]],
          ['2026-07-31T22:00:00Z', 0, [0, 0]],
          ['2026-08-31T22:00:00Z', 0, [0]],
          ['2026-09-30T22:00:00Z', 5, []],
        ]),
      },
      'October is not over by the clock, though the window goes to its end',
    ],
    [
      'site=1&granularity=week&start=2026-10-18T22:00:00Z&end=2026-10-28T00:00:00Z',
      {
        granularity: 'week',
        cohorts: cohorts([
          ['2026-10-18T22:00:00Z', 4, [4]],
          ['2026-10-25T23:00:00Z', 1, []],
        ]),
      },
      'weeks from Monday, one of them of 169 hours',
    ],
    [
      'site=1&granularity=week&tz=UTC&start=2026-10-24T00:00:00Z&end=2026-10-26T00:00:00Z',
      { granularity: 'week', cohorts: cohorts([['2026-10-19T00:00:00Z', 3, [3]]]) },
      'of a week that began before the window those who came first in the window',
    ],
  ]
  for (const [query, data, why] of others) t.strictSame((await ask('retention', query)).data, data, why)

  const defaults: [query: string, granularity: string, count: number][] = [
    ['range=7d', 'day', 7],
    ['range=30d', 'day', 30],
    ['range=90d', 'week', 14],
    ['range=12mo', 'month', 12],
    ['range=today', 'day', 1],
    ['start=1970-01-02T00:00:00Z', 'month', 60],
    ['range=12mo&granularity=day', 'day', 92],
    ['start=2020-01-01T00:00:00Z&granularity=week', 'week', 53],
  ]
  for (const [query, granularity, count] of defaults) {
    const { data, meta } = await ask('retention', `site=1&${query}`)
    t.match(data, { granularity }, query)
    t.match(meta, { rows: count, query: { granularity } }, query)
    const codes = meta.warnings?.map(({ code }) => code) ?? []
    t.equal(codes.includes('cohorts_truncated'), count > 31, `${query}: said, where there are more`)
  }
  const last = z.object({ cohorts: z.array(z.looseObject({ start: z.string() })) })
  const cut = last.parse((await ask('retention', 'site=1&range=12mo&granularity=day')).data).cohorts
  t.equal(cut.at(-1)?.start, '2026-10-27T23:00:00.000Z', 'the last of them')
  for (const unit of ['minute', 'hour', 'year', 'Day', ''])
    await t.rejects(ask('retention', `${THREE}&granularity=${unit}`), {
      code: 'validation_error',
      field: 'granularity',
    })
})

t.test('a cell that cannot be known, because the salt changed, is absent with the reason', async (t) => {
  const visit = (id: number, visitor: number, time: string) => session(visitor, id, {}, [time, '/'])
  /** One person each Wednesday and Thursday of three weeks from the 7th, who keeps an id for the salt period. */
  const rows = ['07', '08', '14', '15', '21', '22'].map((day, n) => ({ n, time: `${day}T12:00:00` }))
  const site = (periodOf: (n: number) => number) => rows.flatMap(({ n, time }) => visit(n, periodOf(n), time))
  type Cell = number | 'salt_changed' | 'not_recorded'
  const cases: [salt: 'day' | 'week' | 'month', rows: ReturnType<typeof site>, query: string, Cell[][], why: string][] =
    [
      [
        ...(['day', site((n) => n), 'granularity=day&start=2026-10-06T22:00:00Z&end=2026-10-08T22:00:00Z'] as const),
        [[1, 'salt_changed'], [1]],
        'a day of Berlin has two hours of another day of UTC: most of it is known under no common id',
      ],
      [
        ...([
          'week',
          site((n) => n >> 1),
          'granularity=day&start=2026-10-06T22:00:00Z&end=2026-10-08T22:00:00Z',
        ] as const),
        [[1, 1], [0]],
        'both days are in one week',
      ],
      [
        ...([
          'week',
          site((n) => n >> 1),
          'granularity=week&start=2026-10-04T22:00:00Z&end=2026-10-18T22:00:00Z',
        ] as const),
        [[1, 'salt_changed'], [1]],
        'weeks of Berlin, two hours apart from those of UTC',
      ],
      [
        ...(['month', site(() => 1), 'granularity=week&start=2026-10-04T22:00:00Z&end=2026-10-25T23:00:00Z'] as const),
        [[1, 1, 1], [0, 0], [0]],
        'three weeks of one month',
      ],
      [
        ...(['month', site(() => 1), 'granularity=week&start=2026-09-20T22:00:00Z&end=2026-10-11T22:00:00Z'] as const),
        [[], [], [1]],
        'what was not recorded has no cohort',
      ],
    ]
  for (const [salt, rows, query, expected, why] of cases) {
    const { data } = await (await asker(t, rows, salt))('retention', `site=1&${query}`)
    const shape = z.object({
      cohorts: z.array(
        z.object({
          periods: z.array(
            z.object({ visitors: z.number().optional(), rate: z.number().optional(), reason: z.string().optional() }),
          ),
        }),
      ),
    })
    const cells = shape
      .parse(data)
      .cohorts.map(({ periods }) =>
        periods.map(({ visitors, rate, reason }) =>
          reason === undefined ? visitors : rate === undefined ? reason : '',
        ),
      )
    t.strictSame(cells, expected, `${salt}: ${why}`)
  }
})

t.test('periods that count from the day ids change are known, cut short, running, or not to be known', async (t) => {
  const visits = (visitor: number, ...times: string[]) =>
    times.flatMap((time, n) => session(visitor, visitor * 10 + n, {}, [`2026-${time}:00:00Z`, '/']))
  const rows = [
    ...[...visits(1, '09-02T12', '09-09T12', '09-30T12'), ...visits(2, '09-03T12', '09-16T12')],
    ...[...visits(3, '09-24T12', '09-30T23'), ...visits(4, '10-05T12', '10-13T12', '10-26T12')],
    ...visits(5, '10-23T12'),
  ]
  /** A number, which may be `+` at least or `…` so far; `?` after a change of ids, a space if it has not begun. */
  const draw = (data: unknown) =>
    z
      .object({
        cohorts: z.array(
          z.object({
            start: z.string(),
            end: z.string(),
            size: z.number().optional(),
            periods: z.array(z.looseObject({ period: z.number(), visitors: z.number().optional() })),
          }),
        ),
      })
      .parse(data)
      .cohorts.map(({ start, end, size, periods }) => {
        const cells: string[] = []
        for (const { period, visitors, at_least, so_far, reason } of periods)
          cells[period] = reason === 'salt_changed' ? '?' : `${visitors}${at_least ? '+' : ''}${so_far ? '…' : ''}`
        return [`${start.slice(5, 13)} ${end.slice(5, 13)}`, size, Array.from(cells, (cell) => cell ?? ' ').join(' ')]
      })
  type Grid = [salt: 'week' | 'month' | 'never', query: string, grid: unknown[][], why: string]
  const cases: Grid[] = [
    [
      'month',
      'granularity=week&start=2026-09-01T00:00:00Z&end=2026-10-28T12:00:00Z',
      [
        ['09-01T00 09-08T00', 2, '2 1 1 0 1+'],
        ['09-08T00 09-15T00', 0, '0 0 0 0+ ?'],
        ['09-15T00 09-22T00', 0, '0 0 0+ ? ?'],
        ['09-22T00 09-29T00', 1, '1 1+ ? ? ?'],
        ['09-29T00 10-01T00', 0, '0 ? ? ? ?'],
        ['10-01T00 10-08T00', 1, '1 1 0 1…'],
        ['10-08T00 10-15T00', 0, '0 0 0…   ?'],
        ['10-15T00 10-22T00', 0, '0 0…   ? ?'],
        ['10-22T00 10-29T00', 1, '1…   ? ? ?'],
      ],
      'weeks from the 1st, by UTC; the 29th and 30th are cut short',
    ],
    [
      'week',
      'granularity=day&start=2026-10-22T00:00:00Z&end=2026-10-27T00:00:00Z',
      [
        ['10-22T00 10-23T00', 0, '0 0 0 0'],
        ['10-23T00 10-24T00', 1, '1 0 0 ?'],
        ['10-24T00 10-25T00', 0, '0 0 ? ?'],
        ['10-25T00 10-26T00', 0, '0 ? ? ?'],
        ['10-26T00 10-27T00', 0, '0'],
      ],
      'from Thursday to the change on Monday, and the day after',
    ],
    [
      'never',
      'granularity=month&start=2026-08-31T22:00:00Z&end=2026-10-28T12:00:00Z',
      [
        ['08-31T22 09-30T22', 3, '3 1…'],
        ['09-30T22 10-31T23', 2, '2…'],
      ],
      'ids that never change: the calendar of Berlin, where 23:00 of 30 September is in October',
    ],
  ]
  for (const [salt, query, grid, why] of cases) {
    const { data, meta } = await (await asker(t, rows, salt))('retention', `site=1&align=ids&${query}`)
    t.strictSame(draw(data), grid, why)
    t.match(meta, { query: { align: 'ids' } })
  }
  const defaults: [salt: 'day' | 'week' | 'month' | 'never', range: string, granularity: string][] = [
    ['month', '30d', 'day'],
    ['month', '90d', 'week'],
    ['month', '12mo', 'week'],
    ['week', '90d', 'day'],
    ['day', '90d', 'day'],
    ['never', '12mo', 'month'],
  ]
  for (const [salt, range, granularity] of defaults) {
    const { data } = await (await asker(t, rows, salt))('retention', `site=1&align=ids&range=${range}`)
    t.match(data, { granularity }, `${salt}, ${range}: no period as long as ids last`)
  }
})

t.test(
  'a session over a change of salts is of the visitor of its first hit, and the next one of another',
  async (t) => {
    const late = (id: number) => ({ visitor_id: BigInt(id) })
    const cases: [first: number, next: number, why: string][] = [
      [7, 3, 'the later id is the smaller one'],
      [3, 7, 'the later id is the greater one'],
    ]
    for (const [first, next, why] of cases) {
      const ask = await asker(
        t,
        [
          ...session(first, 1, {}, ['26T23:41:00', '/'], ['26T23:58:00', '/docs'], ['27T00:10:00', '/', late(next)]),
          ...session(next, 2, {}, ['27T00:40:36', '/']),
        ],
        'day',
      )
      const week = 'site=1&tz=UTC&start=2026-10-26T00:00:00Z&end=2026-10-28T00:00:00Z'
      const { data } = await ask('sessions', week)
      t.match(data, [{ visitor_id: hex(next) }, { visitor_id: hex(first) }], `${why}: two visitors`)
      const grid = z.object({ cohorts: z.array(z.looseObject({ size: z.number() })) })
      const { cohorts: found } = grid.parse((await ask('retention', `${week}&granularity=day`)).data)
      t.strictSame(
        found.map(({ size }) => size),
        [1, 1],
        `${why}: each is new on its day`,
      )
    }
  },
)

t.test('retention: warnings explain its numbers', async (t) => {
  const codes = async (salt: 'day' | 'week' | 'month' | 'never', query: string) =>
    (await (await asker(t, WORLD, salt))('retention', query)).meta.warnings?.map(({ code }) => code) ?? []
  const week = 'site=1&granularity=day&start=2026-10-18T22:00:00Z&end=2026-10-25T23:00:00Z'
  t.strictSame(await codes('never', week), [])
  t.strictSame(await codes('month', week), [], 'one month')
  t.strictSame(await codes('week', week), ['salt_rotated_in_grid'], 'salts change with the week of UTC')
  t.strictSame(await codes('day', THREE), ['salt_rotated_in_grid'])
  const sinceMay = 'site=1&granularity=month&start=2026-01-31T23:00:00Z&end=2026-05-31T22:00:00Z'
  t.strictSame(await codes('month', sinceMay), ['not_recorded'], 'nothing was recorded before June')
  t.strictSame(await codes('never', week.replace('18T22', '18T23')), ['first_cohort_partial'], 'an hour is missing')
})
