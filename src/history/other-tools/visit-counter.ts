import { localDate } from '../../analytics/query/calendar.js'
import { UnusableSetting } from '../../base/errors.js'
import type { Figures } from './day-figures.js'

/** One row of an export that has a row for each hit. */
export interface ExportedHit {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly isPageview: boolean
  /** Names the person on that day; `isFirst` where the tool marks the first hit of a person instead. */
  readonly visitor?: string | undefined
  readonly isFirst?: boolean | undefined
  readonly visit?: string | undefined
  /** Names the website, where an export may have several. */
  readonly website?: string | undefined
  /** Seconds that the tool measured on the page; otherwise a visit lasts from its first to its last hit. */
  readonly seconds?: number | undefined
  /** The tool counts the visit as engaged; otherwise a visit with one pageview bounced. */
  readonly isEngaged?: boolean | undefined
}

/** The figures that a tool's hits give; others are absent, not 0. */
export interface Countable {
  readonly visitors: boolean
  readonly visits: boolean
  /** Whether a visit bounced and how long it lasted, as the tool counts it. */
  readonly bounces: 'one_pageview' | 'not_engaged'
}

interface Visit {
  first: number
  last: number
  views: number
  seconds: number | undefined
  isEngaged: boolean
}

/** People of a day and visits that are held in memory at most, about 150 bytes each. */
const MAX_HELD = 4_000_000

/** Counts hits by day in a time zone. A visit belongs to the day of its first hit, whatever the order of the rows. */
export function createVisitCounter(tz: string, has: Countable, maxHeld = MAX_HELD) {
  const dayOf = createDayLookup(tz)
  const days = new Map<string, { pageviews: number; firsts: number; visitors: Set<string> }>()
  const visits = new Map<string, Visit>()
  let held = 0
  const hold = () => {
    held += 1
    if (held > maxHeld)
      throw new UnusableSetting(
        'The export has too many people and visits for the memory: add it in parts of whole days.',
      )
  }
  const addToVisit = (id: string, { at, isPageview, seconds, isEngaged = false }: ExportedHit) => {
    const visit = visits.get(id) ?? { first: at, last: at, views: 0, seconds: undefined, isEngaged: false }
    if (!visits.has(id)) {
      hold()
      visits.set(copyText(id), visit)
    }
    visit.first = Math.min(visit.first, at)
    visit.last = Math.max(visit.last, at)
    visit.views += isPageview ? 1 : 0
    visit.isEngaged ||= isEngaged
    if (seconds !== undefined) visit.seconds = (visit.seconds ?? 0) + seconds
  }
  return {
    add(hit: ExportedHit): void {
      const name = dayOf(hit.at)
      const day = days.get(name) ?? { pageviews: 0, firsts: 0, visitors: new Set<string>() }
      days.set(name, day)
      day.pageviews += hit.isPageview ? 1 : 0
      day.firsts += hit.isFirst ? 1 : 0
      if (hit.visitor !== undefined && !day.visitors.has(hit.visitor)) {
        hold()
        day.visitors.add(copyText(hit.visitor))
      }
      if (has.visits && hit.visit !== undefined) addToVisit(hit.visit, hit)
    },
    /** Returns the figures of each day that has a hit. */
    finish(): Map<string, Figures> {
      const all = new Map<string, Required<Pick<Figures, 'visits' | 'bounces' | 'seconds'>>>()
      for (const { first, last, views, seconds, isEngaged } of visits.values()) {
        const name = dayOf(first)
        const sums = all.get(name) ?? { visits: 0, bounces: 0, seconds: 0 }
        const bounced = has.bounces === 'one_pageview' ? views === 1 : !isEngaged
        sums.visits += 1
        sums.bounces += bounced ? 1 : 0
        sums.seconds += seconds ?? (last - first) / 1000
        all.set(name, sums)
      }
      return new Map(
        [...days].map(([name, { pageviews, firsts, visitors }]) => {
          const { visits = 0, bounces = 0, seconds = 0 } = all.get(name) ?? {}
          return [
            name,
            {
              pageviews,
              ...(has.visitors ? { visitors: firsts + visitors.size } : {}),
              ...(has.visits ? { visits, bounces, seconds: Math.round(seconds) } : {}),
            },
          ]
        }),
      )
    },
  }
}

/** Copies a text that would otherwise keep the whole piece of the file alive of which it is a part. */
const copyText = (text: string): string => Buffer.from(text).toString()

/** Clocks change at a quarter of an hour, so that the day of one is looked up once. */
const QUARTER_MS = 900_000

/** Returns a function that gives the local day of an instant. */
function createDayLookup(tz: string) {
  const days = new Map<number, string>()
  return (at: number): string => {
    const quarter = Math.floor(at / QUARTER_MS)
    const known = days.get(quarter)
    if (known !== undefined) return known
    const day = localDate(new Date(quarter * QUARTER_MS), tz)
    days.set(quarter, day)
    return day
  }
}
