import { isLoopbackHost } from '../../base/address.js'
import { waitAtMost } from '../../base/wait-at-most.js'
import type { MailMessage, SendMail } from '../../manage/notify/mail-message.js'

/** Builds an absolute link for a mail; `request` is the one that asked for it. */
export type LinkBuilder = (
  request: Request,
  path: '/' | '/sign-in' | '/reset-password' | '/confirm-email' | '/invitation',
  token?: string,
) => string

/**
 * Starts links with `public_url`; otherwise with the origin of the request if that is loopback, because the sender chooses
 * any other `Host` and would receive the token of another person; otherwise with what `service` returns, where the service listens.
 */
export function createLinkBuilder(addresses: {
  public_url?: string | undefined
  service?: (() => string | undefined) | undefined
}): LinkBuilder {
  return (request, path, token) => {
    const { hostname, origin } = new URL(request.url)
    const base = addresses.public_url ?? (isLoopbackHost(hostname) ? origin : addresses.service?.()) ?? ''
    return `${base.replace(/\/+$/, '')}${path}${token === undefined ? '' : `?token=${token}`}`
  }
}

/** A link that could not be mailed, because no mail server is configured. */
type UnsentLink = {
  /** ISO-8601 UTC. */
  readonly at: string
  readonly to: string
  readonly subject: string
  readonly link: string
}

/** A mail about an account; its text contains `link` too. */
export type AccountMail = MailMessage & { readonly link?: string }

const MAX_UNSENT_LINKS = 20
/** Bounds memory when a mail server hangs. */
const MAX_MAILS_IN_FLIGHT = 200
const DRAIN_TIMEOUT_MS = 5_000

export type AccountMailer = ReturnType<typeof createAccountMailer>

/** Sends mails about accounts, or without a mail server keeps their links for the operator. */
export function createAccountMailer(deps: {
  send?: SendMail | undefined
  now(): Date
  log: { info(details: object, message: string): void; error(details: object, message: string): void }
}) {
  const { send, now, log } = deps
  const inFlight = new Set<Promise<void>>()
  let unsent: readonly UnsentLink[] = []
  const deliver = async ({ link, ...mail }: AccountMail) => {
    if (send) return send(mail)
    if (link === undefined) return
    const { to, subject } = mail
    unsent = [{ at: now().toISOString(), to, subject, link }, ...unsent].slice(0, MAX_UNSENT_LINKS)
    log.info({ to, link }, `no mail server is configured (smtp): pass the link of "${subject}" on yourself`)
  }
  return {
    /** Whether a mail server is configured. */
    canSend: send !== undefined,
    /** Composes and sends a mail without delaying the response; undefined sends none. Never throws: failures are logged. */
    sendLater(compose: () => Promise<AccountMail | undefined>): void {
      if (inFlight.size >= MAX_MAILS_IN_FLIGHT) {
        log.error({}, 'a mail was dropped, because too many wait for the mail server')
        return
      }
      const work = compose()
        .then((mail) => (mail === undefined ? undefined : deliver(mail)))
        .catch((error: unknown) => log.error({ err: error }, 'a mail about an account could not be sent'))
        .finally(() => inFlight.delete(work))
      inFlight.add(work)
    },
    /** The last links that were not mailed, newest first. */
    unsentLinks: (): readonly UnsentLink[] => unsent,
    /** Waits for mails in flight, at most five seconds: a mail server that hangs must not block a stop. */
    async close(): Promise<void> {
      await waitAtMost(DRAIN_TIMEOUT_MS, Promise.all(inFlight))
    },
  }
}
