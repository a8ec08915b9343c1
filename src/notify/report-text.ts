import { z } from 'zod'
import { type Deps, type Read, runRead } from '../query/read.js'
import breakdown from '../reads/stats/breakdown.js'
import overview from '../reads/stats/overview.js'
import { clean } from './clean.js'
import type { Ended } from './report-period.js'

const Totals = z.record(z.string(), z.unknown())
const Compared = Totals.transform((row) => ({ row, change: Totals.catch({}).parse(row.change) }))
const Ranked = z.array(z.looseObject({ value: z.string().optional() }).transform((row) => Compared.parse(row)))

const COUNT = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const SHARE = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 })
const CHANGE = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' })

const PEOPLE = [
  ['Visitors', 'visitors', COUNT],
  ['Sessions', 'sessions', COUNT],
  ['Pageviews', 'pageviews', COUNT],
  ['Bounce rate', 'bounce', SHARE],
] as const
const AGENTS = [
  ['Fetches', 'fetches', COUNT],
  ['Agents', 'agents', COUNT],
  ['Pages read', 'pageviews', COUNT],
  ['Verified', 'verified', SHARE],
] as const

const TOP = 5
const WIDE = 38

/** A site's week or month as plain text: people on the left, agents on the right. Throws what the reads throw. */
export async function reportText(
  { site, ended, tz }: { site: { id: number; name: string }; ended: Ended; tz: string },
  deps: Deps,
): Promise<string> {
  const ask = (read: Read, audience: string, more: Readonly<Record<string, string>> = {}) => {
    const window = { start: ended.start.toISOString(), end: ended.end.toISOString() }
    const query = new URLSearchParams({ site: String(site.id), ...window, compare: 'previous', audience, ...more })
    return runRead(read, query, deps)
  }
  const pages = { dimension: 'pathname', limit: String(TOP) }
  const people = Compared.parse((await ask(overview, 'human')).data)
  const agents = Compared.parse((await ask(overview, 'agent')).data)
  const read = Ranked.parse((await ask(breakdown, 'human', pages)).data)
  const fetched = Ranked.parse((await ask(breakdown, 'agent', pages)).data)
  return [
    `${site.name}, ${ended.days} (${tz})`,
    'In brackets: the change against as long a time before.',
    '',
    ...beside(
      ['PEOPLE', ...PEOPLE.map(([title, name, format]) => figure(title, people, name, format))],
      ['AGENTS', ...AGENTS.map(([title, name, format]) => figure(title, agents, name, format))],
    ),
    '',
    ...beside(
      ['Most read by people (pageviews)', ...ranked(read, 'pageviews')],
      ['Most fetched by agents (fetches)', ...ranked(fetched, 'fetches')],
    ),
  ].join('\n')
}

type Row = z.output<typeof Compared>

/** A metric that cannot be computed has a dash: it is not zero. */
const numberOf = (row: Readonly<Record<string, unknown>>, name: string, format: Intl.NumberFormat): string => {
  const value = row[name]
  return typeof value === 'number' ? format.format(value) : '-'
}
const figure = (title: string, { row, change }: Row, name: string, format: Intl.NumberFormat): string => {
  const than = change[name]
  return `${title.padEnd(12)}${numberOf(row, name, format).padStart(11)}${typeof than === 'number' ? `  (${CHANGE.format(than)})` : ''}`
}
const ranked = (rows: readonly Row[], name: string): string[] =>
  rows.length === 0
    ? ['none']
    : rows.map(
        ({ row }) => `${numberOf(row, name, COUNT).padStart(9)}  ${clean(String(row.value ?? '(none)'), WIDE - 13)}`,
      )

const beside = (left: readonly string[], right: readonly string[]): string[] =>
  Array.from({ length: Math.max(left.length, right.length) }, (_, i) =>
    `${(left[i] ?? '').padEnd(WIDE)}  ${right[i] ?? ''}`.trimEnd(),
  )
