import { formatNumber } from '../../analytics/export/format.js'
import { formatBytes } from '../../base/format-bytes.js'
import { countryName } from './country-name.js'
import { type Column, PATH, ROWS, table } from './html-table.js'
import { type Html, html, join } from './markup.js'
import type { LogReport, NamedPageviews } from './report.js'

const number = <R>(title: string, measure: (row: R) => number, format = formatNumber): Column<R> => ({
  title,
  value: (row) => format(measure(row)),
  isNumber: true,
})

/** Sections about people: their pages, errors, sources, places and clients. */
export const peopleSections = (report: LogReport): Html =>
  inHalves([
    pageSection(report),
    errorSection(report),
    named('Referrers', report.referrers),
    named('Countries', report.countries ?? [], countryName),
    named('Browsers', report.browsers),
    named('Systems', report.systems),
  ])

/** Sections about the server: what it returned, under which names, at which hours. */
export const serverSections = (report: LogReport): Html =>
  inHalves([
    list(
      'Bytes by URL',
      report.bandwidth,
      [PATH, number('Bytes', ({ bytes }) => bytes, formatBytes), number('Requests', ({ requests }) => requests)],
      ({ bytes }) => bytes,
    ),
    list(
      'Assets that people loaded most',
      report.assets,
      [PATH, number('Requests', ({ requests }) => requests), number('Bytes', ({ bytes }) => bytes, formatBytes)],
      ({ requests }) => requests,
    ),
    ofBoth('Status codes', 'Status', report.statuses, ({ status }) => String(status)),
    ofBoth('Hostnames', 'Hostname', report.hosts, ({ hostname }) => hostname),
    ofBoth('Addresses', 'Address', report.addresses ?? [], ({ address }) => address),
    list(
      `Hours of the day (${report.tz})`,
      report.hours,
      [
        { title: 'Hour', value: ({ hour }) => `${String(hour).padStart(2, '0')}:00` },
        number('Pageviews', ({ pageviews }) => pageviews),
        number('Agents’ requests', ({ requests }) => requests),
      ],
      ({ pageviews }) => pageviews,
      { limit: 24, kind: 'people' },
    ),
  ])

/** Sets the sections that have rows in pairs. */
const inHalves = (sections: readonly (Html | undefined)[]): Html =>
  html`<div class="halves">${join(sections.flatMap((section) => section ?? []))}</div>`

function list<R>(title: string, rows: readonly R[], ...rest: Rest<R>): Html | undefined {
  const [columns, bars, { limit = ROWS, kind }] = [rest[0], rest[1], rest[2] ?? {}]
  return rows.length === 0 ? undefined : table(title, rows.slice(0, limit), columns, bars, { limit, kind })
}
type Rest<R> = [
  columns: readonly Column<R>[],
  bars: (row: R) => number,
  options?: { limit?: number; kind?: 'agents' | 'people' | undefined },
]

const named = (title: string, rows: readonly NamedPageviews[], nameOf = (name: string) => name): Html | undefined =>
  list(
    title,
    rows,
    [
      { title: title.replace(/ies$/, 'y').replace(/s$/, ''), value: ({ name }) => nameOf(name) },
      number('Pageviews', ({ pageviews }) => pageviews),
    ],
    ({ pageviews }) => pageviews,
    { kind: 'people' },
  )

const ofBoth = <R extends { people: number; agents: number }>(
  title: string,
  column: string,
  rows: readonly R[],
  nameOf: (row: R) => string,
): Html | undefined =>
  list(
    title,
    rows,
    [
      { title: column, value: nameOf },
      number('Of people', ({ people }) => people),
      number('Of agents', ({ agents }) => agents),
    ],
    ({ people, agents }) => people + agents,
  )

const errorSection = ({ people_errors }: LogReport): Html | undefined =>
  list(
    'Errors that people met',
    people_errors,
    [
      PATH,
      { title: 'Status', value: ({ status }) => String(status), isNumber: true },
      number('Requests', ({ requests }) => requests),
    ],
    ({ requests }) => requests,
    { kind: 'people' },
  )

const pageSection = ({ pages }: LogReport): Html =>
  table(
    'Pages that people viewed',
    pages.slice(0, ROWS),
    [
      PATH,
      { title: 'Pageviews', value: ({ pageviews }) => formatNumber(pageviews), isNumber: true },
      { title: 'Agents’ requests', value: ({ requests }) => formatNumber(requests), isNumber: true },
    ],
    ({ pageviews }) => pageviews,
    { kind: 'people' },
  )
