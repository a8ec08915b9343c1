import { z } from 'zod'
import { MemberView } from '../http/members.js'
import { OrgOfMember } from '../manage/orgs.js'
import { connect } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { formatTable } from './table.js'

const Listing = z.object({ json: z.boolean().default(false) })

export const orgsList: Command = {
  name: 'orgs list',
  summary: 'the organisations',
  settings: ['data'],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = parseFlags(call, Listing)
    const client = await connect(call.config, call.terminal)
    try {
      const { data } = z.object({ data: z.array(OrgOfMember) }).parse(await client.call('GET', '/api/orgs'))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else
        call.terminal.out(
          formatTable(
            call.terminal,
            [{ title: 'ID', right: true }, { title: 'NAME' }, { title: 'TWO-FACTOR' }, { title: 'STATE' }],
            data.map(({ id, name, require_totp, delete_after }) => [
              String(id),
              name,
              require_totp ? 'required' : 'optional',
              delete_after === undefined ? 'in force' : `goes ${delete_after}`,
            ]),
          ),
        )
    } finally {
      await client.close()
    }
  },
}

const Create = z.object({ name: z.string('is missing'), json: z.boolean().default(false) })

export const orgsCreate: Command = {
  name: 'orgs create',
  summary: 'make an organisation, without members yet',
  settings: ['data'],
  flags: [{ form: '--name <name>', doc: 'what it is called' }, JSON_FLAG],
  async run(call) {
    const { name, json } = parseFlags(call, Create)
    const client = await connect(call.config, call.terminal, { create: true })
    try {
      const { data } = z.object({ data: OrgOfMember }).parse(await client.call('POST', '/api/orgs', { name }))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else call.terminal.err(`Organisation ${data.id}. Its first owner: readership users create --org ${data.id}\n`)
    } finally {
      await client.close()
    }
  },
}

const OfOrg = z.object({
  org: z.string().regex(/^\d+$/, 'must be the id of an organisation').default('1'),
  json: z.boolean().default(false),
})

export const membersList: Command = {
  name: 'members list',
  summary: 'who is in an organisation, and as what',
  settings: ['data'],
  flags: [{ form: '--org <id>', doc: 'which (default 1)' }, JSON_FLAG],
  async run(call) {
    const { org, json } = parseFlags(call, OfOrg)
    const client = await connect(call.config, call.terminal)
    try {
      const answer = await client.call('GET', `/api/orgs/${org}/members`)
      const { data } = z.object({ data: z.array(MemberView) }).parse(answer)
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else
        call.terminal.out(
          formatTable(
            call.terminal,
            [{ title: 'USER', right: true }, { title: 'ROLE' }, { title: 'E-MAIL' }, { title: 'NAME' }],
            data.map(({ user, role, email, name }) => [String(user), role, email, name]),
          ),
        )
    } finally {
      await client.close()
    }
  },
}
