import { z } from 'zod'
import { withClient } from './client.js'
import { defineCommand, flag, queryString } from './command.js'
import { escapeJson } from './escape.js'
import { formatTailLegend, formatTailLine, TailRow } from './tail-line.js'

/** Ends without an error if the instance is killed, which resets its connections. */
async function* untilDisconnected(lines: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  try {
    yield* lines
  } catch (error) {
    if (!ConnectionReset.safeParse(error).success) throw error
  }
}
const ConnectionReset = z.object({ code: z.literal('ECONNRESET') })

/** A line of the stream that counts rows left out because the command reads too slowly. */
const MissedRows = z.object({ missed: z.number() })

export const tail = defineCommand({
  name: 'tail',
  summary: 'print recent rows and follow new ones',
  examples: [
    { line: 'tail -n 20 --no-follow --audience agent', doc: 'the last 20 fetches of agents' },
    { line: 'tail -n 20 --no-follow --path /docs --json', doc: 'as JSON, for another program' },
  ],
  flags: z.object({
    n: flag(
      '-n <rows>',
      'number of recent rows to print first (default 50)',
      z.string().regex(/^\d+$/, 'must be a number of rows').default('50'),
    ),
    audience: flag(
      '--audience <audience>',
      'human, agent or all (default)',
      z.enum(['human', 'agent', 'all'], 'must be human, agent or all').default('all'),
    ),
    agent: flag('--agent <name>', 'one agent, by ID or operator', z.string().optional()),
    path: flag('--path <prefix>', 'paths that begin with this', z.string().optional()),
    violations: flag(
      '--violations',
      'only fetches that robots.txt disallowed at the time, with the rule',
      z.boolean().default(false),
    ),
    count: flag(
      '--count <rows>',
      'end after this many rows',
      z
        .string()
        .regex(/^[1-9]\d*$/, 'must be a number of rows')
        .transform(Number)
        .optional(),
    ),
    follow: flag('--no-follow', 'end after the recent rows', z.boolean().default(true)),
    json: flag('--json', 'print newline-delimited JSON', z.boolean().default(false)),
  }),
  async run(call) {
    const { config, terminal } = call
    const { violations, json, count = Number.POSITIVE_INFINITY, follow: isFollowing, ...filters } = call.flags
    let printed = 0
    await withClient(call, async (client) => {
      if (!json && terminal.columns !== undefined) terminal.out(`${formatTailLegend(terminal)}\n`)
      const follow = client.running && isFollowing ? '1' : '0'
      const query = queryString({ ...filters, violations: violations ? '1' : undefined, follow })
      for await (const value of untilDisconnected(client.lines(`/control/tail${query}`))) {
        const missed = MissedRows.safeParse(value)
        if (!missed.success) printed++
        if (json) terminal.out(`${escapeJson(value)}\n`)
        else if (missed.success)
          terminal.err(`${missed.data.missed} rows left out: they arrived faster than they were printed.\n`)
        else terminal.out(`${formatTailLine(terminal, TailRow.parse(value))}\n`)
        if (printed >= count) return
      }
      if (isFollowing)
        terminal.err(
          client.running
            ? 'The instance has stopped.\n'
            : `No instance runs on ${config.data}: these were the last rows.\n`,
        )
    })
  },
})
