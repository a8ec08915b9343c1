import t from 'tap'
import { z } from 'zod'
import { reads } from '../../../src/analytics/reads/index.js'
import { createHistories, type NewHistory } from '../../../src/manage/other-tools.js'
import { raw } from '../../../src/storage/sql.js'
import { asker } from '../../analytics/reads/world-reads.js'
import { deed } from '../../fixtures/audit-context.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { WORLD } from '../../fixtures/world.js'

type Day = NewHistory['days'][number]

const dayOf = (n: number) => `2026-10-${String(n).padStart(2, '0')}`
/** Plausible from 1 to 20 October, without the 5th; it lost what visits are made of on the 10th. */
const PLAUSIBLE: Day[] = Array.from({ length: 20 }, (_, i) => i + 1)
  .filter((n) => n !== 5)
  .map((n) => ({
    ...{ day: dayOf(n), visitors: n, visits: n + 1, pageviews: 3 * n },
    ...(n === 10 ? { bounces: null, seconds: null } : { bounces: 1, seconds: 10 * n }),
  }))
/** GoatCounter from 18 to 25 October. The site's first row is of the 24th. */
const GOATCOUNTER: Day[] = Array.from({ length: 8 }, (_, i) => ({
  ...{ day: dayOf(i + 18), visitors: 100 + i, visits: null, pageviews: 200 + i, bounces: null, seconds: null },
}))
/** The days that reads may show: each once, and none from the day of the first row on. */
const SHOWN = [...PLAUSIBLE, ...GOATCOUNTER.filter(({ day }) => day > dayOf(20) && day < dayOf(24))]

const { records } = (await createInProcessEngine(t)).workerClient
let queries = 0
const histories = createHistories({
  ...records,
  query(statement) {
    queries += 1
    return records.query(statement)
  },
})
const plain = await asker(WORLD)
const ask = await asker(WORLD, [], { history: histories.ofSite })
const Row = z.record(z.string(), z.unknown())
const Series = z.object({
  buckets: z.array(
    z.object({
      t: z.string(),
      value: z.number().optional(),
      partial: z.boolean().optional(),
      imported: z.boolean().optional(),
    }),
  ),
})
type Answer = Awaited<ReturnType<typeof ask>>
const codesOf = ({ meta }: Answer) => (meta.warnings ?? []).map(({ code }) => code)
const NUMBER = (value: unknown) => (typeof value === 'number' ? value : 0)

/** The metrics of a row and of days together, each computed by itself. */
function recount(row: Record<string, unknown>, days: readonly Day[]): Record<string, number | undefined> {
  const total = (values: readonly (number | null)[]) =>
    values.every((value) => value === null) ? undefined : values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
  const count = (own: unknown, values: readonly (number | null)[]) => {
    const added = total(values)
    return own === undefined && added === undefined ? undefined : NUMBER(own) + (added ?? 0)
  }
  const mean = (own: unknown, of: (day: Day) => number | null) => {
    const known = days.filter((day) => day.visits !== null && of(day) !== null)
    const sessions = own === undefined ? 0 : NUMBER(row.sessions)
    const weight = sessions + NUMBER(total(known.map(({ visits }) => visits)))
    if (weight === 0) return undefined
    return (NUMBER(own) * sessions + NUMBER(total(known.map(of)))) / weight
  }
  return {
    visitors: count(
      row.visitors,
      days.map(({ visitors }) => visitors),
    ),
    sessions: count(
      row.sessions,
      days.map(({ visits }) => visits),
    ),
    pageviews: count(
      row.pageviews,
      days.map(({ pageviews }) => pageviews),
    ),
    bounce: mean(row.bounce, ({ bounces }) => bounces),
    duration: mean(row.duration, ({ seconds }) => seconds),
    views_per_session: mean(row.views_per_session, ({ pageviews }) => pageviews),
    events: row.events === undefined ? undefined : NUMBER(row.events),
  }
}
const rounded = (row: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, Math.round(value * 1e9) / 1e9]] : [],
    ),
  )
const between = (first: number, last: number) => SHOWN.filter(({ day }) => day >= dayOf(first) && day <= dayOf(last))

t.test('a site has each day once, and an addition without a new day is refused', async (t) => {
  const first = await histories.create(1, { tool: 'Plausible', files: ['a.csv'], days: PLAUSIBLE }, deed)
  t.match(first, { id: 1, site: 1, days: 19, first_day: '2026-10-01', last_day: '2026-10-20', left_out: 0 })
  const second = await histories.create(1, { tool: 'GoatCounter', files: [], days: GOATCOUNTER }, deed)
  t.match(second, { id: 2, days: 5, first_day: '2026-10-21', last_day: '2026-10-25', left_out: 3 })
  const again = histories.create(1, { tool: 'Plausible', files: [], days: PLAUSIBLE }, deed)
  await t.rejects(again, { code: 'conflict' })
  t.same(
    (await histories.list(1)).map(({ id }) => id),
    [1, 2],
  )
  t.same(await histories.list(2), [])
})

t.test('totals are those of the rows and of the whole days before the first one', async (t) => {
  const cases: readonly (readonly [query: string, days: readonly Day[], why: string])[] = [
    ['start=2026-10-01&end=2026-10-26', SHOWN, 'all of it'],
    ['start=2026-10-20&end=2026-10-25', between(20, 23), 'a part, and rows'],
    ['start=2026-10-01&end=2026-10-07', between(1, 7), 'days alone'],
    ['start=2026-10-10&end=2026-10-10', between(10, 10), 'a day without bounces'],
    ['start=2026-10-21&end=2026-10-22', between(21, 22), 'days without visits'],
    ['start=2026-10-02T00:00:00Z&end=2026-10-04T22:00:00Z', between(3, 4), 'the window cuts the 2nd in Berlin'],
    ['start=2026-10-02T00:00:00Z&end=2026-10-04T00:00:00Z&tz=UTC', between(2, 3), 'and has it whole in UTC'],
    ['start=2026-10-22T22:00:00Z&end=2026-10-23T12:00:00Z', [], 'a part of a day'],
    ['start=2026-10-24&end=2026-10-26', [], 'from the day of the first row on'],
    ['start=2026-08-01&end=2026-09-30', [], 'before all of it'],
  ]
  for (const [query, days, why] of cases) {
    const [own, found] = [
      await plain('stats/overview', `site=1&${query}`),
      await ask('stats/overview', `site=1&${query}`),
    ]
    t.strictSame(rounded(Row.parse(found.data)), rounded(recount(Row.parse(own.data), days)), why)
    t.equal(codesOf(found).includes('imported_history'), days.length > 0, why)
    const together = (await ask('stats/overview', `site=1&audience=all&${query}`)).data
    const pageviews = days.reduce((sum, day) => sum + NUMBER(day.pageviews), 0)
    const bare = Row.parse((await plain('stats/overview', `site=1&audience=all&${query}`)).data)
    t.equal(NUMBER(Row.parse(together).pageviews), NUMBER(bare.pageviews) + pageviews, `${why}, of both audiences`)
  }
  const all = await ask('stats/overview', 'site=1&range=all')
  t.match(all.meta.query, { start: '2026-09-30T22:00:00.000Z' }, 'all begins with the first day')
  t.match(all.meta.recorded, { since: '2026-10-24T10:00:00.000Z' }, 'which was not recorded here')
  t.match(
    all.meta.warnings?.find(({ code }) => code === 'imported_history'),
    {
      message:
        'Includes 22 days from 2026-10-01 to 2026-10-23 as Plausible and GoatCounter counted them, by other definitions. A person who came on two of these days is counted twice. Left out where these days do not have it: sessions, bounce, duration, views_per_session, events.',
    },
  )
  t.notOk(codesOf(all).includes('not_recorded'))
})

t.test('a comparison has its own days', async (t) => {
  const query = 'site=1&start=2026-10-22&end=2026-10-24&granularity=day&compare=previous'
  const own = Row.parse((await plain('stats/overview', query)).data)
  const found = Row.parse((await ask('stats/overview', query)).data)
  t.strictSame(rounded(found), rounded(recount(own, between(22, 23))))
  const then = recount({}, between(19, 21))
  t.strictSame(rounded(Row.parse(found.comparison)), rounded(then), 'the three days before')
  const change = Row.parse(found.change)
  t.equal(change.pageviews, (NUMBER(found.pageviews) - NUMBER(then.pageviews)) / NUMBER(then.pageviews))
  const lines = z.object({ comparison: Series.shape.buckets }).parse((await ask('stats/timeseries', query)).data)
  t.strictSame(
    lines.comparison.map(({ value, imported }) => [value, imported]),
    [
      [19, true],
      [20, true],
      [103, true],
    ],
  )
})

const berlin = new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Berlin' })

t.test('each bucket of a time line has its days', async (t) => {
  const metrics = ['visitors', 'sessions', 'pageviews', 'bounce', 'duration', 'views_per_session', 'events']
  for (const granularity of ['day', 'week', 'month'])
    for (const metric of metrics) {
      const query = (name: string) => `site=1&start=2026-09-28&end=2026-10-26&granularity=${granularity}&metric=${name}`
      const series = async (from: typeof ask, name: string) =>
        Series.parse((await from('stats/timeseries', query(name))).data).buckets
      const [own, sessions, found] = [
        await series(plain, metric),
        await series(plain, 'sessions'),
        await series(ask, metric),
      ]
      const starts = own.map((bucket) => berlin.format(new Date(bucket.t)))
      const expected = own.map((bucket, i) => {
        const days = SHOWN.filter(({ day }) => day >= (starts[i] ?? '') && day < (starts[i + 1] ?? '9'))
        const row = { sessions: sessions[i]?.value, [metric]: bucket.value }
        const value = recount(row, days)[metric]
        return value === undefined ? undefined : Math.round(value * 1e9) / 1e9
      })
      t.strictSame(
        found.map(({ value }) => (value === undefined ? undefined : Math.round(value * 1e9) / 1e9)),
        expected,
        `${metric} by ${granularity}`,
      )
    }
  const weeks = Series.parse(
    (await ask('stats/timeseries', 'site=1&start=2026-09-28&end=2026-10-26&granularity=week&metric=pageviews')).data,
  ).buckets
  t.strictSame(
    weeks.map(({ partial, imported }) => [partial, imported]),
    [
      [true, true],
      [true, true],
      [undefined, true],
      [true, true],
      [true, undefined],
    ],
    'two weeks lack days, the fourth has rows of a part of a day, the last is not over',
  )
})

t.test('what cannot have the days leaves them out, and says so', async (t) => {
  const window = 'site=1&start=2026-10-01&end=2026-10-26'
  const german = encodeURIComponent(JSON.stringify([{ dimension: 'country', op: 'is', value: 'DE' }]))
  const cases: readonly (readonly [path: string, query: string, why: string])[] = [
    ['stats/overview', `${window}&filters=${german}`, 'a filter'],
    ['stats/overview', `${window}&segment=german`, 'a segment'],
    ['stats/overview', `${window}&audience=agent`, 'agents'],
    ['stats/timeseries', `${window}&filters=${german}`, 'a filter on a time line'],
    ['stats/overview', `${window}&suspected=exclude`, 'people without suspected sessions'],
    ['stats/timeseries', `${window}&suspected=exclude`, 'these over time'],
    ['stats/timeseries', `${window}&audience=agent`, 'agents over time'],
    ['stats/timeseries', `${window}&metric=events`, 'a metric that no tool has'],
    ['stats/timeseries', `${window}&granularity=hour`, 'hours'],
  ]
  const others = reads
    .filter(({ path, staticResult, window: own }) => !staticResult && !own && !/overview|timeseries/.test(path))
    .map(({ path }): [string, string, string] => [
      path.replace('/api/', ''),
      `${window}&dimension=country&steps=/`,
      path,
    ])
  for (const [path, query, why] of [...cases, ...others]) {
    const found = await ask(path, query)
    t.strictSame(found.data, (await plain(path, query)).data, why)
    t.ok(codesOf(found).includes('history_left_out'), why)
  }
  const later = await ask('stats/pages', 'site=1&start=2026-10-24&end=2026-10-26')
  t.notOk(codesOf(later).includes('history_left_out'), 'a window after the days says nothing')
})

t.test('a site without a history costs no query, and an addition that is deleted leaves nothing', async (t) => {
  await histories.list(1)
  queries = 0
  await ask('stats/overview', 'site=2&range=all')
  t.equal(queries, 0)
  await t.rejects(histories.delete(2, 1, deed), { code: 'not_found' }, 'not of another site')
  await histories.delete(1, 1, deed)
  const rest = await ask('stats/overview', 'site=1&start=2026-10-01&end=2026-10-26')
  t.match(
    rest.meta.warnings?.find(({ code }) => code === 'imported_history'),
    { message: /^Includes 3 days from 2026-10-21/ },
  )
  await histories.delete(1, 2, deed)
  for (const query of ['site=1&range=all', 'site=1&start=2026-10-01&end=2026-10-26&compare=previous'])
    for (const path of ['stats/overview', 'stats/timeseries']) {
      const { took_ms: _, ...meta } = (await ask(path, query)).meta
      const { took_ms: __, ...expected } = (await plain(path, query)).meta
      t.strictSame((await ask(path, query)).data, (await plain(path, query)).data)
      t.strictSame(meta, expected)
    }
  const left = await records.query(raw('select count(*) as n from history_days'))
  t.equal(left[0]?.n, 0)
  t.equal(
    (await histories.create(1, { tool: 'Plausible', files: [], days: PLAUSIBLE }, deed)).id,
    3,
    'ids are not reused',
  )
})
