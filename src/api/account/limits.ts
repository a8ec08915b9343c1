import { ApiError } from '../../base/errors.js'
import { MINUTE_MS } from '../../base/time-units.js'
import { createRateLimit } from '../rate-limit.js'

/** Attempts in a window of milliseconds, for each address. `look` counts views of an invitation. */
const ATTEMPT_LIMITS = {
  login: { per: 40, window: 5 * MINUTE_MS },
  register: { per: 5, window: 60 * MINUTE_MS },
  forgot: { per: 5, window: 60 * MINUTE_MS },
  // Counted apart from sign-ins, because a foreign page can make its visitors' browsers look as often as it likes.
  look: { per: 120, window: 5 * MINUTE_MS },
} as const
/** Two-factor codes tried for one person. At any time three of a million codes are right. */
const CODE_LIMIT = { per: 10, window: 5 * MINUTE_MS }

export type AccountLimits = ReturnType<typeof createAccountLimits>

/** The rate limits of account routes. `now` is in epoch milliseconds; `random(n)` returns n bytes. */
export function createAccountLimits(deps: { now(): number; random(bytes: number): Buffer }) {
  const limits = {
    login: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.login }),
    register: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.register }),
    forgot: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.forgot }),
    look: createRateLimit({ ...deps, ...ATTEMPT_LIMITS.look }),
  }
  const codes = createRateLimit({ ...deps, ...CODE_LIMIT })
  return {
    /** Counts an attempt; throws `rate_limited` if the address has used up its window. */
    take(what: keyof typeof ATTEMPT_LIMITS, ip: string): void {
      if (limits[what].take(0, ip)) return
      const { window } = ATTEMPT_LIMITS[what]
      const retry_after = Math.ceil((window - (deps.now() % window)) / 1_000)
      throw new ApiError('rate_limited', 'Too many attempts from this address; try again later.', undefined, {
        retry_after,
      })
    },
    /** Counts a try of a person's second factor; returns false if the window is used up. */
    takeCodeAttempt: (user: number): boolean => codes.take(user, ''),
  }
}
