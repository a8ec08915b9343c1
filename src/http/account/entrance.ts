import type { z } from 'zod'
import { ApiError } from '../../errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { refuseOwn } from '../../manage/accounts/password-rules.js'
import type { Held, Invitations } from '../../manage/invitations.js'
import type { Passwords } from '../../manage/passwords.js'
import type { From } from '../../manage/sessions.js'
import { cookieOf } from '../cookie.js'
import type { Call } from '../route.js'
import { isForeign } from '../same-origin.js'
import type { LinkTo } from './address.js'
import { letters } from './letters.js'
import type { AccountLimits } from './limits.js'
import type { Post } from './post.js'
import type { ByLink, Confirm, Forgot, Join, Login, Register, Reset } from './shapes.js'

type Asking = Pick<Call, 'request' | 'ip' | 'at'>

/**
 * What is open to whoever is not signed in yet, whether it is asked as JSON or by a form. Each throws `forbidden` for a
 * page of another origin, `rate_limited` beyond what its address may (spec 8), and what the deed itself throws.
 */
export interface Entrance {
  /** The new session's token, as of all that sign in. */
  login(asking: Asking, given: z.output<typeof Login>): Promise<string>
  link(asking: Asking, given: z.output<typeof ByLink>): Promise<string>
  /**
   * The new session's token; undefined where a mail is to be answered first, which says nothing about whether the address
   * has an account. Throws `forbidden` where nobody registers, `conflict` for a known address where there is no mail.
   */
  register(asking: Asking, given: z.output<typeof Register>): Promise<string | undefined>
  /** Whether an account is made by this link: it shows that the address is theirs, or nothing here does. */
  mayJoin(held: Pick<Held, 'mailed'>): boolean
  /**
   * The new session's token, of an account that is made for an invitation and accepts it. Throws `not_found` for a token
   * that is not good or no longer, `forbidden` for one by which none is made, `conflict` where the address has one.
   */
  join(asking: Asking, given: z.output<typeof Join>): Promise<string>
  /** Answers the same whoever it is, and at once: the mail is written behind it. */
  forgot(asking: Asking, given: z.output<typeof Forgot>): void
  reset(asking: Asking, given: z.output<typeof Reset>): Promise<void>
  /** The address that was confirmed, of an account that is made by that or of one that has it from now on. */
  confirm(asking: Asking, given: z.output<typeof Confirm>): Promise<string>
}

/** Where somebody signs in from. */
export const fromOf = ({ request, ip }: Pick<Asking, 'request' | 'ip'>): From => {
  const token = cookieOf(request.headers.get('cookie'))
  return { agent: request.headers.get('user-agent'), ip, ...(token === undefined ? {} : { token }) }
}

export interface EntranceDeps {
  readonly accounts: Accounts
  readonly passwords: Passwords
  readonly invitations: Pick<Invitations, 'find'>
  readonly limits: Pick<AccountLimits, 'take'>
  readonly post: Post
  readonly linkTo: LinkTo
  /** Whether nobody registers. */
  readonly closed: boolean
}

export function createEntrance({
  accounts,
  invitations,
  passwords,
  limits,
  post,
  linkTo,
  closed,
}: EntranceDeps): Entrance {
  const { registration, signIn, own } = accounts
  const admit = ({ request, ip }: Asking, what: Parameters<AccountLimits['take']>[0]) => {
    if (isForeign(request)) throw new ApiError('forbidden', 'A page of another origin cannot do this.')
    limits.take(what, ip)
  }
  // Who invites is told a link too, and could make an account of anybody's address by it.
  const mayJoin: Entrance['mayJoin'] = ({ mailed }) => mailed || !post.mails
  return {
    mayJoin,
    async join(asking, { token, password, name }) {
      admit(asking, 'login')
      const held = await invitations.find(token, asking.at)
      if (!mayJoin(held))
        throw new ApiError('forbidden', 'Open the link in the mail: it shows that the address is yours.')
      refuseOwn(password, held.email)
      await registration.join(token, { name, password: await passwords.hash(password) }, asking.ip)
      return (await signIn.byPassword({ email: held.email, password }, fromOf(asking))).token
    },
    async login(asking, given) {
      admit(asking, 'login')
      return (await signIn.byPassword(given, fromOf(asking))).token
    },
    async link(asking, { token }) {
      admit(asking, 'login')
      return (await signIn.byLink(token, fromOf(asking))).token
    },
    async register(asking, { password, ...given }) {
      if (closed) throw new ApiError('forbidden', 'Nobody registers here: ask for an invitation.')
      admit(asking, 'register')
      refuseOwn(password, given.email)
      // Also for an address that is known: who asks is not to learn it from the time.
      const pending = { ...given, password: await passwords.hash(password) }
      if (post.mails) {
        post.behind(async () => {
          const token = await registration.prepare(pending)
          if (token !== undefined) return letters.register(given.email, linkTo(asking.request, '/confirm-email', token))
          return letters.registered(given.email, linkTo(asking.request, '/sign-in'))
        })
        return undefined
      }
      await registration.register(pending, asking.ip)
      return (await signIn.byPassword({ email: given.email, password }, fromOf(asking))).token
    },
    forgot(asking, { email }) {
      admit(asking, 'forgot')
      post.behind(async () => {
        const token = await own.prepareReset(email)
        return token === undefined ? undefined : letters.reset(email, linkTo(asking.request, '/reset-password', token))
      })
    },
    async reset(asking, { token, password }) {
      admit(asking, 'login')
      const { email } = await own.reset(token, password, asking.ip)
      post.behind(async () => letters.passwordChanged(email))
    },
    async confirm(asking, { token }) {
      admit(asking, 'login')
      const confirmed = await accounts.confirm(token, asking.ip)
      const { before, email } = confirmed
      if (before !== undefined) post.behind(async () => letters.emailChanged(before, email))
      return email
    },
  }
}
