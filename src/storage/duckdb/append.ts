import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import type { AggregateTracker, ChangedDay, StaleSession } from '../aggregates/aggregation.js'
import { COLUMN_TYPES } from '../columns.js'
import { type CommitPosition, formatCommitPosition } from '../commit-position.js'
import type { EdgeDelivery } from '../edge-delivery.js'
import type { LateVerdict, StoredChanges } from '../event-store.js'
import type { EventRow, LooseReport, Rows } from '../rows.js'
import { sql } from '../sql.js'
import { inTransaction, runQuery, toTimestamp } from './query.js'
import { appendRows } from './row-appender.js'
import { buildPlacements, buildSessionMoves, buildVerdictUpdate, buildViewAdditions } from './row-updates.js'
import type { Change } from './shared-reads.js'

/** The changes of a commit, and the number of its additions that found no stored view. */
interface Committed {
  changes: Change[]
  lost: number
}

/** Changes stored rows, then appends rows, deliveries and the position, in one transaction. */
export const appendCommit = (
  writer: DuckDBConnection,
  aggregates: AggregateTracker<DuckDBConnection>,
  rows: Rows,
  position: CommitPosition | undefined,
  { moves = [], placements = [], loose = [], additions = [], deliveries = [] }: StoredChanges,
): Promise<Committed> =>
  withAppenders(writer, async (appender) => {
    if (moves.length > 0) await runQuery(writer, buildSessionMoves(moves))
    const changed = additions.length > 0 ? await runQuery(writer, buildViewAdditions(additions)) : []
    if (placements.length > 0) for (const statement of buildPlacements(placements)) await runQuery(writer, statement)
    const stale = aggregates.findStale(rows.events, { moves, placements }, changed)
    if (rows.events.length > 0) {
      appendRows(await appender('events'), 'events', COLUMN_TYPES.events, rows.events)
    }
    if (loose.length > 0)
      appendRows(
        await appender('loose_reports'),
        'loose_reports',
        COLUMN_TYPES.loose_reports,
        loose.map(withoutSession),
      )
    if (rows.agent_events.length > 0) {
      appendRows(await appender('agent_events'), 'agent_events', COLUMN_TYPES.agent_events, rows.agent_events)
    }
    if (stale.length > 0) appendStale(await appender('stale_sessions'), stale)
    const days = aggregates.findChangedDays(rows, { moves })
    if (days.length > 0) appendChangedDays(await appender('daily_changed'), days)
    if (deliveries.length > 0) appendDeliveries(await appender('deliveries'), deliveries)
    if (position) {
      const commits = await appender('commits')
      commits.appendVarchar(position.run)
      commits.appendBigInt(BigInt(position.sequence))
      commits.appendVarchar(formatCommitPosition(position))
      commits.endRow()
    }
    const changes = listChanges([
      ...[rows.events, rows.agent_events, loose, changed.map((row) => ChangedRow.parse(row))].flat(),
      ...additions.map(({ to }) => to),
      // Sessions that these rows were in may have begun at any time.
      ...moves.map(({ site_id }) => ({ site_id, timestamp: BEGINNING_OF_TIME })),
      ...placements.map(({ key: { site_id } }) => ({ site_id, timestamp: BEGINNING_OF_TIME })),
    ])
    return { changes, lost: additions.length - changed.length }
  })

const BEGINNING_OF_TIME = new Date(0)
/** A session without a start is one of every time. */
const ChangedRow = z.object({
  site_id: z.int(),
  session_start: z
    .date()
    .nullable()
    .transform((at) => at ?? BEGINNING_OF_TIME),
})

/** The earliest change of each site. A row changes what is said about its whole session. */
function listChanges(rows: readonly { site_id: number; timestamp?: Date; session_start?: Date | null }[]): Change[] {
  const earliest = new Map<number, number>()
  for (const { site_id, timestamp, session_start } of rows) {
    const at = Math.min(timestamp?.getTime() ?? Infinity, session_start?.getTime() ?? Infinity)
    earliest.set(site_id, Math.min(at, earliest.get(site_id) ?? Infinity))
  }
  return [...earliest].map(([site, at]) => ({ site, since: new Date(at) }))
}

const NO_SESSION = {
  session_id: null,
  session_start: null,
  entry_page: null,
  referrer: null,
  source: null,
  channel: null,
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_content: null,
  utm_term: null,
}
const withoutSession = (row: EventRow): LooseReport => ({ ...row, ...NO_SESSION })

/** Gives rows verdicts that came late. */
export const storeVerdicts = (
  writer: DuckDBConnection,
  aggregates: AggregateTracker<DuckDBConnection>,
  verdicts: readonly LateVerdict[],
): Promise<void> =>
  withAppenders(writer, async (appender) => {
    await runQuery(writer, buildVerdictUpdate(verdicts))
    const days = aggregates.findChangedDays({}, { verdicts })
    if (days.length > 0) appendChangedDays(await appender('daily_changed'), days)
  })

/** Replaces the stored URLs of a hostname's sitemaps. */
export const replaceSitemapRows = (
  writer: DuckDBConnection,
  hostname: string,
  urls: readonly { pathname: string; lastmod: Date | null }[],
): Promise<void> =>
  withAppenders(writer, async (appender) => {
    await runQuery(writer, sql`delete from sitemap_urls where hostname = ${hostname}`)
    const rows = await appender('sitemap_urls')
    for (const { pathname, lastmod } of urls) {
      rows.appendVarchar(hostname)
      rows.appendVarchar(pathname)
      if (lastmod === null) rows.appendNull()
      else rows.appendTimestamp(toTimestamp(lastmod))
      rows.endRow()
    }
  })

/** Runs `work` in a transaction, and flushes the appenders that it requests before the commit. */
async function withAppenders<T>(
  writer: DuckDBConnection,
  work: (appender: (table: string) => Promise<DuckDBAppender>) => Promise<T>,
): Promise<T> {
  const appenders: DuckDBAppender[] = []
  return inTransaction(writer, async () => {
    try {
      const result = await work(async (table) => {
        const appender = await writer.createAppender(table)
        appenders.push(appender)
        return appender
      })
      for (const appender of appenders) appender.closeSync()
      return result
    } catch (error) {
      for (const appender of appenders) discard(appender)
      throw error
    }
  })
}

/** Empties an appender that failed: it keeps its rows and would write them a second time when it is collected. */
function discard(appender: DuckDBAppender): void {
  try {
    appender.clear()
    appender.closeSync()
  } catch {
    // The appender was closed, or its connection is gone, and its rows with it.
  }
}

/** Appends to `stale_sessions`; a session that is in the table already may be added again. */
function appendStale(appender: DuckDBAppender, sessions: readonly StaleSession[]): void {
  for (const { site_id, session_id, session_start } of sessions) {
    appender.appendInteger(site_id)
    appender.appendUBigInt(session_id)
    appender.appendTimestamp(toTimestamp(session_start))
    appender.endRow()
  }
}

function appendChangedDays(appender: DuckDBAppender, days: readonly ChangedDay[]): void {
  for (const { site_id, day } of days) {
    appender.appendInteger(site_id)
    appender.appendTimestamp(toTimestamp(day))
    appender.endRow()
  }
}

function appendDeliveries(appender: DuckDBAppender, deliveries: readonly EdgeDelivery[]): void {
  const appendText = (value: string | null) => (value === null ? appender.appendNull() : appender.appendVarchar(value))
  for (const { site_id, signature, sender, number, accepted_at } of deliveries) {
    appender.appendInteger(site_id)
    appendText(signature)
    appendText(sender)
    if (number === null) appender.appendNull()
    else appender.appendBigInt(BigInt(number))
    appender.appendTimestamp(toTimestamp(new Date(accepted_at)))
    appender.endRow()
  }
}
