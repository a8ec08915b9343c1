import { z } from 'zod'
import { UserLink, UserView } from '../http/account/control.js'
import { ROLES } from '../manage/roles.js'
import { connect } from './client.js'
import { type Command, type CommandCall, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { formatTable } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

const PASSWORD_STDIN = { form: '--password-stdin', doc: 'read the password from standard input' }
/** More than any password, and no more than a person types by mistake. */
const MAX_PASSWORD_CHARACTERS = 10_000

/** The first line of the input, without its end. */
async function readPassword(terminal: Terminal): Promise<string> {
  let text = ''
  for await (const chunk of terminal.input?.() ?? []) {
    text += chunk
    if (text.includes('\n') || text.length > MAX_PASSWORD_CHARACTERS) break
  }
  const [line = ''] = text.split(/\r?\n/)
  if (line === '') throw new Failure('--password-stdin: there is nothing on standard input.', 2)
  return line
}

const Create = z.object({
  email: z.string('is missing: the address that signs in'),
  name: z.string().optional(),
  org: z.string().regex(/^\d+$/, 'must be the id of an organisation').transform(Number).default(1),
  role: z.enum(ROLES, `must be one of ${ROLES.join(', ')}`).default('owner'),
  passwordStdin: z.boolean().default(false),
  json: z.boolean().default(false),
})
const One = z.object({ data: UserView })

export const usersCreate: Command = {
  name: 'users create',
  summary: 'make an account',
  settings: ['data'],
  flags: [
    { form: '--email <address>', doc: 'the address that signs in' },
    { form: '--name <name>', doc: 'what the person is called (default the address)' },
    { form: '--org <id>', doc: 'its organisation (default 1)' },
    { form: '--role <role>', doc: `${ROLES.join(', ')} (default owner)` },
    PASSWORD_STDIN,
    JSON_FLAG,
  ],
  async run(call) {
    const { email, name, org, role, passwordStdin, json } = parseFlags(call, Create)
    const password = passwordStdin ? await readPassword(call.terminal) : undefined
    const client = await connect(call.config, call.terminal, { create: true })
    try {
      const body = { email, name, org, role, password }
      const { data } = One.parse(await client.call('POST', '/control/users', body))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else {
        call.terminal.out(`${data.id}\n`)
        const how = password === undefined ? `; sign in with readership login-link --email ${data.email}` : ''
        call.terminal.err(
          `${style(call.terminal, 'green', 'Made')}: ${data.email}, ${role} of organisation ${org}${how}.\n`,
        )
      }
    } finally {
      await client.close()
    }
  },
}

const List = z.object({ json: z.boolean().default(false) })
const Many = z.object({ data: z.array(UserView) })

export const usersList: Command = {
  name: 'users list',
  summary: 'the accounts, and what they are in which organisation',
  settings: ['data'],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = parseFlags(call, List)
    const client = await connect(call.config, call.terminal)
    try {
      const { data } = Many.parse(await client.call('GET', '/control/users'))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else
        call.terminal.out(
          formatTable(
            call.terminal,
            [
              { title: 'ID', right: true },
              { title: 'E-MAIL' },
              { title: 'NAME' },
              { title: 'ROLES' },
              { title: 'SIGNS IN BY' },
            ],
            data.map(({ id, email, name, organisations, has_password, totp }) => [
              ...[String(id), email, name],
              organisations.map(({ org, role }) => `${role} of ${org}`).join(', '),
              `${has_password ? 'password' : 'link'}${totp ? ' and code' : ''}`,
            ]),
          ),
        )
    } finally {
      await client.close()
    }
  },
}

const Reset = z.object({ passwordStdin: z.boolean().default(false), json: z.boolean().default(false) })
const Linked = z.object({ data: UserLink.partial({ link: true }) })
const emailArgument = ({ args }: CommandCall): string => args[0] ?? ''

export const usersResetPassword: Command = {
  name: 'users reset-password',
  summary: 'a link by which an account gets another password, or the password itself',
  arguments: [{ form: '<email>', doc: 'from users list' }],
  settings: ['data', 'admin_host', 'admin_port', 'public_url'],
  flags: [PASSWORD_STDIN, JSON_FLAG],
  async run(call) {
    const { passwordStdin, json } = parseFlags(call, Reset)
    const password = passwordStdin ? await readPassword(call.terminal) : undefined
    const client = await connect(call.config, call.terminal)
    try {
      const body = { email: emailArgument(call), password }
      const { data } = Linked.parse(await client.call('POST', '/control/users/reset-password', body))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else if (data.link === undefined)
        call.terminal.err(`The password of ${data.email} is set; its sessions are over.\n`)
      else {
        call.terminal.out(`${data.link}\n`)
        call.terminal.err(`It sets the password of ${data.email}, once, within an hour.\n`)
      }
    } finally {
      await client.close()
    }
  },
}

export const usersDisableTotp: Command = {
  name: 'users disable-totp',
  summary: 'switch off the second factor of an account whose owner has lost it',
  arguments: [{ form: '<email>', doc: 'from users list' }],
  settings: ['data'],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = parseFlags(call, List)
    const client = await connect(call.config, call.terminal)
    try {
      const { data } = One.parse(
        await client.call('POST', '/control/users/disable-totp', { email: emailArgument(call) }),
      )
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else call.terminal.err(`${data.email} signs in without a code; its sessions are over.\n`)
    } finally {
      await client.close()
    }
  },
}
