import { bucketLabel, timeline } from './calendar.js'
import type { AnswerRow } from './compare.js'
import type { ExpectedRead } from './expected-reads.js'
import { visitorOf } from './people-reads.js'
import { bucketParts, type Part, recordedPart } from './recorded.js'
import { groupBy, type Session, type SiteView, siteView } from './site-rows.js'

const iso = (at: number | Date) => new Date(at).toISOString()

/**
 * `stats/retention`: visitors whose first session ever began in a period of the window, and those who began another in
 * a later period. A cell is absent if most of its time and most of the cohort's have different salts.
 */
function retention(
  { sessions, sessionsInWindow: visits, q }: SiteView,
  unit: string,
  now: number,
  parts: readonly Part[],
): AnswerRow {
  const [from, to] = q.window
  const periods = timeline(from, to, q.tz, unit)
  const ends = [
    ...periods.slice(1).map(({ t }) => t),
    timeline(from, to + 32 * 86_400_000, q.tz, unit)[periods.length]?.t,
  ]
  const over = periods.filter((_, i) => (ends[i] ?? Infinity) <= Math.min(to, now))
  /** The first day of the salt of a period's middle. */
  const saltOf = (i: number): string | undefined => {
    const middle = new Date(((periods[i]?.t ?? 0) + (ends[i] ?? 0)) / 2)
    if (q.salt === undefined || q.salt === 'never') return undefined
    if (q.salt === 'month') middle.setUTCDate(1)
    if (q.salt === 'week') while (middle.getUTCDay() !== 1) middle.setUTCDate(middle.getUTCDate() - 1)
    return iso(middle).slice(0, 10)
  }
  const of = (visit: Session) => bucketLabel(visit.start, q.tz, unit)
  const debut = new Map<bigint, Session>()
  for (const visit of sessions.values()) {
    const known = debut.get(visitorOf(visit))
    if (visit.start < to && (!known || visit.start < known.start)) debut.set(visitorOf(visit), visit)
  }
  const came = new Map(
    [...groupBy(visits, ({ session: visit }) => visitorOf(visit))].map(([id, all]) => [
      id,
      new Set(all.map((one) => of(one.session))),
    ]),
  )
  const cohorts = periods.map(({ t, label: own }, i) => {
    const members = [...debut].filter(
      ([id, visit]) => visit.start >= from && of(visit) === own && came.get(id)?.has(own) === true,
    )
    if (members.length === 0 && parts[i] === 'none') return { start: iso(t), periods: [] }
    return {
      start: iso(t),
      size: members.length,
      periods: over.slice(i).map((later, period) => {
        const visitors = members.filter(([id]) => came.get(id)?.has(later.label)).length
        if (visitors === 0 && parts[i + period] === 'none') return { period, reason: 'not_recorded' }
        if (saltOf(i) !== saltOf(i + period)) return { period, reason: 'salt_changed' }
        return { period, visitors, ...(members.length > 0 ? { rate: visitors / members.length } : {}) }
      }),
    }
  })
  return { granularity: unit, cohorts }
}

const DAY = 86_400_000
/** The first instant of a month of UTC, counted from the one of an instant. */
const monthFrom = (at: number, months: number): number =>
  Date.UTC(new Date(at).getUTCFullYear(), new Date(at).getUTCMonth() + months)

/**
 * The same with `align=ids` where ids last a month of UTC: each month is cut into days, or weeks from the 1st on, by
 * walking it; no period goes on after the month.
 */
function retentionByIds(
  { sessions, sessionsInWindow: visits, q }: SiteView,
  unit: 'day' | 'week',
  now: number,
  recorded: (from: number, to: number) => Part,
): AnswerRow {
  const [from, to] = q.window
  const step = unit === 'day' ? DAY : 7 * DAY
  const months: { from: number; to: number }[][] = []
  for (let month = monthFrom(from, 0); month < to; month = monthFrom(month, 1)) {
    const end = monthFrom(month, 1)
    const periods = []
    for (let at = month; at < end; at += step) periods.push({ from: at, to: Math.min(at + step, end) })
    months.push(periods)
  }
  const debuts = new Map<bigint, number>()
  for (const visit of sessions.values()) {
    const id = visitorOf(visit)
    if (visit.start < to) debuts.set(id, Math.min(visit.start, debuts.get(id) ?? visit.start))
  }
  const starts = [...groupBy(visits, ({ session: visit }) => visitorOf(visit))].map(([id, all]) => ({
    debut: debuts.get(id) ?? 0,
    starts: all.map(({ session: visit }) => visit.start),
  }))
  const isIn = (at: number, period: { from: number; to: number }) => at >= period.from && at < period.to
  const cut = (period: { from: number; to: number }) => recorded(Math.max(from, period.from), Math.min(to, period.to))
  const until = Math.min(to, now)
  const columns = Math.max(
    0,
    ...months.map((periods) => periods.filter((p) => p.to > from && p.from < to && p.from < until).length),
  )
  const cohorts = months.flatMap((periods) =>
    periods.flatMap((own, i): AnswerRow[] => {
      if (own.to <= from || own.from >= to) return []
      const span = { start: iso(own.from), end: iso(own.to) }
      const members = starts.filter(
        (one) => one.debut >= from && isIn(one.debut, own) && one.starts.some((at) => isIn(at, own)),
      )
      if (members.length === 0 && cut(own) === 'none') return [{ ...span, periods: [] }]
      const cells = Array.from({ length: columns }, (_, period) => {
        const later = periods[i + period]
        if (!later) return [{ period, reason: 'salt_changed' }]
        if (later.from >= until) return []
        const visitors = members.filter((one) => one.starts.some((at) => isIn(at, later))).length
        if (visitors === 0 && cut(later) === 'none') return [{ period, reason: 'not_recorded' }]
        return [
          {
            ...{ period, visitors },
            ...(members.length > 0 ? { rate: visitors / members.length } : {}),
            ...(later.to > until
              ? { so_far: true }
              : period > 0 && unit === 'week' && later.to - later.from < step
                ? { at_least: true }
                : {}),
          },
        ]
      })
      return [{ ...span, size: members.length, periods: cells.flat() }]
    }),
  )
  return { granularity: unit, cohorts }
}

export const RETENTION: Omit<ExpectedRead, 'audiences'> = {
  path: 'retention',
  ignoresComparison: true,
  expect(rows, q, _, { unit, now, pick }) {
    const [from, to] = q.window
    const days = (to - from) / 86_400_000
    const asked = unit === 'minute' || unit === 'hour' || (unit === 'day' && days > 90) ? undefined : unit
    const best = days < 29 ? 'day' : days < 200 ? 'week' : 'month'
    const granularity = asked ?? best
    const unitOfIds = asked ?? 'week'
    if (pick % 2 === 1 && unitOfIds !== 'month' && q.salt === 'month') {
      const data = retentionByIds(siteView(rows, q), unitOfIds, now, (from, to) => recordedPart(rows, q, [from, to]))
      return { params: `align=ids&granularity=${unitOfIds}`, data }
    }
    const data = retention(siteView(rows, q), granularity, now, bucketParts(rows, q, granularity))
    return { params: `granularity=${granularity}`, data }
  },
}
