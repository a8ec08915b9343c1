import { formatNumber, formatPercent, formatWindow } from '../../analytics/export/format.js'
import { formatBytes } from '../../base/format-bytes.js'
import type { LogReport } from '../../history/log-report/report.js'
import { bar, sparkline } from './charts.js'
import { escapeText, pathText } from './escape.js'
import { formatList, hourLines, peopleLists, type ScreenList, serverLists } from './log-report-lists.js'
import { formatTable, right } from './table.js'
import { style, type Terminal, withoutStyle } from './terminal.js'
import { cutToWidth, textWidth, wrapIndented } from './text-width.js'

interface Screen extends Pick<Terminal, 'colour' | 'columns'> {
  rows: { agents: number; others: number }
}

/** Rows of the lists, so that a report is a few screens. */
export const DEFAULT_ROWS = { agents: 12, others: 5 } as const
const MAX_COLUMNS = 110
/** Narrower terminals show the halves of the screen below each other. */
const MIN_TWO_HALVES = 76
const GAP = 4

/** Formats a report for a terminal, people first, or with lists of `limit` rows; a wider terminal than 110 columns is not filled. */
export function formatLogReport(
  terminal: Pick<Terminal, 'colour' | 'columns'>,
  report: LogReport,
  limit?: number,
): string {
  const columns = Math.min(terminal.columns ?? MAX_COLUMNS, MAX_COLUMNS)
  const rows = limit === undefined ? DEFAULT_ROWS : { agents: limit, others: limit }
  const screen = { colour: terminal.colour, columns, rows }
  if (report.window === null) return `${header(screen, report)}\nNo line is a request.\n${notes(screen, report)}`
  const { people, agents } = report
  const told = people.requests + agents.requests > 0
  if (!told) return [header(screen, report), unknownReaders(screen, report), notes(screen, report)].join('\n')
  return [
    header(screen, report),
    unknownReaders(screen, report),
    inHalves(columns, peopleBlock(screen, report), agentsBlock(screen, report)),
    ...pairs(screen, peopleLists(report)),
    agentTable(screen, report),
    ...pairs(screen, assistantLists(report)),
    errorTable(screen, report),
    robotsTable(screen, report),
    ...pairs(screen, serverLists(report)),
    `${hourLines(screen, report).join('\n')}\n`,
    notes(screen, report),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

const dim = (screen: Screen, text: string) => style(screen, 'dim', text)
const bold = (screen: Screen, text: string) => style(screen, 'bold', text)
const counted = (n: number, one: string, many = `${one}s`) => `${formatNumber(n)} ${n === 1 ? one : many}`

function header(screen: Screen, { files, lines, window, tz }: LogReport): string {
  const [first] = files
  const name = files.length === 1 ? (first?.name ?? '') : counted(files.length, 'file')
  const formats = [...new Set(files.map(({ format }) => format))].join(', ')
  const span = window && formatWindow({ start: new Date(window.start), end: new Date(window.end) }, tz)
  const facts = [span && `${span} (${tz})`, formats, counted(lines.read, 'line')].filter(Boolean).join(' · ')
  const width = screen.columns ?? MAX_COLUMNS
  return `${bold(screen, cutToWidth(escapeText(name), width))}\n${dim(screen, cutToWidth(facts, width))}\n`
}

const half = ({ columns = MAX_COLUMNS }: Screen) =>
  columns < MIN_TWO_HALVES ? columns : Math.floor((columns - GAP) / 2)

const NO_USER_AGENTS =
  'The log has no user agents, so people and agents cannot be told apart. Have the server log them: the format combined does.'

/** The requests of logs that have no user agents. */
function unknownReaders(screen: Screen, { unknown_readers: unknown }: LogReport): string {
  if (unknown === undefined) return ''
  const rows = Math.max(unknown.statuses.length, unknown.paths.length)
  const list = Array.from({ length: Math.min(rows, screen.rows.agents) }, (_, i) => {
    const [path, status] = [unknown.paths[i], unknown.statuses[i]]
    return [
      path ? formatNumber(path.requests) : '',
      cutToWidth(pathText(path?.pathname ?? ''), 44),
      status ? formatNumber(status.requests) : '',
      status ? String(status.status) : '',
    ]
  })
  return `${bold(screen, 'Readers unknown')}
${wrapIndented(NO_USER_AGENTS, screen.columns)}
${counted(unknown.requests, 'request')} from ${counted(unknown.addresses, 'address', 'addresses')}, ${formatBytes(unknown.bytes)}

${formatTable(screen, [right('REQUESTS'), 'PATH', right('REQUESTS'), 'STATUS'], list)}`
}

function peopleBlock(screen: Screen, { people, agents, series }: LogReport): string[] {
  return totalsBlock(screen, {
    title: style(screen, 'cyan', bold(screen, 'People')),
    share: people.requests / (people.requests + agents.requests),
    values: series.buckets.map(({ pageviews }) => pageviews),
    granularity: series.granularity,
    facts: [
      [people.pageviews, people.pageviews === 1 ? 'pageview' : 'pageviews'],
      [people.visitors, people.visitors === 1 ? 'person' : 'people'],
      [people.sessions, people.sessions === 1 ? 'visit' : 'visits'],
    ],
  })
}

function agentsBlock(screen: Screen, { people, agents, series }: LogReport): string[] {
  const errors = agents.client_errors + agents.server_errors
  return totalsBlock(screen, {
    title: style(screen, 'yellow', bold(screen, 'Agents')),
    share: agents.requests / (people.requests + agents.requests),
    values: series.buckets.map(({ requests }) => requests),
    granularity: series.granularity,
    facts: [
      [agents.requests, agents.requests === 1 ? 'request' : 'requests'],
      [agents.agents, `known ${agents.agents === 1 ? 'agent' : 'agents'} of ${counted(agents.operators, 'operator')}`],
      [errors, errors === 1 ? 'error' : 'errors'],
    ],
  })
}

interface Totals {
  title: string
  share: number
  values: readonly number[]
  granularity: string
  facts: readonly (readonly [number, string])[]
}

function totalsBlock(screen: Screen, { title, share, values, granularity, facts }: Totals): string[] {
  const columns = half(screen)
  const numbers = facts.map(([n]) => formatNumber(n))
  const width = Math.max(...numbers.map(({ length }) => length))
  const unit = ` per ${granularity}`
  return [
    `${title} ${dim(screen, `${formatPercent(share)} of all requests`)}`,
    ...facts.map(([, label], i) => `${bold(screen, (numbers[i] ?? '').padStart(width))} ${label}`),
    `${sparkline(values, columns - unit.length)}${dim(screen, unit)}`,
  ]
}

function agentTable(screen: Screen, { by_agent, by_purpose, agents, robots }: LogReport): string {
  if (agents.requests === 0) return 'No agent was seen.\n'
  const shown = by_agent.slice(0, screen.rows.agents)
  const max = shown[0]?.requests ?? 0
  const rest = by_agent.length - shown.length
  const wide = (screen.columns ?? 0) >= MIN_TWO_HALVES
  const table = formatTable(
    screen,
    [
      right('REQUESTS'),
      ...(wide ? [''] : []),
      'AGENT',
      right('ERRORS'),
      ...disallowedTitle(robots),
      'PURPOSE',
      'OPERATOR',
    ],
    shown.map((agent) => [
      formatNumber(agent.requests),
      ...(wide ? [bar(agent.requests, max, (screen.columns ?? 0) < 100 ? 8 : 16)] : []),
      agent.name,
      formatPercent((agent.client_errors + agent.server_errors) / agent.requests),
      ...(robots ? [agent.disallowed ? formatNumber(agent.disallowed) : ''] : []),
      agent.purpose,
      agent.operator,
    ]),
  )
  const more = rest > 0 ? `${dim(screen, `and ${counted(rest, 'more agent')}: --limit ${by_agent.length}`)}\n` : ''
  const shares = by_purpose.map(({ purpose, requests }) => `${purpose} ${formatPercent(requests / agents.requests)}`)
  return `${table}${more}${cutToWidth(shares.join(' · '), screen.columns ?? MAX_COLUMNS)}\n`
}

const disallowedTitle = (robots: LogReport['robots']) => (robots ? [right('DISALLOWED')] : [])

/** The URLs that assistants read, and the people who came from them. */
const assistantLists = ({ read_by_assistants, arrivals }: LogReport): ScreenList[] => [
  {
    title: 'Read most by AI assistants',
    rows: read_by_assistants.map(({ requests, pathname }) => [formatNumber(requests), pathText(pathname)]),
    empty: 'none fetched a page',
  },
  {
    title: `Pageviews from AI assistants: ${formatNumber(arrivals.pageviews)}`,
    rows: arrivals.assistants.map(({ name, pageviews }) => [formatNumber(pageviews), name]),
    empty: 'none names an assistant as its source',
  },
]

/** Sets lists in pairs, side by side where the terminal has the place. */
function pairs(screen: Screen, lists: readonly ScreenList[]): string[] {
  const columns = half(screen)
  const blocks = lists.map((list) => formatList({ colour: screen.colour, columns }, list, screen.rows.others))
  return blocks.flatMap((left, i) =>
    i % 2 === 0 ? [inHalves(screen.columns ?? MAX_COLUMNS, left, blocks[i + 1] ?? [])] : [],
  )
}

function errorTable(screen: Screen, { errors }: LogReport): string {
  if (errors.length === 0) return ''
  return `${bold(screen, 'Errors that agents met')}\n${formatTable(
    screen,
    [right('REQUESTS'), 'STATUS', 'PATH', 'BY'],
    errors
      .slice(0, screen.rows.others)
      .map(({ requests, status, pathname, agents }) => [
        formatNumber(requests),
        String(status),
        cutToWidth(pathText(pathname), 44),
        agents.join(', '),
      ]),
  )}`
}

const OBEYS = { yes: 'says that it obeys', no: 'says that it does not', unknown: '' } as const

function robotsTable(screen: Screen, { robots }: LogReport): string {
  if (robots === undefined) return ''
  const title = `${bold(screen, 'Disallowed by robots.txt, and fetched')} ${dim(screen, escapeText(robots.source))}`
  if (robots.rules.length === 0) return `${title}\nEvery agent obeyed.\n`
  return `${title}\n${formatTable(
    screen,
    [right('REQUESTS'), 'AGENT', right('LINE'), 'RULE', 'SUCH AS', 'ITS OPERATOR'],
    robots.rules
      .slice(0, screen.rows.others)
      .map(({ requests, name, line, rule, pathname, respects_robots }) => [
        formatNumber(requests),
        name,
        String(line),
        cutToWidth(rule, 24),
        cutToWidth(pathText(pathname), 30),
        OBEYS[respects_robots],
      ]),
  )}`
}

function notes(screen: Screen, { lines, people, agents, files, robots, lists_complete }: LogReport): string {
  const { visitors, pageviews } = people.without_assets
  const brokenAs = new Set(files.flatMap(({ broken, format }) => (broken > 0 ? [format] : [])))
  const facts = [
    visitors > 0 &&
      `${counted(pageviews, 'pageview')} of ${counted(visitors, 'person', 'people')} came without a single style, script, picture or font: probably agents that do not say so.`,
    agents.unnamed > 0 &&
      `${counted(agents.unnamed, 'request')} by agents that the catalogue does not name: see --json.`,
    lines.broken > 0 &&
      `${counted(lines.broken, 'line')} could not be read as ${brokenAs.size === 1 ? [...brokenAs][0] : 'the formats of their files'}.`,
    people.data_requests > 0 &&
      `${counted(people.data_requests, 'request')} of people below paths of data, such as /api/, are not pageviews: see --data-paths.`,
    lines.other_hosts > 0 && `${counted(lines.other_hosts, 'request')} of other hosts, or without one, left out.`,
    !lists_complete && 'There are very many distinct paths: rare ones may be missing from the lists.',
    robots === undefined && 'With --robots FILE or URL: who fetched what your robots.txt disallows.',
  ]
  return facts.flatMap((fact) => (fact ? [`${dim(screen, wrapIndented(fact, screen.columns))}\n`] : [])).join('')
}

/** Sets two blocks side by side, or one below the other in a narrow terminal. */
function inHalves(columns: number, left: readonly string[], right: readonly string[]): string {
  if (right.length === 0) return `${left.join('\n')}\n`
  if (columns < MIN_TWO_HALVES) return `${left.join('\n')}\n\n${right.join('\n')}\n`
  const width = Math.floor((columns - GAP) / 2)
  const lines = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => {
    const text = left[i] ?? ''
    const space = ' '.repeat(Math.max(0, width - textWidth(withoutStyle(text))) + GAP)
    return `${text}${space}${right[i] ?? ''}`.trimEnd()
  })
  return `${lines.join('\n')}\n`
}
