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

export interface AlertRoutesDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly alerts: Alerts
  readonly notify: Pick<Notify, 'testAlert' | 'countTests' | 'deliveries' | 'canMail'>
  /** What a read is answered from, by an asker who may ask of every site. */
  readContext(signal: AbortSignal): ReadDependencies
  now(): Date
}

/** `/api/alerts` (contract 7): the records, a test, the secret of their webhooks, what was delivered. */
export function alertRoutes({ sites, alerts, notify, readContext: asks, now }: AlertRoutesDeps): Route[] {
  const kind = { name: 'alerts', one: 'alert', all: alerts }
  const { own } = createRecordAccess(sites, kind)
  const spared = createTestLimit(notify)
  return [
    ...recordRoutes(sites, {
      ...{ ...kind, shape: Alert, made: NewAlert, changed: AlertChange },
      async finish(given) {
        const alert = normaliseAlert(given)
        await checkAlertQuery(
          alert,
          alertWindow(alert, lastCompleteMinute(now())),
          asks(AbortSignal.timeout(CHECK_TIMEOUT_MS)),
        )
        return alert
      },
      once: { shape: { secret: AlertSecret }, tell: async ({ id }) => ({ secret: await alerts.secret(id) }) },
    }),
    {
      ...{ method: 'post', path: '/api/alerts/{id}/test', access: 'manage:write', tag: 'alerts' },
      summary: "Send a sample to each of an alert's channels, now",
      data: QueuedCount,
      meta: WarningsMeta,
      status: 202,
      run: async (call) => {
        const { record, site } = await own(call)
        return testResponse(
          await spared({ alert: record.id }, call, () => notify.testAlert(record, site)),
          notify.canMail || record.channels.every(({ type }) => type === 'webhook'),
        )
      },
    },
    {
      ...{ method: 'post', path: '/api/alerts/{id}/rotate-secret', access: 'admin', tag: 'alerts' },
      summary: "A new secret for an alert's webhooks; the one before ends now",
      data: z.object({ id: z.int(), secret: AlertSecret }),
      run: async (call) => {
        const { record, deed } = await own(call)
        return jsonResponse({ id: record.id, secret: await alerts.rotateSecret(record.id, deed) })
      },
    },
    {
      ...{ method: 'get', path: '/api/alerts/{id}/deliveries', access: 'manage:read', tag: 'alerts' },
      summary: 'What was sent of an alert in the last 30 days, the latest first, and what became of it; at most 200',
      data: z.array(DeliveryStatus),
      meta: TotalMeta,
      run: async (call) => {
        const found = await notify.deliveries({ alert: (await own(call)).record.id })
        return jsonResponse(found, { total: found.length })
      },
    },
  ]
}

/** Milliseconds for the question whether an alert can be asked. */
const CHECK_TIMEOUT_MS = 30_000

export const QueuedCount = z.object({ queued: z.int().describe('Deliveries under way: see `deliveries`.') })
export const WarningsMeta = z.object({
  warnings: z.array(z.object({ code: z.string(), message: z.string() })).describe('`no_mail_server`: mails will fail.'),
})

/** What was put into the outbox, and whether its mails can be sent. */
export const testResponse = (queued: number, sendable: boolean): Response => {
  const warnings = sendable
    ? []
    : [{ code: 'no_mail_server', message: 'No mail server is set: a delivery by e-mail fails.' }]
  return jsonResponse({ queued }, { warnings }, 202)
}

const MAX_TESTS = 5
const TEST_WINDOW_MS = 60_000

/**
 * Tests go to somebody's server or mailbox: throws `rate_limited` for more than five a minute. Those of one alert or report
 * wait for one another: what is under way is in no table yet.
 */
export function createTestLimit(notify: Pick<Notify, 'countTests'>) {
  const turns = createKeyLock()
  return <T>(
    of: NewNotice['source'],
    { at, request }: Pick<Call, 'at' | 'request'>,
    test: () => Promise<T>,
  ): Promise<T> =>
    turns(JSON.stringify(of), request.signal, async () => {
      // Each of its channels has one.
      const made = await notify.countTests(of, new Date(at.getTime() - TEST_WINDOW_MS))
      if (made >= MAX_TESTS) throw new ApiError('rate_limited', 'It was tested just now: wait a minute.')
      return test()
    })
}
