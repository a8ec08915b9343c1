import { z } from 'zod'
import { formatBytes, formatDuration, formatNumber, formatPercent } from '../export/format.js'
import { bar, barWidth } from './charts.js'
import { type Client, connect } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson, escapeText } from './escape.js'
import { formatTable, sparkline } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

const Flags = z.object({
  range: z.string().default('30d'),
  site: z.string().regex(/^\d+$/, 'must be the id of a site').transform(Number).optional(),
  json: z.boolean().default(false),
  report: z.string().optional(),
  csv: z.string().min(1, 'must be a file, or - for the output').optional(),
  pdf: z.string().min(1, 'must be a file').optional(),
  sql: z.boolean().default(false),
})

/** Words of the question that go to the API as they are. */
const QueryFlags = z.object({
  audience: z.string().optional(),
  compare: z.string().optional(),
  dimension: z.string().optional(),
  metric: z.string().optional(),
  filters: z.string().optional(),
  limit: z.string().optional(),
})
const withoutUndefined = (words: z.output<typeof QueryFlags>): Record<string, string> =>
  Object.fromEntries(Object.entries(words).flatMap(([name, word]) => (word === undefined ? [] : [[name, word]])))

const count = z.number()
const optionalCount = z.number().optional()
const Sites = z.object({ data: z.array(z.object({ id: z.int(), name: z.string() })) })
// Loose: `--json` prints the API's whole answers.
const People = z.looseObject({
  visitors: count,
  sessions: count,
  pageviews: count,
  bounce: optionalCount,
  duration: optionalCount,
  views_per_session: optionalCount,
})
const Agents = z.looseObject({
  fetches: count,
  agents: count,
  bytes: count,
  spoofed: count,
  indeterminate: count,
  unverifiable: count,
})
const Series = z.looseObject({
  granularity: z.string(),
  buckets: z.array(z.object({ t: z.string(), value: optionalCount })),
})
const Ranked = z.array(z.looseObject({ value: z.string().nullish() }))
type Ranked = z.infer<typeof Ranked>

const ApiResponse = z.object({ data: z.unknown() })

/** What the summary is made of: the API's own answers, by the name they are printed under. */
async function fetchSummary(client: Client, site: number, range: string) {
  const ask = async (path: string, query: Record<string, string> = {}): Promise<unknown> => {
    const words = new URLSearchParams({ site: String(site), range, ...query })
    return ApiResponse.parse(await client.call('GET', `/api/${path}?${words}`)).data
  }
  const top = async (read: string, dimension: string) => Ranked.parse(await ask(read, { dimension, limit: '8' }))
  return {
    people: People.parse(await ask('stats/overview')),
    people_series: Series.parse(await ask('stats/timeseries')),
    pages: await top('stats/breakdown', 'pathname'),
    channels: await top('stats/breakdown', 'channel'),
    agents: Agents.parse(await ask('agents/overview')),
    agents_series: Series.parse(await ask('stats/timeseries', { audience: 'agent' })),
    top_agents: await top('agents/breakdown', 'agent_id'),
    fetched: await top('agents/breakdown', 'pathname'),
  }
}
type Summary = Awaited<ReturnType<typeof fetchSummary>>

export const stats: Command = {
  name: 'stats',
  summary: 'a summary of a window for both readerships',
  settings: ['data'],
  flags: [
    { form: '--range <window>', doc: 'today, yesterday, 24h, 7d, 30d (default), 90d, 12mo, mtd, ytd, all' },
    { form: '--site <id>', doc: 'the site (default: the only one)' },
    { form: '--report <name>', doc: 'one report instead: pages, sources, agents/coverage, ... (its name in the API)' },
    { form: '--csv <file>', doc: 'the report (default overview) as CSV, whole; - for the output' },
    { form: '--pdf <file>', doc: 'the report (default overview) as PDF' },
    { form: '--audience <who>', doc: 'of a report: human, agent, all' },
    { form: '--compare <window>', doc: 'of a report: previous, year' },
    { form: '--dimension <name>', doc: 'of the reports breakdown and agents/breakdown' },
    { form: '--metric <name>', doc: 'of the report timeseries' },
    { form: '--filters <json>', doc: 'of a report: filters as the API takes them' },
    { form: '--limit <rows>', doc: 'of a report: so many rows' },
    { form: '--sql', doc: 'of a report: run it and print its SQL statements' },
    JSON_FLAG,
  ],
  async run(call) {
    const { range, site, json, report, csv, pdf, sql } = parseFlags(call, Flags)
    const words = withoutUndefined(parseFlags(call, QueryFlags))
    const files = csv !== undefined || pdf !== undefined
    const [stray] = report === undefined && !files ? Object.keys(words) : []
    if (stray !== undefined) throw new Failure(`--${stray} is of one report: name it with --report.`, 2)
    if (sql && (report === undefined || files))
      throw new Failure('--sql needs --report, and excludes --csv and --pdf.', 2)
    if (pdf === '-') throw new Failure('--pdf needs the name of a file.', 2)
    // Only here: the summary has no use for the reads.
    const one = files || report !== undefined ? await import('./report.js') : undefined
    if (report !== undefined) one?.checkReport(report)
    const client = await connect(call.config, call.terminal)
    try {
      const { data: sites } = Sites.parse(await client.call('GET', '/api/sites'))
      const [first, ...others] = sites
      if (site === undefined && others.length > 0)
        throw new Failure(
          `There are ${sites.length} sites: choose one with --site (${sites.map((one) => one.id).join(', ')}).`,
          2,
        )
      const id = site ?? first?.id ?? 1
      const asked = { report: report ?? 'overview', query: { site: String(id), range, ...words }, csv, pdf }
      if (one && files) return await one.saveReport(client, call.terminal, asked)
      if (one && sql) {
        const statements = await one.fetchReportSql(client, asked)
        const text = statements.map((statement) => `${statement.split('\n').map(escapeText).join('\n')};\n`).join('\n')
        return call.terminal.out(json ? `${escapeJson(statements, 2)}\n` : text)
      }
      if (one) {
        const answer = await one.fetchReport(client, asked)
        call.terminal.out(json ? `${escapeJson(answer, 2)}\n` : one.formatReport(call.terminal, asked.report, answer))
        return
      }
      const found = await fetchSummary(client, id, range)
      if (json) call.terminal.out(`${escapeJson({ site: id, range, ...found }, 2)}\n`)
      else
        call.terminal.out(
          formatSummary(call.terminal, sites.find((one) => one.id === id)?.name ?? String(id), range, found),
        )
    } finally {
      await client.close()
    }
  },
}

const labelledCount = (name: string, n: number): [string, string] => [
  n === 1 ? name : `${name}${name.endsWith('ch') ? 'es' : 's'}`,
  formatNumber(n),
]

const formatSummary = (terminal: Terminal, name: string, range: string, found: Summary): string => {
  const { people, agents } = found
  const line = (facts: readonly (readonly [string, string | undefined])[]) =>
    facts
      .flatMap(([label, value]) => (value === undefined ? [] : [`${style(terminal, 'bold', value)} ${label}`]))
      .join('   ')
  const graph = (series: z.infer<typeof Series>) =>
    `${sparkline(series.buckets.map((bucket) => bucket.value ?? 0))} ${style(terminal, 'dim', `per ${series.granularity}`)}`
  const ranked = (title: string, rows: Ranked, metric: string) => {
    if (rows.length === 0) return ''
    const values = rows.map((row) => Number(row[metric] ?? 0))
    const [most, width] = [Math.max(...values), barWidth(terminal.columns)]
    return formatTable(
      terminal,
      [{ title: metric.toUpperCase(), right: true }, ...(width > 0 ? [{ title: '' }] : []), { title }],
      rows.map((row, i) => {
        const value = values[i] ?? 0
        return [formatNumber(value), ...(width > 0 ? [bar(value, most, width)] : []), row.value ?? '(none)']
      }),
    )
  }
  return `${[
    `${style(terminal, 'bold', escapeText(name))}, ${range}`,
    '',
    `${style(terminal, 'cyan', 'People')}   ${graph(found.people_series)}`,
    line([
      labelledCount('visitor', people.visitors),
      labelledCount('session', people.sessions),
      labelledCount('pageview', people.pageviews),
      ['bounce', people.bounce === undefined ? undefined : formatPercent(people.bounce)],
      ['a session', people.duration === undefined ? undefined : formatDuration(people.duration)],
    ]),
    '',
    ranked('PAGE', found.pages, 'pageviews'),
    ranked('CHANNEL', found.channels, 'visitors'),
    `${style(terminal, 'cyan', 'Agents')}   ${graph(found.agents_series)}`,
    line([
      labelledCount('fetch', agents.fetches),
      labelledCount('agent', agents.agents),
      ['verified', formatNumber(agents.fetches - agents.spoofed - agents.indeterminate - agents.unverifiable)],
      ['spoofed', agents.spoofed > 0 ? formatNumber(agents.spoofed) : undefined],
      [
        'not to be told',
        agents.indeterminate + agents.unverifiable > 0
          ? formatNumber(agents.indeterminate + agents.unverifiable)
          : undefined,
      ],
      ['sent', formatBytes(agents.bytes)],
    ]),
    '',
    ranked('AGENT', found.top_agents, 'fetches'),
    ranked('PAGE', found.fetched, 'fetches'),
  ].join('\n')}\n`
}
