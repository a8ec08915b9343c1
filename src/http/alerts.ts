import { z } from 'zod'
import { ApiError } from '../errors.js'
import { Alert, AlertChange, AlertSecret, type Alerts, NewAlert, normaliseAlert } from '../manage/alerts.js'
import type { Sites } from '../manage/sites.js'
import { alertWindow, lastCompleteMinute } from '../notify/alert-evaluator.js'
import { checkAlertQuery } from '../notify/measure.js'
import type { Notify } from '../notify/notify.js'
import type { NewNotice } from '../notify/outbox.js'
import { DeliveryStatus } from '../notify/outbox.js'
import type { ReadDependencies } from '../query/read.js'
import { createKeyLock } from './key-lock.js'
import { type Call, jsonResponse, type Route, TotalMeta } from './route.js'
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
  const kind = { name: 'alerts', singular: 'alert', records: alerts }
  const recordOfPath = createRecordAccess(sites, kind)
  const spared = createTestLimit(notify)
  return [
    ...recordRoutes(sites, {
      ...{ ...kind, shape: Alert, newShape: NewAlert, changeShape: AlertChange },
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
    {
      method: 'post',
      path: '/api/alerts/{id}/test',
      access: 'manage:write',
      tag: 'alerts',
      summary: "Send a test message to each of an alert's channels",
      data: QueuedCount,
      meta: WarningsMeta,
      status: 202,
      run: async (call) => {
        const { record, site } = await recordOfPath(call)
        return testResponse(
          await spared({ alert: record.id }, call, () => notify.testAlert(record, site)),
          notify.canMail || record.channels.every(({ type }) => type === 'webhook'),
        )
      },
    },
    {
      method: 'post',
      path: '/api/alerts/{id}/rotate-secret',
      access: 'admin',
      tag: 'alerts',
      summary: "Replace the secret of an alert's webhooks at once",
      data: z.object({ id: z.int(), secret: AlertSecret }),
      run: async (call) => {
        const { record, context } = await recordOfPath(call)
        return jsonResponse({ id: record.id, secret: await alerts.rotateSecret(record.id, context) })
      },
    },
    {
      method: 'get',
      path: '/api/alerts/{id}/deliveries',
      access: 'manage:read',
      tag: 'alerts',
      summary: 'List the deliveries of an alert in the last 30 days, the latest first; at most 200',
      data: z.array(DeliveryStatus),
      meta: TotalMeta,
      run: async (call) => {
        const found = await notify.deliveries({ alert: (await recordOfPath(call)).record.id })
        return jsonResponse(found, { total: found.length })
      },
    },
  ]
}

/** Bounds the check of an alert's query. */
const CHECK_TIMEOUT_MS = 30_000

export const QueuedCount = z.object({ queued: z.int().describe('Number of queued deliveries: see `deliveries`.') })
export const WarningsMeta = z.object({
  warnings: z
    .array(z.object({ code: z.string(), message: z.string() }))
    .describe('`no_mail_server`: deliveries by e-mail will fail.'),
})

/** Returns the number of queued test deliveries, with a warning if mails cannot be sent. */
export const testResponse = (queued: number, sendable: boolean): Response => {
  const warnings = sendable
    ? []
    : [{ code: 'no_mail_server', message: 'No mail server is configured: deliveries by e-mail will fail.' }]
  return jsonResponse({ queued }, { warnings }, 202)
}

const MAX_TESTS = 5
const TEST_WINDOW_MS = 60_000

/**
 * Limits tests, which go to a server or mailbox, to five a minute: throws `rate_limited`. Tests of one alert or report run
 * one after the other, because a running one is in no table yet.
 */
export function createTestLimit(notify: Pick<Notify, 'countTests'>) {
  const turns = createKeyLock()
  return <T>(
    of: NewNotice['source'],
    { at, request }: Pick<Call, 'at' | 'request'>,
    test: () => Promise<T>,
  ): Promise<T> =>
    turns(JSON.stringify(of), request.signal, async () => {
      // Each channel of an alert counts as one.
      const made = await notify.countTests(of, new Date(at.getTime() - TEST_WINDOW_MS))
      if (made >= MAX_TESTS) throw new ApiError('rate_limited', 'Too many tests: try again in a minute.')
      return test()
    })
}
