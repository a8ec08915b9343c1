import type { SignIn } from '../../manage/accounts/sign-in.js'
import type { Call } from '../route.js'
import type { AccountLimits } from './limits.js'
import { personOf } from './me.js'

/** That whoever sits at the browser knows the password, and not only found it signed in; counted as a sign-in is. */
export type Prove = (call: Call, password: string | undefined) => Promise<void>

export const createProve =
  (signIn: Pick<SignIn, 'provesPassword'>, limits: Pick<AccountLimits, 'take'>): Prove =>
  async (call, password) => {
    limits.take('login', call.ip)
    await signIn.provesPassword(personOf(call).user.id, password)
  }
