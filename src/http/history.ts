import { z } from 'zod'
import { AddedHistory, type Histories, History, NewHistory } from '../manage/histories.js'
import type { Sites } from '../manage/sites.js'
import { auditContext } from './auth.js'
import { requireSite } from './org-access.js'
import { type Call, parseBody, pathId, type Route, routeMaker, TotalMeta } from './route.js'

/** The days of a century, at about 100 bytes each. */
const MAX_BODY_BYTES = 4_194_304

/** `/api/sites/{id}/history`: days that other tools counted. */
export function historyRoutes({ sites, histories }: { sites: Pick<Sites, 'get'>; histories: Histories }): Route[] {
  const route = routeMaker('sites')
  const siteOfPath = (call: Call) => requireSite(call, sites, pathId(call))
  return [
    route('get', '/api/sites/{id}/history', 'manage:read', {
      summary: 'List the additions of days that other tools counted',
      data: z.array(History),
      meta: TotalMeta,
      run: async (call) => histories.list((await siteOfPath(call)).id),
    }),
    route('post', '/api/sites/{id}/history', 'admin', {
      summary: 'Add days that another tool counted; days that the site has already are left out',
      body: NewHistory,
      data: AddedHistory,
      status: 201,
      mayConflict: true,
      maxBodyBytes: MAX_BODY_BYTES,
      run: async (call) => {
        const { id, org } = await siteOfPath(call)
        return histories.create(id, await parseBody(call, NewHistory), auditContext(call, org))
      },
    }),
    route('delete', '/api/sites/{id}/history/{history}', 'admin', {
      summary: 'Delete an addition with its days; the site is as it was before',
      status: 204,
      run: async (call) => {
        const { id, org } = await siteOfPath(call)
        await histories.delete(id, pathId(call, 'history', 'There is no such history.'), auditContext(call, org))
      },
    }),
  ]
}
