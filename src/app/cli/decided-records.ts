import { z } from 'zod'
import { withClient } from './client.js'
import { defineCommand, flag, idArgument, idOf, queryString } from './command.js'
import { printOutput } from './output-file.js'

/** The site of rules and redirects. */
export const SITE = flag('--site <id>', 'site (default 1)', idOf('a site').default(1))

interface Kind {
  /** As in the path of the API and in the names of the commands. */
  readonly table: 'rules' | 'redirects'
  readonly label: string
}

/** Returns the command that deletes a rule or redirect. */
export const removeCommand = ({ table, label }: Kind) =>
  defineCommand({
    name: `${table} remove`,
    summary: `delete a ${label}`,
    arguments: [{ syntax: '<id>', doc: `${label} ID, from ${table} list` }],
    flags: z.object({}),
    async run(call) {
      const id = idArgument(call, `a ${label}`, `${table} list`)
      await withClient(call, (client) => client.call('DELETE', `/api/${table}/${id}`))
      call.terminal.err(`Deleted ${label} ${id}.\n`)
    },
  })

/** Returns the command that prints the rules or redirects of a site as another server reads them. */
export const exportCommand = ({ table }: Kind, summary: string, targets: readonly [string, ...string[]]) =>
  defineCommand({
    name: `${table} export`,
    summary,
    flags: z.object({ site: SITE, for: flag('--for <server>', targets.join(', '), z.enum(targets)) }),
    run: (call) =>
      withClient(call, (client) =>
        printOutput(call.terminal, client.file(`/api/${table}/export${queryString(call.flags)}`)),
      ),
  })
