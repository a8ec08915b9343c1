import { z } from 'zod'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import { reads } from '../../src/analytics/reads/index.js'
import type { Store } from '../../src/storage/store.js'
import type { Expected } from '../fixtures/event-generator.js'

const Rows = z.array(
  z.object({ value: z.string().optional(), pageviews: z.number(), sessions: z.number(), events: z.number() }),
)
const Overview = z.object({
  ...{ visitors: z.number(), sessions: z.number(), pageviews: z.number(), events: z.number() },
  ...{ bounce: z.number(), duration: z.number(), views_per_session: z.number() },
})
const Series = z.object({ buckets: z.array(z.object({ t: z.string(), value: z.number().optional() })) })

/** A figure of the store's reads and the generator's figure: `[what, found, wanted]`. */
type AnswerPair = [what: string, found: unknown, wanted: unknown]

/**
 * Compares site 1, which has every event, and site 2, which has only the pageviews. To the generator any visit of one
 * page is a bounce; to us an event prevents a bounce.
 */
export async function compareWithGenerator(
  store: Pick<Store, 'query' | 'dialect'>,
  expected: Expected,
): Promise<AnswerPair[]> {
  const days = expected.daily.map(({ day }) => day)
  const end = Date.parse(`${days.at(-1)}T00:00:00Z`) + 86_400_000
  const window = `start=${days[0]}T00:00:00Z&end=${new Date(end).toISOString()}`
  const deps: ReadDependencies = {
    ...{ store, catalog: [], assistants: [], now: () => new Date(end), segment: async () => undefined },
    site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true }),
  }
  const ask = async (site: number, path: string, more = '') => {
    const read = reads.find((each) => each.path === `/api/stats/${path}`)
    if (!read) throw new Error(path)
    return runRead(read, new URLSearchParams(`site=${site}&${window}&${more}`), deps)
  }
  const found: AnswerPair[] = []
  const { visits, single_page_visits, total_visit_seconds } = expected

  const whole = Overview.parse((await ask(1, 'overview')).data)
  const pages = Overview.parse((await ask(2, 'overview')).data)
  found.push(
    ['pageviews', whole.pageviews, expected.pageviews],
    ['visits', whole.sessions, visits],
    ['visitors', whole.visitors, expected.visitors],
    ['custom_events', whole.events, expected.custom_events],
    ['single_page_visits', Math.round(pages.bounce * visits), single_page_visits],
    ['bounce', pages.bounce, single_page_visits / visits],
    ['total_visit_seconds', Math.round(whole.duration * visits), total_visit_seconds],
    ['pageviews per visit', whole.views_per_session.toFixed(9), (expected.pageviews / visits).toFixed(9)],
  )

  const DAILY = { pageviews: 'pageviews', events: 'events', visits: 'sessions', visitors: 'visitors' } as const
  for (const [name, metric] of Object.entries(DAILY)) {
    const { buckets } = Series.parse((await ask(1, 'timeseries', `metric=${metric}&granularity=day`)).data)
    const wanted = expected.daily.map((day) => new Map<string, number | string>(Object.entries(day)).get(name))
    found.push([`daily ${name}`, buckets.map(({ value }) => value ?? 0), wanted])
  }

  for (const [name, top] of Object.entries(expected.top)) {
    const [dimension, metric] = TOP_LISTS[name] ?? [name, 'pageviews']
    const counts = new Map<string, number>()
    for (let page = 1; ; page++) {
      const { data, meta } = await ask(1, 'breakdown', `dimension=${dimension}&limit=1000&page=${page}`)
      for (const row of Rows.parse(data)) {
        const value = name === 'entry_referrer_host' ? hostOf(row.value) : (row.value ?? '')
        if (row[metric] > 0) counts.set(value, (counts.get(value) ?? 0) + row[metric])
      }
      if (page * 1000 >= (meta.total ?? 0)) break
    }
    const best = [...counts.values()].sort((a, b) => b - a).slice(0, top.rows.length)
    found.push(
      [`${name}: how many`, counts.size, top.distinct],
      [`${name}: the numbers at the top`, best, top.rows.map(([, n]) => n)],
      [`${name}: whose they are`, top.rows.map(([value]) => [value, counts.get(value)]), top.rows],
    )
  }
  return found
}

/** Our names for the generator's lists, and what they count. */
const TOP_LISTS: Record<string, readonly [dimension: string, metric: 'pageviews' | 'sessions' | 'events']> = {
  device: ['device_type', 'pageviews'],
  event: ['event_name', 'events'],
  entry_page: ['entry_page', 'sessions'],
  entry_referrer_host: ['referrer', 'sessions'],
}
const hostOf = (referrer: string | undefined): string =>
  referrer === undefined ? '(direct)' : (/^[a-z-]+:\/\/([^/]+)/.exec(referrer)?.[1] ?? referrer)
