import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { MINUTE_MS } from '../../base/time-units.js'
import { type Sql, sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import { createToken, hashToken } from '../secret-token.js'

const TOKEN_LIFETIME_MS = {
  login: 15 * MINUTE_MS,
  reset: 60 * MINUTE_MS,
  email: 24 * 60 * MINUTE_MS,
  register: 24 * 60 * MINUTE_MS,
} as const
type TokenKind = keyof typeof TOKEN_LIFETIME_MS

const StoredToken = z.object({
  kind: z.enum(['login', 'reset', 'email', 'register']),
  user_id: z.number().nullable(),
  email: z.string().nullable(),
  pending: z.string().nullable(),
})
/** The purpose of a token. */
type Token = z.infer<typeof StoredToken>

export type Tokens = ReturnType<typeof createTokens>

/** One-time tokens that a mail or the operator hands out; `random(n)` gives n random bytes. */
export function createTokens(deps: { records: Records; now(): Date; random(bytes: number): Buffer }) {
  const { records, now, random } = deps
  return {
    /** Returns a new token, which is not stored, and the statements that make it valid, for a transaction. */
    issue(kind: TokenKind, { user_id = null, email = null, pending = null }: Partial<Omit<Token, 'kind'>>) {
      const token = createToken(random)
      const at = now()
      const expires_at = new Date(at.getTime() + TOKEN_LIFETIME_MS[kind])
      const writing: Sql[] = [
        sql`delete from tokens where expires_at <= ${at}`,
        sql`insert into tokens (digest, kind, user_id, email, pending, created_at, expires_at)
          values (${hashToken(token)}, ${kind}, ${user_id}, ${email}, ${pending}, ${at}, ${expires_at})`,
      ]
      return { token, expires_at, writing }
    },
    /** Returns what a token is for. Throws `unauthorized` if it is unknown, used, expired or of another kind. */
    async find(kinds: readonly TokenKind[], token: string): Promise<Token> {
      const [row] = await records.query(sql`
        select kind, user_id, email, pending from tokens
        where digest = ${hashToken(token)} and expires_at > ${now()}`)
      const storedToken = row === undefined ? undefined : StoredToken.parse(row)
      if (!storedToken || !kinds.includes(storedToken.kind))
        throw new ApiError(
          'unauthorized',
          'This link was already used, is incomplete or has expired: request a new one.',
          'token',
        )
      return storedToken
    },
    /** Returns the statement that uses a token up, for the transaction of what it is for. */
    spendStatement: (token: string): Sql => sql`delete from tokens where digest = ${hashToken(token)}`,
  }
}
