import { z } from 'zod'
import { REDIRECT_TARGETS } from '../../rules/redirect-export.js'
import { defineRequest, flag, queryString } from './command.js'
import { exportCommand, removeCommand, SITE } from './decided-records.js'
import { printTable, right } from './table.js'

const KIND = { table: 'redirects', label: 'redirect' } as const
/** The fields of a redirect that the commands print. */
const ShownRedirect = z.object({ id: z.int(), from: z.string(), to: z.string(), status: z.int() })

const redirectsList = defineRequest({
  name: 'redirects list',
  summary: 'list redirects of missing pages',
  flags: z.object({ site: SITE }),
  result: z.array(ShownRedirect),
  request: ({ flags }) => ['GET', `/api/redirects${queryString(flags)}`],
  print: (redirects, { terminal }) =>
    printTable(
      terminal,
      [right('ID'), 'STATUS', 'FROM', 'TO'],
      redirects.map(({ id, status, from, to }) => [String(id), String(status), from, to]),
    ),
})

const redirectsAdd = defineRequest({
  name: 'redirects add',
  summary: 'redirect a path where the origin answers 404 or 410',
  arguments: [
    { syntax: '<from>', doc: 'the path of the missing page' },
    { syntax: '<to>', doc: 'a path of the site, or a whole URL' },
  ],
  flags: z.object({
    site: SITE,
    status: flag('--status <code>', '301 (default), 302, 307 or 308', z.coerce.number().int().default(301)),
  }),
  result: ShownRedirect,
  request: ({ args: [from, to], flags }) => ['POST', '/api/redirects', { ...flags, from, to }],
  print: ({ id, from, to }, { terminal }) => terminal.err(`Added redirect ${id}, ${from} to ${to}.\n`),
})

export const REDIRECT_COMMANDS = [
  redirectsList,
  redirectsAdd,
  removeCommand(KIND),
  exportCommand(KIND, 'print the redirects, for another server', REDIRECT_TARGETS),
]
