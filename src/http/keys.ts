import { z } from 'zod'
import { ApiError } from '../errors.js'
import { Key, type Keys, KeyUsage, NewKey } from '../manage/keys.js'
import { deedOf, reachesOrg } from './auth.js'
import { named } from './organisation.js'
import { answer, bodyOf, type Call, Id, idOf, queryOf, type Route, Total } from './route.js'

const OfOrg = z.object({
  org: Id.optional().describe('Of this organisation; needed by who is in several.'),
})

/** `/api/keys` (spec 4.9): for admins who are signed in, and never for a key (spec 5.3 rule 4). */
export function keyRoutes(keys: Keys): Route[] {
  const own = async (call: Call): Promise<Key> => {
    const key = await keys.get(idOf(call))
    if (reachesOrg(call, key.org)) return key
    throw new ApiError('not_found', 'There is no such key.')
  }
  const route = { access: 'admin', tag: 'keys' } as const
  return [
    {
      ...{ ...route, method: 'get', path: '/api/keys' },
      summary: 'API keys by prefix and name',
      query: OfOrg,
      data: z.array(Key),
      meta: Total,
      run: async (call) => {
        const { org } = queryOf(call, OfOrg)
        const all = await keys.list(org === undefined && call.principal.kind === 'operator' ? org : named(call, org))
        return answer(all, { total: all.length })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/api/keys' },
      summary: 'Make a key; the only answer that carries its secret',
      body: NewKey,
      data: Key.extend({ secret: z.string() }),
      status: 201,
      conflicts: true,
      run: async (call) => {
        const asked = await bodyOf(call, NewKey)
        const org = named(call, asked.org)
        return answer(await keys.create({ ...asked, org }, deedOf(call, org)), undefined, 201)
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/keys/{id}' },
      summary: 'Revoke a key, effective immediately',
      status: 204,
      run: async (call) => {
        const { id, org } = await own(call)
        await keys.revoke(id, deedOf(call, org))
        return new Response(null, { status: 204 })
      },
    },
    {
      ...{ ...route, method: 'get', path: '/api/keys/{id}/usage' },
      summary: 'When a key was last used, and how much',
      data: KeyUsage,
      run: async (call) => answer(await keys.usage((await own(call)).id)),
    },
  ]
}
