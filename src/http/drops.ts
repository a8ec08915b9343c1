import { z } from 'zod'
import { ApiError } from '../errors.js'
import { DailyDrops, type Drops } from '../manage/drops.js'
import type { Sites } from '../manage/sites.js'
import { canReachSite } from './auth.js'
import { jsonResponse, parseQuery, pathId, type Route, TotalMeta } from './route.js'

const DropsQuery = z.object({
  days: z.coerce.number().int().min(1).max(366).default(30).describe('So many days of UTC, today included.'),
})

/** What a site's owner may know of hits that became no row; outside nobody can tell (issue 5). */
export const dropRoutes = ({ sites, drops }: { sites: Pick<Sites, 'get'>; drops: Pick<Drops, 'list'> }): Route[] => [
  {
    method: 'get',
    path: '/api/sites/{id}/drops',
    access: 'manage:read',
    tag: 'sites',
    summary: 'What came in for a site and was not recorded, by day, door and reason',
    query: DropsQuery,
    data: z.array(DailyDrops),
    meta: TotalMeta,
    run: async (call) => {
      const { days } = parseQuery(call, DropsQuery)
      const site = await sites.get(pathId(call))
      if (!site || !canReachSite(call, site)) throw new ApiError('not_found', 'There is no such site.')
      const rows = await drops.list(site.id, days)
      return jsonResponse(rows, { total: rows.length })
    },
  },
]
