import { z } from 'zod'
import type { ReadDependencies } from '../analytics/query/prepare-read.js'
import { ApiError } from '../base/errors.js'
import { Alert, AlertChange, AlertSecret, type Alerts, NewAlert, normaliseAlert } from '../manage/alerts.js'
import type { Collection, SiteRecord, WithId } from '../manage/collection.js'
import { alertWindow, lastCompleteMinute } from '../manage/notify/alert-evaluator.js'
import { checkAlertQuery } from '../manage/notify/measure.js'
import { DeliveryStatus, type NewNotice } from '../manage/notify/notices.js'
import type { Notify } from '../manage/notify/notify.js'
import { NewReport, type Report as OneReport, Report, ReportChange } from '../manage/reports.js'
import type { ManagedSite, Sites } from '../manage/sites.js'
import { createKeyLock } from './key-lock.js'
import { type Call, jsonResponse, type Route, routeMaker, TotalMeta } from './route.js'
import { createRecordAccess, recordRoutes } from './site-records.js'

interface AlertRoutesDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly alerts: Alerts
  readonly notify: Pick<Notify, 'testAlert' | 'countTests' | 'deliveries' | 'canMail'>
  /** Returns what reads need, with access to every site. */
  readDependencies(signal: AbortSignal): ReadDependencies
  now(): Date
}

/** `/api/alerts`: the records, a test, the secret of webhooks, deliveries. */
export function alertRoutes({ sites, alerts, notify, readDependencies, now }: AlertRoutesDeps): Route[] {
  const recordOfPath = createRecordAccess(sites, alerts)
  return [
    ...recordRoutes(sites, {
      records: alerts,
      shape: Alert,
      newShape: NewAlert,
      changeShape: AlertChange,
      async normalise(given) {
        const alert = normaliseAlert(given)
        await checkAlertQuery(
          alert,
          alertWindow(alert, lastCompleteMinute(now())),
          readDependencies(AbortSignal.timeout(CHECK_TIMEOUT_MS)),
        )
        return alert
      },
      shownOnce: { shape: { secret: AlertSecret }, read: async ({ id }) => ({ secret: await alerts.secret(id) }) },
    }),
    ...deliveryRoutes({
      name: 'alerts',
      recordOfPath,
      notify,
      sourceOf: (alert) => ({ alert }),
      testSummary: "Send a test message to each of an alert's channels",
      test: (record, site) => notify.testAlert(record, site),
      sendsMail: ({ channels }) => channels.some(({ type }) => type !== 'webhook'),
    }),
    routeMaker('alerts')('post', '/api/alerts/{id}/rotate-secret', 'admin', {
      summary: "Replace the secret of an alert's webhooks at once",
      data: z.object({ id: z.int(), secret: AlertSecret }),
      run: async (call) => {
        const { record, context } = await recordOfPath(call)
        return { id: record.id, secret: await alerts.rotateSecret(record.id, context) }
      },
    }),
  ]
}

/** Bounds the check of an alert's query. */
const CHECK_TIMEOUT_MS = 30_000

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
      records: reports,
      shape: Report,
      newShape: NewReport,
      changeShape: ReportChange,
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

const QueuedCount = z.object({ queued: z.int().describe('Number of queued deliveries: see `deliveries`.') })
const WarningsMeta = z.object({
  warnings: z
    .array(z.object({ code: z.string(), message: z.string() }))
    .describe('`no_mail_server`: deliveries by e-mail will fail.'),
})
const NO_MAIL_SERVER = {
  code: 'no_mail_server',
  message: 'No mail server is configured: deliveries by e-mail will fail.',
}

const MAX_TESTS = 5
const TEST_WINDOW_MS = 60_000

/** One kind of record that sends notices: alerts or reports. */
interface DeliveryKind<O extends SiteRecord> {
  readonly name: 'alerts' | 'reports'
  readonly recordOfPath: ReturnType<typeof createRecordAccess<O>>
  readonly notify: Pick<Notify, 'countTests' | 'deliveries' | 'canMail'>
  sourceOf(id: number): NewNotice['source']
  readonly testSummary: string
  /** Queues test deliveries and returns their number. */
  test(record: WithId<O>, site: ManagedSite): Promise<number>
  /** Whether a record has deliveries by e-mail. */
  sendsMail(record: WithId<O>): boolean
}

/** The routes that send a test and that list the deliveries. */
function deliveryRoutes<O extends SiteRecord>(kind: DeliveryKind<O>): Route[] {
  const { name, recordOfPath, notify, sourceOf, testSummary, test, sendsMail } = kind
  const route = routeMaker(name)
  const runTest = createTestLimit(notify)
  return [
    route('post', `/api/${name}/{id}/test`, 'manage:write', {
      summary: testSummary,
      data: QueuedCount,
      meta: WarningsMeta,
      status: 202,
      run: async (call) => {
        const { record, site } = await recordOfPath(call)
        const queued = await runTest(sourceOf(record.id), call, () => test(record, site))
        return jsonResponse({ queued }, { warnings: notify.canMail || !sendsMail(record) ? [] : [NO_MAIL_SERVER] }, 202)
      },
    }),
    route('get', `/api/${name}/{id}/deliveries`, 'manage:read', {
      summary: `List the deliveries of ${name === 'alerts' ? 'an alert' : 'a report'} in the last 30 days, the latest first; at most 200`,
      data: z.array(DeliveryStatus),
      meta: TotalMeta,
      run: async (call) => notify.deliveries(sourceOf((await recordOfPath(call)).record.id)),
    }),
  ]
}

/**
 * Limits tests, which go to a server or mailbox, to five a minute: throws `rate_limited`. Tests of one alert or report run
 * one after the other, because a running one is in no table yet.
 */
function createTestLimit(notify: Pick<Notify, 'countTests'>) {
  const turns = createKeyLock()
  return (of: NewNotice['source'], { at, request }: Pick<Call, 'at' | 'request'>, test: () => Promise<number>) =>
    turns(JSON.stringify(of), request.signal, async () => {
      // Each channel of an alert counts as one.
      const made = await notify.countTests(of, new Date(at.getTime() - TEST_WINDOW_MS))
      if (made >= MAX_TESTS) throw new ApiError('rate_limited', 'Too many tests: try again in a minute.')
      return test()
    })
}
