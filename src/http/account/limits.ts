import { ApiError } from '../../errors.js'
import { createLimit } from '../track/limit.js'

const MINUTE = 60_000
/** Of each, so many in so long a window, for one address (spec 8); `look`: at invitations. */
const LIMITS = {
  login: { per: 40, window: 5 * MINUTE },
  register: { per: 5, window: 60 * MINUTE },
  forgot: { per: 5, window: 60 * MINUTE },
  // Apart from signing in: a stranger's page can have its visitor's browser look as often as it likes.
  look: { per: 120, window: 5 * MINUTE },
} as const
/** Codes of one person's authenticator that are tried: of a million each has three that are right. */
const CODES = { per: 10, window: 5 * MINUTE }

export interface AccountLimits {
  /** Counts one; throws `rate_limited` where it is one too many. */
  take(what: keyof typeof LIMITS, ip: string): void
  /** Counts a try of somebody's second factor; false where it is one too many. */
  mayTry(user: number): boolean
}

/** How often an address may knock. `now` is epoch ms, `random(n)` gives n bytes. */
export function createAccountLimits(deps: { now(): number; random(bytes: number): Buffer }): AccountLimits {
  const limits = {
    login: createLimit({ ...deps, ...LIMITS.login }),
    register: createLimit({ ...deps, ...LIMITS.register }),
    forgot: createLimit({ ...deps, ...LIMITS.forgot }),
    look: createLimit({ ...deps, ...LIMITS.look }),
  }
  const codes = createLimit({ ...deps, ...CODES })
  return {
    take(what, ip) {
      if (limits[what].take(0, ip)) return
      const { window } = LIMITS[what]
      const retry_after = Math.ceil((window - (deps.now() % window)) / 1_000)
      throw new ApiError('rate_limited', 'Too many attempts from this address; wait a while.', undefined, {
        retry_after,
      })
    },
    mayTry: (user) => codes.take(user, ''),
  }
}
