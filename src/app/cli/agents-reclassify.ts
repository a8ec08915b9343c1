import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import { ReclassifyResult } from '../../api/worker-control.js'
import { withClient } from './client.js'
import { defineCommand, JSON_FLAG, printJson } from './command.js'
import { createProgress } from './progress.js'
import { formatTable, right } from './table.js'
import { Failure, type Terminal } from './terminal.js'

type StepResult = z.infer<typeof ReclassifyResult>

export const agentsReclassify = defineCommand({
  name: 'agents reclassify',
  summary: 'identify agents and name systems in stored rows again after an update',
  flags: z.object({ json: JSON_FLAG }),
  async run(call) {
    const { flags, terminal } = call
    let stopped = false
    terminal.onSignal('SIGINT', () => {
      // A step takes about a second, so the first Ctrl-C waits for it and the second does not.
      if (stopped) terminal.exit(1)
      stopped = true
    })
    const progress = createProgress(terminal, 'Reclassifying')
    const total: Totals = { rows: 0, changed: 0, moves: new Map() }
    await withClient(call, async (client) => {
      for (;;) {
        const step = await client.read(ReclassifyResult, 'POST', '/control/agents/reclassify')
        addStep(total, step)
        const { catalog_version, remaining } = step
        progress.show(total.rows, total.rows + remaining)
        if (remaining === 0) {
          progress.clear()
          const { rows, changed } = total
          if (flags.json) printJson(terminal, { catalog_version, rows, changed, moves: rankMoves(total) })
          else terminal.out(formatTotals(terminal, total, catalog_version))
          return
        }
        if (stopped)
          throw new Failure(
            `Stopped after ${formatNumber(total.rows)} rows, which are done; run it again for the rest.`,
          )
      }
    }).finally(() => progress.clear())
  },
})

interface Totals {
  rows: number
  changed: number
  moves: Map<string, StepResult['moves'][number]>
}

function addStep(total: Totals, { rows, changed, moves }: StepResult): void {
  total.rows += rows
  total.changed += changed
  for (const move of moves) {
    const key = `${move.from} ${move.to}`
    total.moves.set(key, { ...move, rows: move.rows + (total.moves.get(key)?.rows ?? 0) })
  }
}

/** Sorts the changes of agent by their rows, largest first. */
const rankMoves = ({ moves }: Totals) =>
  [...moves.values()].sort((a, b) => b.rows - a.rows || (a.from + a.to < b.from + b.to ? -1 : 1))

function formatTotals(terminal: Terminal, total: Totals, version: string): string {
  if (total.rows === 0) return `All rows already use the catalog of ${version} and the present names of systems.\n`
  const moves = rankMoves(total).map((move) => [formatNumber(move.rows), move.from, move.to])
  const table = moves.length === 0 ? '' : formatTable(terminal, [right('ROWS'), 'FROM', 'TO'], moves)
  return `${table}Identified ${formatNumber(total.rows)} rows with the catalog of ${version}; ${formatNumber(total.changed)} have another agent or system now.\n`
}
