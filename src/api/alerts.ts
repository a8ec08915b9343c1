import { z } from 'zod'
import type { ReadDependencies } from '../analytics/query/prepare-read.js'
import { Alert, AlertChange, AlertSecret, type Alerts, NewAlert, normaliseAlert } from '../manage/alerts.js'
import { alertWindow, lastCompleteMinute } from '../manage/notify/alert-evaluator.js'
import { checkAlertQuery } from '../manage/notify/measure.js'
import type { Notify } from '../manage/notify/notify.js'
import type { Sites } from '../manage/sites.js'
import { deliveryRoutes } from './deliveries.js'
import { type Route, routeMaker } from './route.js'
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
      ...{ records: alerts, shape: Alert, newShape: NewAlert, changeShape: AlertChange },
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
