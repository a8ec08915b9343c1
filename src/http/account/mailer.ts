import type { MailMessage, SendMail } from '../../notify/mail-message.js'
import { waitAtMost } from '../../notify/wait-at-most.js'

/** A link that was made and could not be mailed. */
export interface UnsentLink {
  /** ISO-8601 UTC. */
  readonly at: string
  readonly to: string
  readonly subject: string
  readonly link: string
}

/** A mail about an account; its link is in its text too. */
export type AccountMail = MailMessage & { readonly link?: string }

/** What carries mails about accounts, or without a mail server tells the operator. */
export interface AccountMailer {
  /** Whether there is a mail server. */
  readonly canSend: boolean
  /**
   * Writes a letter and sends it, behind the answer; undefined: there is none to write. Never throws: what goes wrong is
   * in the log.
   */
  sendLater(write: () => Promise<AccountMail | undefined>): void
  /** The last links that were not mailed, the latest first. */
  unsentLinks(): readonly UnsentLink[]
  /** Resolves when what is under way is done, or after five seconds: a mail server that hangs holds no end up. */
  close(): Promise<void>
}

const MAX_UNSENT_LINKS = 20
/** Letters under way at once: a mail server that hangs must not gather them without end. */
const MAX_MAILS_IN_FLIGHT = 200
const DRAIN_TIMEOUT_MS = 5_000

export function createAccountMailer(deps: {
  send?: SendMail | undefined
  now(): Date
  log: { info(details: object, message: string): void; error(details: object, message: string): void }
}): AccountMailer {
  const { send, now, log } = deps
  const under = new Set<Promise<void>>()
  let kept: UnsentLink[] = []
  const deliver = async ({ link, ...mail }: AccountMail) => {
    if (send) return send(mail)
    if (link === undefined) return
    const { to, subject } = mail
    kept = [{ at: now().toISOString(), to, subject, link }, ...kept].slice(0, MAX_UNSENT_LINKS)
    log.info({ to, link }, `no mail server is set (smtp): "${subject}" is yours to hand on`)
  }
  return {
    canSend: send !== undefined,
    sendLater(write) {
      if (under.size >= MAX_MAILS_IN_FLIGHT)
        return log.error({}, 'too many mails wait for the mail server: one was not written')
      const work = write()
        .then((letter) => (letter === undefined ? undefined : deliver(letter)))
        .catch((error: unknown) => log.error({ err: error }, 'a mail about an account could not be sent'))
        .finally(() => under.delete(work))
      under.add(work)
    },
    unsentLinks: () => kept,
    async close() {
      await waitAtMost(DRAIN_TIMEOUT_MS, Promise.all(under))
    },
  }
}
