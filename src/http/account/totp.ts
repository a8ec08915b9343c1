import { renderSVG } from 'uqr'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { jsonResponse, parseBody, type Route } from '../route.js'
import { jsonOnly } from './json-only.js'
import { requirePerson } from './me.js'
import type { CheckPassword } from './password-check.js'
import { ConfirmTotp, EnrolTotp, RecoveryCodes, SecondFactorProof, TotpEnrolment } from './shapes.js'
import { sessionOrigin } from './signed-out-actions.js'
import { setSession } from './signed-out-routes.js'

/** Two-factor sign-in of whoever is signed in (spec 4.10, contract 7). */
export function totpRoutes({ secondFactor }: Pick<Accounts, 'secondFactor'>, prove: CheckPassword): Route[] {
  const route = { method: 'post', access: 'person', tag: 'account' } as const
  return [
    jsonOnly({
      ...route,
      path: '/api/auth/totp/enroll',
      summary: 'A new secret for your authenticator, which counts once it is confirmed',
      body: EnrolTotp,
      data: TotpEnrolment,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password } = await parseBody(call, EnrolTotp)
        await prove(call, password)
        const enrolment = await secondFactor.enrol(user.id)
        return jsonResponse({ ...enrolment, qr: renderSVG(enrolment.uri, { ecc: 'M' }) })
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/totp/confirm',
      summary: 'Switch two-factor sign-in on by a first code; your other sessions end',
      body: ConfirmTotp,
      data: RecoveryCodes,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { totp } = await parseBody(call, ConfirmTotp)
        const { codes, token } = await secondFactor.confirm(user.id, totp, sessionOrigin(call))
        return setSession(call, jsonResponse({ recovery_codes: codes }), token)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/totp/disable',
      summary: 'Switch two-factor sign-in off; your other sessions end',
      body: SecondFactorProof,
      status: 204,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, totp } = await parseBody(call, SecondFactorProof)
        await prove(call, password)
        const { token } = await secondFactor.disable(user.id, totp, sessionOrigin(call))
        return setSession(call, new Response(null, { status: 204 }), token)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/totp/recovery-codes',
      summary: 'New recovery codes; those before are good no more',
      body: SecondFactorProof,
      data: RecoveryCodes,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, totp } = await parseBody(call, SecondFactorProof)
        await prove(call, password)
        return jsonResponse({ recovery_codes: await secondFactor.renew(user.id, totp, sessionOrigin(call)) })
      },
    }),
  ]
}
