import type { z } from 'zod'
import { ApiError } from '../../errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { refuseAddressAsPassword } from '../../manage/accounts/password-rules.js'
import type { Invitations, ReceivedInvitation } from '../../manage/invitations.js'
import type { SignInClient } from '../../manage/login-sessions.js'
import type { Passwords } from '../../manage/passwords.js'
import type { Call } from '../route.js'
import { isKnownCrossOrigin } from '../same-origin.js'
import { readSessionToken } from '../session-cookie.js'
import type { AccountLimits } from './limits.js'
import type { LinkBuilder } from './links.js'
import { accountMails } from './mail-texts.js'
import type { AccountMailer } from './mailer.js'
import type {
  ConfirmEmail,
  ForgotPassword,
  JoinByInvitation,
  LinkSignIn,
  Login,
  Register,
  ResetPassword,
} from './shapes.js'

type Attempt = Pick<Call, 'request' | 'ip' | 'at'>

/**
 * What is open to whoever is not signed in yet, whether it is asked as JSON or by a form. Each throws `forbidden` for a
 * page of another origin, `rate_limited` beyond what its address may (spec 8), and what the deed itself throws.
 */
export interface SignedOutActions {
  /** The new session's token, as of all that sign in. */
  login(asking: Attempt, given: z.output<typeof Login>): Promise<string>
  link(asking: Attempt, given: z.output<typeof LinkSignIn>): Promise<string>
  /**
   * The new session's token; undefined where a mail is to be answered first, which says nothing about whether the address
   * has an account. Throws `forbidden` where nobody registers, `conflict` for a known address where there is no mail.
   */
  register(asking: Attempt, given: z.output<typeof Register>): Promise<string | undefined>
  /** Whether an account is made by this link: it shows that the address is theirs, or nothing here does. */
  mayJoin(held: Pick<ReceivedInvitation, 'tokenWasMailed'>): boolean
  /**
   * The new session's token, of an account that is made for an invitation and accepts it. Throws `not_found` for a token
   * that is not good or no longer, `forbidden` for one by which none is made, `conflict` where the address has one.
   */
  join(asking: Attempt, given: z.output<typeof JoinByInvitation>): Promise<string>
  /** Answers the same whoever it is, and at once: the mail is written behind it. */
  forgot(asking: Attempt, given: z.output<typeof ForgotPassword>): void
  reset(asking: Attempt, given: z.output<typeof ResetPassword>): Promise<void>
  /** The address that was confirmed, of an account that is made by that or of one that has it from now on. */
  confirm(asking: Attempt, given: z.output<typeof ConfirmEmail>): Promise<string>
}

/** Where somebody signs in from. */
export const sessionOrigin = ({ request, ip }: Pick<Attempt, 'request' | 'ip'>): SignInClient => {
  const token = readSessionToken(request.headers.get('cookie'))
  return { agent: request.headers.get('user-agent'), ip, ...(token === undefined ? {} : { token }) }
}

export interface SignedOutDeps {
  readonly accounts: Accounts
  readonly passwords: Passwords
  readonly invitations: Pick<Invitations, 'find'>
  readonly limits: Pick<AccountLimits, 'take'>
  readonly post: AccountMailer
  readonly linkTo: LinkBuilder
  /** Whether nobody registers. */
  readonly closed: boolean
}

export function createSignedOutActions({
  accounts,
  invitations,
  passwords,
  limits,
  post,
  linkTo,
  closed,
}: SignedOutDeps): SignedOutActions {
  const { registration, signIn, profile: own } = accounts
  const admit = ({ request, ip }: Attempt, what: Parameters<AccountLimits['take']>[0]) => {
    if (isKnownCrossOrigin(request)) throw new ApiError('forbidden', 'A page of another origin cannot do this.')
    limits.take(what, ip)
  }
  // Who invites is told a link too, and could make an account of anybody's address by it.
  const mayJoin: SignedOutActions['mayJoin'] = ({ tokenWasMailed: mailed }) => mailed || !post.canSend
  return {
    mayJoin,
    async join(asking, { token, password, name }) {
      admit(asking, 'login')
      const held = await invitations.find(token, asking.at)
      if (!mayJoin(held))
        throw new ApiError('forbidden', 'Open the link in the mail: it shows that the address is yours.')
      refuseAddressAsPassword(password, held.email)
      await registration.join(token, { name, password: await passwords.hash(password) }, asking.ip)
      return (await signIn.byPassword({ email: held.email, password }, sessionOrigin(asking))).token
    },
    async login(asking, given) {
      admit(asking, 'login')
      return (await signIn.byPassword(given, sessionOrigin(asking))).token
    },
    async link(asking, { token }) {
      admit(asking, 'login')
      return (await signIn.byLink(token, sessionOrigin(asking))).token
    },
    async register(asking, { password, ...given }) {
      if (closed) throw new ApiError('forbidden', 'Nobody registers here: ask for an invitation.')
      admit(asking, 'register')
      refuseAddressAsPassword(password, given.email)
      // Also for an address that is known: who asks is not to learn it from the time.
      const pending = { ...given, password: await passwords.hash(password) }
      if (post.canSend) {
        post.sendLater(async () => {
          const token = await registration.prepare(pending)
          if (token !== undefined)
            return accountMails.register(given.email, linkTo(asking.request, '/confirm-email', token))
          return accountMails.registered(given.email, linkTo(asking.request, '/sign-in'))
        })
        return undefined
      }
      await registration.register(pending, asking.ip)
      return (await signIn.byPassword({ email: given.email, password }, sessionOrigin(asking))).token
    },
    forgot(asking, { email }) {
      admit(asking, 'forgot')
      post.sendLater(async () => {
        const token = await own.prepareReset(email)
        return token === undefined
          ? undefined
          : accountMails.reset(email, linkTo(asking.request, '/reset-password', token))
      })
    },
    async reset(asking, { token, password }) {
      admit(asking, 'login')
      const { email } = await own.reset(token, password, asking.ip)
      post.sendLater(async () => accountMails.passwordChanged(email))
    },
    async confirm(asking, { token }) {
      admit(asking, 'login')
      const confirmed = await accounts.confirm(token, asking.ip)
      const { before, email } = confirmed
      if (before !== undefined) post.sendLater(async () => accountMails.emailChanged(before, email))
      return email
    },
  }
}
