import { z } from 'zod'
import { UserLink } from '../http/account/control.js'
import { connect } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'

const Flags = z.object({ email: z.string().optional(), json: z.boolean().default(false) })
const Made = z.object({ data: UserLink })

export const loginLink: Command = {
  name: 'login-link',
  summary: 'a link that signs in once, within 15 minutes',
  settings: ['data', 'admin_host', 'admin_port', 'public_url'],
  flags: [{ form: '--email <address>', doc: "whose account (default the first owner's of organisation 1)" }, JSON_FLAG],
  async run(call) {
    const { email, json } = parseFlags(call, Flags)
    const client = await connect(call.config, call.terminal, { create: true })
    try {
      const { data } = Made.parse(await client.call('POST', '/control/login-link', { email }))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else {
        call.terminal.out(`${data.link}\n`)
        call.terminal.err(`It signs ${data.email} in, once, until ${data.expires_at}.\n`)
      }
    } finally {
      await client.close()
    }
  },
}
