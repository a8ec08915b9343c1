import { DIMENSIONS } from '../../src/analytics/query/dimensions.js'
import type { Rows } from '../../src/storage/rows.js'
import { expectOfAgents } from './agents-of-people-reads.js'
import { yearBefore } from './calendar.js'
import { JOURNEY_STEPS } from './chain-reads.js'
import { CHANGES } from './change-reads.js'
import { type AnswerRow, pageOf, pickFrom, rank, withComparison } from './compare.js'
import { amounts, besideRevenue, type Funnel, funnel, goals, idsAtStep } from './goal-reads.js'
import { events, groupedRows, withoutUnknownPlaces } from './grouped-reads.js'
import { errors, PERFORMANCE } from './health-reads.js'
import { HOURS } from './hour-reads.js'
import { journeys, session, sessions, sessionTimeline, visitors } from './people-reads.js'
import { bucketParts, countedIn } from './recorded.js'
import { type Metrics, recount } from './recount.js'
import { RETENTION } from './retention-reads.js'
import { type Question, siteView } from './site-rows.js'
import { SUSPECTED } from './suspected-reads.js'

/** Options of a question. */
export interface QuestionOptions {
  now: number
  /** The requested bucket size. */
  unit: 'minute' | 'hour' | 'day' | 'week' | 'month'
  /** The site's funnels. */
  funnels?: readonly Funnel[]
  /** Selects among a read's options: dimensions, metrics, orders. */
  pick: number
}
export interface ExpectedAnswer {
  /** The read's own parameters. */
  params: string
  data: unknown
  /** The number of rows on all pages; undefined unless the read is a list. */
  total?: number
  /** The words of the path. */
  pathWords?: Readonly<Record<string, string>>
}
export interface ExpectedRead {
  path: string
  audiences: readonly Question['audience'][]
  /** The read compares with nothing, whatever is requested. */
  ignoresComparison?: true
  /** Compares with the window before, if nothing is requested. */
  alwaysCompares?: true
  /** `then` is the question for the other window, if one is compared. */
  expect(rows: Rows, now: Question, then: Question | undefined, more: QuestionOptions): ExpectedAnswer
}

const METRICS = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce', 'duration', 'views_per_session', 'events'],
  agent: [
    ...['fetches', 'pageviews', 'agents', 'verified', 'verified_fetches'],
    ...['spoofed', 'indeterminate', 'unverifiable', 'bytes'],
  ],
  all: ['pageviews'],
}
const PAGES = ['visitors', 'sessions', 'pageviews', 'entries', 'exits', 'exit_rate', 'bounce', 'time_on_page']
const SOURCE_METRICS = ['visitors', 'sessions', 'pageviews', 'bounce', 'duration']
const ALL_AUDIENCES = ['human', 'agent', 'all'] as const
/** For both together these reads answer for people, and for agents with the little that agents have. */
const PEOPLE = ['human', 'all', 'agent'] as const

export const comparisonWindow = (
  window: Question['window'],
  compare: string,
  tz: string,
): Question['window'] | undefined => {
  const [from, to] = window
  if (compare === 'previous') return [2 * from - to, from]
  return compare === 'year' ? [yearBefore(from, tz), yearBefore(to, tz)] : undefined
}

const ofPeople = (q: Question): Question => ({ ...q, audience: 'human' })

/** Expects tables of people's metrics by several columns, under the names in the answer. */
const expectTables = (
  of: Record<string, readonly string[]>,
  every: readonly string[],
  needs: readonly string[] = [],
) => {
  // Only the pageviews of people's rows have a meaning for both audiences together.
  const metricsFor = (q: Question) => (q.audience === 'all' ? ['pageviews'] : every)
  const own = (rows: Rows, q: Question, columns: readonly string[]) =>
    groupedRows(
      recount(rows, ofPeople(q)),
      siteView(rows, ofPeople(q)),
      columns,
      metricsFor(q),
      needs.filter((name) => columns.includes(name)),
      q.audience === 'all' ? ['pageviews'] : undefined,
    )
  return (rows: Rows, now: Question, then: Question | undefined, { pick }: QuestionOptions): ExpectedAnswer => {
    const metrics = metricsFor(now)
    const limit = pickFrom([1000, 3], pick) ?? 1
    const data = Object.entries(of).map(([name, columns]) => [
      name,
      withComparison(own(rows, now, columns).slice(0, limit), then && own(rows, then, columns), columns, metrics),
    ])
    return { params: `limit=${limit}`, data: Object.fromEntries(data) }
  }
}

const ALL_READS: readonly ExpectedRead[] = [
  {
    path: 'overview',
    audiences: ALL_AUDIENCES,
    expect(rows, now, then) {
      const [data] = withComparison(
        [recount(rows, now).overview()],
        then && [recount(rows, then).overview()],
        [],
        METRICS[now.audience],
      )
      return { params: '', data }
    },
  },
  {
    path: 'timeseries',
    audiences: ALL_AUDIENCES,
    expect(rows, now, then, { unit, pick }) {
      // Every name with every audience: buckets have no value where the audience does not have the metric.
      const metric = pickFrom([...METRICS.human, ...METRICS.agent], pick) ?? ''
      const series = (q: Question) => recount(rows, q).timeseries(unit)(metric)
      const data = { metric, granularity: unit, buckets: series(now), ...(then ? { comparison: series(then) } : {}) }
      return { params: `metric=${metric}&granularity=${unit}`, data }
    },
  },
  {
    path: 'realtime',
    audiences: ALL_AUDIENCES,
    ignoresComparison: true,
    expect(rows, q, _, { now }) {
      const live = recount(rows, { ...q, window: [now - 300_000, now] }).live()
      const of = <V>(people: V, agents: V) => ({
        ...(q.audience === 'agent' ? {} : { people }),
        ...(q.audience === 'human' ? {} : { agents }),
      })
      const pages = [...live.paths].map((path = '') => ({
        pathname: path,
        ...of(live.peopleOn(path), live.agentsOn(path)),
      }))
      const found = pages.filter((page) => (page.people ?? 0) + (page.agents ?? 0) > 0)
      const best = rank(
        found,
        (page) => [page.people ?? 0, page.agents ?? 0],
        (page) => [page.pathname],
      )
      const minutes = [0, 1, 2, 3, 4].map((i) => {
        const [at, counts] = [now - 300_000 + i * 60_000, of(live.peopleIn(i), live.agentsIn(i))]
        return { t: new Date(at).toISOString(), ...countedIn(rows, q, [at, at + 60_000], counts) }
      })
      const counted = (counts: AnswerRow) => countedIn(rows, q, [now - 300_000, now], counts)
      const shown = best.slice(0, 50).map(({ pathname, ...counts }) => ({ pathname, ...counted(counts) }))
      return { params: '', data: { ...counted(of(live.people, live.agents)), pages: shown, minutes } }
    },
  },
  {
    path: 'pages',
    audiences: ALL_AUDIENCES,
    expect(rows, now, then) {
      const human = now.audience === 'human'
      const of = (q: Question): AnswerRow[] => {
        const own = recount(rows, q)
        const others = () => rank(own.breakdown('pathname'), byViews, ({ key }) => [key])
        return (human ? own.pages() : others()).map(({ key, metrics }) => ({
          ...(key === undefined ? {} : { pathname: key }),
          ...metrics,
        }))
      }
      const metrics = human ? [...PAGES, 'scroll_depth'] : METRICS[now.audience]
      const data = withComparison(of(now), then && of(then), ['pathname'], metrics)
      return { params: 'limit=1000', data, total: data.length }
    },
  },
  {
    path: 'breakdown',
    audiences: ALL_AUDIENCES,
    expect(rows, now, then, { pick }) {
      const table = { human: ['events'], agent: ['agent_events'], all: ['events', 'agent_events'] }[now.audience]
      const known = DIMENSIONS.filter(({ tables }) => table.every((each) => tables.some((own) => own === each)))
      const names = [...known.map(({ name }) => name), ...(now.audience === 'human' ? PROPS : [])]
      const dimension = pickFrom(names, pick) ?? 'pathname'
      const optional = /^(event_name|identified_id|goal|action|rule|scroll|utm_.*|prop:.*)$/.test(dimension)
      const of = (q: Question): AnswerRow[] =>
        recount(rows, q)
          .breakdown(dimension)
          .filter(({ key }) => key !== undefined || !optional)
          .map(({ key, metrics }: { key: unknown; metrics: Metrics }) => ({
            ...(key === undefined ? {} : { value: key }),
            ...metrics,
          }))
      const data = withComparison(of(now), then && of(then), ['value'], METRICS[now.audience])
      return { params: `limit=1000&dimension=${encodeURIComponent(dimension)}`, data, total: data.length }
    },
  },
  {
    path: 'sources',
    audiences: PEOPLE,
    expect: expectTables(
      {
        channels: ['channel'],
        sources: ['source', 'channel'],
        campaigns: ['utm_campaign', 'utm_source', 'utm_medium'],
      },
      SOURCE_METRICS,
      ['utm_campaign'],
    ),
  },
  {
    path: 'locations',
    audiences: ALL_AUDIENCES,
    expect(rows, now, then, more) {
      if (now.audience === 'human') {
        const expected = expectPlaces(rows, now, then, more)
        return { ...expected, data: withoutUnknownPlaces(expected.data) }
      }
      const of = (q: Question): AnswerRow[] =>
        recount(rows, q)
          .breakdown('country')
          .map(({ key, metrics }) => ({ ...(key === undefined ? {} : { country: key }), ...metrics }))
      const countries = withComparison(of(now), then && of(then), ['country'], METRICS[now.audience])
      return { params: 'limit=1000', data: { countries } }
    },
  },
  {
    path: 'devices',
    audiences: PEOPLE,
    expect: expectTables(
      { browsers: ['browser'], os: ['os'], device_types: ['device_type'], screen_classes: ['screen_class'] },
      METRICS.human,
    ),
  },
  {
    path: 'events',
    audiences: PEOPLE,
    expect(rows, now, then, { pick }) {
      const name = pickFrom([undefined, 'signup', undefined, 'outbound', 'nothing'], pick)
      const property = pickFrom([undefined, undefined, 'plan', 'a/b~c"d'], pick)
      const of = (q: Question) => events(siteView(rows, q), name, property)
      const all = withComparison(of(now), then && of(then), ['name', 'kind'], ['events', 'visitors'])
      const { params, data, total } = pageOf(all, pick)
      const words = Object.entries({ name, property }).flatMap(([key, value]) =>
        value === undefined ? [] : [`&${key}=${encodeURIComponent(value)}`],
      )
      return { params: `${params}${words.join('')}`, data, total: total ?? 0 }
    },
  },
  { ...PERFORMANCE, audiences: PEOPLE },
  {
    path: 'errors',
    audiences: PEOPLE,
    expect(rows, now, then, { pick, unit }) {
      const of = (q: Question) => errors(siteView(rows, q), unit, bucketParts(rows, q, unit))
      const all = withComparison(of(now), then && of(then), ['fingerprint'], ['count', 'visitors', 'sessions'])
      const { params, ...found } = pageOf(all, pick)
      return { params: `${params}&granularity=${unit}`, ...found }
    },
  },
  {
    path: 'goals',
    audiences: PEOPLE,
    expect(rows, now, then, { pick }) {
      const of = (q: Question) => goals(siteView(rows, q))
      const [own, other] = [of(now), then && of(then)]
      const all = withComparison(own, other, ['id'], ['conversions', 'visitors', 'rate']).map((row) => {
        if (!('revenue' in row) || other === undefined) return row
        const earned = other.find(({ id }) => id === row.id)
        return { ...row, revenue: besideRevenue(amounts(row), earned ? amounts(earned) : []) }
      })
      return pageOf(all, pick)
    },
  },
  {
    path: 'funnel/{id}',
    audiences: PEOPLE,
    expect(rows, now, then, { pick, funnels = [] }) {
      const asked = pickFrom(funnels, pick)
      if (!asked) return { params: '', data: 'not_found', pathWords: { id: '99' } }
      const per = pickFrom(['session', 'visitor'] as const, Math.floor(pick / 2)) ?? 'session'
      const metrics = [`${per}s`, 'drop_off', 'rate']
      const of = (q: Question) => funnel(siteView(rows, q), asked, per)
      const [own, other] = [of(now), then && of(then)]
      const [whole] = withComparison([own.whole], other && [other.whole], [], [`${per}s`])
      const steps = own.steps.flatMap((step, i) => {
        const before = other?.steps[i]
        return withComparison([step], before && [before], [], metrics)
      })
      const data = { id: asked.id, name: asked.name, ...whole, steps }
      const words = { id: String(asked.id) }
      const step = pick % (asked.steps.length + 1)
      if (step === 0) return { params: `per=${per}`, data, pathWords: words }
      const dropped = step > 1 && pick % 3 === 0
      const { params, data: shown, total } = pageOf(idsAtStep(siteView(rows, now), asked, per, step, dropped), pick)
      const outcome = dropped ? 'dropped' : 'reached'
      return {
        params: `${params}&per=${per}&step=${step}&outcome=${outcome}`,
        ...{ data: { ...data, behind: shown }, pathWords: words, total: total ?? 0 },
      }
    },
  },
  {
    path: 'sessions',
    audiences: PEOPLE,
    ignoresComparison: true,
    expect: (rows, now, _, { pick }) => pageOf(sessions(siteView(rows, now)), pick),
  },
  {
    path: 'sessions/{id}',
    // A session is a person's, and filters are a person's too.
    audiences: ['human', 'all'],
    ignoresComparison: true,
    expect(rows, now, _, { pick }) {
      const visit = pickFrom([...siteView(rows, { ...now, filters: [] }).sessions.values()], pick * 7)
      if (!visit) return { params: '', data: 'not_found', pathWords: { id: 'ffffffffffffffff' } }
      const data = session(visit)
      return { params: '', data: { ...data, timeline: sessionTimeline(visit) }, pathWords: { id: String(data.id) } }
    },
  },
  {
    path: 'visitors',
    audiences: PEOPLE,
    ignoresComparison: true,
    expect: (rows, now, _, { pick }) => pageOf(visitors(siteView(rows, now)), pick),
  },
  {
    path: 'journeys',
    audiences: PEOPLE,
    ignoresComparison: true,
    expect(rows, now, _, { pick }) {
      const [depth, start] = [2 + (pick % 7), pickFrom([undefined, '/', undefined, '/docs', '/🦆', undefined], pick)]
      const from = start === undefined ? '' : `&start=${encodeURIComponent(start)}`
      return { params: `depth=${depth}${from}`, data: journeys(siteView(rows, now), depth, start) }
    },
  },
  { ...JOURNEY_STEPS, audiences: PEOPLE },
  { ...RETENTION, audiences: PEOPLE },
  CHANGES,
  HOURS,
  SUSPECTED,
]

/** All reads; those about people answer for both audiences together as for people. */
export const EXPECTED_READS: readonly ExpectedRead[] = ALL_READS.map((read) => {
  if (read.audiences !== PEOPLE && read.path !== 'sessions/{id}') return read
  const sums = read.path === 'sources' || read.path === 'devices'
  const ask = (q: Question) => (sums ? q : ofPeople(q))
  return {
    ...read,
    expect: (rows, now, then, more) =>
      now.audience === 'agent'
        ? expectOfAgents(read, rows, now, then, more)
        : read.expect(rows, ask(now), then && ask(then), more),
  }
})
const expectPlaces = expectTables(
  { countries: ['country'], regions: ['country', 'region'], cities: ['country', 'region', 'city'] },
  METRICS.human,
)
const byViews = ({ metrics }: { metrics: Metrics }) => [metrics.pageviews ?? 0]
const PROPS = ['prop:plan', 'prop:a/b~c"d', 'prop:nested', 'prop:q']
