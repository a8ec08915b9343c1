import { z } from 'zod'
import { formatBytes } from '../export/format.js'
import { escapeText } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { fitToWidth } from './text-width.js'

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

/**
 * Formats one row as one line: time, audience, browser or agent, verification mark, status, bytes, ms, path, and the
 * event or robots.txt violation.
 */
export function formatTailLine(terminal: Pick<Terminal, 'colour'>, row: TailRow): string {
  const agent = row.audience === 'agent' ? row : undefined
  const status = fitToWidth(String(row.status ?? ''), 3)
  const time = new Date(row.timestamp)
  const duration = row.duration_ms ?? undefined
  return [
    style(terminal, 'dim', [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':')),
    agent ? style(terminal, 'cyan', 'agent') : 'human',
    fitToWidth(escapeText(sourceText(row)), 24),
    agent?.verified ? style(terminal, 'green', '✓') : agent?.verified === false ? style(terminal, 'red', '✗') : ' ',
    (row.status ?? 200) >= 400 ? style(terminal, 'red', status) : status,
    fitToWidth(agent ? formatBytes(agent.bytes) : '', 8, true),
    fitToWidth(duration === undefined ? '' : `${Math.round(duration)} ms`, 8, true),
    escapeText(row.pathname),
    ...(row.audience === 'human' && row.kind !== undefined && row.kind !== 'pageview' ? [eventText(row)] : []),
    ...(agent?.robots_allowed === false ? [style(terminal, 'red', violationText(agent))] : []),
  ].join(' ')
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
