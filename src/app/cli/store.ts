import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import { AcceptResult, AssignResult, StoreStatus, VacuumResult } from '../../api/store-control.js'
import { formatBytes } from '../../base/format-bytes.js'
import { defaultMemoryLimit, inspectMachine } from '../../worker-client/machine.js'
import { isRunning, withClient } from './client.js'
import { defineCommand, defineRequest, flag, JSON_FLAG, printJson } from './command.js'
import { escapeText } from './escape.js'
import { showElapsed } from './progress.js'
import { printTable, right } from './table.js'
import { Failure } from './terminal.js'

export const storeStatus = defineRequest({
  name: 'store status',
  summary: 'show lost data that you have to decide about, and rows of sites that do not exist',
  flags: z.object({}),
  result: StoreStatus,
  request: () => ['GET', '/control/store'],
  print({ losses, old_sites }, { terminal }) {
    if (losses.length === 0) terminal.out('No loss waits for a decision.\n')
    for (const { found_at, message, since, backup } of losses) {
      const copied = since === undefined ? '' : ` The copy is from ${since} or later.`
      const kept = backup === undefined ? '' : ` The file as it was: ${backup}.`
      terminal.out(`${found_at} ${escapeText(`${message}${copied}${kept}`)}\n`)
    }
    if (old_sites.length > 0) {
      terminal.out('\nRows of sites that do not exist:\n')
      printTable(
        terminal,
        [right('OLD SITE'), right('ROWS'), 'FIRST', 'LAST', 'HOSTNAME'],
        old_sites.map(({ site, rows, first, last, hostname }) => [
          String(site),
          formatNumber(rows),
          first.slice(0, 10),
          last.slice(0, 10),
          hostname,
        ]),
      )
    }
    if (losses.length > 0) terminal.out(`\n${DECISIONS}`)
  },
})

const DECISIONS = `Until you decide, registration is closed, and nothing expires. Your choices:
- Restore a backup: stop readership, put control.duckdb and events.duckdb of the same backup back, and start it.
- Keep rows: readership store assign <old-site> <site>, for each old site that you recognise.
- Accept what is lost: readership store accept; with --delete-old-rows, rows of other old sites are deleted.
`

export const storeAssign = defineRequest({
  name: 'store assign',
  summary: 'give the rows of a site that does not exist any more to another site',
  arguments: [
    { syntax: '<old-site>', doc: 'number of the old site, from store status' },
    { syntax: '<site>', doc: 'site ID, from sites list' },
  ],
  flags: z.object({}),
  result: AssignResult,
  request({ args }) {
    const [from, to] = args.map((text) => (/^\d+$/.test(text) ? Number(text) : Number.NaN))
    if (!(Number(from) > 0 && Number(to) > 0))
      throw new Failure('Both must be site IDs; see readership store status and readership sites list.', 2)
    return ['POST', '/control/store/assign', { from, to }]
  },
  print: ({ rows }, { args: [from, to], terminal }) =>
    terminal.err(`Gave ${formatNumber(rows)} rows of the old site ${from} to site ${to}.\n`),
})

export const storeAccept = defineRequest({
  name: 'store accept',
  summary: 'accept a loss of data, so that registration opens again',
  flags: z.object({
    deleteOldRows: flag('--delete-old-rows', 'delete the rows of sites that do not exist', z.boolean().default(false)),
  }),
  result: AcceptResult,
  request: ({ flags }) => ['POST', '/control/store/accept', { delete_old_rows: flags.deleteOldRows }],
  print({ accepted, deleted }, { terminal }) {
    const rows = deleted.reduce((sum, site) => sum + site.rows, 0)
    const more = rows === 0 ? '' : ` ${formatNumber(rows)} rows of old sites are being deleted.`
    terminal.err(accepted === 0 && rows === 0 ? 'There was no loss to accept.\n' : `Accepted.${more}\n`)
  },
})

export const storeVacuum = defineCommand({
  name: 'store vacuum',
  summary: 'give the disk back what erased and expired rows have left; stop readership first',
  flags: z.object({ json: JSON_FLAG }),
  async run(call) {
    const { config, flags, terminal } = call
    if (await isRunning(config.data)) {
      const { before, after } = await withClient(call, (client) =>
        client.read(VacuumResult, 'POST', '/control/store/vacuum'),
      )
      if (flags.json) return printJson(terminal, { before, after })
      const freed = Math.max(0, before.used_bytes - after.used_bytes)
      return terminal.out(
        after.free_bytes === 0
          ? `Rows take ${formatBytes(after.used_bytes)}, and the file has nothing to give back.\n`
          : `Rows take ${formatBytes(after.used_bytes)}; ${formatBytes(freed)} were freed now, and new rows take the free ${formatBytes(after.free_bytes)} of the file first.\nTo give these back to the disk, stop readership and run this again.\n`,
      )
    }
    const file = join(config.data, 'events.duckdb')
    if (!existsSync(file)) throw new Failure(`No events.duckdb in ${config.data}: name the directory with --data.`)
    const { vacuumFile } = await import('../../storage/duckdb/vacuum.js')
    const { before, after } = await showElapsed(
      terminal,
      () => 'Copying the store',
      vacuumFile(file, config.memory_limit ?? defaultMemoryLimit(inspectMachine())),
    )
    if (flags.json) return printJson(terminal, { before_bytes: before, after_bytes: after })
    terminal.out(
      before === after
        ? `${file} has ${formatBytes(before)}: there is nothing to give back.\n`
        : `${file} had ${formatBytes(before)} and has ${formatBytes(after)}: ${formatBytes(before - after)} are free.\n`,
    )
  },
})
