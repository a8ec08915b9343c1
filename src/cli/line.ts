import { z } from 'zod'
import { formatBytes } from '../export/format.js'
import { visible } from './escape.js'
import { style, type Terminal } from './terminal.js'
import { fit } from './width.js'

const Common = { timestamp: z.string(), hostname: z.string(), pathname: z.string() }
/** Of a committed row, what its line shows. */
export const Row = z.discriminatedUnion('audience', [
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
export type Row = z.infer<typeof Row>
/** One row in one line: time, audience, who, verified mark, status, bytes, ms, path (contract 2), and what it broke. */
export function lineOf(terminal: Pick<Terminal, 'colour'>, row: Row): string {
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
  const status = fit(String(row.status ?? ''), 3)
  const time = new Date(row.timestamp)
  return [
    style(terminal, 'dim', `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`),
    row.audience === 'human' ? 'human' : style(terminal, 'cyan', 'agent'),
    fit(visible(who), 24),
    mark,
    (row.status ?? 200) >= 400 ? style(terminal, 'red', status) : status,
    fit(agent ? formatBytes(agent.bytes) : '', 8, true),
    fit(row.duration_ms === null || row.duration_ms === undefined ? '' : `${Math.round(row.duration_ms)} ms`, 8, true),
    visible(row.pathname),
    ...(row.audience === 'human' && row.kind !== undefined && row.kind !== 'pageview' ? [deedOf(row)] : []),
    ...(agent?.robots_allowed === false ? [style(terminal, 'red', violationText(agent))] : []),
  ].join(' ')
}

/** What a browser told of besides a view. */
const deedOf = ({ kind = '', event_name }: Extract<Row, { audience: 'human' }>): string =>
  kind === 'custom' && event_name ? `"${visible(event_name)}"` : visible(kind).replaceAll('_', ' ')

/** What disallowed it: the rule as robots.txt writes it, its line, and whether a copy a day old allowed it still. */
const violationText = ({ robots_rule, robots_line, robots_grace }: Extract<Row, { audience: 'agent' }>): string =>
  `disallowed by ${robots_rule ? `"${visible(robots_rule)}" line ${robots_line}` : 'robots.txt'}${robots_grace ? ' (grace)' : ''}`

const two = (n: number) => String(n).padStart(2, '0')
