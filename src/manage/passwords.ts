import { hash, parseOptions, verify } from '@node-rs/argon2'
import { ApiError } from '../base/errors.js'
import { createSlots } from '../base/slots.js'

/** OWASP's parameters for argon2id, the library's default algorithm. */
const ARGON2_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Leaves two of libuv's four threads to DNS and the disk. */
const MAX_CONCURRENT_HASHES = 2
/** At about 30 ms each, more would wait for longer than a person does. */
const MAX_WAITING_HASHES = 60
/** Matches no password: compared with for an account that does not exist or has no password. */
const DUMMY_HASH = `$argon2id$v=19$m=${ARGON2_COST.memoryCost},t=${ARGON2_COST.timeCost},p=${ARGON2_COST.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Returns the same text however a keyboard composes it (NIST SP 800-63B 3.1.1.2). */
const normalisePassword = (password: string): string => password.normalize('NFKC')

export type Passwords = ReturnType<typeof createPasswords>

/** Hashes and verifies passwords on the thread pool: two at once, the rest in a bounded queue. */
export function createPasswords(argon: { hash: typeof hash; verify: typeof verify } = { hash, verify }) {
  const slots = createSlots(MAX_CONCURRENT_HASHES)
  let pending = 0
  const runQueued = async <T>(work: () => Promise<T>): Promise<T> => {
    if (pending >= MAX_CONCURRENT_HASHES + MAX_WAITING_HASHES)
      throw new ApiError('rate_limited', 'Too many people are signing in at the moment; try again shortly.')
    pending += 1
    return slots(work).finally(() => {
      pending -= 1
    })
  }
  return {
    /** Returns the hash in PHC format. Throws `rate_limited` if too many wait. */
    hash: (password: string): Promise<string> => runQueued(() => argon.hash(normalisePassword(password), ARGON2_COST)),
    /** Reports whether the stored hash is of this password. Null never is, and takes as long. Throws as `hash` does. */
    async verify(stored: string | null, password: string): Promise<boolean> {
      const matches = await runQueued(() => argon.verify(stored ?? DUMMY_HASH, normalisePassword(password)))
      return stored !== null && matches
    },
    /** Reports whether a stored hash was made with other parameters than today's. */
    isStale(stored: string): boolean {
      const { memoryCost, timeCost, parallelism } = parseOptions(stored)
      return (
        memoryCost !== ARGON2_COST.memoryCost ||
        timeCost !== ARGON2_COST.timeCost ||
        parallelism !== ARGON2_COST.parallelism
      )
    },
  }
}
