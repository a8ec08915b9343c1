import { z } from 'zod'
import { formatNumber } from '../export/format.js'
import { ReclassifyResult } from '../http/agent-control.js'
import { connect } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { createProgress } from './progress.js'
import { formatTable } from './table.js'
import { Failure, type Terminal } from './terminal.js'

const Flags = z.object({ json: z.boolean().default(false) })
const Answer = z.object({ data: ReclassifyResult })

export const agentsReclassify: Command = {
  name: 'agents reclassify',
  summary: 'identify stored rows again, after an update of the catalog',
  settings: ['data'],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = parseFlags(call, Flags)
    const { terminal } = call
    let stopped = false
    terminal.onSignal('SIGINT', () => {
      // A step is done in about a second: who asks twice is not kept.
      if (stopped) terminal.exit(1)
      stopped = true
    })
    const client = await connect(call.config, terminal)
    const bar = createProgress(terminal, 'Reclassifying')
    const total: Totals = { rows: 0, changed: 0, moves: new Map() }
    try {
      for (;;) {
        const { data } = Answer.parse(await client.call('POST', '/control/agents/reclassify'))
        add(total, data)
        bar.show(total.rows, total.rows + data.remaining)
        if (data.remaining === 0) {
          bar.clear()
          terminal.out(json ? asJson(total, data.catalog_version) : asText(terminal, total, data.catalog_version))
          return
        }
        if (stopped)
          throw new Failure(
            `Stopped after ${formatNumber(total.rows)} rows, which are done; run it again for the rest.`,
          )
      }
    } finally {
      bar.clear()
      await client.close()
    }
  },
}

interface Totals {
  rows: number
  changed: number
  moves: Map<string, z.infer<typeof ReclassifyResult>['moves'][number]>
}

function add(total: Totals, { rows, changed, moves }: z.infer<typeof ReclassifyResult>): void {
  total.rows += rows
  total.changed += changed
  for (const move of moves) {
    const key = `${move.from} ${move.to}`
    total.moves.set(key, { ...move, rows: move.rows + (total.moves.get(key)?.rows ?? 0) })
  }
}

/** The largest first. */
const ranked = ({ moves }: Totals) =>
  [...moves.values()].sort((a, b) => b.rows - a.rows || (a.from + a.to < b.from + b.to ? -1 : 1))

const asJson = (total: Totals, catalog_version: string) =>
  `${escapeJson({ catalog_version, rows: total.rows, changed: total.changed, moves: ranked(total) }, 2)}\n`

function asText(terminal: Terminal, total: Totals, version: string): string {
  if (total.rows === 0) return `Every row is of the catalog of ${version}.\n`
  const moves = ranked(total).map((move) => [formatNumber(move.rows), move.from, move.to])
  const shown =
    moves.length === 0
      ? ''
      : formatTable(terminal, [{ title: 'ROWS', right: true }, { title: 'WAS' }, { title: 'IS' }], moves)
  return `${shown}${formatNumber(total.rows)} rows identified again by the catalog of ${version}: ${formatNumber(total.changed)} have another agent.\n`
}
