import { z } from 'zod'
import type { EventRow } from '../../src/storage/rows.js'
import { type AnswerRow, rank } from './compare.js'
import type { recount } from './recount.js'
import { countDistinct, groupBy, isAct, type Key, type Row, type SiteView, withoutAbsent } from './site-rows.js'

type Own = ReturnType<typeof recount>

/** People's metrics by several columns at once, best first, without rows that lack a column of `needs`. */
export function groupedRows(
  own: Own,
  { keyOf }: SiteView,
  columns: readonly string[],
  metrics: readonly string[],
  needs: readonly string[] = [],
  order: readonly string[] = ['visitors', 'pageviews', 'sessions'],
): AnswerRow[] {
  const values = columns.map((name) => keyOf(name))
  const key = (row: Row) => JSON.stringify(values.map((of) => of(row) ?? null))
  const rows = [...own.people(key, key)].map(([name, found]) => {
    const parsed: unknown = JSON.parse(String(name))
    const cells = Array.isArray(parsed) ? parsed : []
    return {
      order: order.map((metric) => found.metrics[metric] ?? 0),
      row: {
        ...withoutAbsent(
          Object.fromEntries(columns.map((column, i): [string, Key] => [column, cells[i] ?? undefined])),
        ),
        ...Object.fromEntries(Object.entries(found.metrics).filter(([metric]) => metrics.includes(metric))),
      } as AnswerRow,
    }
  })
  return rank(
    rows.filter(({ row }) => needs.every((column) => row[column] !== undefined)),
    ({ order }) => order,
    ({ row }) => columns.map((column) => row[column]),
  ).map(({ row }) => row)
}

const MAX_KEYS = 20
/** `stats/events`: interactive events by kind and name, with their properties. */
export function events(
  { hitsInWindow: hits }: SiteView,
  name: string | undefined,
  property: string | undefined,
): AnswerRow[] {
  const nameOf = (row: EventRow) => row.event_name ?? row.kind
  const acts = hits.filter((row) => isAct(row) && (name === undefined || nameOf(row) === name))
  const found = [...groupBy(acts, (row) => JSON.stringify([row.kind, nameOf(row)])).values()].flatMap((rows) =>
    rows[0]
      ? [
          {
            ...{ kind: rows[0].kind, name: nameOf(rows[0]), events: rows.length },
            visitors: countDistinct(rows, (row) => row.visitor_id),
            properties: properties(rows, property),
          },
        ]
      : [],
  )
  return rank(
    found,
    (row) => [row.events, row.visitors],
    (row) => [row.name, row.kind],
  )
}

/** The most frequent keys, and the most frequent values of each. */
function properties(rows: readonly EventRow[], only: string | undefined): AnswerRow[] {
  const pairs = rows.flatMap(({ props }) => {
    // Half a surrogate pair is not JSON to the store, so the row has no properties.
    if (props === null || /\\ud[89a-f]/i.test(props)) return []
    const parsed: unknown = JSON.parse(props)
    return Object.entries(Object(parsed)).flatMap(([key, value]) =>
      value === null || (only !== undefined && key !== only)
        ? []
        : [{ key, value: typeof value === 'string' ? value : JSON.stringify(value) }],
    )
  })
  const keys = rank(
    [...groupBy(pairs, ({ key }) => key)],
    ([, all]) => [all.length],
    ([key]) => [key],
  )
  return keys.slice(0, MAX_KEYS).map(([key, all]) => {
    const values = [...groupBy(all, ({ value }) => value)].map(([value, same]) => ({ value, events: same.length }))
    const best = rank(
      values,
      ({ events }) => [events],
      ({ value }) => [value],
    )
    return { key, values: best.slice(0, only === undefined ? 10 : 100) }
  })
}

const PlaceRows = z.array(z.record(z.string(), z.unknown()))
const PlaceTables = z.object({ countries: PlaceRows, regions: PlaceRows, cities: PlaceRows })
/** A list in which no row has the place that it is about is empty. */
export const withoutUnknownPlaces = (data: unknown) => {
  const { countries, regions, cities } = PlaceTables.parse(data)
  return {
    countries,
    regions: regions.some(({ region }) => region !== undefined) ? regions : [],
    cities: cities.some(({ city }) => city !== undefined) ? cities : [],
  }
}
