import { hash, parseOptions, verify } from '@node-rs/argon2'
import { ApiError } from '../errors.js'

/** OWASP's parameters for argon2id, which is the algorithm where none is named. */
const ARGON2_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Of the four threads that DNS and the disk share with it. */
const MAX_CONCURRENT_HASHES = 2
/** At some 30 ms each, more would wait for longer than a person does. */
const MAX_WAITING_HASHES = 60
/** Of no password: what an account that is not there, or has none, is compared with. */
const DUMMY_HASH = `$argon2id$v=19$m=${ARGON2_COST.memoryCost},t=${ARGON2_COST.timeCost},p=${ARGON2_COST.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** How passwords are made into what is kept of them, and compared with it. */
export interface Passwords {
  /** In PHC form. Throws `rate_limited` where too many wait. */
  hash(password: string): Promise<string>
  /** Whether it is that password; of null never, and it takes no less time. Throws as `hash` does. */
  verify(kept: string | null, password: string): Promise<boolean>
  /** Whether it was kept with other parameters than one would be today. */
  isStale(kept: string): boolean
}

/** The same text however a keyboard composes it (NIST SP 800-63B 3.1.1.2). */
const normalisePassword = (password: string): string => password.normalize('NFKC')

/** The slow hash of passwords: two at once on threads of their own, the rest in a queue that ends. */
export function createPasswords(argon: { hash: typeof hash; verify: typeof verify } = { hash, verify }): Passwords {
  let running = 0
  const waiting: (() => void)[] = []
  const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= MAX_CONCURRENT_HASHES) {
      if (waiting.length >= MAX_WAITING_HASHES)
        throw new ApiError('rate_limited', 'Too many sign in just now; try again shortly.')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      // Its place goes to the next as it is: nobody slips in between.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
  return {
    hash: (password) => slowly(() => argon.hash(normalisePassword(password), ARGON2_COST)),
    async verify(kept, password) {
      const fits = await slowly(() => argon.verify(kept ?? DUMMY_HASH, normalisePassword(password)))
      return kept !== null && fits
    },
    isStale(kept) {
      const { memoryCost, timeCost, parallelism } = parseOptions(kept)
      return (
        memoryCost !== ARGON2_COST.memoryCost ||
        timeCost !== ARGON2_COST.timeCost ||
        parallelism !== ARGON2_COST.parallelism
      )
    },
  }
}
