import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../../errors.js'
import { type Sql, sql } from '../../sql.js'
import type { Records } from '../../store.js'

const MINUTE = 60_000
/** How long each kind is good, ms. */
const TOKEN_LIFETIME_MS = {
  login: 15 * MINUTE,
  reset: 60 * MINUTE,
  email: 24 * 60 * MINUTE,
  register: 24 * 60 * MINUTE,
} as const
export type TokenKind = keyof typeof TOKEN_LIFETIME_MS

const StoredToken = z.object({
  kind: z.enum(['login', 'reset', 'email', 'register']),
  user_id: z.number().nullable(),
  email: z.string().nullable(),
  pending: z.string().nullable(),
})
/** What a token is for. */
export type Token = z.infer<typeof StoredToken>

/** What a mail or the operator hands out, good once. What is made or spent is written with what it is for. */
export interface Tokens {
  /** A new one, which is kept nowhere, and the statements that make it good. */
  issue(kind: TokenKind, about: Partial<Omit<Token, 'kind'>>): { token: string; expires_at: Date; writing: Sql[] }
  /** What it is for; throws `unauthorized` for one that is unknown, spent, expired or of another kind. */
  find(kinds: readonly TokenKind[], token: string): Promise<Token>
  spendStatement(token: string): Sql
}

/** 256 bits, which need no slow hash. */
const sha256 = (token: string) => createHash('sha256').update(token).digest('hex')

/** Tokens over the records. `random(n)` gives n random bytes. */
export function createTokens(deps: { records: Records; now(): Date; random(bytes: number): Buffer }): Tokens {
  const { records, now, random } = deps
  return {
    issue(kind, { user_id = null, email = null, pending = null }) {
      const token = random(32).toString('base64url')
      const at = now()
      const expires_at = new Date(at.getTime() + TOKEN_LIFETIME_MS[kind])
      return {
        token,
        expires_at,
        writing: [
          sql`delete from tokens where expires_at <= ${at}`,
          sql`insert into tokens (digest, kind, user_id, email, pending, created_at, expires_at)
            values (${sha256(token)}, ${kind}, ${user_id}, ${email}, ${pending}, ${at}, ${expires_at})`,
        ],
      }
    },
    async find(kinds, token) {
      const [row] = await records.query(sql`
        select kind, user_id, email, pending from tokens
        where digest = ${sha256(token)} and expires_at > ${now()}`)
      const found = row === undefined ? undefined : StoredToken.parse(row)
      if (!found || !kinds.includes(found.kind))
        throw new ApiError('unauthorized', 'The link is used up, expired or incomplete: ask for a new one.', 'token')
      return found
    },
    spendStatement: (token) => sql`delete from tokens where digest = ${sha256(token)}`,
  }
}
