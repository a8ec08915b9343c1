import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import { Import } from '../../manage/imports.js'
import { type Client, withClient } from './client.js'
import { defineCommand, flag, idArgument, idOf, JSON_FLAG, printJson } from './command.js'
import { showElapsed } from './progress.js'
import { chooseSite } from './sites.js'
import { printTable, right } from './table.js'
import { Failure } from './terminal.js'

const SITE = flag('--site <id>', 'site; needed where there are several', idOf('a site').optional())
const moment = z.iso.datetime().transform((text) => new Date(text))
const Listed = Import.extend({
  created_at: moment,
  ended_at: moment.nullable(),
  first_at: moment.nullable(),
  last_at: moment.nullable(),
})
const listImports = (client: Client, site: number) => client.read(z.array(Listed), 'GET', `/api/imports?site=${site}`)

export const importsList = defineCommand({
  name: 'imports list',
  summary: 'list imports of access logs, and what became of their lines',
  flags: z.object({ site: SITE, json: JSON_FLAG }),
  run: ({ flags, config, terminal }) =>
    withClient({ config, terminal }, async (client) => {
      const imports = await listImports(client, (await chooseSite(client, flags.site)).id)
      if (flags.json) return printJson(terminal, imports)
      printTable(
        terminal,
        [
          right('ID'),
          'STATE',
          'FROM',
          'TO',
          right('LINES'),
          right('PEOPLE'),
          right('AGENTS'),
          right('KNOWN'),
          right('BROKEN'),
          'LOGS',
        ],
        imports.map(({ id, state, first_at, last_at, lines, human, agent, known, broken, source }) => [
          String(id),
          state,
          day(first_at),
          day(last_at),
          ...[lines, human, agent, known, broken].map(formatNumber),
          source,
        ]),
      )
    }),
})

const day = (at: Date | null): string => at?.toISOString().slice(0, 10) ?? ''

export const importsDelete = defineCommand({
  name: 'imports delete',
  summary: 'undo an import: remove its rows, and restore the sessions that it changed',
  arguments: [{ syntax: '<id>', doc: 'import ID, from imports list' }],
  flags: z.object({ site: SITE, json: JSON_FLAG }),
  async run(call) {
    const { flags, config, terminal } = call
    const id = Number(idArgument(call, 'an import', 'imports list'))
    await withClient({ config, terminal }, async (client) => {
      const site = (await chooseSite(client, flags.site)).id
      const job = (await listImports(client, site)).find((one) => one.id === id)
      if (job === undefined) throw new Failure(`Site ${site} has no import ${id}; see readership imports list.`)
      await client.call('DELETE', `/api/imports/${id}?site=${site}`)
      await showElapsed(terminal, () => 'Removing the rows', waitUntilGone(client, site, id))
      if (flags.json) return printJson(terminal, { id, human: job.human, agent: job.agent })
      terminal.out(
        `Removed import ${id}: ${formatNumber(job.human)} pageviews of people and ${formatNumber(job.agent)} requests of agents.\n`,
      )
    })
  },
})

const POLL_MS = 200

async function waitUntilGone(client: Client, site: number, id: number): Promise<void> {
  while (true) {
    const found = (await listImports(client, site)).find((one) => one.id === id)
    if (found === undefined) return
    if (found.state !== 'removing') throw new Failure('The rows could not be removed; the log of the service says why.')
    await delay(POLL_MS)
  }
}
