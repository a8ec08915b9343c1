import { DIMENSIONS } from '../../src/query/dimensions.js'
import type { Rows } from '../../src/record/row.js'
import { journeys, retention, session, sessions, timelineOf, visitors } from './behaviour.js'
import { beside, type Named, ranked } from './beside.js'
import { yearBefore } from './calendar.js'
import { type Metrics, recount } from './recount.js'
import { type Question, scene } from './site.js'
import { grouped } from './tables.js'

/** What is asked beside the question itself. */
export interface More {
  now: number
  /** The bucket size asked for. */
  unit: 'minute' | 'hour' | 'day' | 'week' | 'month'
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
const tables =
  (of: Record<string, readonly [columns: readonly string[], needs: readonly string[]]>, metrics: readonly string[]) =>
  (rows: Rows, now: Question, then: Question | undefined): Wanted => {
    const of_ = (q: Question, [columns, needs]: readonly [readonly string[], readonly string[]]) =>
      grouped(recount(rows, q), scene(rows, q), columns, metrics, needs)
    const data = Object.entries(of).map(([name, table]) => [
      name,
      beside(of_(now, table), then && of_(then, table), table[0], metrics),
    ])
    return { params: '', data: Object.fromEntries(data) }
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
      const optional = /^(event_name|identified_id|utm_.*|prop:.*)$/.test(dimension)
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
function paged(rows: readonly Named[], pick: number): Wanted {
  const [limit, page] = [among([1000, 7, 50], pick) ?? 1, 1 + (pick % 4 === 3 ? 1 : 0)]
  const data = rows.slice(limit * (page - 1), limit * page)
  return { params: `limit=${limit}&page=${page}`, data, total: rows.length }
}
const byViews = ({ metrics }: { metrics: Metrics }) => [metrics.pageviews ?? 0]
const PROPS = ['prop:plan', 'prop:a/b~c"d', 'prop:nested', 'prop:q']
