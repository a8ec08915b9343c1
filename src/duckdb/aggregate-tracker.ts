import type { DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import type { LateVerdict, Placement, SessionMove } from '../event-store.js'
import type { EventRow, Rows } from '../rows.js'
import { HexId, type ResultRow } from '../store.js'
import { type AggregateStep, aggregateStep, readWatermark } from './aggregate-step.js'
import type { Checkpoints } from './checkpoints.js'
import { DAY_MS, dailyStep, readDailySeal, startOfDay } from './daily-step.js'
import type { DataFile, DataFileOptions } from './datafile.js'

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

export type AggregateTracker = Awaited<ReturnType<typeof openAggregateTracker>>

/**
 * Knows how far sessions are aggregated and days are counted, so that an append finds the aggregated sessions and counted
 * days that it makes stale.
 */
export async function openAggregateTracker(file: Pick<DataFile, 'read'>) {
  let watermark = await file.read(readWatermark)
  let countedUntil = await file.read(readDailySeal)
  const later = (a: Date, b: Date | undefined) => (b && b > a ? b : a)
  const aggregateSessions = async (writer: DuckDBConnection, target: Date): Promise<AggregateStep> => {
    // While the step runs, and if it fails in an unknown state, too many sessions count as stale, which harms nothing.
    watermark = later(target, watermark)
    const done = await aggregateStep(writer, target)
    watermark = done.watermark
    return done
  }
  return {
    /** One step of sessions; of days after all sessions. */
    async step(writer: DuckDBConnection, target: Date): Promise<Pick<AggregateStep, 'deleted' | 'more'>> {
      const sessions = await aggregateSessions(writer, target)
      if (sessions.more) return sessions
      countedUntil = later(startOfDay(target), countedUntil)
      const days = await dailyStep(writer, target)
      countedUntil = days.until
      return { deleted: sessions.deleted || days.deleted, more: days.more }
    },
    /** A step that only aggregates stale sessions again. */
    async refreshStale(writer: DuckDBConnection): Promise<void> {
      if (watermark) await aggregateSessions(writer, watermark)
    },
    /** The counted days that get these rows, have rows of these moves, or get these verdicts. */
    findChangedDays(
      { events, agent_events }: Partial<Rows>,
      { moves = [], verdicts = [] }: { moves?: readonly SessionMove[]; verdicts?: readonly LateVerdict[] } = {},
    ): ChangedDay[] {
      const limit = countedUntil
      if (limit === undefined) return []
      const days = new Map<string, ChangedDay>()
      const add = (site_id: number, at: Date) => {
        if (at < limit) days.set(`${site_id} ${startOfDay(at).getTime()}`, { site_id, day: startOfDay(at) })
      }
      for (const row of events ?? []) if (row.kind === 'pageview') add(row.site_id, row.timestamp)
      for (const row of [agent_events ?? [], verdicts].flat()) add(row.site_id, row.timestamp)
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
      { moves, placements = [] }: { moves: readonly SessionMove[]; placements?: readonly Placement[] },
      changed: readonly ResultRow[] = [],
    ): StaleSession[] {
      const limit = watermark
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

/** Aggregates sessions in bounded steps, so that appends run between them. */
export function createAggregation(
  database: Pick<DataFile, 'write'>,
  tracker: AggregateTracker,
  checkpoints: Pick<Checkpoints, 'run'>,
  options: AggregationOptions & Pick<DataFileOptions, 'file' | 'clock' | 'now' | 'log'>,
) {
  const { file, clock, now, log, settled_ms = 2 * 3_600_000, aggregate_ms = 600_000 } = options
  let nextStepAt = clock() + Math.min(aggregate_ms, FIRST_AGGREGATION_MS)

  const step = async (target: Date): Promise<boolean> => {
    const { deleted, more } = await database.write((writer) => tracker.step(writer, target))
    // A delete must not be replayed from the log.
    if (deleted) await checkpoints.run()
    return more
  }

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
        log('warn', `${file}: sessions could not be aggregated; this will be tried again`, error)
      }
    },
  }
}
