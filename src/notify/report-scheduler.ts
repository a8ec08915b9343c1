import type { Collection, WithId } from '../manage/collection.js'
import type { Report } from '../manage/reports.js'
import type { Site, Sites } from '../manage/sites.js'
import type { ReadDependencies } from '../query/read.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { noticeStatements } from './outbox.js'
import type { ReportNotice } from './report-mail.js'
import { type EndedPeriod, lastEndedPeriod } from './report-period.js'
import { reportText } from './report-text.js'

export interface ReportSchedulerDeps {
  reports: Pick<Collection<Report>, 'list' | 'invalidate'>
  sites: Pick<Sites, 'list'>
  records: Records
  /** As alerts are measured. */
  readContext(signal: AbortSignal): ReadDependencies
  now(): Date
  log(details: object, message: string): void
  ring(): void
}

const REPORT_TIMEOUT_MS = 120_000

export interface ReportScheduler {
  /** Puts the reports that are due into the outbox; of periods that were missed the last alone. */
  tick(signal: AbortSignal): Promise<void>
  /** Its last period's, to its recipients, now; how many. Throws what the reads throw. */
  sendTest(report: WithId<Report>, site: Site, word: string): Promise<number>
}

export function createReportScheduler({
  reports,
  sites,
  records,
  readContext: asks,
  now,
  log,
  ring,
}: ReportSchedulerDeps): ReportScheduler {
  const failing = new Set<number>()

  const noticesOf = async (
    report: WithId<Report>,
    { site, ended, name, signal }: { site: Site; ended: EndedPeriod; name: string; signal: AbortSignal },
  ): Promise<Sql[]> => {
    const text = await reportText({ site, ended, tz: site.timezone }, asks(signal))
    const window = { start: ended.start.toISOString(), end: ended.end.toISOString() }
    const asked = { site: String(site.id), ...window, compare: 'previous', report: 'overview' }
    const query = (audience: string) => new URLSearchParams({ ...asked, audience }).toString()
    const first = ended.name.slice(ended.name.indexOf(':') + 1)
    const payload: ReportNotice = {
      subject: `${site.name}: ${ended.days}`,
      text: `${text}\n\nThis is the ${report.period} report "${report.name}" of ${site.name}; its members manage who gets it.\n`,
      files: ['human', 'agent'].map((audience) => ({
        filename: `${audience === 'human' ? 'people' : 'agents'}-${first}.pdf`,
        query: query(audience),
      })),
    }
    return report.recipients.flatMap((target) =>
      noticeStatements(
        {
          ...{ key: `${name}:${target}`, site: site.id, source: { report: report.id }, payload },
          channel: { type: 'email', target },
        },
        now(),
      ),
    )
  }

  const send = async (report: WithId<Report>, site: Site, signal: AbortSignal) => {
    const ended = lastEndedPeriod(report.period, now(), site.timezone)
    if (report.last_sent === ended.name) return
    // One that is new, was disabled or changed its period begins with the next to end.
    const begun = report.last_sent?.startsWith(`${report.period}:`) === true && report.enabled
    const name = `report:${report.id}:${ended.name}`
    const notices = begun ? await noticesOf(report, { site, ended, name, signal }) : []
    // Changed or deleted while it was written: the next minute writes it as it is by then.
    const present = (await reports.list(site.id)).find(({ id }) => id === report.id)
    if (present?.version !== report.version) return
    await records.write(sql`update reports set last_sent = ${ended.name} where id = ${report.id}`, ...notices)
    reports.invalidate()
    if (begun) ring()
  }

  return {
    async tick(ending) {
      for (const site of await sites.list())
        for (const report of await reports.list(site.id)) {
          if (ending.aborted) return
          try {
            await send(report, site, AbortSignal.any([ending, AbortSignal.timeout(REPORT_TIMEOUT_MS)]))
            failing.delete(report.id)
          } catch (error) {
            if (ending.aborted) return
            if (!failing.has(report.id))
              log({ err: error, report: report.id }, 'a report could not be made; it is tried again')
            failing.add(report.id)
          }
        }
    },
    async sendTest(report, site, word) {
      const ended = lastEndedPeriod(report.period, now(), site.timezone)
      const signal = AbortSignal.timeout(REPORT_TIMEOUT_MS)
      const name = `test:report:${report.id}:${word}`
      await records.write(...(await noticesOf(report, { site, ended, name, signal })))
      ring()
      return report.recipients.length
    },
  }
}
