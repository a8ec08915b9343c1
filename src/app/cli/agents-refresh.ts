import { z } from 'zod'
import { RefreshResult } from '../../agents/ranges/status.js'
import { formatNumber } from '../../analytics/export/format.js'
import { isRunning, withClient } from './client.js'
import { defineCommand, JSON_FLAG, printJson } from './command.js'
import { showElapsed } from './progress.js'
import { printTable, right } from './table.js'
import { Failure, type Terminal } from './terminal.js'

export const agentsRefresh = defineCommand({
  name: 'agents refresh',
  summary: "fetch the agents' published address ranges now",
  settings: ['ranges', 'offline'],
  // The settings of the same name, to tell whether they were given as flags.
  flags: z.object({ json: JSON_FLAG, ranges: z.unknown().optional(), offline: z.unknown().optional() }),
  async run(call) {
    const { config, flags, terminal } = call
    const setting = flags.ranges !== undefined ? '--ranges' : flags.offline !== undefined ? '--offline' : undefined
    if (setting !== undefined && (await isRunning(config.data)))
      throw new Failure(
        `${setting} is a setting of the running instance: restart that with it, or leave it out here.`,
        2,
      )
    // If no instance runs, the one opened here fetches the lists and stores them in the data directory.
    const refresh = withClient(
      call,
      (client) => client.read(z.array(RefreshResult), 'POST', '/control/agents/refresh'),
      { create: true },
    )
    const results = await showElapsed(terminal, () => 'Fetching the lists of addresses', refresh)
    if (flags.json) printJson(terminal, results)
    else printResults(terminal, results)
    const failed = results.filter(({ status }) => status === 'failed')
    const requested = results.filter(({ status }) => status !== 'file')
    if (failed.length > 0 && failed.length === requested.length)
      throw new Failure(`None of ${failed.length} lists could be fetched: ${failed[0]?.error ?? 'no reason given'}.`)
    if (flags.json) return
    if (failed.length > 0) terminal.err(`${failed.length} of ${requested.length} lists failed.\n`)
    if (requested.some(({ status }) => status === 'offline'))
      terminal.err('With --offline nothing is fetched; files of --ranges were read again.\n')
  },
})

const printResults = (terminal: Terminal, results: readonly RefreshResult[]) =>
  printTable(
    terminal,
    ['STATUS', right('COUNT'), 'OF', 'FETCHED', 'AGENTS', 'SOURCE', 'ERROR'],
    results
      .toSorted((a, b) => a.status.localeCompare(b.status) || a.source.localeCompare(b.source))
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
