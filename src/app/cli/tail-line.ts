import { z } from 'zod'
import { formatBytes } from '../../base/format-bytes.js'
import { escapeText } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { cutToWidth, fitToWidth, textWidth } from './text-width.js'

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
  }),
])
export type TailRow = z.infer<typeof TailRow>
type HumanRow = Extract<TailRow, { audience: 'human' }>
type AgentRow = Extract<TailRow, { audience: 'agent' }>

/** The titles of a line's columns with their widths; the last column takes the rest. Numbers are aligned to the right. */
const COLUMNS = [
  ['TIME', 8],
  ['WHO', 5],
  ['BROWSER OR AGENT', 24],
  ['CLAIM', 8],
  ['STATUS', 6],
  ['BYTES', 8, 'right'],
  ['TOOK', 8, 'right'],
  ['PATH', undefined],
] as const

type Shape = Pick<Terminal, 'colour' | 'columns'>
type Styled = readonly [text: string, style?: Parameters<typeof style>[1] | false | undefined]

/** Formats the titles of the columns, and what the words of a claim mean, for a terminal. */
export const formatTailLegend = (terminal: Shape): string =>
  [
    formatColumns(
      terminal,
      COLUMNS.map(([title]) => [title, 'dim']),
    ),
    ...[
      'CLAIM: whether the agent is who it says it is. verified: its operator’s addresses or signature prove it;',
      '       spoofed: they disprove it; unknown: it cannot be checked. TOOK: time until the last byte was sent.',
    ].map((line) => formatParts(terminal, [[line, 'dim']])),
  ].join('\n')

/**
 * Formats one row as one line, cut to the terminal's width: time, audience, browser or agent, whether the claim is
 * verified, status, bytes, ms, path, and the event or robots.txt violation.
 */
export function formatTailLine(terminal: Shape, row: TailRow): string {
  const agent = row.audience === 'agent' ? row : undefined
  const time = new Date(row.timestamp)
  const duration = row.duration_ms ?? undefined
  const event = row.audience === 'human' && row.kind !== undefined && row.kind !== 'pageview' ? row : undefined
  return formatColumns(
    terminal,
    [
      [[time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':'), 'dim'],
      agent ? ['agent', 'cyan'] : ['human'],
      [escapeText(sourceText(row))],
      agent ? claimText(agent) : [''],
      [String(row.status ?? ''), (row.status ?? 200) >= 400 && 'red'],
      [agent ? formatBytes(agent.bytes) : ''],
      [duration === undefined ? '' : `${Math.round(duration)} ms`],
      [escapeText(row.pathname)],
    ],
    [
      ...(event ? [[` ${eventText(event)}`] as const] : []),
      ...(agent?.robots_allowed === false ? [[` ${violationText(agent)}`, 'red'] as const] : []),
    ],
  )
}

const claimText = ({ verified }: AgentRow): Styled =>
  verified ? ['verified', 'green'] : verified === false ? ['spoofed', 'red'] : ['unknown', 'dim']

/** Pads each text to its column, and adds `rest` without padding. */
function formatColumns(terminal: Shape, texts: readonly Styled[], rest: readonly Styled[] = []): string {
  const padded = texts.map(([text, name], i): Styled => {
    const [, width, side] = COLUMNS[i] ?? []
    return [`${i === 0 ? '' : ' '}${width === undefined ? text : fitToWidth(text, width, side === 'right')}`, name]
  })
  return formatParts(terminal, [...padded, ...rest])
}

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

/** Browser and operating system, or the agent's ID; an agent that is not in the catalog shows its user agent. */
function sourceText(row: TailRow): string {
  if (row.audience === 'human') return [row.browser ?? 'browser', row.os].filter(Boolean).join(' ')
  return row.agent_id === 'other' ? row.user_agent || 'no user agent' : row.agent_id
}

/** A custom event by its name, any other by its kind. */
const eventText = ({ kind = '', event_name }: HumanRow): string =>
  kind === 'custom' && event_name ? `"${escapeText(event_name)}"` : escapeText(kind).replaceAll('_', ' ')

/** The rule as robots.txt writes it, with its line. `grace`: a version of the last 24 hours still allowed the fetch. */
const violationText = ({ robots_rule, robots_line, robots_grace }: AgentRow): string =>
  `disallowed by ${robots_rule ? `"${escapeText(robots_rule)}" line ${robots_line}` : 'robots.txt'}${robots_grace ? ' (grace)' : ''}`

const twoDigits = (n: number) => String(n).padStart(2, '0')
