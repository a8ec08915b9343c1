import type { OutgoingRow } from './outgoing-row.js'
import type { RowList } from './row-list.js'
import type { SpooledRow } from './spool-line.js'

/** Rows of each array in one delivery. */
export const MAX_LIST_ROWS = 500
/** Bytes of rows in a body: 2 MB less the text around the rows. */
const MAX_ROW_BYTES = 2_000_000 - 1_000

export interface Batch {
  /** The number of its last row, by which the collector recognises the delivery. */
  readonly number: number
  readonly rows: readonly SpooledRow[]
}

/** Takes the first rows that fit into one delivery, at most `most`; at least one if there is any. */
export function takeBatch(rows: readonly SpooledRow[], most: number): Batch | undefined {
  const counts: Record<RowList, number> = { agent_events: 0, events: 0, hits: 0 }
  let bytes = 0
  let count = 0
  for (const { list, json } of rows) {
    if (count >= most || counts[list] >= MAX_LIST_ROWS) break
    bytes += Buffer.byteLength(json) + 1
    if (bytes > MAX_ROW_BYTES && count > 0) break
    counts[list] += 1
    count += 1
  }
  const last = rows[count - 1]
  return last === undefined ? undefined : { number: last.number, rows: rows.slice(0, count) }
}

/** Formats the body of `POST /api/log/edge`; the rows are JSON already and are inserted unchanged. */
export function formatBody(
  { number, rows }: { number: number; rows: readonly OutgoingRow[] },
  { site, sender }: { site: number; sender: string },
): string {
  const list = (name: RowList) => `[${rows.flatMap((row) => (row.list === name ? row.json : [])).join(',')}]`
  const hits = rows.some((row) => row.list === 'hits') ? `,"hits":${list('hits')}` : ''
  const batch = JSON.stringify({ sender, number })
  return `{"site_id":${site},"batch":${batch},"agent_events":${list('agent_events')},"events":${list('events')}${hits}}`
}
