import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { Key, type Keys, KeyUsage, NewKey } from '../manage/keys.js'
import { auditContext, canReachOrg } from './auth.js'
import { chooseOrg } from './org-access.js'
import { type Call, Id, parseBody, parseQuery, pathId, type Route, routeMaker, TotalMeta } from './route.js'

const KeysQuery = z.object({
  org: Id.optional().describe('The organisation; required for members of several.'),
})

/** `/api/keys`: for signed-in admins. An API key never manages keys. */
export function keyRoutes(keys: Keys): Route[] {
  const route = routeMaker('keys')
  const keyOfPath = async (call: Call): Promise<Key> => {
    const key = await keys.get(pathId(call))
    if (canReachOrg(call, key.org)) return key
    throw new ApiError('not_found', 'There is no such key.')
  }
  return [
    route('get', '/api/keys', 'admin', {
      summary: 'List API keys by prefix and name',
      query: KeysQuery,
      data: z.array(Key),
      meta: TotalMeta,
      run: async (call) => {
        const { org } = parseQuery(call, KeysQuery)
        const listsAll = org === undefined && call.principal.kind === 'operator'
        return keys.list(listsAll ? undefined : chooseOrg(call, org))
      },
    }),
    route('post', '/api/keys', 'admin', {
      summary: 'Create an API key; only this response contains the secret',
      body: NewKey,
      data: Key.extend({ secret: z.string() }),
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const body = await parseBody(call, NewKey)
        const org = chooseOrg(call, body.org)
        return keys.create({ ...body, org }, auditContext(call, org))
      },
    }),
    route('delete', '/api/keys/{id}', 'admin', {
      summary: 'Revoke an API key; takes effect at once',
      status: 204,
      run: async (call) => {
        const { id, org } = await keyOfPath(call)
        await keys.revoke(id, auditContext(call, org))
      },
    }),
    route('get', '/api/keys/{id}/usage', 'admin', {
      summary: 'Get when an API key was last used, and how often',
      data: KeyUsage,
      run: async (call) => keys.usage((await keyOfPath(call)).id),
    }),
  ]
}
