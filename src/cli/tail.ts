import { z } from 'zod'
import { connect } from './client.js'
import { type Command, flagsOf } from './command.js'
import { safeJson, visible } from './escape.js'
import { bytes } from './table.js'
import { style, type Terminal } from './terminal.js'
import { fit } from './width.js'

const Flags = z.object({
  n: z.string().regex(/^\d+$/, 'must be a number of rows').default('50'),
  audience: z.enum(['human', 'agent', 'all'], { error: 'must be human, agent or all' }).default('all'),
  agent: z.string().optional(),
  path: z.string().optional(),
  json: z.boolean().default(false),
})

const Common = { timestamp: z.string(), hostname: z.string(), pathname: z.string() }
const Row = z.discriminatedUnion('audience', [
  z.object({
    audience: z.literal('human'),
    ...Common,
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
  }),
])
type Row = z.infer<typeof Row>
const Missed = z.object({ missed: z.number() })

/** One row in one line: time, audience, who, verified mark, status, bytes, ms, path (contract 2). */
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
    fit(agent ? bytes(agent.bytes) : '', 8, true),
    fit(row.duration_ms === null || row.duration_ms === undefined ? '' : `${Math.round(row.duration_ms)} ms`, 8, true),
    visible(row.pathname),
  ].join(' ')
}
const two = (n: number) => String(n).padStart(2, '0')

export const tail: Command = {
  name: 'tail',
  summary: 'follow what is recorded, live, one line a row',
  settings: ['data'],
  flags: [
    { form: '-n <rows>', doc: 'recent rows first (default 50)' },
    { form: '--audience <who>', doc: 'human, agent or all (default)' },
    { form: '--agent <name>', doc: 'one agent, by id or operator' },
    { form: '--path <start>', doc: 'paths that start so' },
    { form: '--json', doc: 'print newline-delimited JSON' },
  ],
  async run(call) {
    const { n, audience, agent, path, json } = flagsOf(call, Flags)
    const { terminal } = call
    const client = await connect(call.config, terminal)
    try {
      const query = new URLSearchParams({ n, audience, follow: client.running ? '1' : '0' })
      if (agent !== undefined) query.set('agent', agent)
      if (path !== undefined) query.set('path', path)
      for await (const value of client.lines(`/control/tail?${query}`)) {
        const missed = Missed.safeParse(value)
        if (json) terminal.out(`${safeJson(value)}\n`)
        else if (missed.success)
          terminal.err(`${missed.data.missed} rows left out: they came faster than they were read.\n`)
        else terminal.out(`${lineOf(terminal, Row.parse(value))}\n`)
      }
      terminal.err(
        client.running
          ? 'The instance has stopped.\n'
          : `No instance runs on ${call.config.data}: these were the last rows.\n`,
      )
    } finally {
      await client.close()
    }
  },
}
