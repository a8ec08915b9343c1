import { DIMENSIONS } from '../../src/query/dimensions.js'
import type { Rows } from '../../src/rows.js'
import { journeys, retention, session, sessions, timelineOf, visitors } from './behaviour.js'
import { beside, type Named, ranked } from './beside.js'
import { yearBefore } from './calendar.js'
import { behind, type Funnel, funnel, goals } from './goals.js'
import { errors, figures, performance } from './health.js'
import { type Metrics, recount } from './recount.js'
import { type Question, scene } from './site.js'
import { events, grouped } from './tables.js'

/** What is asked beside the question itself. */
export interface More {
  now: number
  /** The bucket size asked for. */
  unit: 'minute' | 'hour' | 'day' | 'week' | 'month'
  /** The site's. */
  funnels?: readonly Funnel[]
  /** Picks among what a read can be asked: dimensions, metrics, orders. */
  pick: number
}
export interface Wanted {
  /** The read's own parameters. */
  params: string
  data: unknown
  /** Rows there are on all pages; undefined: no list. */
  total?: number
  /** Of the path. */
  words?: Readonly<Record<string, string>>
}
export interface Judged {
  path: string
  audiences: readonly Question['audience'][]
  /** It compares with nothing, whatever is asked. */
  alone?: true
  /** `then` is the other window's question, where one is compared with. */
  wanted(rows: Rows, now: Question, then: Question | undefined, more: More): Wanted
}

const METRICS = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce', 'duration', 'views_per_session', 'events'],
  agent: ['fetches', 'pageviews', 'agents', 'verified', 'spoofed', 'indeterminate', 'unverifiable', 'bytes'],
  all: ['pageviews'],
}
const PAGES = ['visitors', 'sessions', 'pageviews', 'entries', 'exits', 'exit_rate', 'bounce', 'time_on_page']
const FIVE = ['visitors', 'sessions', 'pageviews', 'bounce', 'duration']
const EVERYONE = ['human', 'agent', 'all'] as const
const PEOPLE = ['human'] as const
const among = <V>(list: readonly [V, ...V[]] | readonly V[], pick: number): V | undefined => list[pick % list.length]

export const compareTo = (window: Question['window'], compare: string, tz: string): Question['window'] | undefined => {
  const [from, to] = window
  if (compare === 'previous') return [2 * from - to, from]
  return compare === 'year' ? [yearBefore(from, tz), yearBefore(to, tz)] : undefined
}

/** Tables of people's metrics by several columns, under the names they have in the answer. */
const tables = (of: Record<string, readonly string[]>, metrics: readonly string[], needs: readonly string[] = []) => {
  const own = (rows: Rows, q: Question, columns: readonly string[]) =>
    grouped(
      recount(rows, q),
      scene(rows, q),
      columns,
      metrics,
      needs.filter((name) => columns.includes(name)),
    )
  return (rows: Rows, now: Question, then: Question | undefined, { pick }: More): Wanted => {
    const limit = among([1000, 3], pick) ?? 1
    const data = Object.entries(of).map(([name, columns]) => [
      name,
      beside(own(rows, now, columns).slice(0, limit), then && own(rows, then, columns), columns, metrics),
    ])
    return { params: `limit=${limit}`, data: Object.fromEntries(data) }
  }
}

export const JUDGED: readonly Judged[] = [
  {
    path: 'overview',
    audiences: EVERYONE,
    wanted(rows, now, then) {
      const [data] = beside(
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
    audiences: EVERYONE,
    wanted(rows, now, then, { unit, pick }) {
      const metric = among(METRICS[now.audience], pick) ?? ''
      const series = (q: Question) => recount(rows, q).timeseries(unit)(metric)
      const data = { metric, granularity: unit, buckets: series(now), ...(then ? { comparison: series(then) } : {}) }
      return { params: `metric=${metric}&granularity=${unit}`, data }
    },
  },
  {
    path: 'realtime',
    audiences: EVERYONE,
    alone: true,
    wanted(rows, q, _, { now }) {
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
      const best = ranked(
        found,
        (page) => [page.people ?? 0, page.agents ?? 0],
        (page) => [page.pathname],
      )
      const minutes = [0, 1, 2, 3, 4].map((i) => ({
        t: new Date(now - 300_000 + i * 60_000).toISOString(),
        ...of(live.peopleIn(i), live.agentsIn(i)),
      }))
      return { params: '', data: { ...of(live.people, live.agents), pages: best.slice(0, 50), minutes } }
    },
  },
  {
    path: 'pages',
    audiences: EVERYONE,
    wanted(rows, now, then) {
      const human = now.audience === 'human'
      const of = (q: Question): Named[] => {
        const own = recount(rows, q)
        const others = () => ranked(own.breakdown('pathname'), byViews, ({ key }) => [key])
        return (human ? own.pages() : others()).map(({ key, metrics }) => ({
          ...(key === undefined ? {} : { pathname: key }),
          ...metrics,
        }))
      }
      const metrics = human ? [...PAGES, 'scroll_depth'] : METRICS[now.audience]
      const data = beside(of(now), then && of(then), ['pathname'], metrics)
      return { params: 'limit=1000', data, total: data.length }
    },
  },
  {
    path: 'breakdown',
    audiences: EVERYONE,
    wanted(rows, now, then, { pick }) {
      const table = { human: ['events'], agent: ['agent_events'], all: ['events', 'agent_events'] }[now.audience]
      const known = DIMENSIONS.filter(({ tables }) => table.every((each) => tables.some((own) => own === each)))
      const names = [...known.map(({ name }) => name), ...(now.audience === 'human' ? PROPS : [])]
      const dimension = among(names, pick) ?? 'pathname'
      const optional = /^(event_name|identified_id|goal|scroll|utm_.*|prop:.*)$/.test(dimension)
      const of = (q: Question): Named[] =>
        recount(rows, q)
          .breakdown(dimension)
          .filter(({ key }) => key !== undefined || !optional)
          .map(({ key, metrics }: { key: unknown; metrics: Metrics }) => ({
            ...(key === undefined ? {} : { value: key }),
            ...metrics,
          }))
      const data = beside(of(now), then && of(then), ['value'], METRICS[now.audience])
      return { params: `limit=1000&dimension=${encodeURIComponent(dimension)}`, data, total: data.length }
    },
  },
  {
    path: 'sources',
    audiences: PEOPLE,
    wanted: tables(
      {
        channels: ['channel'],
        sources: ['source', 'channel'],
        campaigns: ['utm_campaign', 'utm_source', 'utm_medium'],
      },
      FIVE,
      ['utm_campaign'],
    ),
  },
  {
    path: 'locations',
    audiences: EVERYONE,
    wanted(rows, now, then, more) {
      if (now.audience === 'human') return places(rows, now, then, more)
      const of = (q: Question): Named[] =>
        recount(rows, q)
          .breakdown('country')
          .map(({ key, metrics }) => ({ ...(key === undefined ? {} : { country: key }), ...metrics }))
      const countries = beside(of(now), then && of(then), ['country'], METRICS[now.audience])
      return { params: 'limit=1000', data: { countries } }
    },
  },
  {
    path: 'devices',
    audiences: PEOPLE,
    wanted: tables(
      { browsers: ['browser'], os: ['os'], device_types: ['device_type'], screen_classes: ['screen_class'] },
      METRICS.human,
    ),
  },
  {
    path: 'events',
    audiences: PEOPLE,
    wanted(rows, now, then, { pick }) {
      const name = among([undefined, 'signup', undefined, 'outbound', 'nothing'], pick)
      const property = among([undefined, undefined, 'plan', 'a/b~c"d'], pick)
      const of = (q: Question) => events(scene(rows, q), name, property)
      const all = beside(of(now), then && of(then), ['name', 'kind'], ['events', 'visitors'])
      const { params, data, total } = paged(all, pick)
      const words = Object.entries({ name, property }).flatMap(([key, value]) =>
        value === undefined ? [] : [`&${key}=${encodeURIComponent(value)}`],
      )
      return { params: `${params}${words.join('')}`, data, total: total ?? 0 }
    },
  },
  {
    path: 'performance',
    audiences: PEOPLE,
    wanted(rows, now, then, { pick }) {
      const dimension = among([undefined, 'pathname', 'device_type', 'country', 'browser', 'utm_medium'], pick)
      const whole = (q: Question) => performance(scene(rows, q)).get(undefined) ?? []
      const data = figures(whole(now), then && whole(then))
      if (dimension === undefined) return { params: '', data }
      const [own, other] = [performance(scene(rows, now), dimension), then && performance(scene(rows, then), dimension)]
      const all = ranked(
        [...own].filter(([key]) => key !== undefined || dimension !== 'utm_medium'),
        ([, hits]) => [hits.length],
        ([key]) => [key],
      )
      const { params, data: shown, total = 0 } = paged(all, pick)
      const values = shown.map(([key, hits]) => ({
        ...(key === undefined ? {} : { value: key }),
        ...figures(hits, other && (other.get(key) ?? [])),
      }))
      return { params: `${params}&dimension=${dimension}`, data: { ...data, rows: values }, total }
    },
  },
  {
    path: 'errors',
    audiences: PEOPLE,
    wanted(rows, now, then, { pick, unit }) {
      const of = (q: Question) => errors(scene(rows, q), unit)
      const all = beside(of(now), then && of(then), ['fingerprint'], ['count', 'visitors', 'sessions'])
      const { params, ...found } = paged(all, pick)
      return { params: `${params}&granularity=${unit}`, ...found }
    },
  },
  {
    path: 'goals',
    audiences: PEOPLE,
    wanted(rows, now, then, { pick }) {
      const of = (q: Question) => goals(scene(rows, q))
      const [own, other] = [of(now), then && of(then)]
      const all = beside(own, other, ['id'], ['conversions', 'visitors', 'rate']).map((row) => {
        if (!('revenue' in row) || other === undefined) return row
        const earned = other.find(({ id }) => id === row.id)
        return { ...row, revenue: besideRevenue(amounts(row), earned ? amounts(earned) : []) }
      })
      return paged(all, pick)
    },
  },
  {
    path: 'funnel/{id}',
    audiences: PEOPLE,
    wanted(rows, now, then, { pick, funnels = [] }) {
      const asked = among(funnels, pick)
      if (!asked) return { params: '', data: 'not_found', words: { id: '99' } }
      const per = among(['session', 'visitor'] as const, Math.floor(pick / 2)) ?? 'session'
      const metrics = [`${per}s`, 'drop_off', 'rate']
      const of = (q: Question) => funnel(scene(rows, q), asked, per)
      const [own, other] = [of(now), then && of(then)]
      const [whole] = beside([own.whole], other && [other.whole], [], [`${per}s`])
      const steps = own.steps.flatMap((step, i) => {
        const before = other?.steps[i]
        return beside([step], before && [before], [], metrics)
      })
      const data = { id: asked.id, name: asked.name, ...whole, steps }
      const words = { id: String(asked.id) }
      const step = pick % (asked.steps.length + 1)
      if (step === 0) return { params: `per=${per}`, data, words }
      const dropped = step > 1 && pick % 3 === 0
      const { params, data: shown, total } = paged(behind(scene(rows, now), asked, per, step, dropped), pick)
      const outcome = dropped ? 'dropped' : 'reached'
      return {
        params: `${params}&per=${per}&step=${step}&outcome=${outcome}`,
        ...{ data: { ...data, behind: shown }, words, total: total ?? 0 },
      }
    },
  },
  {
    path: 'sessions',
    audiences: PEOPLE,
    alone: true,
    wanted: (rows, now, _, { pick }) => paged(sessions(scene(rows, now)), pick),
  },
  {
    path: 'sessions/{id}',
    audiences: PEOPLE,
    alone: true,
    wanted(rows, now, _, { pick }) {
      const visit = among([...scene(rows, { ...now, filters: [] }).sessions.values()], pick * 7)
      if (!visit) return { params: '', data: 'not_found', words: { id: 'ffffffffffffffff' } }
      const data = session(visit)
      return { params: '', data: { ...data, timeline: timelineOf(visit) }, words: { id: String(data.id) } }
    },
  },
  {
    path: 'visitors',
    audiences: PEOPLE,
    alone: true,
    wanted: (rows, now, _, { pick }) => paged(visitors(scene(rows, now)), pick),
  },
  {
    path: 'journeys',
    audiences: PEOPLE,
    alone: true,
    wanted(rows, now, _, { pick }) {
      const [depth, start] = [2 + (pick % 7), among([undefined, '/', undefined, '/docs', '/🦆', undefined], pick)]
      const from = start === undefined ? '' : `&start=${encodeURIComponent(start)}`
      return { params: `depth=${depth}${from}`, data: journeys(scene(rows, now), depth, start) }
    },
  },
  {
    path: 'retention',
    audiences: PEOPLE,
    alone: true,
    wanted(rows, q, _, { unit, now }) {
      const [from, to] = q.window
      const days = (to - from) / 86_400_000
      const asked = unit === 'minute' || unit === 'hour' || (unit === 'day' && days > 90) ? undefined : unit
      const best = days < 29 ? 'day' : days < 200 ? 'week' : 'month'
      const granularity = asked ?? best
      return { params: `granularity=${granularity}`, data: retention(scene(rows, q), granularity, now) }
    },
  },
]
/** A page of a list, of a size that others are behind. */
function paged<R>(rows: readonly R[], pick: number) {
  const [limit, page] = [among([1000, 7, 50], pick) ?? 1, 1 + (pick % 4 === 3 ? 1 : 0)]
  const data = rows.slice(limit * (page - 1), limit * page)
  return { params: `limit=${limit}&page=${page}`, data, total: rows.length }
}
const places = tables(
  { countries: ['country'], regions: ['country', 'region'], cities: ['country', 'region', 'city'] },
  METRICS.human,
)
type Node = Readonly<Record<string, unknown>>
interface Amount {
  currency: string
  amount: number
}
const amounts = (row: Node): readonly Amount[] => (Array.isArray(row.revenue) ? row.revenue : [])
/** Of both windows: a currency that was seen in either is there. */
function besideRevenue(now: readonly Amount[], then: readonly Amount[]): Named[] {
  const all = [...new Set([...now, ...then].map(({ currency }) => currency))].toSorted()
  const of = (list: readonly Amount[], name: string) => list.find(({ currency }) => currency === name)?.amount ?? 0
  return all.flatMap((currency) =>
    beside([{ currency, amount: of(now, currency) }], [{ currency, amount: of(then, currency) }], [], ['amount']),
  )
}
const byViews = ({ metrics }: { metrics: Metrics }) => [metrics.pageviews ?? 0]
const PROPS = ['prop:plan', 'prop:a/b~c"d', 'prop:nested', 'prop:q']
