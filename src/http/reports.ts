import { z } from 'zod'
import type { Collection } from '../manage/collection.js'
import { NewReport, type Report as OneReport, Report, ReportChange } from '../manage/reports.js'
import type { Sites } from '../manage/sites.js'
import type { Notify } from '../notify/notify.js'
import { Delivery } from '../notify/outbox.js'
import { createSpared, Queued, tested, Warned } from './alerts.js'
import { reaching, routesOf } from './managed.js'
import { answer, type Route, Total } from './route.js'

export interface ReportRoutes {
  readonly sites: Pick<Sites, 'get'>
  readonly reports: Collection<OneReport>
  readonly notify: Pick<Notify, 'testReport' | 'tests' | 'deliveries' | 'mails'>
}

/** `/api/reports`: what is mailed of a site each week or month; a test, what was delivered. */
export function reportRoutes({ sites, reports, notify }: ReportRoutes): Route[] {
  const kind = { name: 'reports', one: 'report', all: reports }
  const { own } = reaching(sites, kind)
  const spared = createSpared(notify)
  return [
    ...routesOf(sites, {
      ...{ ...kind, shape: Report, made: NewReport, changed: ReportChange },
      finish: async (given) => given,
    }),
    {
      ...{ method: 'post', path: '/api/reports/{id}/test', access: 'manage:write', tag: 'reports' },
      summary: 'Send the report of the last period to its recipients, now',
      data: Queued,
      meta: Warned,
      status: 202,
      run: async (call) => {
        const { record, site } = await own(call)
        const test = () => notify.testReport(record, site)
        return tested(await spared({ report: record.id }, call, test), notify.mails)
      },
    },
    {
      ...{ method: 'get', path: '/api/reports/{id}/deliveries', access: 'manage:read', tag: 'reports' },
      summary: 'What was sent of a report in the last 30 days, the latest first, and what became of it; at most 200',
      data: z.array(Delivery),
      meta: Total,
      run: async (call) => {
        const found = await notify.deliveries({ report: (await own(call)).record.id })
        return answer(found, { total: found.length })
      },
    },
  ]
}
