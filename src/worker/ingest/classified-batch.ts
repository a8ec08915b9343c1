import type { Verdict } from '../../agents/verdict.js'
import type { DropCounts, EndpointDrop } from '../../storage/drops.js'
import {
  type Addition,
  type AgentEventRow,
  BROWSER_COLUMNS,
  type EventRow,
  type Rows,
  SERVER_COLUMNS,
  type ViewKey,
} from '../../storage/rows.js'
import type { UnplacedRow } from './late-rows.js'
import type { PendingView } from './view-memory.js'
import type { VisitorIds } from './visitor-ids.js'

/** An agent's row that may still be verified. `verdict` never rejects and resolves in bounded time (src/agents/verdict.ts). */
export interface PendingVerification {
  row: AgentEventRow
  verdict: Promise<Verdict>
}

/** The row of one half of a view whose other half may be stored already, before the time that memory covers. */
export interface UnmatchedView {
  row: EventRow
  visitor: VisitorIds
  reportedBy: 'server' | 'browser'
  view: PendingView
}

/** The result of classifying a batch. */
export interface ClassifiedBatch {
  rows: Rows
  drops: DropCounts
  /** The drops that came in at an ingest endpoint for a site. */
  endpointDrops: EndpointDrop[]
  pendingVerifications: PendingVerification[]
  /** Rows whose session the store must tell before they are stored. */
  unplacedRows: UnplacedRow[]
  /** Columns to add to rows that are stored already. */
  additions: Addition[]
  /** Rows of which the store must tell whether they are added to stored rows instead. */
  unmatchedViews: UnmatchedView[]
  /** People's requests for pages that do not exist: stored without a session, because nothing was seen. */
  missingPages: EventRow[]
}

/** A batch while it is being classified. */
export interface BatchDraft
  extends Pick<ClassifiedBatch, 'rows' | 'pendingVerifications' | 'unplacedRows' | 'additions' | 'missingPages'> {
  unmatchedViews: Map<EventRow, UnmatchedView>
  /** Rows of this batch by the half of a view that they are. */
  viewRows: Map<PendingView, EventRow>
}

export const createBatchDraft = (): BatchDraft => ({
  rows: { events: [], agent_events: [] },
  pendingVerifications: [],
  unplacedRows: [],
  additions: [],
  missingPages: [],
  unmatchedViews: new Map(),
  viewRows: new Map(),
})

type ViewColumns = Partial<Omit<Addition, 'to'>>

/** Adds what the second half of a view reports to its row: in this batch, or in the store when the batch is committed. */
export function completeView(
  draft: BatchDraft,
  view: PendingView,
  { site, hostname }: { site: { id: number }; hostname: string },
  reported: ViewColumns,
): void {
  const row = draft.viewRows.get(view)
  if (row === undefined) {
    const { visitor_id, pathname, at } = view
    const key = { site_id: site.id, visitor_id, timestamp: new Date(at), hostname, pathname }
    draft.additions.push(createAddition(key, reported))
    return
  }
  for (const column of [...BROWSER_COLUMNS, ...SERVER_COLUMNS]) {
    const value = reported[column]
    if (value !== undefined && value !== null) Object.assign(row, { [column]: value })
  }
  row.recorded_by = 'browser'
  draft.unmatchedViews.delete(row)
}

/** Returns what is added to a stored row; columns that are not reported are null. */
export const createAddition = (to: ViewKey, reported: ViewColumns): Addition => ({
  to,
  screen_class: reported.screen_class ?? null,
  language: reported.language ?? null,
  timezone: reported.timezone ?? null,
  identified_id: reported.identified_id ?? null,
  props: reported.props ?? null,
  traits: reported.traits ?? null,
  vitals: reported.vitals ?? null,
  status: reported.status ?? null,
  duration_ms: reported.duration_ms ?? null,
})
