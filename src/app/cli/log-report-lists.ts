import { formatNumber } from '../../analytics/export/format.js'
import { formatBytes } from '../../base/format-bytes.js'
import { countryName } from '../../history/log-report/country-name.js'
import type { LogReport } from '../../history/log-report/report.js'
import { sparkline } from './charts.js'
import { escapeText, pathText } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { cutMiddle, textWidth } from './text-width.js'

/** A list of the screen: a number, already written, and what it counts. */
export interface ScreenList {
  readonly title: string
  readonly rows: readonly (readonly [number: string, name: string])[]
  /** Said instead of rows; a list that has neither is left out. */
  readonly empty?: string
}

/** Formats a list within a number of columns; names are cut in the middle. */
export function formatList(
  screen: Pick<Terminal, 'colour'> & { columns: number },
  { title, rows, empty = '' }: ScreenList,
  limit: number,
): string[] {
  const head = style(screen, 'bold', title)
  if (rows.length === 0) return [head, style(screen, 'dim', empty)]
  const shown = rows.slice(0, limit)
  const width = Math.max(...shown.map(([number]) => textWidth(number)))
  return [
    head,
    ...shown.map(([number, name]) => {
      const space = ' '.repeat(width - textWidth(number))
      return `${space}${number}  ${cutMiddle(escapeText(name), screen.columns - width - 2)}`
    }),
  ]
}

const named = (rows: readonly { name: string; pageviews: number }[] = [], nameOf = (name: string) => name) =>
  rows.map(({ name, pageviews }) => [formatNumber(pageviews), nameOf(name)] as const)

/** Lists about people: their pages, errors, sources, and what they came with. */
export const peopleLists = (report: LogReport): ScreenList[] =>
  [
    {
      title: 'Pages that people viewed',
      rows: report.pages.map(({ pageviews, pathname }) => [formatNumber(pageviews), pathText(pathname)] as const),
    },
    {
      title: 'Errors that people met',
      rows: report.people_errors.map(
        ({ requests, status, pathname }) => [`${formatNumber(requests)} × ${status}`, pathText(pathname)] as const,
      ),
      empty: 'none',
    },
    { title: 'Referrers, by pageviews', rows: named(report.referrers), empty: 'none from another site' },
    { title: 'Countries, by pageviews', rows: named(report.countries, countryName) },
    { title: 'Browsers, by pageviews', rows: named(report.browsers) },
    { title: 'Systems, by pageviews', rows: named(report.systems) },
  ].filter(hasContent)

/** Lists about the server: what it returned, under which names, and what that cost. */
export const serverLists = ({ statuses, hosts, bandwidth, assets, addresses }: LogReport): ScreenList[] =>
  [
    {
      title: 'Bytes by URL',
      rows: bandwidth.map(({ bytes, pathname }) => [formatBytes(bytes), pathText(pathname)] as const),
    },
    {
      title: 'Assets, by requests of people',
      rows: assets.map(({ requests, pathname }) => [formatNumber(requests), pathText(pathname)] as const),
    },
    {
      title: 'Status codes, people and agents',
      rows: statuses.map(
        ({ status, people, agents }) =>
          [formatNumber(people + agents), `${status}: ${formatNumber(people)} and ${formatNumber(agents)}`] as const,
      ),
    },
    { title: 'Hostnames, people and agents', rows: ofBoth(hosts, ({ hostname }) => hostname) },
    {
      title: 'Addresses, people and agents',
      rows: ofBoth(addresses ?? [], ({ address, bytes }) => `${address} (${formatBytes(bytes)})`),
    },
  ].filter(hasContent)

const ofBoth = <R extends { people: number; agents: number }>(rows: readonly R[], nameOf: (row: R) => string) =>
  rows.map(
    (row) =>
      [
        formatNumber(row.people + row.agents),
        `${nameOf(row)}: ${formatNumber(row.people)} and ${formatNumber(row.agents)}`,
      ] as const,
  )

const hasContent = ({ rows, empty }: ScreenList) => rows.length > 0 || empty !== undefined

/** Draws the hours of the day, 0 to 23, for people and agents, each on its own scale. */
export const hourLines = (screen: Pick<Terminal, 'colour'>, { hours, tz }: LogReport): string[] => [
  `${style(screen, 'bold', 'Hours of the day')} ${style(screen, 'dim', tz)}`,
  `people  ${sparkline(hours.map(({ pageviews }) => pageviews))}`,
  `agents  ${sparkline(hours.map(({ requests }) => requests))}`,
  style(screen, 'dim', '        0     6     12    18'),
]
