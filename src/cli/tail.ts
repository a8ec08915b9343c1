import { z } from 'zod'
import { connect } from './client.js'
import { type Command, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { formatTailLine, TailRow } from './tail-line.js'

const Flags = z.object({
  n: z.string().regex(/^\d+$/, 'must be a number of rows').default('50'),
  audience: z.enum(['human', 'agent', 'all'], { error: 'must be human, agent or all' }).default('all'),
  agent: z.string().optional(),
  path: z.string().optional(),
  violations: z.boolean().default(false),
  json: z.boolean().default(false),
})

/** A process that ends cuts its connections: for who follows it that is the end. */
async function* untilDisconnected(lines: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  try {
    yield* lines
  } catch (error) {
    if (!ConnectionReset.safeParse(error).success) throw error
  }
}
const ConnectionReset = z.object({ code: z.literal('ECONNRESET') })

const MissedRows = z.object({ missed: z.number() })

export const tail: Command = {
  name: 'tail',
  summary: 'follow what is recorded, live, one line a row',
  settings: ['data'],
  flags: [
    { form: '-n <rows>', doc: 'recent rows first (default 50)' },
    { form: '--audience <who>', doc: 'human, agent or all (default)' },
    { form: '--agent <name>', doc: 'one agent, by id or operator' },
    { form: '--path <start>', doc: 'paths that start so' },
    { form: '--violations', doc: 'only fetches of what robots.txt disallowed at the time, with the rule' },
    { form: '--json', doc: 'print newline-delimited JSON' },
  ],
  async run(call) {
    const { n, audience, agent, path, violations, json } = parseFlags(call, Flags)
    const { terminal } = call
    const client = await connect(call.config, terminal)
    try {
      const query = new URLSearchParams({ n, audience, follow: client.running ? '1' : '0' })
      if (agent !== undefined) query.set('agent', agent)
      if (path !== undefined) query.set('path', path)
      if (violations) query.set('violations', '1')
      for await (const value of untilDisconnected(client.lines(`/control/tail?${query}`))) {
        const missed = MissedRows.safeParse(value)
        if (json) terminal.out(`${escapeJson(value)}\n`)
        else if (missed.success)
          terminal.err(`${missed.data.missed} rows left out: they came faster than they were read.\n`)
        else terminal.out(`${formatTailLine(terminal, TailRow.parse(value))}\n`)
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
