import type { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { refuseAddressAsPassword } from '../../manage/accounts/password-rules.js'
import type { PendingRegistration } from '../../manage/accounts/registration.js'
import type { Invitations, ReceivedInvitation } from '../../manage/invitations.js'
import type { Passwords } from '../../manage/passwords.js'
import type { Call } from '../route.js'
import { isKnownCrossOrigin } from '../session-cookie.js'
import type { AccountLimits } from './limits.js'
import { accountMails } from './mail-texts.js'
import type { AccountMail, AccountMailer, LinkBuilder } from './mailer.js'
import { languageOf } from './page-language.js'
import { sessionOrigin } from './session.js'
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

interface SignedOutDeps {
  readonly accounts: Accounts
  readonly passwords: Passwords
  readonly invitations: Pick<Invitations, 'find'>
  readonly limits: Pick<AccountLimits, 'take'>
  readonly post: AccountMailer
  readonly linkTo: LinkBuilder
  /** Whether registration is open. */
  readonly mayRegister: () => boolean
}

export type SignedOutActions = ReturnType<typeof createSignedOutActions>

/** Mails in the language of the browser that asked. */
const mailsFor = (request: Request) => accountMails(languageOf(request))

/** Composes the mail that completes a registration, or the one for an address that has an account already. */
async function composeRegistrationMail(
  { accounts, linkTo }: SignedOutDeps,
  request: Request,
  pending: PendingRegistration,
): Promise<AccountMail> {
  const { email } = pending
  const token = await accounts.registration.prepare(pending)
  const mails = mailsFor(request)
  return token === undefined
    ? mails.registered(email, linkTo(request, '/sign-in'))
    : mails.register(email, linkTo(request, '/confirm-email', token))
}

/**
 * Account actions that need no session, for the JSON routes and for the pages' forms. Each throws `forbidden` for a page
 * of another origin, `rate_limited` for too many attempts, and the errors of the account operation itself.
 */
export function createSignedOutActions(deps: SignedOutDeps) {
  const { accounts, invitations, passwords, limits, post, linkTo, mayRegister } = deps
  const { registration, signIn, profile } = accounts
  const admit = ({ request, ip }: Attempt, what: Parameters<AccountLimits['take']>[0]) => {
    if (isKnownCrossOrigin(request)) throw new ApiError('forbidden', 'A page of another origin cannot do this.')
    limits.take(what, ip)
  }
  /**
   * Whether an invitation's link may create an account: only the mailed link proves that the address is the recipient's,
   * because the inviter sees the other one. Without a mail server there is no such proof.
   */
  const mayJoin = ({ tokenWasMailed }: Pick<ReceivedInvitation, 'tokenWasMailed'>): boolean =>
    tokenWasMailed || !post.canSend
  const tokenByPassword = async (attempt: Attempt, credentials: z.output<typeof Login>) =>
    (await signIn.byPassword(credentials, sessionOrigin(attempt))).token
  return {
    mayJoin,
    /**
     * Creates an account that accepts an invitation, and returns a session token. Throws `not_found` for an invalid
     * invitation, `forbidden` where `mayJoin` is false, `conflict` if the address has an account.
     */
    async join(attempt: Attempt, { token, password, name }: z.output<typeof JoinByInvitation>): Promise<string> {
      admit(attempt, 'login')
      const invitation = await invitations.find(token, attempt.at)
      if (!mayJoin(invitation))
        throw new ApiError('forbidden', 'Open the link in the mail: it proves that the address is yours.')
      const { email } = invitation
      refuseAddressAsPassword(password, email)
      await registration.join(token, { name, password: await passwords.hash(password) }, attempt.ip)
      return tokenByPassword(attempt, { email, password })
    },
    async login(attempt: Attempt, credentials: z.output<typeof Login>): Promise<string> {
      admit(attempt, 'login')
      return tokenByPassword(attempt, credentials)
    },
    async link(attempt: Attempt, { token }: z.output<typeof LinkSignIn>): Promise<string> {
      admit(attempt, 'login')
      return (await signIn.byLink(token, sessionOrigin(attempt))).token
    },
    /**
     * Returns a session token, or undefined if a mail has to be answered first. Throws `forbidden` if registration is
     * closed, and without a mail server `conflict` for an address that has an account.
     */
    async register(attempt: Attempt, body: z.output<typeof Register>): Promise<string | undefined> {
      if (!mayRegister()) throw new ApiError('forbidden', 'Registration is closed: ask for an invitation.')
      admit(attempt, 'register')
      const { email, password } = body
      refuseAddressAsPassword(password, email)
      // Hashed for known addresses too, so that the response time does not tell them apart.
      const pending = { ...body, password: await passwords.hash(password) }
      if (post.canSend) {
        post.sendLater(() => composeRegistrationMail(deps, attempt.request, pending))
        return undefined
      }
      await registration.register(pending, attempt.ip)
      return tokenByPassword(attempt, { email, password })
    },
    /** Mails a reset link, if the address has an account. The caller cannot tell, because the mail is made later. */
    forgot(attempt: Attempt, { email }: z.output<typeof ForgotPassword>): void {
      admit(attempt, 'forgot')
      post.sendLater(async () => {
        const token = await profile.prepareReset(email)
        if (token === undefined) return undefined
        return mailsFor(attempt.request).reset(email, linkTo(attempt.request, '/reset-password', token))
      })
    },
    async reset(attempt: Attempt, { token, password }: z.output<typeof ResetPassword>): Promise<void> {
      admit(attempt, 'login')
      const { email } = await profile.reset(token, password, attempt.ip)
      post.sendLater(async () => mailsFor(attempt.request).passwordChanged(email))
    },
    /** Confirms the address of a registration or of an account that changes it, and returns the address. */
    async confirm(attempt: Attempt, { token }: z.output<typeof ConfirmEmail>): Promise<string> {
      admit(attempt, 'login')
      const { before, email } = await accounts.confirm(token, attempt.ip)
      if (before !== undefined) post.sendLater(async () => mailsFor(attempt.request).emailChanged(before, email))
      return email
    },
  }
}
