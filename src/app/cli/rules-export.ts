import { z } from 'zod'
import { EXPORT_TARGETS } from '../../rules/export/export-text.js'
import { withClient } from './client.js'
import { defineCommand, flag, idOf, queryString } from './command.js'
import { printOutput } from './output-file.js'

/** `readership rules export`: prints the rules that are on as another server reads them. */
export const rulesExport = defineCommand({
  name: 'rules export',
  summary: 'print the rules that are on, for another server',
  flags: z.object({
    site: flag('--site <id>', 'site (default 1)', idOf('a site').default(1)),
    for: flag('--for <server>', EXPORT_TARGETS.join(', '), z.enum(EXPORT_TARGETS)),
  }),
  run: (call) =>
    withClient(call, (client) =>
      printOutput(call.terminal, client.file(`/api/rules/export${queryString(call.flags)}`)),
    ),
})
