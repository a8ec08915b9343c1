import { z } from 'zod'
import type { Collection } from '../manage/collection.js'
import { NewReport, type Report as OneReport, Report, ReportChange } from '../manage/reports.js'
import type { Sites } from '../manage/sites.js'
import type { Notify } from '../notify/notify.js'
import { DeliveryStatus } from '../notify/outbox.js'
import { createTestLimit, QueuedCount, testResponse, WarningsMeta } from './alerts.js'
import { jsonResponse, type Route, TotalMeta } from './route.js'
import { createRecordAccess, recordRoutes } from './site-records.js'

interface ReportRoutesDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly reports: Collection<OneReport>
  readonly notify: Pick<Notify, 'testReport' | 'countTests' | 'deliveries' | 'canMail'>
}

/** `/api/reports`: weekly and monthly mails about a site, a test, deliveries. */
export function reportRoutes({ sites, reports, notify }: ReportRoutesDeps): Route[] {
  const kind = { name: 'reports', singular: 'report', records: reports }
  const recordOfPath = createRecordAccess(sites, kind)
  const spared = createTestLimit(notify)
  return [
    ...recordRoutes(sites, {
      ...{ ...kind, shape: Report, newShape: NewReport, changeShape: ReportChange },
      normalise: async (given) => given,
    }),
    {
      method: 'post',
      path: '/api/reports/{id}/test',
      access: 'manage:write',
      tag: 'reports',
      summary: 'Send the report of the last period to its recipients now',
      data: QueuedCount,
      meta: WarningsMeta,
      status: 202,
      run: async (call) => {
        const { record, site } = await recordOfPath(call)
        const test = () => notify.testReport(record, site)
        return testResponse(await spared({ report: record.id }, call, test), notify.canMail)
      },
    },
    {
      method: 'get',
      path: '/api/reports/{id}/deliveries',
      access: 'manage:read',
      tag: 'reports',
      summary: 'List the deliveries of a report in the last 30 days, the latest first; at most 200',
      data: z.array(DeliveryStatus),
      meta: TotalMeta,
      run: async (call) => {
        const found = await notify.deliveries({ report: (await recordOfPath(call)).record.id })
        return jsonResponse(found, { total: found.length })
      },
    },
  ]
}
