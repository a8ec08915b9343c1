import type { EventRow } from '../../src/record/row.js'
import { type Named, ranked } from './beside.js'
import type { recount } from './recount.js'
import { absent, distinct, group, isAct, type Key, type Row, type Scene } from './site.js'

type Own = ReturnType<typeof recount>

/** People's metrics by several columns at once, best first; without the rows that lack a column of `needs`. */
export function grouped(
  own: Own,
  { keyOf }: Scene,
  columns: readonly string[],
  metrics: readonly string[],
  needs: readonly string[] = [],
): Named[] {
  const values = columns.map((name) => keyOf(name))
  const key = (row: Row) => JSON.stringify(values.map((of) => of(row) ?? null))
  const rows = [...own.people(key, key)].map(([name, found]) => {
    const parsed: unknown = JSON.parse(String(name))
    const cells = Array.isArray(parsed) ? parsed : []
    return {
      order: ['visitors', 'pageviews', 'sessions'].map((metric) => found.metrics[metric] ?? 0),
      row: {
        ...absent(Object.fromEntries(columns.map((column, i): [string, Key] => [column, cells[i] ?? undefined]))),
        ...Object.fromEntries(Object.entries(found.metrics).filter(([metric]) => metrics.includes(metric))),
      } as Named,
    }
  })
  return ranked(
    rows.filter(({ row }) => needs.every((column) => row[column] !== undefined)),
    ({ order }) => order,
    ({ row }) => columns.map((column) => row[column]),
  ).map(({ row }) => row)
}

/** `stats/events`: what people did beside reading, by kind and name. */
export function events({ hits }: Scene): { kind: string; name: string | null; rows: EventRow[] }[] {
  const found = [...group(hits.filter(isAct), (row) => JSON.stringify([row.kind, row.event_name])).values()]
  return ranked(
    found.flatMap((rows) => (rows[0] ? [{ kind: rows[0].kind, name: rows[0].event_name, rows }] : [])),
    ({ rows }) => [rows.length, distinct(rows, (row) => row.visitor_id)],
    ({ kind, name }) => [kind, name ?? undefined],
  )
}
