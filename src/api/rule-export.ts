import { z } from 'zod'
import type { Sites } from '../manage/sites.js'
import { requireSite } from './org-access.js'
import { parseQuery, type Route, routeMaker, SiteQuery } from './route.js'

/** `GET /api/{name}/export`: records of a site as text for another server. It comes before `/api/{name}/{id}`. */
export function exportRoute<T extends string>(
  sites: Pick<Sites, 'get'>,
  name: 'rules' | 'redirects',
  summary: string,
  targets: readonly [T, ...T[]],
  write: (target: T, site: number) => Promise<string>,
): Route {
  const query = SiteQuery.extend({ for: z.enum(targets).describe('The server or file that gets the text.') })
  return routeMaker(name)('get', `/api/${name}/export`, 'manage:read', {
    summary,
    query,
    contentType: 'text/plain; charset=utf-8',
    async run(call) {
      const { site, for: target } = parseQuery(call, query)
      const { id } = await requireSite(call, sites, site, 'site')
      return new Response(await write(target, id), { headers: { 'content-type': 'text/plain; charset=utf-8' } })
    },
  })
}
