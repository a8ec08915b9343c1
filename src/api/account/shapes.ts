import { z } from 'zod'
import { NewPassword, Password } from '../../manage/accounts/password-rules.js'
import { Email } from '../../manage/email.js'
import { Name } from '../../manage/fields.js'
import type { LoginSession } from '../../manage/login-sessions.js'
import { Org } from '../../manage/orgs.js'
import { ROLES } from '../../manage/roles.js'
import { ManagedSite } from '../../manage/sites.js'
import { User } from '../../manage/users.js'

const Code = z.string().max(40)
const Token = z.string().max(100)

export const Login = z.strictObject({
  email: Email,
  password: Password,
  totp: Code.optional().describe('A two-factor code or a recovery code, if the account requires one.'),
})
export const LinkSignIn = z.strictObject({ token: Token.describe('The token of a sign-in link.') })
export const Register = z.strictObject({
  email: Email,
  password: NewPassword,
  name: Name,
  organisation: Name.describe('The name of the organisation that is created with the account.'),
})
export const JoinByInvitation = z.strictObject({
  token: Token.describe('The token of an invitation link.'),
  password: NewPassword,
  name: Name,
})
export const ForgotPassword = z.strictObject({ email: Email })
export const ResetPassword = z.strictObject({
  token: Token.describe('The token of the mailed link.'),
  password: NewPassword,
})
export const ConfirmEmail = z.strictObject({ token: Token.describe('The token of the mailed link.') })

const CurrentPassword = Password.optional().describe('The current password; required if the account has one.')
export const ChangePassword = z.strictObject({ password: NewPassword, current_password: CurrentPassword })
export const ChangeEmail = z.strictObject({ email: Email, password: CurrentPassword })
export const ChangeMe = z.strictObject({ name: Name.optional() })
export const SecondFactorProof = z.strictObject({ password: CurrentPassword, totp: Login.shape.totp })
export const EnrolTotp = z.strictObject({ password: CurrentPassword })
export const ConfirmTotp = z.strictObject({ totp: Code.describe('A code of the authenticator that was set up.') })

const MAIL_SERVER = 'Whether a mail server is set; without one no mail goes out, and the operator passes its link on.'
export const MailSent = z.object({ sent: z.literal(true), mail_server: z.boolean().describe(MAIL_SERVER) })
export const ConfirmedEmail = z.object({ email: z.string().describe('The address that was confirmed.') })
export const TotpEnrolment = z.object({
  secret: z.string().describe('The secret in base32, to type in by hand.'),
  uri: z.string().describe('The `otpauth://` URI of the QR code.'),
  qr: z.string().describe('The QR code as SVG.'),
})
export const RecoveryCodes = z.object({
  recovery_codes: z.array(z.string()).describe('Each code replaces a two-factor code once. They are not shown again.'),
})
export const SessionView = z.object({
  id: z.int(),
  current: z.boolean().describe('Whether it is the session of this request.'),
  created_at: z.iso.datetime(),
  last_seen_at: z.iso.datetime(),
  agent: z.string().optional().describe('The user agent that signed in.'),
  ip: z.string().optional().describe('The address that signed in.'),
})
export const Me = z.object({
  user: User,
  organisations: z.array(
    Org.pick({ id: true, name: true }).extend({
      role: z.enum(ROLES),
      locked: z
        .boolean()
        .describe('Whether the organisation is closed to this person, because it requires two-factor sign-in.'),
    }),
  ),
  sites: z
    .array(ManagedSite.pick({ id: true, org: true, name: true, domains: true, timezone: true, currency: true }))
    .describe('The sites of these organisations, without those of locked ones.'),
  session: SessionView,
  mail_server: z.boolean().describe(MAIL_SERVER),
})

export const sessionView = (session: LoginSession, current: number): z.infer<typeof SessionView> => ({
  id: session.id,
  current: session.id === current,
  created_at: session.created_at.toISOString(),
  last_seen_at: session.last_seen_at.toISOString(),
  ...(session.agent === null ? {} : { agent: session.agent }),
  ...(session.ip === null || session.ip === '' ? {} : { ip: session.ip }),
})
