import type { Item, List } from './item.js'
import type { Row } from './line.js'

/** Of each array (spec 8). */
export const MOST_ROWS = 500
/** Of the body, 2 MB less what stands around the rows. */
const MOST_BYTES = 2_000_000 - 1_000

export interface Batch {
  /** Of its last row: what the collector knows the delivery by. */
  readonly number: number
  readonly rows: readonly Row[]
}

/** The first of `rows` that go together, at most `most` of them; at least one, where there is any. */
export function batchOf(rows: readonly Row[], most: number): Batch | undefined {
  const counts: Record<List, number> = { agent_events: 0, events: 0, hits: 0 }
  let bytes = 0
  let count = 0
  for (const { list, json } of rows) {
    if (count >= most || counts[list] >= MOST_ROWS) break
    bytes += Buffer.byteLength(json) + 1
    if (bytes > MOST_BYTES && count > 0) break
    counts[list] += 1
    count += 1
  }
  const last = rows[count - 1]
  return last === undefined ? undefined : { number: last.number, rows: rows.slice(0, count) }
}

/** The body of a delivery (spec 2.5, with `batch` and `hits`); the rows' JSON goes into it as it is. */
export function bodyOf(
  { number, rows }: { number: number; rows: readonly Item[] },
  { site, sender }: { site: number; sender: string },
): string {
  const list = (name: List) => `[${rows.flatMap((row) => (row.list === name ? row.json : [])).join(',')}]`
  const hits = rows.some((row) => row.list === 'hits') ? `,"hits":${list('hits')}` : ''
  const batch = JSON.stringify({ sender, number })
  return `{"site_id":${site},"batch":${batch},"agent_events":${list('agent_events')},"events":${list('events')}${hits}}`
}
