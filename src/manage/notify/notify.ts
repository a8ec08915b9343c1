import type { ReadDependencies } from '../../analytics/query/prepare-read.js'
import type { Post } from '../../base/outbound/guarded-outbound.js'
import { MINUTE_MS } from '../../base/time-units.js'
import { waitAtMost } from '../../base/wait-at-most.js'
import type { Records } from '../../storage/store.js'
import type { Alert, Alerts } from '../alerts.js'
import type { Collection, WithId } from '../collection.js'
import type { RecordingSpans } from '../recording-spans.js'
import type { Report } from '../reports.js'
import type { ManagedSite, Sites } from '../sites.js'
import { alertWindow, createAlertEvaluator, lastCompleteMinute } from './alert-evaluator.js'
import { createAlertEvent } from './alert-event.js'
import { createDeliverer } from './deliverer.js'
import { createIndexNow } from './indexnow.js'
import type { SendMail } from './mail-message.js'
import { alertNoticeStatements, createOutbox, type NewNotice, type Notice, type Outbox } from './notices.js'
import type { DrawPdf } from './report-mail.js'
import { createReportScheduler } from './report-scheduler.js'
import { sendNotice } from './send-notice.js'

interface NotifyDeps {
  records: Records
  alerts: Alerts
  reports: Collection<Report>
  sites: Pick<Sites, 'list'>
  /** Returns what reads need, with access to every site. */
  readDependencies(signal: AbortSignal): ReadDependencies
  /** Whether this process evaluates and delivers; otherwise another one does. */
  isWriter(): boolean
  /** Reports whether the store has received everything; otherwise nothing is evaluated. */
  ready(): boolean
  /** Extended once a minute, before alerts are evaluated. */
  spans: RecordingSpans
  /** Undefined without a mail server. */
  mail: SendMail | undefined
  post: Post
  draw: DrawPdf
  /** The URL that gets the names of changed pages; undefined if it may get none. */
  indexnow_url: string | undefined
  now(): Date
  random(bytes: number): Buffer
  log: { warn(details: object, message: string): void }
}

/** Runs one second after the minute, so the window has closed by any clock. */
const AFTER_MINUTE_MS = 1_000
/** Waits after a failure of the records. */
const RETRY_MS = 10_000
/** Bounds how often a busy outbox is read. */
const MIN_PASS_INTERVAL_MS = 1_000
const DRAIN_TIMEOUT_MS = 5_000
/** Waits for the results of attempts that were aborted at the end. */
const ABORT_TIMEOUT_MS = 1_000
const MINUTES_PER_PRUNE = 60

/** Delivers what is due, when it is woken and when the next delivery is due, until `ending` is aborted. */
function startDelivery(deps: NotifyDeps, outbox: Outbox, ending: AbortSignal) {
  const { now, log } = deps
  const aborting = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const warn = (error: unknown, message: string) => log.warn({ err: error }, message)
  const post: Post = (url, body, options) => deps.post(url, body, { ...options, signal: aborting.signal })
  const wake = () => passAfter(0)
  const send = (notice: Notice) => sendNotice(notice, { ...deps, post })
  const deliverer = createDeliverer({ outbox, send, now, log: warn, onFinish: wake })
  const passAfter = (ms: number) => {
    clearTimeout(timer)
    if (ending.aborted) return
    timer = setTimeout(() => {
      if (!deps.isWriter()) return passAfter(RETRY_MS)
      deliverer.pass().then(
        (next) =>
          passAfter(
            Math.min(MINUTE_MS, Math.max(MIN_PASS_INTERVAL_MS, (next?.getTime() ?? Infinity) - now().getTime())),
          ),
        (error) => {
          warn(error, 'the outbox cannot be read; it is retried')
          passAfter(RETRY_MS)
        },
      )
    }, ms)
    timer.unref()
  }
  ending.addEventListener('abort', () => clearTimeout(timer))
  wake()
  return { wake, idle: deliverer.idle, abort: () => aborting.abort() }
}

/** Calls `run` one second after each minute until `ending` is aborted. `run` never rejects. */
function startMinutes(now: () => Date, ending: AbortSignal, run: () => Promise<void>): void {
  let timer: NodeJS.Timeout | undefined
  const schedule = () => {
    if (ending.aborted) return
    const at = now().getTime()
    const due = at - (at % MINUTE_MS) + MINUTE_MS
    timer = setTimeout(
      // A timer does not follow a clock that was set back. A run that takes longer than a minute skips the minutes that it
      // overlaps.
      () => (now().getTime() < due ? schedule() : void run().finally(schedule)),
      due - at + AFTER_MINUTE_MS,
    )
    timer.unref()
  }
  ending.addEventListener('abort', () => clearTimeout(timer))
  schedule()
}

export type Notify = ReturnType<typeof startNotify>

/** Evaluates alerts and reports once a minute and delivers what is due, from now until it is closed. */
export function startNotify(deps: NotifyDeps) {
  const { records, now, log, random, spans } = deps
  const fraction = () => random(4).readUInt32BE() / 2 ** 32
  const outbox = createOutbox({ records, random: fraction })
  const ending = new AbortController()
  let minutes = 0

  const warnOf = (message: string) => (error: unknown) => log.warn({ err: error }, message)
  const delivery = startDelivery(deps, outbox, ending.signal)
  const clock = () => performance.now()
  const warn = (details: object, message: string) => log.warn(details, message)
  const common = { ...deps, log: warn, wakeDelivery: delivery.wake }
  const evaluator = createAlertEvaluator({ ...common, clock, missingMs: spans.missingMs })
  const scheduler = createReportScheduler(common)
  const indexNow = createIndexNow({ ...common, store: () => deps.readDependencies(ending.signal).store })

  const runMinute = async () => {
    await spans.extend()
    if (!deps.isWriter() || !deps.ready()) return
    await evaluator.tick(ending.signal)
    await scheduler.tick(ending.signal)
    await indexNow.tick()
    if (minutes++ % MINUTES_PER_PRUNE === 0) await outbox.prune(now())
  }
  // A process that is killed in its first minute has left a sign of life.
  let lastTick = spans.extend().catch(warnOf('the recording span could not be written; it is retried'))
  startMinutes(now, ending.signal, () => {
    lastTick = runMinute().catch(warnOf('alerts, reports and changed pages could not be evaluated; they are retried'))
    return lastTick
  })

  const randomWord = () => random(6).toString('hex')
  return {
    /** Whether a mail server is set. */
    canMail: deps.mail !== undefined,
    /** Queues a sample for each of the alert's channels; returns their number. */
    async testAlert(alert: WithId<Alert>, site: ManagedSite): Promise<number> {
      const window = alertWindow(alert, lastCompleteMinute(now()))
      const payload = createAlertEvent('test', { alert, site, window, at: now() })
      await records.write(...alertNoticeStatements(alert, `test:alert:${alert.id}:${randomWord()}`, payload, now()))
      delivery.wake()
      return alert.channels.length
    },
    /** Queues the report of the last period for its recipients; returns their number. Throws what the reads throw. */
    testReport: (report: WithId<Report>, site: ManagedSite) => scheduler.sendTest(report, site, randomWord()),
    /** Returns the number of test deliveries of an alert or a report from `since` on. */
    countTests: (source: NewNotice['source'], since: Date) => outbox.countSince(source, 'test', since),
    /** Returns the deliveries of an alert, a report or the pings of a site, the latest first, at most 200. */
    deliveries: outbox.list,
    /** Gives running attempts five seconds to end. Those whose result is then unknown are sent again after the next start. */
    async close(): Promise<void> {
      ending.abort()
      const extended = lastTick.then(spans.extend).catch(warnOf('the recording span could not be written'))
      await waitAtMost(DRAIN_TIMEOUT_MS, Promise.all([extended, delivery.idle()]))
      delivery.abort()
      await waitAtMost(ABORT_TIMEOUT_MS, delivery.idle())
    },
  }
}
