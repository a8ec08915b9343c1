import { createHash } from 'node:crypto'

/** Matches a token as `createToken` makes it. */
export const TOKEN_PATTERN = /^[\w-]{43}$/

/** Returns 256 random bits as text; `random(n)` gives n random bytes. */
export const createToken = (random: (bytes: number) => Buffer): string => random(32).toString('base64url')

/** Returns the digest that is stored: 256 random bits need no slow hash. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex')
