import { z } from 'zod'
import { ApiError } from '../errors.js'
import { Key, type Keys, KeyUsage, NewKey } from '../manage/keys.js'
import { auditContext, canReachOrg } from './auth.js'
import { chooseOrg } from './org-access.js'
import { type Call, Id, jsonResponse, parseBody, parseQuery, pathId, type Route, TotalMeta } from './route.js'

const KeysQuery = z.object({
  org: Id.optional().describe('Of this organisation; needed by who is in several.'),
})

/** `/api/keys` (spec 4.9): for admins who are signed in, and never for a key (spec 5.3 rule 4). */
export function keyRoutes(keys: Keys): Route[] {
  const own = async (call: Call): Promise<Key> => {
    const key = await keys.get(pathId(call))
    if (canReachOrg(call, key.org)) return key
    throw new ApiError('not_found', 'There is no such key.')
  }
  const route = { access: 'admin', tag: 'keys' } as const
  return [
    {
      ...{ ...route, method: 'get', path: '/api/keys' },
      summary: 'API keys by prefix and name',
      query: KeysQuery,
      data: z.array(Key),
      meta: TotalMeta,
      run: async (call) => {
        const { org } = parseQuery(call, KeysQuery)
        const all = await keys.list(
          org === undefined && call.principal.kind === 'operator' ? org : chooseOrg(call, org),
        )
        return jsonResponse(all, { total: all.length })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/api/keys' },
      summary: 'Make a key; the only answer that carries its secret',
      body: NewKey,
      data: Key.extend({ secret: z.string() }),
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const asked = await parseBody(call, NewKey)
        const org = chooseOrg(call, asked.org)
        return jsonResponse(await keys.create({ ...asked, org }, auditContext(call, org)), undefined, 201)
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/keys/{id}' },
      summary: 'Revoke a key, effective immediately',
      status: 204,
      run: async (call) => {
        const { id, org } = await own(call)
        await keys.revoke(id, auditContext(call, org))
        return new Response(null, { status: 204 })
      },
    },
    {
      ...{ ...route, method: 'get', path: '/api/keys/{id}/usage' },
      summary: 'When a key was last used, and how much',
      data: KeyUsage,
      run: async (call) => jsonResponse(await keys.usage((await own(call)).id)),
    },
  ]
}
