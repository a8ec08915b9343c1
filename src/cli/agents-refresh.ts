import { z } from 'zod'
import { RefreshResult } from '../agents/ranges/status.js'
import { formatNumber } from '../export/format.js'
import { connect, isRunning } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { formatTable } from './table.js'
import { Failure } from './terminal.js'

const Flags = z.object({ json: z.boolean().default(false) })
const Answer = z.object({ data: z.array(RefreshResult) })

export const agentsRefresh: Command = {
  name: 'agents refresh',
  summary: "fetch the agents' published addresses now",
  settings: ['data', 'ranges', 'offline'],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = parseFlags(call, Flags)
    const { terminal } = call
    const own =
      call.flags.ranges !== undefined ? '--ranges' : call.flags.offline !== undefined ? '--offline' : undefined
    if (own !== undefined && (await isRunning(call.config.data)))
      throw new Failure(
        `${own} is the running instance's own: start that with it. Without it, it refreshes as it is set.`,
        2,
      )
    // Where none runs, the instance that is opened here fetches, and leaves what it fetched in the data directory.
    const client = await connect(call.config, terminal, { create: true })
    try {
      const { data } = Answer.parse(await client.call('POST', '/control/agents/refresh'))
      const failed = data.filter(({ status }) => status === 'failed')
      if (json) terminal.out(`${escapeJson(data, 2)}\n`)
      else terminal.out(shown(terminal, data))
      const asked = data.filter(({ status }) => status !== 'file')
      if (failed.length > 0 && failed.length === asked.length)
        throw new Failure(`None of ${failed.length} lists could be fetched: ${failed[0]?.error ?? 'no reason given'}.`)
      if (!json && failed.length > 0) terminal.err(`${failed.length} of ${asked.length} lists failed.\n`)
      if (!json && asked.some(({ status }) => status === 'offline'))
        terminal.err('Nothing is fetched with --offline; files of --ranges were read again.\n')
    } finally {
      await client.close()
    }
  },
}

const shown = (terminal: Parameters<typeof formatTable>[0], told: readonly RefreshResult[]) =>
  formatTable(
    terminal,
    [
      { title: 'STATUS' },
      { title: 'HELD', right: true },
      { title: 'OF' },
      { title: 'FROM' },
      { title: 'AGENTS' },
      { title: 'SOURCE' },
      { title: 'WHY NOT' },
    ],
    [...told]
      .sort((a, b) => a.status.localeCompare(b.status) || a.source.localeCompare(b.source))
      .map(({ status, of, count, refreshed_at, agents, source, error }) => [
        status,
        formatNumber(count),
        of,
        refreshed_at?.slice(0, 16).replace('T', ' ') ?? '',
        agents.length > 2 ? `${agents.slice(0, 2).join(',')} +${agents.length - 2}` : agents.join(','),
        source,
        error ?? '',
      ]),
  )
