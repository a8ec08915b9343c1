import { createAccountMailer, createLinkBuilder } from '../../api/account/mailer.js'
import { createMailer } from '../../manage/notify/smtp-mailer.js'
import type { Config } from '../config.js'
import type { InstanceDeps } from './instance.js'

export type Mail = ReturnType<typeof createMail>

/** Connects the mail server where `smtp` names one, and makes the links that mails contain. */
export function createMail(
  { public_url, smtp, mail_from }: Partial<Pick<Config, 'public_url' | 'smtp' | 'mail_from'>>,
  { log, service, send: given }: Pick<InstanceDeps, 'log' | 'service' | 'send'>,
  now: () => Date,
) {
  const from = mail_from ?? `readership@${public_url === undefined ? 'localhost' : new URL(public_url).hostname}`
  const mailer = smtp === undefined ? undefined : createMailer({ smtp, from })
  const send = given ?? mailer?.send
  const post = createAccountMailer({ send, now, log })
  if (send !== undefined && public_url === undefined)
    log.warn(
      {},
      `public_url is not set: links in mails begin with ${service?.() ?? 'the address of the service'}, which only this machine can reach`,
    )
  return {
    send,
    post,
    linkTo: createLinkBuilder({ public_url, service }),
    /** Ends the connection; call it after `post.close()`. */
    close: () => mailer?.close(),
  }
}
