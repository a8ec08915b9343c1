import { z } from 'zod'
import { type ReadDependencies, runRead } from '../../analytics/query/prepare-read.js'
import type { Read } from '../../analytics/query/read.js'
import breakdown from '../../analytics/reads/stats/breakdown.js'
import overview from '../../analytics/reads/stats/overview.js'
import type { EndedPeriod } from './report-period.js'
import { sanitiseLine } from './sanitise.js'

const Totals = z.record(z.string(), z.unknown())
const ComparedRow = Totals.transform((row) => ({ row, change: Totals.catch({}).parse(row.change) }))
const RankedRows = z.array(z.looseObject({ value: z.string().optional() }).transform((row) => ComparedRow.parse(row)))

const COUNT = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const SHARE = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 })
const CHANGE = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' })

const PEOPLE = [
  ['People', 'visitors', COUNT],
  ['Visits', 'sessions', COUNT],
  ['Pageviews', 'pageviews', COUNT],
  ['Bounce rate', 'bounce', SHARE],
] as const
const AGENTS = [
  ['Fetches', 'fetches', COUNT],
  ['Agents', 'agents', COUNT],
  ['Reads', 'pageviews', COUNT],
  ['Verified share', 'verified', SHARE],
  ['Verified', 'verified_fetches', COUNT],
  ['Spoofed', 'spoofed', COUNT],
  ['Indeterminate', 'indeterminate', COUNT],
] as const

const TOP_PAGES = 5
const COLUMN_CHARACTERS = 38

/** Writes a site's week or month as plain text: people on the left, agents on the right. Throws what the reads throw. */
export async function reportText(
  { site, ended, tz }: { site: { id: number; name: string }; ended: EndedPeriod; tz: string },
  deps: ReadDependencies,
): Promise<string> {
  const ask = (read: Read, audience: string, more: Readonly<Record<string, string>> = {}) => {
    const window = { start: ended.start.toISOString(), end: ended.end.toISOString() }
    const query = new URLSearchParams({ site: String(site.id), ...window, compare: 'previous', audience, ...more })
    return runRead(read, query, deps)
  }
  const pages = { dimension: 'pathname', limit: String(TOP_PAGES) }
  const people = ComparedRow.parse((await ask(overview, 'human')).data)
  const agents = ComparedRow.parse((await ask(overview, 'agent')).data)
  const read = RankedRows.parse((await ask(breakdown, 'human', pages)).data)
  const fetched = RankedRows.parse((await ask(breakdown, 'agent', pages)).data)
  return [
    `${site.name}, ${ended.days} (${tz})`,
    'In brackets: the change against the period before.',
    '',
    ...joinColumns(
      ['PEOPLE', ...PEOPLE.map(([title, name, format]) => formatFigure(title, people, name, format))],
      ['AGENTS', ...AGENTS.map(([title, name, format]) => formatFigure(title, agents, name, format))],
    ),
    '',
    ...joinColumns(
      ['Most viewed by people (pageviews)', ...formatRanking(read, 'pageviews')],
      ['Most fetched by agents (fetches)', ...formatRanking(fetched, 'fetches')],
    ),
  ].join('\n')
}

type Row = z.output<typeof ComparedRow>

/** Formats a metric; one that cannot be computed shows as a dash, not as zero. */
const formatMetric = (row: Readonly<Record<string, unknown>>, name: string, format: Intl.NumberFormat): string => {
  const value = row[name]
  return typeof value === 'number' ? format.format(value) : '-'
}
const formatFigure = (title: string, { row, change }: Row, name: string, format: Intl.NumberFormat): string => {
  const than = change[name]
  return `${title.padEnd(14)}${formatMetric(row, name, format).padStart(11)}${typeof than === 'number' ? `  (${CHANGE.format(than)})` : ''}`
}
const formatRanking = (rows: readonly Row[], name: string): string[] =>
  rows.length === 0
    ? ['none']
    : rows.map(
        ({ row }) =>
          `${formatMetric(row, name, COUNT).padStart(9)}  ${sanitiseLine(String(row.value ?? '(none)'), COLUMN_CHARACTERS - 13)}`,
      )

const joinColumns = (left: readonly string[], right: readonly string[]): string[] =>
  Array.from({ length: Math.max(left.length, right.length) }, (_, i) =>
    `${(left[i] ?? '').padEnd(COLUMN_CHARACTERS)}  ${right[i] ?? ''}`.trimEnd(),
  )
