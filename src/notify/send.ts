import { ApiError } from '../errors.js'
import type { Alerts } from '../manage/alerts.js'
import { type Channel, isSame } from '../manage/channels.js'
import type { Collection } from '../manage/collection.js'
import type { Report } from '../manage/reports.js'
import type { Post } from '../outbound/post.js'
import { AlertEvent, alertMail } from './alert-event.js'
import { MailError } from './mail.js'
import type { Send } from './mail-shape.js'
import type { Notice } from './outbox.js'
import type { Outcome } from './outcome.js'
import { type DrawPdf, ReportNotice, reportMail } from './report-mail.js'
import { callWebhook } from './webhook.js'

export interface SendDeps {
  alerts: Pick<Alerts, 'get' | 'secret'>
  reports: Pick<Collection<Report>, 'get'>
  /** Absent without a mail server. */
  mail: Send | undefined
  post: Post
  draw: DrawPdf
  now(): Date
}

const over = (error: string): Outcome => ({ taken: false, error, permanent: true })

/** One attempt to deliver a notice. What is meanwhile no channel any more is not sent. Throws what the records throw. */
export async function sendNotice(notice: Notice, deps: SendDeps): Promise<Outcome> {
  try {
    if (notice.alert !== null) return await sendAlert(notice, notice.alert, deps)
    if (notice.report !== null) return await sendReport(notice, notice.report, deps)
    return over('it is of nothing')
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return over('it was deleted meanwhile')
    throw error
  }
}

async function sendAlert({ key, channel, payload }: Notice, id: number, deps: SendDeps): Promise<Outcome> {
  const { channels } = await deps.alerts.get(id)
  if (!channels.some((one) => isSame(one, channel))) return over('it is no channel of the alert any more')
  const event = AlertEvent.parse(payload)
  if (channel.type === 'email') return mailed(channel, deps, async (to) => alertMail(event, to, key))
  const body = JSON.stringify({ id: key, ...event })
  return callWebhook({ url: channel.target, secret: await deps.alerts.secret(id), key, body }, deps)
}

async function sendReport({ key, channel, payload, attempts }: Notice, id: number, deps: SendDeps): Promise<Outcome> {
  const { recipients } = await deps.reports.get(id)
  if (!recipients.includes(channel.target)) return over('it is no recipient of the report any more')
  const report = ReportNotice.parse(payload)
  return mailed(channel, deps, (to) => reportMail(report, { to, key, attempts, draw: deps.draw }))
}

async function mailed(
  { target }: Channel,
  { mail }: Pick<SendDeps, 'mail'>,
  write: (to: string) => Promise<Parameters<Send>[0]>,
): Promise<Outcome> {
  if (!mail) return over('no mail server is set (smtp)')
  try {
    await mail(await write(target))
    return { taken: true }
  } catch (error) {
    if (error instanceof MailError) return { taken: false, error: error.message, permanent: error.permanent }
    if (error instanceof ApiError) return { taken: false, error: 'the PDF could not be drawn' }
    throw error
  }
}
