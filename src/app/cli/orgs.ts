import { z } from 'zod'
import { MemberView } from '../../api/members.js'
import { OrgOfMember } from '../../manage/orgs.js'
import { defineRequest, flag, idOf } from './command.js'
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
