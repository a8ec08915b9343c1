import { z } from 'zod'
import { UserLink, UserView } from '../../api/account/control.js'
import type { Log } from '../../base/log.js'
import type { Instance } from '../instance/instance.js'
import { defineRequest, flag } from './command.js'

export const loginLink = defineRequest({
  name: 'login-link',
  summary: 'print a link that opens the dashboard; it signs in once, within 15 minutes',
  settings: ['admin_host', 'admin_port', 'public_url'],
  flags: z.object({
    email: flag(
      '--email <address>',
      'whose account (default: the first owner of organisation 1)',
      z.string().optional(),
    ),
  }),
  create: true,
  result: UserLink,
  request: ({ flags }) => ['POST', '/control/login-link', flags],
  print({ link, email, expires_at }, { terminal }) {
    terminal.out(`${link}\n`)
    if (link.startsWith('/'))
      terminal.err('Open this path below /_readership of your site; its address is known after its first request.\n')
    terminal.err(`The link opens the dashboard and signs ${email} in, once, until ${expires_at}.\n`)
  },
})

const Users = z.object({ data: z.array(UserView) })
const Link = z.object({ data: UserLink })

/**
 * Logs a sign-in link at every start until an account has a password, because there is no other way in. Logs nothing
 * if there are no accounts, which is so if rows are shipped to a collector or the records cannot be read.
 */
export async function logSignInLink(instance: Pick<Instance, 'control'>, log: Pick<Log, 'info'>): Promise<void> {
  const users = await instance.control(new Request('http://readership/control/users'))
  if (!users.ok || Users.parse(await users.json()).data.some((user) => user.has_password)) return
  const created = await instance.control(
    new Request('http://readership/control/login-link', { method: 'POST', body: '{}' }),
  )
  if (!created.ok) return
  const { link } = Link.parse(await created.json()).data
  log.info(
    {},
    `sign in: ${link} (opens the dashboard; valid once, for 15 minutes; for another run readership login-link)`,
  )
}
