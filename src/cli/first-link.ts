import { z } from 'zod'
import type { Config } from '../config.js'
import { UserLink, UserView } from '../http/account/control.js'
import type { Instance, Log } from '../instance/instance.js'

/** Where the service listens, as a person on this machine writes it. */
export function serviceUrl({ admin_host, admin_port }: Pick<Config, 'admin_host' | 'admin_port'>): string {
  const host = /^(0\.0\.0\.0|::)$/.test(admin_host) ? 'localhost' : admin_host
  return `http://${host.includes(':') ? `[${host}]` : host}:${admin_port}`
}

const Users = z.object({ data: z.array(UserView) })
const Link = z.object({ data: UserLink })

/**
 * Says the sign-in link of a first start (contract 2), and of every other until somebody has a password: without a link
 * nobody gets in. Says nothing where there are no accounts: rows are shipped elsewhere, or the records cannot be read.
 */
export async function logSignInLink(instance: Pick<Instance, 'control'>, log: Pick<Log, 'info'>): Promise<void> {
  const listed = await instance.control(new Request('http://readership/control/users'))
  if (!listed.ok || Users.parse(await listed.json()).data.some((user) => user.has_password)) return
  const asked = new Request('http://readership/control/login-link', { method: 'POST', body: '{}' })
  const made = await instance.control(asked)
  if (!made.ok) return
  const { link } = Link.parse(await made.json()).data
  log.info({}, `sign in: ${link} (once, within 15 minutes; another: readership login-link)`)
}
