import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import type { SiteRecord, WithId } from '../manage/collection.js'
import { DeliveryStatus, type NewNotice } from '../manage/notify/notices.js'
import type { Notify } from '../manage/notify/notify.js'
import type { Site } from '../manage/sites.js'
import { createKeyLock } from './key-lock.js'
import { type Call, jsonResponse, type Route, routeMaker, TotalMeta } from './route.js'
import type { createRecordAccess } from './site-records.js'

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
  test(record: WithId<O>, site: Site): Promise<number>
  /** Whether a record has deliveries by e-mail. */
  sendsMail(record: WithId<O>): boolean
}

/** The routes that send a test and that list the deliveries. */
export function deliveryRoutes<O extends SiteRecord>(kind: DeliveryKind<O>): Route[] {
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
