import { DAY_MS } from '../../base/time-units.js'
import { COLUMN_TYPES, type PlainType, VITAL_COLUMNS } from '../columns.js'
import { PAGE_EDITION_TYPES } from '../page-samples.js'

/** A type of a copied column. JSON is copied as text. */
export type CopiedType = PlainType | 'double'

/** A table of events that is copied, with its columns in the order of `Cells`. */
export interface CopiedTable {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: CopiedType }[]
  /** Whether the table is copied by days of `timestamp`; otherwise as a whole, as its only unit. */
  readonly byDay: boolean
}

/** The values of a row as text, in the order of the columns. */
export type Cells = readonly (string | null)[]

const listRowColumns = (table: keyof typeof COLUMN_TYPES): CopiedTable['columns'] =>
  Object.entries(COLUMN_TYPES[table]).flatMap(([name, type]): CopiedTable['columns'] =>
    type === 'vitals'
      ? VITAL_COLUMNS.map((vital) => ({ name: vital, type: 'double' }))
      : [{ name, type: type === 'json' ? 'varchar' : type }],
  )

export const COPIED_TABLES: readonly CopiedTable[] = [
  { name: 'events', columns: listRowColumns('events'), byDay: true },
  { name: 'loose_reports', columns: listRowColumns('loose_reports'), byDay: true },
  { name: 'agent_events', columns: listRowColumns('agent_events'), byDay: true },
  {
    name: 'sitemap_urls',
    columns: [
      { name: 'hostname', type: 'varchar' },
      { name: 'pathname', type: 'varchar' },
      { name: 'lastmod', type: 'timestamp' },
    ],
    byDay: false,
  },
  {
    name: 'page_samples',
    columns: Object.entries(PAGE_EDITION_TYPES).map(([name, type]) => ({ name, type })),
    byDay: false,
  },
  {
    name: 'deliveries',
    columns: [
      { name: 'site_id', type: 'integer' },
      { name: 'signature', type: 'varchar' },
      { name: 'sender', type: 'varchar' },
      { name: 'number', type: 'bigint' },
      { name: 'accepted_at', type: 'timestamp' },
    ],
    byDay: false,
  },
]

/** A part that is copied and verified as one: a day (UTC) of a table, or a table that has no days (day 0). */
export interface Unit {
  readonly table: CopiedTable
  /** Days since 1970. */
  readonly day: number
}

/** How a message names a unit. */
export const formatUnit = ({ table, day }: Unit): string =>
  table.byDay ? `${table.name} of ${new Date(day * DAY_MS).toISOString().slice(0, 10)}` : table.name
