import { readdir } from 'node:fs/promises'
import { z } from 'zod'
import { formatDuration, formatNumber, formatPercent } from '../../analytics/export/format.js'
import { formatBytes } from '../../base/format-bytes.js'
import { bar, barWidth, sparkline } from './charts.js'
import { type Client, withClient } from './client.js'
import {
  type CommandCall,
  DEFAULT_RANGE,
  defineCommand,
  flag,
  idOf,
  JSON_FLAG,
  printJson,
  queryString,
  RANGE_FLAG,
} from './command.js'
import { escapeText, pathText } from './escape.js'
import { fileOf, outputFlag } from './output-file.js'
import { isSetAside } from './set-aside.js'
import { formatTable, right } from './table.js'
import { Failure, style, type Terminal, withoutStyle } from './terminal.js'

/** Absent if nothing was recorded. */
const count = z.number().optional()
const Sites = z.array(z.object({ id: z.int(), name: z.string() }))
// Loose objects, because `--json` prints the whole responses of the API.
const People = z.looseObject({
  visitors: count,
  sessions: count,
  pageviews: count,
  bounce: count,
  duration: count,
  views_per_session: count,
})
const Agents = z.looseObject({
  fetches: count,
  agents: count,
  bytes: count,
  verified_fetches: count,
  spoofed: count,
  indeterminate: count,
  unverifiable: count,
})
const Violations = z.object({ fetches: count, agents: count })
/** The filter that fetches pass which robots.txt disallowed at the time. */
const DISALLOWED = JSON.stringify([{ dimension: 'robots_allowed', op: 'is', value: false }])
const Series = z.looseObject({
  granularity: z.string(),
  buckets: z.array(z.object({ t: z.string(), value: count })),
})
const Ranked = z.array(z.looseObject({ value: z.string().nullish() }))
type Ranked = z.infer<typeof Ranked>

/** Fetches the parts of the summary from the API, by the name under which `--json` prints them. */
async function fetchSummary(client: Client, site: number, range: string) {
  const read = <T extends z.ZodType>(data: T, path: string, query: Record<string, string> = {}) =>
    client.read(data, 'GET', `/api/${path}${queryString({ site, range, ...query })}`)
  const top = (path: string, dimension: string) => read(Ranked, path, { dimension, limit: '8' })
  return {
    people: await read(People, 'stats/overview'),
    people_series: await read(Series, 'stats/timeseries'),
    pages: await top('stats/breakdown', 'pathname'),
    channels: await top('stats/breakdown', 'channel'),
    agents: await read(Agents, 'agents/overview'),
    violations: await read(Violations, 'agents/overview', { filters: DISALLOWED }),
    agents_series: await read(Series, 'stats/timeseries', { audience: 'agent' }),
    top_agents: await top('agents/breakdown', 'agent_id'),
    fetched: await top('agents/breakdown', 'pathname'),
  }
}
type Summary = Awaited<ReturnType<typeof fetchSummary>>

/** Flags that need a report; the API checks most of their values. */
const ReportFlags = z.object({
  audience: flag('--audience <audience>', 'with a report: human, agent or all', z.string().optional()),
  compare: flag('--compare <range>', 'with a report: previous or year', z.string().optional()),
  dimension: flag('--dimension <name>', 'for the reports breakdown and agents/breakdown', z.string().optional()),
  metric: flag('--metric <name>', 'for the report timeseries', z.string().optional()),
  filters: flag('--filters <json>', 'with a report: filters as in the API', z.string().optional()),
  suspected: flag(
    '--suspected <what>',
    'with a report: exclude visits that agents may have made',
    z.string().optional(),
  ),
  limit: flag(
    '--limit <rows>',
    'with a report: maximum number of rows',
    z
      .string()
      .regex(/^[1-9]\d*$/, 'must be a whole number from 1')
      .optional(),
  ),
})
/** A parameter of one report alone, as the API names it. */
const Parameter = z
  .string()
  .regex(/^[a-z_]+=/, 'must be <name>=<value>')
  .transform((text): [string, string] => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)])

export const stats = defineCommand({
  name: 'stats',
  summary: 'print a summary of people and agents in a time range, or one report',
  examples: [
    { line: 'stats --range 7d', doc: 'the last seven days' },
    { line: 'stats --report pages --output pages.csv', doc: 'the pages that people viewed, for a spreadsheet' },
  ],
  flags: z.object({
    range: RANGE_FLAG,
    site: flag('--site <id>', 'site (default: the only one)', idOf('a site').optional()),
    report: flag(
      '--report <name>',
      'one report, by its name in the API: pages, sources, agents/coverage, …',
      z.string().optional(),
    ),
    output: outputFlag(['csv', 'pdf'], 'write the whole report (default overview) to this file'),
    csv: flag(
      '--csv <file>',
      'the same as CSV, whatever the ending; - for standard output',
      z.string().min(1, 'must be a file, or - for standard output').optional(),
    ),
    pdf: flag('--pdf <file>', 'the same as PDF, whatever the ending', z.string().min(1, 'must be a file').optional()),
    ...ReportFlags.shape,
    param: flag(
      '--param <name=value>',
      'a parameter of the report in the API, such as minutes=30 (may be repeated)',
      z.array(Parameter).optional(),
      true,
    ),
    sql: flag('--sql', 'with --report: run it and print its SQL statements', z.boolean().default(false)),
    json: JSON_FLAG,
  }),
  async run(call) {
    const { flags, terminal } = call
    const { range = DEFAULT_RANGE, site, json, report, output, sql } = flags
    const { csv = fileOf('csv', output), pdf = fileOf('pdf', output) } = flags
    const toFile = csv !== undefined || pdf !== undefined
    const parameters = ReportFlags.parse(flags)
    const given = Object.entries({ ...parameters, param: flags.param }).filter(([, value]) => value !== undefined)
    const [unused] = report === undefined && !toFile ? given : []
    if (unused) throw new Failure(`--${unused[0]} needs a report: name it with --report.`, 2)
    if (sql && (report === undefined || toFile)) throw new Failure('--sql needs --report, and excludes files.', 2)
    if (pdf === '-') throw new Failure('--pdf needs the name of a file.', 2)
    // Loaded here, because the summary does not need the reads.
    const reports = toFile || report !== undefined ? await import('./report.js') : undefined
    reports?.checkReport(report ?? 'overview', parameters, !toFile && !json && !sql)
    await withClient(call, async (client) => {
      await warnOfSetAside(call)
      const sites = await client.read(Sites, 'GET', '/api/sites')
      if (site === undefined && sites.length > 1)
        throw new Failure(
          `There are ${sites.length} sites: choose one with --site (${sites.map(({ id }) => id).join(', ')}).`,
          2,
        )
      const id = site ?? sites[0]?.id ?? 1
      if (!reports) {
        const summary = await fetchSummary(client, id, range)
        const name = sites.find((one) => one.id === id)?.name ?? String(id)
        if (json) printJson(terminal, { site: id, range, ...summary })
        else terminal.out(formatSummary(terminal, name, range, summary))
        return
      }
      const request = {
        report: report ?? 'overview',
        query: { ...Object.fromEntries(flags.param ?? []), site: id, range, ...parameters },
        csv,
        pdf,
      }
      if (toFile) return await reports.saveReport(client, terminal, request)
      if (sql) {
        const statements = await reports.fetchReportSql(client, request)
        const text = statements.map((statement) => `${statement.split('\n').map(escapeText).join('\n')};\n`).join('\n')
        return json ? printJson(terminal, statements) : terminal.out(text)
      }
      const response = await reports.fetchReport(client, request)
      if (json) printJson(terminal, response)
      else terminal.out(reports.formatReport(terminal, request, response))
    })
  },
})

/** Says on standard error which files a start has set aside, because their rows are not counted. */
async function warnOfSetAside({ config, terminal }: CommandCall<unknown>): Promise<void> {
  const names = (await readdir(config.data).catch(() => [])).filter(isSetAside)
  if (names.length === 0) return
  const says = `What was in ${names.join(', ')} is missing here: see readership doctor.`
  terminal.err(`${style(terminal, 'yellow', says)}\n`)
}

const labelledCount = (one: string, n: number | undefined, several = `${one}s`): [string, string | undefined] => [
  n === 1 ? one : several,
  written(n),
]
const written = (n: number | undefined): string | undefined => (n === undefined ? undefined : formatNumber(n))

// Lists the lines of the summary in the order in which they are printed.
function formatSummary(terminal: Terminal, name: string, range: string, summary: Summary): string {
  const { people, agents, violations } = summary
  const line = (facts: readonly (readonly [string, string | undefined])[]) =>
    facts
      .flatMap(([label, value]) => (value === undefined ? [] : [`${style(terminal, 'bold', value)} ${label}`]))
      .reduce((text, fact) => {
        const last = text.slice(text.lastIndexOf('\n') + 1)
        const fits = withoutStyle(last).length + 3 + withoutStyle(fact).length <= (terminal.columns ?? Infinity)
        return text === '' ? fact : `${text}${fits ? '   ' : '\n'}${fact}`
      }, '') || 'nothing was recorded'
  const graph = (series: z.infer<typeof Series>) =>
    `${sparkline(series.buckets.map(({ value }) => value))} ${style(terminal, 'dim', `per ${series.granularity}`)}`
  const ranked = (title: string, rows: Ranked, metric: string) => {
    if (rows.length === 0) return ''
    const values = rows.map((row) => Number(row[metric] ?? 0))
    const [max, width] = [Math.max(...values), barWidth(terminal.columns)]
    return formatTable(
      terminal,
      [right(metric === 'visitors' ? 'PEOPLE' : metric.toUpperCase()), ...(width > 0 ? [''] : []), title],
      rows.map((row, i) => {
        const value = values[i] ?? 0
        return [
          formatNumber(value),
          ...(width > 0 ? [bar(value, max, width)] : []),
          title === 'PAGE' ? pathText(row.value ?? '') : (row.value ?? '(none)'),
        ]
      }),
    )
  }
  return `${[
    `${style(terminal, 'bold', escapeText(name))}, ${range}`,
    '',
    `${style(terminal, 'cyan', 'People')}   ${graph(summary.people_series)}`,
    line([
      labelledCount('person', people.visitors, 'people'),
      labelledCount('visit', people.sessions),
      labelledCount('pageview', people.pageviews),
      ['bounce', people.bounce === undefined ? undefined : formatPercent(people.bounce)],
      ['a visit', people.duration === undefined ? undefined : formatDuration(people.duration)],
    ]),
    '',
    ranked('PAGE', summary.pages, 'visitors'),
    ranked('CHANNEL', summary.channels, 'visitors'),
    `${style(terminal, 'cyan', 'Agents')}   ${graph(summary.agents_series)}`,
    line([
      labelledCount('fetch', agents.fetches, 'fetches'),
      labelledCount('agent', agents.agents),
      ['verified', written(agents.verified_fetches)],
      ['spoofed', written(agents.spoofed)],
      ['indeterminate', written(agents.indeterminate)],
      ['unverifiable', agents.unverifiable ? formatNumber(agents.unverifiable) : undefined],
      ['sent', agents.bytes === undefined ? undefined : formatBytes(agents.bytes)],
    ]),
    ...(violations.fetches === undefined
      ? []
      : [
          line([
            [`${violations.fetches === 1 ? 'violation' : 'violations'} of robots.txt`, written(violations.fetches)],
            [
              violations.agents === 1 ? 'agent that violates it' : 'agents that violate it',
              violations.fetches > 0 ? written(violations.agents) : undefined,
            ],
          ]),
        ]),
    '',
    ranked('AGENT', summary.top_agents, 'fetches'),
    ranked('PAGE', summary.fetched, 'fetches'),
  ].join('\n')}\n`
}
