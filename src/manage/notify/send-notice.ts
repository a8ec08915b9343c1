import { ApiError } from '../../base/errors.js'
import type { Post } from '../../base/outbound/guarded-outbound.js'
import type { Alerts } from '../alerts.js'
import { type Channel, isSameChannel } from '../channels.js'
import type { Collection } from '../collection.js'
import type { Report } from '../reports.js'
import type { Sites } from '../sites.js'
import { AlertEvent, alertMail } from './alert-event.js'
import { sendPing } from './indexnow.js'
import type { SendMail } from './mail-message.js'
import type { AttemptResult, Notice } from './notices.js'
import { type DrawPdf, ReportNotice, reportMail } from './report-mail.js'
import { MailError } from './smtp-mailer.js'
import { callWebhook } from './webhook.js'

interface SendDeps {
  alerts: Pick<Alerts, 'get' | 'secret'>
  reports: Pick<Collection<Report>, 'get'>
  sites: Pick<Sites, 'list'>
  /** The URL that gets the names of changed pages; undefined if it may get none. */
  indexnow_url: string | undefined
  /** Undefined without a mail server. */
  mail: SendMail | undefined
  post: Post
  draw: DrawPdf
  now(): Date
  log: { warn(details: object, message: string): void }
}

const permanentFailure = (error: string): AttemptResult => ({ delivered: false, error, permanent: true })

/** Makes one attempt to deliver a notice, unless its channel was removed meanwhile. Throws what the records throw. */
export async function sendNotice(notice: Notice, deps: SendDeps): Promise<AttemptResult> {
  try {
    if (notice.alert !== null) return await sendAlert(notice, notice.alert, deps)
    if (notice.report !== null) return await sendReport(notice, notice.report, deps)
    return await sendPing(notice, deps)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found')
      return permanentFailure('the alert or report was deleted')
    throw error
  }
}

async function sendAlert({ key, channel, payload }: Notice, id: number, deps: SendDeps): Promise<AttemptResult> {
  const { channels } = await deps.alerts.get(id)
  if (!channels.some((one) => isSameChannel(one, channel)))
    return permanentFailure('this is no longer a channel of the alert')
  const event = AlertEvent.parse(payload)
  if (channel.type === 'email') return sendByMail(channel, deps, async (to) => alertMail(event, to, key))
  const body = JSON.stringify({ id: key, ...event })
  return callWebhook({ url: channel.target, secret: await deps.alerts.secret(id), key, body }, deps)
}

async function sendReport(
  { key, channel, payload, attempts }: Notice,
  id: number,
  deps: SendDeps,
): Promise<AttemptResult> {
  const { recipients } = await deps.reports.get(id)
  if (!recipients.includes(channel.target)) return permanentFailure('this is no longer a recipient of the report')
  const report = ReportNotice.parse(payload)
  return sendByMail(channel, deps, (to) => reportMail(report, { to, key, attempts, draw: deps.draw }))
}

async function sendByMail(
  { target }: Channel,
  { mail }: Pick<SendDeps, 'mail'>,
  write: (to: string) => Promise<Parameters<SendMail>[0]>,
): Promise<AttemptResult> {
  if (!mail) return permanentFailure('no mail server is configured (smtp)')
  try {
    await mail(await write(target))
    return { delivered: true }
  } catch (error) {
    if (error instanceof MailError) return { delivered: false, error: error.message, permanent: error.permanent }
    if (error instanceof ApiError) return { delivered: false, error: 'the PDF could not be created' }
    throw error
  }
}
