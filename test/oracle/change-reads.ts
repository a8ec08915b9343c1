import type { EventRow, Rows } from '../../src/storage/rows.js'
import { bucketLabel, timeline } from './calendar.js'
import { rank } from './compare.js'
import type { ExpectedAnswer, ExpectedRead, QuestionOptions } from './expected-reads.js'
import { sectionOfPath } from './filter-match.js'
import { recordedPart } from './recorded.js'
import { compareBytes, type Question, siteView } from './site-rows.js'

/** The contributions to a change, recounted visit by visit and read by read. */

const HOUR = 3_600_000
type Window = Question['window']
type Word = string | undefined
/** A visit or a read: when, and its value of each dimension. */
interface Counted {
  at: number
  values: Readonly<Record<string, Word>>
  spoofed: boolean
}
interface Tally {
  value: Word
  spoofed: boolean
  now: number
  before: number
}
const DIMENSIONS = {
  human: ['entry_page', 'section', 'source', 'country', 'utm_campaign'],
  agent: ['agent_id', 'pathname', 'section', 'country'],
  all: [],
}
const CAUSES = ['source', 'agent_id', 'entry_page', 'pathname', 'utm_campaign', 'section', 'country']

/** The hours of the window, as distances from its start, that were recorded here and in the other one. */
function comparedHours(rows: Rows, q: Question, other: Window, now: number): Window[] {
  const [start, end] = q.window
  const runs = end - now <= 10_000
  const isRecorded = (from: number, to: number, most: number) =>
    recordedPart(rows, { ...q, now: runs ? Number.POSITIVE_INFINITY : now }, [from, Math.min(to, most)]) === 'all'
  const hours: Window[] = []
  for (let at = 0; at < end - start; at += HOUR) {
    const until = Math.min(at + HOUR, end - start)
    if (isRecorded(start + at, start + until, end) && isRecorded(other[0] + at, other[0] + until, other[1]))
      hours.push([at, until])
  }
  return hours
}

const word = (value: unknown): Word => (typeof value === 'string' ? value : undefined)

/** Lists the visits of a question's window by their start, or the reads by their time. */
function countedIn(rows: Rows, q: Question): Counted[] {
  const { sessionsInWindow, fetchesInWindow, sections } = siteView(rows, q)
  const sectionOf = (path: Word) => (path === undefined ? undefined : sectionOfPath(sections, path))
  if (q.audience === 'agent')
    return fetchesInWindow
      .filter((row) => row.is_pageview)
      .map((row) => ({
        at: row.timestamp.getTime(),
        values: {
          agent_id: row.agent_id,
          pathname: row.pathname,
          section: sectionOf(row.pathname),
          country: word(row.country),
        },
        spoofed: row.verification === 'spoofed',
      }))
  return sessionsInWindow.map(({ session, matchingRows }) => {
    const least = (of: (row: EventRow) => unknown) =>
      matchingRows.flatMap((row) => word(of(row)) ?? []).toSorted(compareBytes)[0]
    const entry_page = least((row) => row.entry_page)
    const values = {
      entry_page,
      section: sectionOf(entry_page),
      source: least((row) => row.source),
      country: least((row) => row.country),
      utm_campaign: least((row) => row.utm_campaign),
    }
    return { at: session.start, values, spoofed: false }
  })
}

interface Sides {
  now: Counted[]
  before: Counted[]
}
const difference = ({ now, before }: { now: number; before: number }) => ({ now, before, difference: now - before })

/** How often each value occurs on both sides, with the names of agents that others used apart. */
function tally({ now, before }: Sides, dimension: string): Tally[] {
  const found = new Map<string, Tally>()
  for (const [side, all] of [['now', now] as const, ['before', before] as const])
    for (const { values, spoofed } of all) {
      const one = { value: values[dimension], spoofed: dimension === 'agent_id' && spoofed, now: 0, before: 0 }
      const key = JSON.stringify([one.value ?? null, one.spoofed])
      const known = found.get(key) ?? one
      known[side]++
      found.set(key, known)
    }
  return [...found.values()]
}

/** Sorts by the change, the greatest of one direction first. */
const sortByChange = (all: readonly Tally[], direction: number) =>
  rank(
    all.filter(({ now, before }) => (now - before) * direction > 0),
    ({ now, before }) => [(now - before) * direction],
    ({ value, spoofed }) => [value, Number(spoofed)],
  )

const shown = (dimension: string, { value, spoofed, now, before }: Tally) => ({
  ...(value === undefined ? {} : { value }),
  ...(dimension === 'agent_id' ? { name: value === 'other' ? 'Other agents' : value } : {}),
  ...(spoofed ? { spoofed: true } : {}),
  ...difference({ now, before }),
})

function divided(sides: Sides, dimension: string) {
  const all = tally(sides, dimension)
  const [rose, fell] = [sortByChange(all, 1).slice(0, 5), sortByChange(all, -1).slice(0, 3)]
  const named = [...rose, ...fell]
  const rest = all.filter((one) => !named.includes(one))
  const sum = (side: 'now' | 'before') => rest.reduce((total, one) => total + one[side], 0)
  return {
    dimension,
    rose: rose.map((one) => shown(dimension, one)),
    fell: fell.map((one) => shown(dimension, one)),
    others: { values: rest.length, ...difference({ now: sum('now'), before: sum('before') }) },
  }
}

/** The value with the greatest excess, if it is at least 30 % of the change; of about equal ones the first dimension's. */
function causeOf(sides: Sides, audience: Question['audience']) {
  const [now, before] = [sides.now.length, sides.before.length]
  const [change, direction] = [now - before, Math.sign(now - before)]
  const best = DIMENSIONS[audience].flatMap((dimension) => {
    const all = tally(sides, dimension).map((one) => {
      // In whole numbers as far as it goes, so that equal ones are equal.
      const scaled = before === 0 ? one.now : (one.now - one.before) * before - one.before * change
      return { ...one, dimension, scaled, excess: scaled / (before || 1) }
    })
    const [top] = rank(
      all,
      ({ scaled }) => [scaled * (direction || 1)],
      ({ value, spoofed }) => [value, Number(spoofed)],
    )
    return top && (top.value !== undefined || dimension === 'source') ? [top] : []
  })
  const enough = best.filter(({ excess }) => excess * direction >= 0.3 * Math.abs(change))
  const most = Math.max(...enough.map(({ excess }) => excess * direction))
  return enough
    .filter(({ excess }) => excess * direction >= 0.9 * most)
    .toSorted((a, b) => CAUSES.indexOf(a.dimension) - CAUSES.indexOf(b.dimension))[0]
}

function expectChanges(rows: Rows, now: Question, then: Question | undefined, more: QuestionOptions): ExpectedAnswer {
  const { audience, window, tz } = now
  const [start, end] = window
  const { unit } = more
  const before: Question = then ?? { ...now, window: [2 * start - end, start] }
  const hours = comparedHours(rows, now, before.window, more.now)
  const compared = end > start ? hours.reduce((sum, [from, to]) => sum + to - from, 0) / (end - start) : 0
  const measure = audience === 'human' ? 'sessions' : 'pageviews'
  const nothing = { measure, compared, granularity: unit, buckets: [], dimensions: [] }
  const params = `granularity=${unit}`
  if (compared < 0.5) return { params, data: { ...nothing, verdict: 'unknown' } }
  /** The rest of a longer year belongs to the last hour. */
  const place = (at: number) => Math.min(at, end - start - 1)
  const isCompared = (at: number) => hours.some(([from, to]) => at >= from && at < to)
  const select = (q: Question) =>
    countedIn(rows, q)
      .map((one) => ({ ...one, at: place(one.at - q.window[0]) }))
      .filter(({ at }) => isCompared(at))
  const sides: Sides = { now: select(now), before: select({ ...before, audience }) }
  const bucketsOf = ({ now: own, before: other }: Sides) => {
    const count = (all: Counted[], label: string) =>
      all.filter(({ at }) => bucketLabel(start + at, tz, unit) === label).length
    return timeline(start, end, tz, unit).map(({ t, label }, i, all) => {
      const step = unit === 'minute' ? 60_000 : 900_000
      let until = all[i + 1]?.t ?? t + step
      while (i + 1 === all.length && bucketLabel(until, tz, unit) === label) until += step
      const parts = hours.map(([from, to]) => Math.min(start + to, until) - Math.max(start + from, t))
      const known = parts.reduce((sum, length) => sum + Math.max(0, length), 0)
      const at = { t: new Date(t).toISOString() }
      if (known === 0) return at
      const partial = known < until - t ? { partial: true } : {}
      return { ...at, ...difference({ now: count(own, label), before: count(other, label) }), ...partial }
    })
  }
  const total = difference({ now: sides.now.length, before: sides.before.length })
  const isChance = total.difference === 0 || Math.abs(total.difference) < 2 * Math.sqrt(total.now + total.before)
  const cause = isChance ? undefined : causeOf(sides, audience)
  const data = {
    ...nothing,
    ...total,
    verdict: isChance ? 'chance' : cause ? 'cause' : 'spread',
    ...(cause ? { cause: described(sides, cause, audience, bucketsOf) } : {}),
    buckets: bucketsOf(sides),
    dimensions: DIMENSIONS[audience].map((dimension) => divided(sides, dimension)),
  }
  return { params, data }
}

type Bucket = { t: string; difference?: number }

/** The cause with the page and the buckets that hold 80 % of it. */
function described(
  sides: Sides,
  cause: Tally & { dimension: string; excess: number },
  audience: Question['audience'],
  bucketsOf: (sides: Sides) => Bucket[],
) {
  const { dimension, excess } = cause
  const has = ({ values, spoofed }: Counted) =>
    values[dimension] === cause.value && (dimension !== 'agent_id' || spoofed === cause.spoofed)
  const own: Sides = { now: sides.now.filter(has), before: sides.before.filter(has) }
  const change = cause.now - cause.before
  const direction = Math.sign(change)
  const pageDimension = audience === 'agent' ? 'pathname' : 'entry_page'
  const [page] = dimension === pageDimension ? [] : sortByChange(tally(own, pageDimension), direction)
  const isMost = page !== undefined && (page.now - page.before) * direction >= 0.8 * Math.abs(change)
  const known = bucketsOf(own).flatMap((one) =>
    one.difference === undefined ? [] : [{ t: one.t, difference: one.difference }],
  )
  const sorted = known.toSorted((a, b) => (b.difference - a.difference) * direction || a.t.localeCompare(b.t))
  const enough = [1, 2, 3].find(
    (n) =>
      n <= sorted.length &&
      sorted.slice(0, n).reduce((sum, one) => sum + one.difference * direction, 0) >= 0.8 * Math.abs(change),
  )
  const times = sorted.slice(0, enough ?? 0).toSorted((a, b) => a.t.localeCompare(b.t))
  return {
    dimension,
    ...shown(dimension, cause),
    excess,
    ...(isMost ? { page: shown(pageDimension, page) } : {}),
    ...(times.length > 0 ? { times } : {}),
  }
}

export const CHANGES: ExpectedRead = {
  path: 'changes',
  audiences: ['human', 'agent'],
  alwaysCompares: true,
  expect: expectChanges,
}
