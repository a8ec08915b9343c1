import { ApiError } from '../../errors.js'
import { createRateLimit } from '../rate-limit.js'

const MINUTE_MS = 60_000
/** Of each, so many in so long a window, for one address (spec 8); `look`: at invitations. */
const ATTEMPT_LIMITS = {
  login: { per: 40, window: 5 * MINUTE_MS },
  register: { per: 5, window: 60 * MINUTE_MS },
  forgot: { per: 5, window: 60 * MINUTE_MS },
  // Apart from signing in: a stranger's page can have its visitor's browser look as often as it likes.
  look: { per: 120, window: 5 * MINUTE_MS },
} as const
/** Codes of one person's authenticator that are tried: of a million each has three that are right. */
const CODE_LIMIT = { per: 10, window: 5 * MINUTE_MS }

export interface AccountLimits {
  /** Counts one; throws `rate_limited` where it is one too many. */
  take(what: keyof typeof ATTEMPT_LIMITS, ip: string): void
  /** Counts a try of somebody's second factor; false where it is one too many. */
  takeCodeAttempt(user: number): boolean
}

/** How often an address may knock. `now` is epoch ms, `random(n)` gives n bytes. */
export function createAccountLimits(deps: { now(): number; random(bytes: number): Buffer }): AccountLimits {
  const limits = {
    login: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.login }),
    register: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.register }),
    forgot: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.forgot }),
    look: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.look }),
  }
  const codes = createRateLimit({ ...deps, ...CODE_LIMIT })
  return {
    take(what, ip) {
      if (limits[what].take(0, ip)) return
      const { window } = ATTEMPT_LIMITS[what]
      const retry_after = Math.ceil((window - (deps.now() % window)) / 1_000)
      throw new ApiError('rate_limited', 'Too many attempts from this address; wait a while.', undefined, {
        retry_after,
      })
    },
    takeCodeAttempt: (user) => codes.take(user, ''),
  }
}
