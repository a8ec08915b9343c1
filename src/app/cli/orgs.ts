import { z } from 'zod'
import { MemberView } from '../../api/members.js'
import { AuditEntry } from '../../manage/audit-log.js'
import { OrgOfMember } from '../../manage/orgs.js'
import { defineRequest, flag, idOf, queryString } from './command.js'
import { printTable, right } from './table.js'

export const orgsList = defineRequest({
  name: 'orgs list',
  summary: 'list organisations',
  flags: z.object({}),
  result: z.array(OrgOfMember),
  request: () => ['GET', '/api/orgs'],
  print: (orgs, { terminal }) =>
    printTable(
      terminal,
      [right('ID'), 'NAME', 'TWO-FACTOR', 'STATE'],
      orgs.map(({ id, name, require_totp, delete_after }) => [
        String(id),
        name,
        require_totp ? 'required' : 'optional',
        delete_after === undefined ? 'active' : `deleted on ${delete_after}`,
      ]),
    ),
})

export const orgsCreate = defineRequest({
  name: 'orgs create',
  summary: 'create an organisation without members',
  flags: z.object({ name: flag('--name <name>', 'name of the organisation', z.string('is missing')) }),
  create: true,
  result: OrgOfMember,
  request: ({ flags }) => ['POST', '/api/orgs', flags],
  print: ({ id }, { terminal }) =>
    terminal.err(`Created organisation ${id}. Add its first owner: readership users create --org ${id}\n`),
})

export const membersList = defineRequest({
  name: 'members list',
  summary: 'list the members of an organisation with their roles',
  flags: z.object({ org: flag('--org <id>', 'organisation (default 1)', idOf('an organisation').default(1)) }),
  result: z.array(MemberView),
  request: ({ flags: { org } }) => ['GET', `/api/orgs/${org}/members`],
  print: (members, { terminal }) =>
    printTable(
      terminal,
      [right('USER'), 'ROLE', 'E-MAIL', 'NAME'],
      members.map(({ user, role, email, name }) => [String(user), role, email, name]),
    ),
})

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
