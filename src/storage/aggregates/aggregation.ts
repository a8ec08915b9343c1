import { z } from 'zod'
import { DAY_MS } from '../../base/time-units.js'
import type { LateVerdict, Placement, SessionMove } from '../event-store.js'
import type { AgentEventRow, EventRow } from '../rows.js'
import { HexId, type Log, type ResultRow } from '../store.js'

/*
 * Parts of aggregation that engines share: how far it is, what an append makes stale, and when a step runs. The steps are in
 * `aggregate-step.ts` and `daily-step.ts` of each engine.
 */

export const startOfDay = (at: Date): Date => new Date(Math.floor(at.getTime() / DAY_MS) * DAY_MS)

/** A session that was aggregated and got a hit since: reads take it from its hits until it is aggregated again. */
export type StaleSession = Pick<EventRow, 'site_id' | 'session_id' | 'session_start'>

/** A counted day that got or changed a row since: reads take it from its rows until it is counted again. */
export interface ChangedDay {
  site_id: number
  day: Date
}

const ChangedSession = z.object({
  site_id: z.int(),
  session_id: HexId,
  session_start: z.date(),
})

/** Moments before which sessions are aggregated and days are counted; undefined if none are. */
export interface Progress {
  aggregatedUntil: Date | undefined
  countedUntil: Date | undefined
}

/** The result of a step: of sessions, or of days. */
export interface AggregateStep {
  /** The new moment before which sessions are aggregated, or days are counted. */
  until: Date | undefined
  /** Whether rows were deleted. */
  deleted: boolean
  /** Whether another step has something to do. */
  more: boolean
}

/** The bounded steps of an engine towards a moment, which take what they write with. */
interface Steps<Writer> {
  aggregateStep(writer: Writer, target: Date): Promise<AggregateStep>
  dailyStep(writer: Writer, target: Date): Promise<AggregateStep>
}

interface AddedRows {
  events?: readonly EventRow[]
  agent_events?: readonly AgentEventRow[]
}

export type AggregateTracker<Writer> = ReturnType<typeof createAggregateTracker<Writer>>

/**
 * Knows how far sessions are aggregated and days are counted, so that an append finds the aggregated sessions and counted
 * days that it makes stale.
 */
export function createAggregateTracker<Writer>(stored: Progress, { aggregateStep, dailyStep }: Steps<Writer>) {
  let { aggregatedUntil, countedUntil } = stored
  const later = (a: Date, b: Date | undefined) => (b && b > a ? b : a)
  const aggregateSessions = async (writer: Writer, target: Date): Promise<AggregateStep> => {
    // While the step runs, and if it fails in an unknown state, too many sessions count as stale, which harms nothing.
    aggregatedUntil = later(target, aggregatedUntil)
    const done = await aggregateStep(writer, target)
    aggregatedUntil = done.until
    return done
  }
  return {
    /** How far aggregation is; while a step runs, and after one that failed, how far it may be. */
    progress: (): Progress => ({ aggregatedUntil, countedUntil }),
    /** One step of sessions; of days after all sessions. */
    async step(writer: Writer, target: Date): Promise<Omit<AggregateStep, 'until'>> {
      const sessions = await aggregateSessions(writer, target)
      if (sessions.more) return sessions
      countedUntil = later(startOfDay(target), countedUntil)
      const days = await dailyStep(writer, target)
      countedUntil = days.until
      return { deleted: sessions.deleted || days.deleted, more: days.more }
    },
    /** A step that only aggregates stale sessions again. */
    async refreshStale(writer: Writer): Promise<void> {
      if (aggregatedUntil) await aggregateSessions(writer, aggregatedUntil)
    },
    /** The counted days that get these rows, have rows of these moves, or get these verdicts. */
    findChangedDays(
      { events = [], agent_events = [] }: AddedRows,
      { moves = [], verdicts = [] }: { moves?: readonly SessionMove[]; verdicts?: readonly LateVerdict[] } = {},
    ): ChangedDay[] {
      const limit = countedUntil
      if (limit === undefined) return []
      const days = new Map<string, ChangedDay>()
      const add = (site_id: number, at: Date) => {
        if (at < limit) days.set(`${site_id} ${startOfDay(at).getTime()}`, { site_id, day: startOfDay(at) })
      }
      for (const row of events) if (row.kind === 'pageview') add(row.site_id, row.timestamp)
      for (const row of [agent_events, verdicts].flat()) add(row.site_id, row.timestamp)
      for (const { site_id, first, last } of moves)
        for (let at = startOfDay(first); at <= last; at = new Date(at.getTime() + DAY_MS)) add(site_id, at)
      return [...days.values()]
    },
    /**
     * The aggregated sessions that get these rows, get or lose rows in these moves and placements, or have `changed` rows.
     * Call it between steps, where appends are.
     */
    findStale(
      rows: readonly EventRow[],
      { moves = [], placements = [] }: { moves?: readonly SessionMove[]; placements?: readonly Placement[] },
      changed: readonly ResultRow[] = [],
    ): StaleSession[] {
      const limit = aggregatedUntil
      if (limit === undefined) return []
      const sessions = new Map<string, StaleSession>()
      const add = (session: StaleSession) => {
        if (session.session_start < limit) sessions.set(`${session.site_id} ${session.session_id}`, session)
      }
      for (const row of rows) add(row)
      for (const { site_id, session_ids, to } of moves) {
        // With the start of the session that they are part of now, which has a row here: a read leaves out both or neither.
        for (const session_id of session_ids) add({ site_id, session_id, session_start: to.session_start })
      }
      for (const { key, from, to } of placements)
        for (const session of from ? [from, to] : [to]) add({ site_id: key.site_id, ...session })
      for (const row of changed) {
        if (!(row.session_start instanceof Date && row.session_start >= limit)) add(ChangedSession.parse(row))
      }
      return [...sessions.values()]
    },
  }
}

export interface AggregationOptions {
  /** Sessions are aggregated this long after they began; the store looks for them every `aggregate_ms`. */
  settled_ms?: number
  aggregate_ms?: number
}

/** A start has enough to do: the first aggregation waits this long, or `aggregate_ms` if that is less. */
const FIRST_AGGREGATION_MS = 60_000

interface AggregationNeeds extends AggregationOptions {
  /** Takes one step towards a moment; returns whether another has something to do. */
  step(target: Date): Promise<boolean>
  /** The store's name in the log. */
  store: string
  /** Milliseconds that only ascend. */
  clock(): number
  now(): Date
  log: Log
}

/** Aggregates sessions in bounded steps, so that appends run between them. */
export function createAggregation(needs: AggregationNeeds) {
  const { step, store, clock, now, log, settled_ms = 2 * 3_600_000, aggregate_ms = 600_000 } = needs
  let nextStepAt = clock() + Math.min(aggregate_ms, FIRST_AGGREGATION_MS)
  return {
    /** Aggregates all sessions that started before `target`. */
    async until(target: Date): Promise<void> {
      while (await step(target));
    },
    /** Runs one step if it is time for one. Never throws. */
    async stepIfDue(): Promise<void> {
      if (clock() < nextStepAt) return
      // One step at a time: several would queue before the appends.
      nextStepAt = Number.POSITIVE_INFINITY
      try {
        const more = await step(new Date(now().getTime() - settled_ms))
        nextStepAt = more ? clock() : clock() + aggregate_ms
      } catch (error) {
        nextStepAt = clock() + aggregate_ms
        log('warn', `${store}: sessions could not be aggregated; this will be tried again`, error)
      }
    },
  }
}
