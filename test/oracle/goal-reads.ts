import type { EventRow } from '../../src/storage/rows.js'
import { type AnswerRow, rank, withComparison } from './compare.js'
import { type Goal, goalFilter } from './filter-match.js'
import { visitorOf } from './people-reads.js'
import { countDistinct, groupBy, type SiteView, withoutAbsent } from './site-rows.js'

/**
 * `stats/goals`: conversions of each goal, and their share of all visitors that pass the filters without conditions on
 * goals.
 */
export function goals(own: SiteView): (AnswerRow & { id: number })[] {
  const { q, hitsInWindow: hits, sessionsInWindow: visits, passesFilter: fits } = own
  const everyone = own.events.filter(
    (row) => own.within(row.timestamp) && q.filters.every((filter) => passesWithoutGoals(filter, row, own) !== false),
  )
  const all = countDistinct(everyone, (row) => row.visitor_id)
  const rows = (q.goals ?? []).map((goal) => {
    const filter = goalFilter(goal)
    const done = hits.filter((row) => fits(row, filter))
    const long = visits.filter(({ session: visit }) => visit.rows.some((row) => fits(row, filter)))
    const counts = {
      scroll: countDistinct(done, (row) => `${row.session_id} ${row.hostname} ${row.pathname}`),
      duration: long.length,
    }
    const who =
      goal.type === 'duration' ? long.map(({ session: visit }) => visitorOf(visit)) : done.map((row) => row.visitor_id)
    const visitors = new Set(who).size
    return {
      ...{ id: goal.id, name: goal.name },
      conversions: new Map(Object.entries(counts)).get(goal.type) ?? done.length,
      visitors,
      ...withoutAbsent({ rate: all > 0 ? Math.min(1, visitors / all) : undefined }),
      ...(goal.revenue ? { revenue: revenue(done, goal.revenue) } : {}),
    }
  })
  return rank(
    rows,
    (row) => [row.conversions, row.visitors],
    (row) => [row.id],
  )
}

/** Returns whether a filter lets a row through if goals are unknown; undefined if that depends on a goal. */
function passesWithoutGoals(
  filter: Readonly<Record<string, unknown>>,
  row: EventRow,
  own: SiteView,
): boolean | undefined {
  const of = (list: unknown) => (Array.isArray(list) ? list.map((part) => passesWithoutGoals(part, row, own)) : [])
  if (filter.dimension === 'goal') return undefined
  if (filter.and) return of(filter.and).includes(false) ? false : of(filter.and).includes(undefined) ? undefined : true
  if (filter.or) return of(filter.or).includes(true) ? true : of(filter.or).includes(undefined) ? undefined : false
  if (filter.not) {
    const [part] = of([filter.not])
    return part === undefined ? undefined : !part
  }
  return own.passesFilter(row, filter)
}

/** The revenue of these hits by currency, to the hundredth of a cent. */
function revenue(done: readonly EventRow[], { property, currency }: NonNullable<Goal['revenue']>): AnswerRow[] {
  const paid = done.flatMap((row) => {
    if (row.props === null || /\\ud[89a-f]/i.test(row.props)) return []
    const props: unknown = JSON.parse(row.props)
    const said = (key: string): string => {
      const value: unknown = typeof props === 'object' && props !== null ? Reflect.get(props, key) : undefined
      return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
    }
    const named = /^[A-Za-z]{3}$/.test(said('currency')) ? said('currency').toUpperCase() : currency
    return /^-?\d+(\.\d+)?$/.test(said(property))
      ? [{ named, tenths: Math.round(Number(said(property)) * 10_000) }]
      : []
  })
  return [...groupBy(paid, ({ named }) => named)]
    .map(([currency, all]) => ({ currency, amount: all.reduce((sum, { tenths }) => sum + tenths, 0) / 10_000 }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
}

export interface Funnel {
  id: number
  name: string
  steps: readonly (Pick<Goal, 'type' | 'match'> & { label: string })[]
  window_minutes?: number
}
/** The number of steps of each session, or of each visitor over all sessions: `id, steps, started`. */
function stepsReached(
  { sessionsInWindow: visits, passesFilter: fits }: SiteView,
  funnel: Funnel,
  per: 'session' | 'visitor',
) {
  const tests = funnel.steps.map(goalFilter)
  const most = (funnel.window_minutes ?? Infinity) * 60_000
  const rows = visits.flatMap(({ session: visit }) =>
    visit.rows.map((row) => ({ row, id: per === 'session' ? visit.id : visitorOf(visit), start: visit.start })),
  )
  return [...groupBy(rows, ({ id }) => id)].map(([id, own]) => {
    const times = tests.map((test) =>
      own.filter(({ row }) => fits(row, test)).map(({ row, start }) => ({ at: row.timestamp.getTime(), start })),
    )
    const [first = [], ...later] = times
    // From every first hit take the next hit of each step: the earliest leaves the most time for later steps.
    const lengths = first.map(({ at: began }) => {
      let at = began
      let steps = 1
      for (const step of later) {
        const next = Math.min(...step.map(({ at }) => at).filter((each) => each > at))
        if (next - began > most || next === Infinity) break
        at = next
        steps += 1
      }
      return steps
    })
    return { id, steps: Math.max(0, ...lengths), started: Math.max(...first.map(({ start }) => start)) }
  })
}

/** `stats/funnel/{id}`: one row for everyone, and one per step. */
export function funnel(
  own: SiteView,
  asked: Funnel,
  per: 'session' | 'visitor',
): { whole: AnswerRow; steps: AnswerRow[] } {
  const all = stepsReached(own, asked, per)
  const reached = asked.steps.map((_, i) => all.filter(({ steps }) => steps > i).length)
  return {
    whole: { [`${per}s`]: all.length },
    steps: asked.steps.map(({ label }, i) => {
      const [n = 0, before = 0, first = 0] = [reached[i], reached[i - 1], reached[0]]
      return {
        ...{ label, [`${per}s`]: n },
        ...withoutAbsent({
          drop_off: i > 0 && before > 0 ? (before - n) / before : undefined,
          rate: first > 0 ? n / first : undefined,
        }),
      }
    }),
  }
}

/** The ids that reached a step, or that reached only the step before. */
export const idsAtStep = (
  own: SiteView,
  asked: Funnel,
  per: 'session' | 'visitor',
  step: number,
  dropped: boolean,
): string[] =>
  rank(
    stepsReached(own, asked, per).filter(({ steps }) => (dropped ? steps === step - 1 : steps >= step)),
    ({ started }) => [started],
    ({ id }) => [id],
  ).map(({ id }) => id.toString(16).padStart(16, '0'))

type Node = Readonly<Record<string, unknown>>
type Amount = { currency: string; amount: number }
export const amounts = (row: Node): readonly Amount[] => (Array.isArray(row.revenue) ? row.revenue : [])
/** Includes every currency of either window. */
export function besideRevenue(now: readonly Amount[], then: readonly Amount[]): AnswerRow[] {
  const all = [...new Set([...now, ...then].map(({ currency }) => currency))].toSorted()
  const of = (list: readonly Amount[], name: string) => list.find(({ currency }) => currency === name)?.amount ?? 0
  return all.flatMap((currency) =>
    withComparison(
      [{ currency, amount: of(now, currency) }],
      [{ currency, amount: of(then, currency) }],
      [],
      ['amount'],
    ),
  )
}
