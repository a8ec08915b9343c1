import { renderSVG } from 'uqr'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { requirePerson } from '../org-access.js'
import { jsonResponse, parseBody, type Route, routeMaker } from '../route.js'
import { jsonOnly } from './json-only.js'
import { type CheckPassword, sessionOrigin, setSession } from './session.js'
import { ConfirmTotp, EnrolTotp, RecoveryCodes, SecondFactorProof, TotpEnrolment } from './shapes.js'

/** Two-factor sign-in of the signed-in person. */
export function totpRoutes({ secondFactor }: Pick<Accounts, 'secondFactor'>, checkPassword: CheckPassword): Route[] {
  const route = routeMaker('account')
  return [
    route('post', '/api/auth/totp/enroll', 'person', {
      summary: 'Create a secret for your authenticator; it takes effect when you confirm it',
      body: EnrolTotp,
      data: TotpEnrolment,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password } = await parseBody(call, EnrolTotp)
        await checkPassword(call, password)
        const enrolment = await secondFactor.enrol(user.id)
        return { ...enrolment, qr: renderSVG(enrolment.uri, { ecc: 'M' }) }
      },
    }),
    route('post', '/api/auth/totp/confirm', 'person', {
      summary: 'Turn two-factor sign-in on with a first code; signs out your other sessions',
      body: ConfirmTotp,
      data: RecoveryCodes,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { totp } = await parseBody(call, ConfirmTotp)
        const { codes, token } = await secondFactor.confirm(user.id, totp, sessionOrigin(call))
        return setSession(call, token, jsonResponse({ recovery_codes: codes }))
      },
    }),
    route('post', '/api/auth/totp/disable', 'person', {
      summary: 'Turn two-factor sign-in off; signs out your other sessions',
      body: SecondFactorProof,
      status: 204,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, totp } = await parseBody(call, SecondFactorProof)
        await checkPassword(call, password)
        const { token } = await secondFactor.disable(user.id, totp, sessionOrigin(call))
        return setSession(call, token)
      },
    }),
    route('post', '/api/auth/totp/recovery-codes', 'person', {
      summary: 'Create new recovery codes; the previous ones stop working',
      body: SecondFactorProof,
      data: RecoveryCodes,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, totp } = await parseBody(call, SecondFactorProof)
        await checkPassword(call, password)
        return { recovery_codes: await secondFactor.renew(user.id, totp, sessionOrigin(call)) }
      },
    }),
  ].map(jsonOnly)
}
