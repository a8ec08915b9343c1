import type { Collection } from '../manage/collection.js'
import type { Notify } from '../manage/notify/notify.js'
import { NewReport, type Report as OneReport, Report, ReportChange } from '../manage/reports.js'
import type { Sites } from '../manage/sites.js'
import { deliveryRoutes } from './deliveries.js'
import type { Route } from './route.js'
import { createRecordAccess, recordRoutes } from './site-records.js'

interface ReportRoutesDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly reports: Collection<OneReport>
  readonly notify: Pick<Notify, 'testReport' | 'countTests' | 'deliveries' | 'canMail'>
}

/** `/api/reports`: weekly and monthly mails about a site, a test, deliveries. */
export function reportRoutes({ sites, reports, notify }: ReportRoutesDeps): Route[] {
  const recordOfPath = createRecordAccess(sites, reports)
  return [
    ...recordRoutes(sites, {
      ...{ records: reports, shape: Report, newShape: NewReport, changeShape: ReportChange },
      normalise: async (given) => given,
    }),
    ...deliveryRoutes({
      name: 'reports',
      recordOfPath,
      notify,
      sourceOf: (report) => ({ report }),
      testSummary: 'Send the report of the last period to its recipients now',
      test: (record, site) => notify.testReport(record, site),
      sendsMail: () => true,
    }),
  ]
}
