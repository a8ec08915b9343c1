import { atMost } from '../../notify/at-most.js'
import type { Mail, Send } from '../../notify/mail-shape.js'

/** A link that was made and could not be mailed. */
export interface Link {
  /** ISO-8601 UTC. */
  readonly at: string
  readonly to: string
  readonly subject: string
  readonly link: string
}

/** A mail about an account; its link is in its text too. */
export type Letter = Mail & { readonly link?: string }

/** What carries mails about accounts, or without a mail server tells the operator. */
export interface Post {
  /** Whether there is a mail server. */
  readonly mails: boolean
  /**
   * Writes a letter and sends it, behind the answer; undefined: there is none to write. Never throws: what goes wrong is
   * in the log.
   */
  behind(write: () => Promise<Letter | undefined>): void
  /** The last links that were not mailed, the latest first. */
  links(): readonly Link[]
  /** Resolves when what is under way is done, or after five seconds: a mail server that hangs holds no end up. */
  close(): Promise<void>
}

const KEPT = 20
/** Letters under way at once: a mail server that hangs must not gather them without end. */
const MOST = 200
const DRAIN = 5_000

export function createPost(deps: {
  send?: Send | undefined
  now(): Date
  log: { info(details: object, message: string): void; error(details: object, message: string): void }
}): Post {
  const { send, now, log } = deps
  const under = new Set<Promise<void>>()
  let kept: Link[] = []
  const deliver = async ({ link, ...mail }: Letter) => {
    if (send) return send(mail)
    if (link === undefined) return
    const { to, subject } = mail
    kept = [{ at: now().toISOString(), to, subject, link }, ...kept].slice(0, KEPT)
    log.info({ to, link }, `no mail server is set (smtp): "${subject}" is yours to hand on`)
  }
  return {
    mails: send !== undefined,
    behind(write) {
      if (under.size >= MOST) return log.error({}, 'too many mails wait for the mail server: one was not written')
      const work = write()
        .then((letter) => (letter === undefined ? undefined : deliver(letter)))
        .catch((error: unknown) => log.error({ err: error }, 'a mail about an account could not be sent'))
        .finally(() => under.delete(work))
      under.add(work)
    },
    links: () => kept,
    async close() {
      await atMost(DRAIN, Promise.all(under))
    },
  }
}
