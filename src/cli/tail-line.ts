import { z } from 'zod'
import { formatBytes } from '../export/format.js'
import { escapeText } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { fitToWidth } from './text-width.js'

const Common = { timestamp: z.string(), hostname: z.string(), pathname: z.string() }
/** Of a committed row, what its line shows. */
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
/** One row in one line: time, audience, who, verified mark, status, bytes, ms, path (contract 2), and what it broke. */
export function formatTailLine(terminal: Pick<Terminal, 'colour'>, row: TailRow): string {
  const agent = row.audience === 'agent' ? row : undefined
  // What is in no catalog is told by its own words.
  const who =
    row.audience === 'human'
      ? [row.browser ?? 'browser', row.os].filter(Boolean).join(' ')
      : row.agent_id === 'other'
        ? row.user_agent || 'no user agent'
        : row.agent_id
  const mark =
    agent?.verified === true
      ? style(terminal, 'green', '✓')
      : agent?.verified === false
        ? style(terminal, 'red', '✗')
        : ' '
  const status = fitToWidth(String(row.status ?? ''), 3)
  const time = new Date(row.timestamp)
  return [
    style(
      terminal,
      'dim',
      `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}:${twoDigits(time.getSeconds())}`,
    ),
    row.audience === 'human' ? 'human' : style(terminal, 'cyan', 'agent'),
    fitToWidth(escapeText(who), 24),
    mark,
    (row.status ?? 200) >= 400 ? style(terminal, 'red', status) : status,
    fitToWidth(agent ? formatBytes(agent.bytes) : '', 8, true),
    fitToWidth(
      row.duration_ms === null || row.duration_ms === undefined ? '' : `${Math.round(row.duration_ms)} ms`,
      8,
      true,
    ),
    escapeText(row.pathname),
    ...(row.audience === 'human' && row.kind !== undefined && row.kind !== 'pageview' ? [eventText(row)] : []),
    ...(agent?.robots_allowed === false ? [style(terminal, 'red', violationText(agent))] : []),
  ].join(' ')
}

/** What a browser told of besides a view. */
const eventText = ({ kind = '', event_name }: Extract<TailRow, { audience: 'human' }>): string =>
  kind === 'custom' && event_name ? `"${escapeText(event_name)}"` : escapeText(kind).replaceAll('_', ' ')

/** What disallowed it: the rule as robots.txt writes it, its line, and whether a copy a day old allowed it still. */
const violationText = ({ robots_rule, robots_line, robots_grace }: Extract<TailRow, { audience: 'agent' }>): string =>
  `disallowed by ${robots_rule ? `"${escapeText(robots_rule)}" line ${robots_line}` : 'robots.txt'}${robots_grace ? ' (grace)' : ''}`

const twoDigits = (n: number) => String(n).padStart(2, '0')
