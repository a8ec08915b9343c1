import { z } from 'zod'
import { formatNumber } from '../export/format.js'
import { AcceptResult, AssignResult, StoreStatus } from '../http/store-control.js'
import { defineRequest, flag } from './command.js'
import { escapeText } from './escape.js'
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
