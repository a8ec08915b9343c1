import type { Alert, Alerts } from '../manage/alerts.js'
import type { Collection, WithId } from '../manage/collection.js'
import type { Report } from '../manage/reports.js'
import type { Site, Sites } from '../manage/sites.js'
import type { Post } from '../outbound/guarded-outbound.js'
import type { ReadDependencies } from '../query/read.js'
import type { Records } from '../store.js'
import { alertWindow, createAlertEvaluator, lastCompleteMinute } from './alert-evaluator.js'
import { createAlertEvent } from './alert-event.js'
import { createDeliverer } from './deliverer.js'
import type { SendMail } from './mail-message.js'
import { createOutbox, type DeliveryStatus, type NewNotice, type Notice, noticeStatements } from './outbox.js'
import { createRecordingSpans } from './recording-spans.js'
import type { DrawPdf } from './report-mail.js'
import { createReportScheduler } from './report-scheduler.js'
import { sendNotice } from './send-notice.js'
import { waitAtMost } from './wait-at-most.js'

export interface NotifyDeps {
  records: Records
  alerts: Alerts
  reports: Collection<Report>
  sites: Pick<Sites, 'list'>
  /** What a read is answered from, by an asker who may ask of every site. */
  readContext(signal: AbortSignal): ReadDependencies
  /** Whether the store has what came in: where it does not, nothing is evaluated. */
  ready(): boolean
  /** As `RecordedDeps`. */
  settle(): Promise<void>
  lost(): { rows: number; files: number }
  /** Absent without a mail server. */
  mail: SendMail | undefined
  post: Post
  draw: DrawPdf
  now(): Date
  random(bytes: number): Buffer
  log: { warn(details: object, message: string): void }
}

/** What is sent to people and their servers, as the routes see it. */
export interface Notify {
  /** Puts a sample to each of the alert's channels into the outbox; how many. */
  testAlert(alert: WithId<Alert>, site: Site): Promise<number>
  /** As `testAlert`: the report of its last period. Throws what the reads throw. */
  testReport(report: WithId<Report>, site: Site): Promise<number>
  /** Tests of an alert or a report since then. */
  countTests(of: NewNotice['source'], since: Date): Promise<number>
  /** Of an alert or a report, the latest first, at most 200. */
  deliveries(of: NewNotice['source']): Promise<readonly DeliveryStatus[]>
  /** Whether mails can be sent at all. */
  readonly canMail: boolean
  /** Attempts under way may end for five seconds; what is then in doubt is sent again behind the next start. */
  close(): Promise<void>
}

const MINUTE_MS = 60_000
/** Behind the minute, so that its end is not a matter of a clock's milliseconds. */
const AFTER_MINUTE_MS = 1_000
/** Behind a fault of the records, and between two looks at an outbox that is busy. */
const RETRY_MS = 10_000
const MIN_PASS_INTERVAL_MS = 1_000
const DRAIN_TIMEOUT_MS = 5_000
/** What became of those that are cut off then is written, or not. */
const ABORT_TIMEOUT_MS = 1_000
const MINUTES_PER_PRUNE = 60

/** Alerts and reports once a minute, and deliveries when they are due, from now until it is closed. */
export function startNotify(deps: NotifyDeps): Notify {
  const { records, now, log, random } = deps
  const fraction = () => random(4).readUInt32BE() / 2 ** 32
  const outbox = createOutbox({ records, random: fraction })
  const ending = new AbortController()
  const over = new AbortController()
  let delivering: NodeJS.Timeout | undefined
  let evaluating: NodeJS.Timeout | undefined
  let minutes = 0
  let tick: Promise<void> = Promise.resolve()

  const warn = (error: unknown, message: string) => log.warn({ err: error }, message)
  const post: Post = (url, body, options) => deps.post(url, body, { ...options, signal: over.signal })
  const send = (notice: Notice) => sendNotice(notice, { ...deps, post })
  const deliverer = createDeliverer({ outbox, send, now, log: warn }, () => ring())
  const deliverIn = (ms: number) => {
    clearTimeout(delivering)
    if (ending.signal.aborted) return
    delivering = setTimeout(() => {
      deliverer.pass().then(
        (next) =>
          deliverIn(
            Math.min(MINUTE_MS, Math.max(MIN_PASS_INTERVAL_MS, (next?.getTime() ?? Infinity) - now().getTime())),
          ),
        (error) => {
          warn(error, 'the outbox cannot be reached; it is tried again')
          deliverIn(RETRY_MS)
        },
      )
    }, ms)
    delivering.unref()
  }
  const ring = () => deliverIn(0)
  const saying = { log: (details: object, message: string) => log.warn(details, message), ring }
  const clock = () => performance.now()
  const recorded = createRecordingSpans({ ...deps, clock })
  const alerting = createAlertEvaluator({ ...deps, ...saying, clock, missingMs: recorded.missingMs })
  const reporting = createReportScheduler({ ...deps, ...saying })

  const minute = async () => {
    if (!deps.ready()) return
    await recorded.extend()
    await alerting.tick(ending.signal)
    await reporting.tick(ending.signal)
    if (minutes++ % MINUTES_PER_PRUNE === 0) await outbox.prune(now())
  }
  const evaluateNext = () => {
    if (ending.signal.aborted) return
    evaluating = setTimeout(
      () => {
        // A minute that takes longer than one is not followed by those it held up.
        tick = minute()
          .catch((error) => warn(error, 'alerts and reports could not be looked at; they are tried again'))
          .finally(evaluateNext)
      },
      MINUTE_MS - (now().getTime() % MINUTE_MS) + AFTER_MINUTE_MS,
    )
    evaluating.unref()
  }
  evaluateNext()
  ring()

  const word = () => random(6).toString('hex')
  return {
    canMail: deps.mail !== undefined,
    async testAlert(alert, site) {
      const window = alertWindow(alert, lastCompleteMinute(now()))
      const payload = createAlertEvent('test', { alert, site, window, at: now() })
      const name = `test:alert:${alert.id}:${word()}`
      const of = { alert: alert.id }
      await records.write(
        ...alert.channels.flatMap((channel, i) =>
          noticeStatements({ key: `${name}:${i + 1}`, site: site.id, source: of, channel, payload }, now()),
        ),
      )
      ring()
      return alert.channels.length
    },
    testReport: (report, site) => reporting.sendTest(report, site, word()),
    countTests: (of, since) => outbox.countSince(of, 'test', since),
    deliveries: outbox.list,
    async close() {
      ending.abort()
      clearTimeout(evaluating)
      clearTimeout(delivering)
      const keep = () => (deps.ready() ? recorded.extend() : undefined)
      const kept = tick.then(keep).catch((error) => warn(error, 'how long was recorded could not be written'))
      await waitAtMost(DRAIN_TIMEOUT_MS, Promise.all([kept, deliverer.idle()]))
      over.abort()
      await waitAtMost(ABORT_TIMEOUT_MS, deliverer.idle())
    },
  }
}
