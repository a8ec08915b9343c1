import { z } from 'zod'
import { UserLink, UserView } from '../../api/account/control.js'
import { ROLES } from '../../manage/roles.js'
import { defineRequest, flag, idOf } from './command.js'
import { printTable, right } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

const PasswordStdin = flag(
  '--password-stdin',
  'read the password from the first line of standard input',
  z.boolean().default(false),
)
/** Longer than any password; bounds what is read from standard input. */
const MAX_PASSWORD_CHARACTERS = 10_000

/** Reads the first line of standard input, without its line end. */
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

export const usersCreate = defineRequest({
  name: 'users create',
  summary: 'create a user account',
  flags: z.object({
    email: flag(
      '--email <address>',
      'e-mail address to sign in with',
      z.string('is missing: the address to sign in with'),
    ),
    name: flag('--name <name>', 'name of the person (default: the address)', z.string().optional()),
    org: flag('--org <id>', 'organisation (default 1)', idOf('an organisation').default(1)),
    role: flag(
      '--role <role>',
      `${ROLES.join(', ')} (default owner)`,
      z.enum(ROLES, `must be one of ${ROLES.join(', ')}`).default('owner'),
    ),
    passwordStdin: PasswordStdin,
  }),
  create: true,
  result: UserView,
  async request({ flags: { passwordStdin, ...account }, terminal }) {
    const password = passwordStdin ? await readPassword(terminal) : undefined
    return ['POST', '/control/users', { ...account, password }]
  },
  print({ id, email }, { flags: { role, org, passwordStdin }, terminal }) {
    terminal.out(`${id}\n`)
    const signIn = passwordStdin ? '' : `; sign in with readership login-link --email ${email}`
    terminal.err(`${style(terminal, 'green', 'Created')}: ${email}, ${role} of organisation ${org}${signIn}.\n`)
  },
})

export const usersList = defineRequest({
  name: 'users list',
  summary: 'list user accounts with their roles',
  flags: z.object({}),
  result: z.array(UserView),
  request: () => ['GET', '/control/users'],
  print: (users, { terminal }) =>
    printTable(
      terminal,
      [right('ID'), 'E-MAIL', 'NAME', 'ROLES', 'SIGN-IN'],
      users.map(({ id, email, name, organisations, has_password, totp }) => [
        String(id),
        email,
        name,
        organisations.map(({ org, role }) => `${role} of ${org}`).join(', '),
        `${has_password ? 'password' : 'link'}${totp ? ' and code' : ''}`,
      ]),
    ),
})

export const usersResetPassword = defineRequest({
  name: 'users reset-password',
  summary: 'print a password reset link for an account, or set its password',
  arguments: [{ syntax: '<email>', doc: 'address of the account, from users list' }],
  settings: ['admin_host', 'admin_port', 'public_url'],
  flags: z.object({ passwordStdin: PasswordStdin }),
  result: UserLink.partial({ link: true }),
  async request({ args: [email], flags: { passwordStdin }, terminal }) {
    const password = passwordStdin ? await readPassword(terminal) : undefined
    return ['POST', '/control/users/reset-password', { email, password }]
  },
  print({ email, link }, { terminal }) {
    if (link === undefined) return terminal.err(`Set the password of ${email}; signed out everywhere.\n`)
    terminal.out(`${link}\n`)
    terminal.err(`The link sets the password of ${email}, once, within an hour.\n`)
  },
})

export const usersDisableTotp = defineRequest({
  name: 'users disable-totp',
  summary: 'switch off two-factor sign-in for an account that lost its second factor',
  arguments: [{ syntax: '<email>', doc: 'address of the account, from users list' }],
  flags: z.object({}),
  result: UserView,
  request: ({ args: [email] }) => ['POST', '/control/users/disable-totp', { email }],
  print: ({ email }, { terminal }) => terminal.err(`${email} signs in without a code now; signed out everywhere.\n`),
})
