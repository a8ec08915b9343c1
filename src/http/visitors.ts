import { z } from 'zod'
import { ApiError } from '../errors.js'
import { ErasureResult, type Removals } from '../manage/removals.js'
import type { Sites } from '../manage/sites.js'
import { HexId } from '../reads/shapes.js'
import { auditContext, canReachSite } from './auth.js'
import { Id, jsonResponse, parseQuery, type Route } from './route.js'

const EraseQuery = z.object({ site: Id.describe('The site.') })

/** Erasure (contract 7): API keys never reach it (spec 5.3 rule 3). */
export const visitorRoutes = (deps: { sites: Pick<Sites, 'get'>; removals: Pick<Removals, 'erase'> }): Route[] => [
  {
    method: 'delete',
    path: '/api/visitors/{id}',
    access: 'admin',
    tag: 'visitors',
    summary: 'Erase a person: every row of theirs, for good',
    pathParameter: HexId.describe('As `/api/stats/visitors` shows them.'),
    query: EraseQuery,
    data: ErasureResult,
    run: async (call) => {
      const id = HexId.safeParse(call.params.id)
      if (!id.success) throw new ApiError('not_found', 'There is nothing here.')
      const site = await deps.sites.get(parseQuery(call, EraseQuery).site)
      if (site === undefined || !canReachSite(call, site))
        throw new ApiError('not_found', 'There is no such site.', 'site')
      return jsonResponse(await deps.removals.erase(site.id, id.data, auditContext(call, site.org)))
    },
  },
]
