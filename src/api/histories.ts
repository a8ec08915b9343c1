import { z } from 'zod'
import { localDate } from '../analytics/query/calendar.js'
import { AddedHistory, type Histories, History, NewHistory } from '../manage/other-tools.js'
import type { Sites } from '../manage/sites.js'
import { auditContext } from './auth.js'
import { requireSite } from './org-access.js'
import { type Call, parseBody, pathId, type Route, routeMaker, TotalMeta } from './route.js'
import { validationError } from './validation.js'

/** The days of a century, at about 100 bytes each. */
const MAX_BODY_BYTES = 4_194_304

/** `/api/sites/{id}/history`: days and pages that other tools counted. */
export function historyRoutes({ sites, histories }: { sites: Pick<Sites, 'get'>; histories: Histories }): Route[] {
  const route = routeMaker('sites')
  const siteOfPath = (call: Call) => requireSite(call, sites, pathId(call))
  return [
    route('get', '/api/sites/{id}/history', 'manage:read', {
      summary: 'List the additions of days and pages that other tools counted',
      data: z.array(History),
      meta: TotalMeta,
      run: async (call) => histories.list((await siteOfPath(call)).id),
    }),
    route('post', '/api/sites/{id}/history', 'admin', {
      summary: 'Add days or pages that another tool counted; days that the site has already are left out',
      body: NewHistory,
      data: AddedHistory,
      status: 201,
      mayConflict: true,
      maxBodyBytes: MAX_BODY_BYTES,
      run: async (call) => {
        const { id, org, timezone } = await siteOfPath(call)
        const added = await parseBody(call, NewHistory)
        const today = localDate(call.at, timezone)
        const n = added.days.findIndex(({ day }) => day > today)
        const last = added.pages?.last_day ?? ''
        const future = n >= 0 ? added.days[n]?.day : last > today ? last : undefined
        if (future !== undefined)
          throw validationError(
            `${future} is in the future: today is ${today} in the site's time zone.`,
            n >= 0 ? ['days', n, 'day'] : ['pages', 'last_day'],
          )
        return histories.create(id, added, auditContext(call, org))
      },
    }),
    route('delete', '/api/sites/{id}/history/{history}', 'admin', {
      summary: 'Delete an addition with its days or pages; the site is as it was before',
      status: 204,
      run: async (call) => {
        const { id, org } = await siteOfPath(call)
        await histories.delete(id, pathId(call, 'history', 'There is no such history.'), auditContext(call, org))
      },
    }),
  ]
}
