import { z } from 'zod'
import { Key } from '../../manage/keys.js'
import { withClient } from './client.js'
import { defineCommand, defineRequest, flag, idArgument, idOf, queryString } from './command.js'
import { printTable, right } from './table.js'
import { style } from './terminal.js'

const Scopes = z.string().transform((list) => list.split(',').map((scope) => scope.trim()))

export const keysCreate = defineRequest({
  name: 'keys create',
  summary: 'create an API key and print its secret once',
  flags: z.object({
    name: flag('--name <name>', 'what the key is for', z.string('is missing: it says who uses the key')),
    org: flag('--org <id>', 'organisation (default 1)', idOf('an organisation').default(1)),
    scopes: flag(
      '--scopes <list>',
      'comma-separated: stats:read (default), manage:read, manage:write, ingest:write',
      Scopes.optional(),
    ),
    site: flag(
      '--site <id>',
      'limit the key to one site (default: all sites of the organisation)',
      idOf('a site').optional(),
    ),
    expires: flag('--expires <instant>', 'expiry time (ISO 8601)', z.string().optional()),
  }),
  create: true,
  result: Key.extend({ secret: z.string() }),
  request: ({ flags: { expires, ...rest } }) => ['POST', '/api/keys', { ...rest, expires_at: expires }],
  print({ id, scopes, secret }, { terminal }) {
    terminal.out(`${secret}\n`)
    terminal.err(`Created key ${id} with ${scopes.join(', ')}. The secret is not shown again.\n`)
  },
})

export const keysList = defineRequest({
  name: 'keys list',
  summary: 'list API keys with prefix and name',
  flags: z.object({ org: flag('--org <id>', 'only this organisation', idOf('an organisation').optional()) }),
  result: z.array(Key),
  request: ({ flags }) => ['GET', `/api/keys${queryString(flags)}`],
  print(keys, { terminal }) {
    if (keys.length === 0) return terminal.out('No keys. Create one: readership keys create --name me\n')
    const state = ({ revoked_at, expires_at }: Key) =>
      revoked_at ? `revoked ${revoked_at.slice(0, 10)}` : expires_at ? `until ${expires_at}` : 'active'
    printTable(
      terminal,
      [right('ID'), 'PREFIX', 'NAME', 'SITE', 'SCOPES', 'STATE'],
      keys.map((key) => [
        String(key.id),
        key.prefix,
        key.name,
        String(key.site ?? 'all'),
        key.scopes.join(','),
        state(key),
      ]),
    )
  },
})

export const keysRevoke = defineCommand({
  name: 'keys revoke',
  summary: 'revoke an API key, effective immediately',
  arguments: [{ syntax: '<id>', doc: 'key ID, from keys list' }],
  flags: z.object({}),
  async run(call) {
    const id = idArgument(call, 'a key', 'keys list')
    await withClient(call, (client) => client.call('DELETE', `/api/keys/${id}`))
    call.terminal.err(`${style(call.terminal, 'green', 'Revoked')}: key ${id}.\n`)
  },
})
