import type { SignIn } from '../../manage/accounts/sign-in.js'
import type { Call } from '../route.js'
import type { AccountLimits } from './limits.js'
import { requirePerson } from './me.js'

/** That whoever sits at the browser knows the password, and not only found it signed in; counted as a sign-in is. */
export type CheckPassword = (call: Call, password: string | undefined) => Promise<void>

export const createCheckPassword =
  (signIn: Pick<SignIn, 'checkPassword'>, limits: Pick<AccountLimits, 'take'>): CheckPassword =>
  async (call, password) => {
    limits.take('login', call.ip)
    await signIn.checkPassword(requirePerson(call).user.id, password)
  }
