import { z } from 'zod'
import { Key } from '../manage/keys.js'
import { connect } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { formatTable } from './table.js'
import { Failure, style } from './terminal.js'

const Org = z.string().regex(/^\d+$/, 'must be the id of an organisation').transform(Number)
const Create = z.object({
  name: z.string('is missing: it says whose key it is'),
  org: Org.default(1),
  scopes: z
    .string()
    .transform((list) => list.split(',').map((scope) => scope.trim()))
    .optional(),
  site: z.string().regex(/^\d+$/, 'must be the id of a site').transform(Number).optional(),
  expires: z.string().optional(),
  json: z.boolean().default(false),
})
const Made = z.object({ data: Key.extend({ secret: z.string() }) })

export const keysCreate: Command = {
  name: 'keys create',
  summary: 'make an API key and show its secret, this once',
  settings: ['data'],
  flags: [
    { form: '--name <name>', doc: 'what the key is for' },
    { form: '--org <id>', doc: 'its organisation (default 1)' },
    { form: '--scopes <list>', doc: 'what it opens: stats:read (default), manage:read, manage:write, ingest:write' },
    { form: '--site <id>', doc: 'the one site it reaches (default: all of the organisation)' },
    { form: '--expires <instant>', doc: 'ISO-8601 instant after which it is refused' },
    JSON_FLAG,
  ],
  async run(call) {
    const { name, org, scopes, site, expires, json } = parseFlags(call, Create)
    const client = await connect(call.config, call.terminal, { create: true })
    try {
      const body = { name, org, ...(scopes ? { scopes } : {}), ...(site ? { site } : {}), expires_at: expires }
      const { data } = Made.parse(await client.call('POST', '/api/keys', body))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else {
        call.terminal.out(`${data.secret}\n`)
        call.terminal.err(`Key ${data.id}, ${data.scopes.join(', ')}. The secret is not shown again.\n`)
      }
    } finally {
      await client.close()
    }
  },
}

const List = z.object({ org: Org.optional(), json: z.boolean().default(false) })

export const keysList: Command = {
  name: 'keys list',
  summary: 'the API keys by prefix and name',
  settings: ['data'],
  flags: [{ form: '--org <id>', doc: 'of one organisation' }, JSON_FLAG],
  async run(call) {
    const { org, json } = parseFlags(call, List)
    const client = await connect(call.config, call.terminal)
    try {
      const answer = await client.call('GET', `/api/keys${org === undefined ? '' : `?org=${org}`}`)
      const { data } = z.object({ data: z.array(Key) }).parse(answer)
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else if (data.length === 0) call.terminal.out('No keys. Make one: readership keys create --name me\n')
      else call.terminal.out(shown(call.terminal, data))
    } finally {
      await client.close()
    }
  },
}

const shown = (terminal: Parameters<typeof formatTable>[0], keys: readonly Key[]) =>
  formatTable(
    terminal,
    [
      { title: 'ID', right: true },
      { title: 'PREFIX' },
      { title: 'NAME' },
      { title: 'SITE' },
      { title: 'SCOPES' },
      { title: 'STATE' },
    ],
    keys.map((key) => [
      String(key.id),
      key.prefix,
      key.name,
      key.site === undefined ? 'all' : String(key.site),
      key.scopes.join(','),
      key.revoked_at
        ? `revoked ${key.revoked_at.slice(0, 10)}`
        : key.expires_at
          ? `until ${key.expires_at}`
          : 'in force',
    ]),
  )

export const keysRevoke: Command = {
  name: 'keys revoke',
  summary: 'revoke an API key, effective immediately',
  arguments: [{ form: '<id>', doc: 'from keys list' }],
  settings: ['data'],
  async run(call) {
    const [id = ''] = call.args
    if (!/^\d+$/.test(id)) throw new Failure(`${id} is not the id of a key; see readership keys list.`, 2)
    const client = await connect(call.config, call.terminal)
    try {
      await client.call('DELETE', `/api/keys/${id}`)
      call.terminal.err(`${style(call.terminal, 'green', 'Revoked')}: key ${id}.\n`)
    } finally {
      await client.close()
    }
  },
}
