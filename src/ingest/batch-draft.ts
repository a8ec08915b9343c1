import { type Addition, BROWSER_COLUMNS, type EventRow, type Rows, SERVER_COLUMNS, type ViewKey } from '../rows.js'
import type { PendingVerification, UnmatchedView } from './classified-batch.js'
import type { UnplacedRow } from './late-rows.js'
import type { PendingView } from './view-memory.js'

/** What a batch has become so far. */
export interface BatchDraft {
  rows: Rows
  pendingVerifications: PendingVerification[]
  unplaced: UnplacedRow[]
  additions: Addition[]
  unsure: Map<EventRow, UnmatchedView>
  /** Rows of this batch, by the half of a view that they are. */
  viewRows: Map<PendingView, EventRow>
}

export const createBatchDraft = (): BatchDraft => ({
  rows: { events: [], agent_events: [] },
  pendingVerifications: [],
  unplaced: [],
  additions: [],
  unsure: new Map(),
  viewRows: new Map(),
})

type ViewColumns = Partial<Omit<Addition, 'to'>>

/** Gives the row of a view what its other half says of it: in this batch, or with its commit in the store. */
export function completeView(
  made: BatchDraft,
  view: PendingView,
  page: { site: { id: number } } & Pick<ViewKey, 'hostname'>,
  said: ViewColumns,
): void {
  const row = made.viewRows.get(view)
  if (row === undefined) {
    const { hostname, site } = page
    const { visitor_id, pathname, at } = view
    made.additions.push(
      createAddition({ site_id: site.id, visitor_id, timestamp: new Date(at), hostname, pathname }, said),
    )
    return
  }
  for (const column of [...BROWSER_COLUMNS, ...SERVER_COLUMNS]) {
    const value = said[column]
    if (value !== undefined && value !== null) Object.assign(row, { [column]: value })
  }
  row.recorded_by = 'browser'
  made.unsure.delete(row)
}

/** What is added to a stored row; what is not said is null. */
export const createAddition = (to: ViewKey, said: ViewColumns): Addition => ({
  to,
  screen_class: said.screen_class ?? null,
  language: said.language ?? null,
  timezone: said.timezone ?? null,
  identified_id: said.identified_id ?? null,
  props: said.props ?? null,
  traits: said.traits ?? null,
  vitals: said.vitals ?? null,
  status: said.status ?? null,
  duration_ms: said.duration_ms ?? null,
})
