import { renderSVG } from 'uqr'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { answer, bodyOf, type Route } from '../route.js'
import { withSession } from './entering.js'
import { fromOf } from './entrance.js'
import { jsonOnly } from './json.js'
import { personOf } from './me.js'
import type { Prove } from './prove.js'
import { ConfirmTotp, Enroll, Enrolled, Proof, RecoveryCodes } from './shapes.js'

/** Two-factor sign-in of whoever is signed in (spec 4.10, contract 7). */
export function totpRoutes({ secondFactor }: Pick<Accounts, 'secondFactor'>, prove: Prove): Route[] {
  const route = { method: 'post', access: 'person', tag: 'account' } as const
  return [
    jsonOnly({
      ...route,
      path: '/api/auth/totp/enroll',
      summary: 'A new secret for your authenticator, which counts once it is confirmed',
      body: Enroll,
      data: Enrolled,
      conflicts: true,
      async run(call) {
        const { user } = personOf(call)
        const { password } = await bodyOf(call, Enroll)
        await prove(call, password)
        const enrolment = await secondFactor.enrol(user.id)
        return answer({ ...enrolment, qr: renderSVG(enrolment.uri, { ecc: 'M' }) })
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/totp/confirm',
      summary: 'Switch two-factor sign-in on by a first code; your other sessions end',
      body: ConfirmTotp,
      data: RecoveryCodes,
      conflicts: true,
      async run(call) {
        const { user } = personOf(call)
        const { totp } = await bodyOf(call, ConfirmTotp)
        const { codes, token } = await secondFactor.confirm(user.id, totp, fromOf(call))
        return withSession(call, answer({ recovery_codes: codes }), token)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/totp/disable',
      summary: 'Switch two-factor sign-in off; your other sessions end',
      body: Proof,
      status: 204,
      conflicts: true,
      async run(call) {
        const { user } = personOf(call)
        const { password, totp } = await bodyOf(call, Proof)
        await prove(call, password)
        const { token } = await secondFactor.disable(user.id, totp, fromOf(call))
        return withSession(call, new Response(null, { status: 204 }), token)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/totp/recovery-codes',
      summary: 'New recovery codes; those before are good no more',
      body: Proof,
      data: RecoveryCodes,
      conflicts: true,
      async run(call) {
        const { user } = personOf(call)
        const { password, totp } = await bodyOf(call, Proof)
        await prove(call, password)
        return answer({ recovery_codes: await secondFactor.renew(user.id, totp, fromOf(call)) })
      },
    }),
  ]
}
