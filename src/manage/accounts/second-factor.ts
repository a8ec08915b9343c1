import { ApiError } from '../../base/errors.js'
import { type Sql, sql } from '../../storage/sql.js'
import type { SignInClient } from '../login-sessions.js'
import { hashToken } from '../secret-token.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser } from '../users.js'
import { type AccountContext, BY_OPERATOR, createAccountWrite } from './context.js'
import { base32, findStep, SECRET_BYTES, totpUri } from './totp.js'

const RECOVERY_CODES = 10

/** The secret that an authenticator is set up with. */
export interface Enrolment {
  /** In base32. */
  readonly secret: string
  readonly uri: string
}

/** Returns a code without the spaces and hyphens that people type. */
const normaliseCode = (code: string): string => code.toUpperCase().replace(/[\s-]/g, '')

export type SecondFactor = ReturnType<typeof createSecondFactor>

const wrongCode = () => new ApiError('unauthorized', 'The code is wrong, expired or was used before.', 'totp')

/** Checks codes; `mayTry` counts an attempt of a person and reports whether it is allowed. */
function createCodeCheck({ records, now }: AccountContext, mayTry: (user: number) => boolean) {
  const countAttempt = (user: StoredUser) => {
    if (!mayTry(user.id))
      throw new ApiError('rate_limited', 'Too many codes were tried; try again in a few minutes.', 'totp')
  }
  /** Returns the step of an authenticator's code. Throws `unauthorized` with the field `totp`. */
  const stepOf = ({ totp_step }: StoredUser, secret: string, code: string): number => {
    const step = findStep(secret, code, now(), totp_step)
    if (step === undefined) throw wrongCode()
    return step
  }
  return {
    /** Counts an attempt and returns the step of the code that confirms `secret`. Throws as `consumeCode` does. */
    confirmedStep(user: StoredUser, secret: string, code: string): number {
      countAttempt(user)
      return stepOf(user, secret, normaliseCode(code))
    },
    /**
     * Checks a code and returns the statements that use it up: write them with what the code was asked for, inside the same
     * lock. Returns none if the second factor is off. Throws `unauthorized` with the field `totp`, `rate_limited`.
     */
    async consumeCode(user: StoredUser, code: string | undefined): Promise<Sql[]> {
      if (!user.totp_on || user.totp_secret === null) return []
      if (code === undefined)
        throw new ApiError(
          'unauthorized',
          '`totp` is required: a code of your authenticator or a recovery code.',
          'totp',
        )
      countAttempt(user)
      const text = normaliseCode(code)
      if (/^\d{6}$/.test(text))
        return [sql`update users set totp_step = ${stepOf(user, user.totp_secret, text)} where id = ${user.id}`]
      const isThisCode = sql`user_id = ${user.id} and digest = ${hashToken(text)}`
      const [row] = await records.query(sql`select digest from recovery_codes where ${isThisCode}`)
      if (!row) throw wrongCode()
      return [sql`delete from recovery_codes where ${isThisCode}`]
    },
  }
}

/** Returns new recovery codes and the statements that replace the old ones. */
function createRecoveryCodes(user: number, random: AccountContext['random']): { codes: string[]; writing: Sql[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, () => base32(random(10)).replace(/(.{4})(?=.)/g, '$1-'))
  return {
    codes,
    writing: [
      sql`delete from recovery_codes where user_id = ${user}`,
      ...codes.map(
        (code) => sql`insert into recovery_codes (user_id, digest) values (${user}, ${hashToken(normaliseCode(code))})`,
      ),
    ],
  }
}

const disableStatements = (user: number, sessions: AccountContext['sessions']): Sql[] => [
  sql`update users set totp_on = false, totp_secret = null, totp_step = null where id = ${user}`,
  sql`delete from recovery_codes where user_id = ${user}`,
  sessions.endAllStatement(user),
]

/**
 * Authenticator and recovery codes. `mayTry` counts an attempt of a person and reports whether it is allowed; `issuer` is
 * the name that an authenticator shows.
 */
export function createSecondFactor(context: AccountContext, mayTry: (user: number) => boolean, issuer: string) {
  const { records, users, sessions, random, lock } = context
  const { confirmedStep, consumeCode } = createCodeCheck(context, mayTry)
  const write = createAccountWrite(context)

  const findUser = async (id: number): Promise<StoredUser> => {
    const user = await users.get(id)
    if (!user) throw new ApiError('unauthorized', 'You are not signed in.')
    return user
  }
  const findEnrolledUser = async (id: number): Promise<StoredUser> => {
    const user = await findUser(id)
    if (!user.totp_on) throw new ApiError('conflict', 'Two-factor sign-in is off.')
    return user
  }

  return {
    consumeCode,
    /** Stores a new secret, which takes effect once it is confirmed. Throws `conflict` if the second factor is on. */
    enrol: (id: number) =>
      lock(async (): Promise<Enrolment> => {
        const user = await findUser(id)
        if (user.totp_on) throw new ApiError('conflict', 'Two-factor sign-in is already on: disable it first.')
        const secret = base32(random(SECRET_BYTES))
        const enrol = createInvalidatingWrite(records, users)
        await enrol(sql`update users set totp_secret = ${secret}, totp_step = null where id = ${id}`)
        return { secret, uri: totpUri(secret, user.email, issuer) }
      }),
    /**
     * Switches the second factor on with its first code. Ends every session of the person and begins a new one. Throws
     * `conflict` without an enrolment, and what `consumeCode` throws for a wrong code.
     */
    confirm: (id: number, code: string, client: SignInClient) =>
      lock(async (): Promise<{ codes: string[]; token: string }> => {
        const user = await findUser(id)
        if (user.totp_on || user.totp_secret === null)
          throw new ApiError('conflict', user.totp_on ? 'Two-factor sign-in is already on.' : 'Enrol first.')
        const step = confirmedStep(user, user.totp_secret, code)
        const { codes, writing } = createRecoveryCodes(id, random)
        const next = sessions.beginStatements(id, client)
        const enable = sql`update users set totp_on = true, totp_step = ${step} where id = ${id}`
        const statements = [enable, ...writing, sessions.endAllStatement(id), ...next.writing]
        await write(statements, user, client, { action: 'enable_totp' })
        return { codes, token: next.token }
      }),
    /** Switches the second factor off, with a code. Sessions as for `confirm`. */
    disable: (id: number, code: string | undefined, client: SignInClient) =>
      lock(async (): Promise<{ token: string }> => {
        const user = await findEnrolledUser(id)
        await consumeCode(user, code)
        const next = sessions.beginStatements(id, client)
        await write([...disableStatements(id, sessions), ...next.writing], user, client, { action: 'disable_totp' })
        return { token: next.token }
      }),
    /** Switches the second factor off by the operator, for a person who has lost it. Ends all their sessions. */
    revoke: (id: number) =>
      lock(async () => {
        const user = await findUser(id)
        await write(disableStatements(id, sessions), user, BY_OPERATOR, { action: 'disable_totp' })
      }),
    /** Replaces the recovery codes, with a code. */
    renew: (id: number, code: string | undefined, client: SignInClient) =>
      lock(async (): Promise<string[]> => {
        const user = await findEnrolledUser(id)
        const codeStatements = await consumeCode(user, code)
        const { codes, writing } = createRecoveryCodes(id, random)
        await write([...codeStatements, ...writing], user, client, { action: 'renew_recovery_codes' })
        return codes
      }),
  }
}
