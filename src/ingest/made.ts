import { type Addition, BROWSERS, type EventRow, type Rows, SERVERS, type ViewKey } from '../rows.js'
import type { Waiting } from './browsing.js'
import type { Open, Unsure } from './classifier.js'
import type { Unplaced } from './late.js'

/** What a batch has become so far. */
export interface Made {
  rows: Rows
  open: Open[]
  unplaced: Unplaced[]
  additions: Addition[]
  unsure: Map<EventRow, Unsure>
  /** Rows of this batch, by the half of a view that they are. */
  fresh: Map<Waiting, EventRow>
}

export const newMade = (): Made => ({
  rows: { events: [], agent_events: [] },
  open: [],
  unplaced: [],
  additions: [],
  unsure: new Map(),
  fresh: new Map(),
})

type Said = Partial<Omit<Addition, 'to'>>

/** Gives the row of a view what its other half says of it: in this batch, or with its commit in the store. */
export function complete(
  made: Made,
  view: Waiting,
  page: { site: { id: number } } & Pick<ViewKey, 'hostname'>,
  said: Said,
): void {
  const row = made.fresh.get(view)
  if (row === undefined) {
    const { hostname, site } = page
    const { visitor_id, pathname, at } = view
    made.additions.push(additionTo({ site_id: site.id, visitor_id, timestamp: new Date(at), hostname, pathname }, said))
    return
  }
  for (const column of [...BROWSERS, ...SERVERS]) {
    const value = said[column]
    if (value !== undefined && value !== null) Object.assign(row, { [column]: value })
  }
  row.recorded_by = 'browser'
  made.unsure.delete(row)
}

/** What is added to a stored row; what is not said is null. */
export const additionTo = (to: ViewKey, said: Said): Addition => ({
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
