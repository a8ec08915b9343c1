import type { ReadDependencies } from '../../analytics/query/prepare-read.js'
import { type Sql, sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import type { Collection, WithId } from '../collection.js'
import type { Report } from '../reports.js'
import type { ManagedSite, Sites } from '../sites.js'
import { noticeStatements } from './notices.js'
import type { ReportNotice } from './report-mail.js'
import { type EndedPeriod, lastEndedPeriod } from './report-period.js'
import { reportText } from './report-text.js'

interface ReportSchedulerDeps {
  reports: Pick<Collection<Report>, 'list' | 'invalidate'>
  sites: Pick<Sites, 'list'>
  records: Records
  /** Returns what reads need, with access to every site. */
  readDependencies(signal: AbortSignal): ReadDependencies
  now(): Date
  log(details: object, message: string): void
  /** Called after notices were written. */
  wakeDelivery(): void
}

const REPORT_TIMEOUT_MS = 120_000

/** Writes reports when they are due and queues their mails. */
export function createReportScheduler(deps: ReportSchedulerDeps) {
  const { reports, sites, records, readDependencies, now, log, wakeDelivery } = deps
  const failing = new Set<number>()

  const createNotices = async (
    report: WithId<Report>,
    { site, ended, name, signal }: { site: ManagedSite; ended: EndedPeriod; name: string; signal: AbortSignal },
  ): Promise<Sql[]> => {
    const text = await reportText({ site, ended, tz: site.timezone }, readDependencies(signal))
    const window = { start: ended.start.toISOString(), end: ended.end.toISOString() }
    const common = { site: String(site.id), ...window, compare: 'previous', report: 'overview' }
    const firstDay = ended.name.slice(ended.name.indexOf(':') + 1)
    const payload: ReportNotice = {
      subject: `${site.name}: ${ended.days}`,
      text: `${text}\n\nThis is the ${report.period} report "${report.name}" of ${site.name}. Members of the site manage its recipients.\n`,
      files: [
        { audience: 'human', file: 'people' },
        { audience: 'agent', file: 'agents' },
      ].map(({ audience, file }) => ({
        filename: `${file}-${firstDay}.pdf`,
        query: new URLSearchParams({ ...common, audience }).toString(),
      })),
    }
    return report.recipients.flatMap((target) =>
      noticeStatements(
        {
          key: `${name}:${target}`,
          site: site.id,
          source: { report: report.id },
          payload,
          channel: { type: 'email', target },
        },
        now(),
      ),
    )
  }

  const sendIfDue = async (report: WithId<Report>, site: ManagedSite, signal: AbortSignal) => {
    const ended = lastEndedPeriod(report.period, now(), site.timezone)
    if (report.last_sent === ended.name) return
    // A report that is new, was disabled or changed its period starts with the next period to end.
    const isRunning = report.last_sent?.startsWith(`${report.period}:`) === true && report.enabled
    const name = `report:${report.id}:${ended.name}`
    const notices = isRunning ? await createNotices(report, { site, ended, name, signal }) : []
    // Changed or deleted while it was written: the next minute writes it afresh.
    const latest = (await reports.list(site.id)).find(({ id }) => id === report.id)
    if (latest?.version !== report.version) return
    await records.write(sql`update reports set last_sent = ${ended.name} where id = ${report.id}`, ...notices)
    reports.invalidate()
    if (isRunning) wakeDelivery()
  }

  return {
    /** Queues the reports that are due; of several missed periods only the last. */
    async tick(ending: AbortSignal): Promise<void> {
      for (const site of await sites.list())
        for (const report of await reports.list(site.id)) {
          if (ending.aborted) return
          try {
            await sendIfDue(report, site, AbortSignal.any([ending, AbortSignal.timeout(REPORT_TIMEOUT_MS)]))
            failing.delete(report.id)
          } catch (error) {
            if (ending.aborted) return
            if (!failing.has(report.id))
              log({ err: error, report: report.id }, 'a report could not be written; it is retried')
            failing.add(report.id)
          }
        }
    },
    /** Queues the report of the last period now; returns the number of recipients. `word` makes its key unique. Throws what the reads throw. */
    async sendTest(report: WithId<Report>, site: ManagedSite, word: string): Promise<number> {
      const ended = lastEndedPeriod(report.period, now(), site.timezone)
      const signal = AbortSignal.timeout(REPORT_TIMEOUT_MS)
      const name = `test:report:${report.id}:${word}`
      await records.write(...(await createNotices(report, { site, ended, name, signal })))
      wakeDelivery()
      return report.recipients.length
    },
  }
}
