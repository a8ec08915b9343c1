import { z } from 'zod'
import { AuditEntry } from '../../manage/audit-log.js'
import { defineRequest, flag, idOf, queryString } from './command.js'
import { printTable, right } from './table.js'

export const audit = defineRequest({
  name: 'audit',
  summary: 'print the audit log (who did what, from which address), newest last',
  flags: z.object({
    org: flag('--org <id>', 'only this organisation (default: all)', idOf('an organisation').optional()),
    n: flag(
      '-n <rows>',
      'number of rows, at most 1000 (default 50)',
      z.string().regex(/^\d+$/, 'must be a number of rows').default('50'),
    ),
  }),
  result: z.array(AuditEntry).transform((entries) => entries.toReversed()),
  request: ({ flags: { n, org } }) => ['GET', `/control/audit${queryString({ limit: n, org })}`],
  print: (entries, { terminal }) =>
    printTable(
      terminal,
      ['TIME', right('ORG'), 'WHO', 'FROM', 'ACTION', 'OBJECT', 'DETAILS'],
      entries.map(({ at, org, actor, ip, action, object, object_id, details }) => [
        at,
        String(org),
        actor,
        ip ?? '-',
        action,
        object_id === undefined ? object : `${object} ${object_id}`,
        details === undefined ? '' : JSON.stringify(details),
      ]),
    ),
})
