import { z } from 'zod'
import { ApiError } from '../errors.js'
import { Dropped, type Drops } from '../manage/drops.js'
import type { Sites } from '../manage/sites.js'
import { reaches } from './auth.js'
import { answer, idOf, queryOf, type Route, Total } from './route.js'

const Within = z.object({
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
    query: Within,
    data: z.array(Dropped),
    meta: Total,
    run: async (call) => {
      const { days } = queryOf(call, Within)
      const site = await sites.get(idOf(call))
      if (!site || !reaches(call, site)) throw new ApiError('not_found', 'There is no such site.')
      const rows = await drops.list(site.id, days)
      return answer(rows, { total: rows.length })
    },
  },
]
