import { z } from 'zod'
import { formatBytes } from '../../base/format-bytes.js'
import { escapeText, pathText } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { cutMiddle, cutToWidth, fitToWidth, textWidth, wrapIndented } from './text-width.js'

const Common = { timestamp: z.string(), hostname: z.string(), pathname: z.string() }
/** The fields of a committed row that `tail` prints. */
export const TailRow = z.discriminatedUnion('audience', [
  z.object({
    audience: z.literal('human'),
    ...Common,
    kind: z.string().optional(),
    event_name: z.string().nullish(),
    browser: z.string().nullish(),
    os: z.string().nullish(),
    status: z.number().nullish(),
    duration_ms: z.number().nullish(),
  }),
  z.object({
    audience: z.literal('agent'),
    ...Common,
    agent_id: z.string(),
    user_agent: z.string(),
    verified: z.boolean().nullish(),
    status: z.number(),
    bytes: z.number(),
    duration_ms: z.number(),
    robots_allowed: z.boolean().nullish(),
    robots_rule: z.string().nullish(),
    robots_line: z.number().nullish(),
    robots_grace: z.boolean().nullish(),
    action: z.string().nullish(),
    rule: z.number().nullish(),
  }),
])
export type TailRow = z.infer<typeof TailRow>
type HumanRow = Extract<TailRow, { audience: 'human' }>
type AgentRow = Extract<TailRow, { audience: 'agent' }>

type Shape = Pick<Terminal, 'colour' | 'columns'>
type Styled = readonly [text: string, style?: Parameters<typeof style>[1] | false | undefined]
interface Column {
  title: string
  width: number
}

const TIME_COLUMNS = 8
const STATUS_COLUMNS = 6
const WHO_COLUMNS = 8
/** The bytes and the duration, on terminals that have the place. */
const SENT = { title: 'SENT', width: 18 }
const MIN_COLUMNS_WITH_SENT = 110
/** A longer path takes columns of the reader, down to this. */
const MIN_READER_COLUMNS = 10
/** Longer paths are whole in a pipe too, but do not widen the column. */
const MAX_PATH_COLUMNS = 60
const PIPE_COLUMNS = 132

/** Divides the line: the path gets what the others leave, because it is the first thing that is looked for. */
function layOut({ columns = PIPE_COLUMNS }: Shape): { path: Column; sent: Column[]; reader: Column } {
  const sent = columns >= MIN_COLUMNS_WITH_SENT ? [SENT] : []
  const reader = columns >= MIN_COLUMNS_WITH_SENT ? 28 : 20
  const others = [TIME_COLUMNS, STATUS_COLUMNS, WHO_COLUMNS, reader, ...sent.map(({ width }) => width)]
  const path = columns - others.reduce((sum, width) => sum + width + 1, 0)
  return {
    path: { title: 'PATH', width: Math.max(MIN_READER_COLUMNS, Math.min(MAX_PATH_COLUMNS, path)) },
    sent,
    reader: { title: 'BROWSER OR AGENT', width: reader },
  }
}

/** Formats the titles of the columns, and what the words below WHO mean, for a terminal. */
export function formatTailLegend(terminal: Shape): string {
  const { path, sent, reader } = layOut(terminal)
  const titles = [
    fitToWidth('TIME', TIME_COLUMNS),
    ...[path, { title: 'STATUS', width: STATUS_COLUMNS }, { title: 'WHO', width: WHO_COLUMNS }, ...sent].map(
      ({ title, width }) => fitToWidth(title, width),
    ),
    reader.title,
  ].join(' ')
  return [formatParts(terminal, [[titles]]), wrapIndented(LEGEND, terminal.columns)]
    .flatMap((text) => text.split('\n'))
    .map((line) => style(terminal, 'dim', line))
    .join('\n')
}
const LEGEND =
  'WHO: a person, or whether an agent is who it says it is: verified, its operator’s addresses or signature prove it; spoofed, they disprove it; unknown, it cannot be checked.'

/**
 * Formats one row as a line that begins with its time and its path. A path that is too long for the terminal is cut in the
 * middle; an event or a violation that does not fit after the rest has a line of its own.
 */
export function formatTailLine(terminal: Shape, row: TailRow): string {
  const { path, sent, reader } = layOut(terminal)
  const { columns = Number.POSITIVE_INFINITY } = terminal
  const time = new Date(row.timestamp)
  const longest = columns - TIME_COLUMNS - STATUS_COLUMNS - WHO_COLUMNS - MIN_READER_COLUMNS - 4
  const pathname = cutMiddle(pathText(row.pathname), Math.max(path.width, longest))
  const line: Styled[] = [
    [[time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':'), 'dim'],
    [` ${fitOrLonger(pathname, path.width)}`],
    [` ${fitToWidth(String(row.status ?? ''), STATUS_COLUMNS)}`, (row.status ?? 200) >= 400 && 'red'],
    whoText(row),
    ...sent.map(({ width }): Styled => [` ${fitToWidth(sentText(row), width)}`]),
  ]
  const source = escapeText(sourceText(row))
  const note = noteOf(row)
  const taken = line.reduce((sum, [text]) => sum + textWidth(text), 0) + 1
  if (note === undefined) return formatParts(terminal, [...line, [` ${source}`]])
  const shown = cutToWidth(source, reader.width)
  if (taken + textWidth(shown) + 1 + textWidth(note[0]) <= columns)
    return formatParts(terminal, [...line, [` ${shown}`], [` ${note[0]}`, note[1]]])
  // An event stands beside its path, where that leaves the place.
  const beside = `${pathname} ${note[0]}`
  if (row.audience === 'human' && textWidth(beside) <= path.width)
    return formatParts(terminal, [
      line[0] ?? [''],
      [` ${fitToWidth(beside, path.width)}`],
      ...line.slice(2),
      [` ${source}`],
    ])
  const space = ' '.repeat(TIME_COLUMNS + 1)
  return `${formatParts(terminal, [...line, [` ${source}`]])}\n${formatParts(terminal, [[space], note])}`
}

/** A person, or whether the agent is who it says it is. */
function whoText(row: TailRow): Styled {
  const [word, name] =
    row.audience === 'human'
      ? (['person'] as const)
      : row.verified
        ? (['verified', 'green'] as const)
        : row.verified === false
          ? (['spoofed', 'red'] as const)
          : (['unknown', 'dim'] as const)
  return [` ${fitToWidth(word, WHO_COLUMNS)}`, name]
}

/** How much was sent, and how long that took. */
function sentText(row: TailRow): string {
  const took = row.duration_ms === undefined || row.duration_ms === null ? '' : `${Math.round(row.duration_ms)} ms`
  return [row.audience === 'agent' ? formatBytes(row.bytes) : '', took].filter(Boolean).join(' in ')
}

/** The event of a person or the violation of an agent. */
function noteOf(row: TailRow): Styled | undefined {
  if (row.audience === 'agent') {
    const notes = [
      ...(row.action ? [`${actionText(row.action)} by rule ${row.rule}`] : []),
      ...(row.robots_allowed === false ? [violationText(row)] : []),
    ]
    return notes.length === 0 ? undefined : [notes.join('; '), row.robots_allowed === false && 'red']
  }
  return row.kind === undefined || row.kind === 'pageview' ? undefined : [eventText(row)]
}

const fitOrLonger = (text: string, columns: number): string =>
  textWidth(text) >= columns ? text : fitToWidth(text, columns)

/** Joins the parts, each in its style, and cuts them to the terminal's width before the codes of the styles are added. */
function formatParts(terminal: Shape, parts: readonly Styled[]): string {
  let left = terminal.columns ?? Number.POSITIVE_INFINITY
  return parts
    .map(([text, name]) => {
      const shown = left < 1 ? '' : cutToWidth(text, left)
      left -= textWidth(shown)
      return name && shown !== '' ? style(terminal, name, shown) : shown
    })
    .join('')
}

/** Browser and operating system, or the agent's ID; an agent that is not in the catalogue shows its user agent. A spoofed name is in quotes. */
function sourceText(row: TailRow): string {
  if (row.audience === 'human') return [row.browser ?? 'browser', row.os].filter(Boolean).join(' ')
  if (row.agent_id === 'other') return row.user_agent || 'no user agent'
  return row.verified === false ? `"${row.agent_id}"` : row.agent_id
}

/** A custom event by its name, any other by its kind. */
const eventText = ({ kind = '', event_name }: HumanRow): string =>
  kind === 'custom' && event_name ? `"${escapeText(event_name)}"` : escapeText(kind).replaceAll('_', ' ')

/** The rule as robots.txt writes it, with its line. `grace`: a version of the last 24 hours still allowed the fetch. */
const violationText = ({ robots_rule, robots_line, robots_grace }: AgentRow): string =>
  `disallowed by ${robots_rule ? `"${escapeText(robots_rule)}" line ${robots_line}` : 'robots.txt'}${robots_grace ? ' (grace)' : ''}`

/** Words for the action of an operator's rule. */
const actionText = (action: string): string => (action === 'allow' ? 'let pass' : `refused (${escapeText(action)})`)

const twoDigits = (n: number) => String(n).padStart(2, '0')
