import { createHash } from 'node:crypto'
import { ApiError } from '../../errors.js'
import { type Sql, sql } from '../../sql.js'
import type { SignInClient } from '../login-sessions.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser } from '../users.js'
import { type AccountContext, accountAuditStatements } from './context.js'
import { base32, findStep, SECRET_BYTES, totpUri } from './totp.js'

const RECOVERY_CODES = 10

/** What an authenticator is set up with. */
export interface Enrolment {
  /** Base32. */
  readonly secret: string
  readonly uri: string
}

export interface SecondFactor {
  /**
   * Whether the person is who the code says, as the statements that use it up: they are written with what it was asked
   * for, in the same turn. Nothing where no second factor is on. Throws `unauthorized` with the field `totp`,
   * `rate_limited` after too many tries.
   */
  consumeCode(user: StoredUser, code: string | undefined): Promise<Sql[]>
  /** A new secret, which counts once it is confirmed. Throws `conflict` where one does. */
  enrol(user: number): Promise<Enrolment>
  /**
   * The first code switches it on: the recovery codes, each good once, and the new session, all others of this person
   * being over. Throws `conflict` without an enrolment, as `used` for a code that is wrong.
   */
  confirm(user: number, code: string, from: SignInClient): Promise<{ codes: string[]; token: string }>
  /** As `used` first. Sessions as by `confirm`. */
  disable(user: number, code: string | undefined, from: SignInClient): Promise<{ token: string }>
  /** By the operator, for somebody who has lost it: ends all sessions. */
  revoke(user: number): Promise<void>
  /** New recovery codes; the ones before are good no more. As `used` first. */
  renew(user: number, code: string | undefined, from: SignInClient): Promise<string[]>
}

const sha256 = (code: string) => createHash('sha256').update(code).digest('hex')
/** As it was handed out, however it is typed. */
const normaliseCode = (code: string): string => code.toUpperCase().replace(/[\s-]/g, '')

/**
 * Authenticators and recovery codes. `mayTry` counts a try of a person's second factor and says whether it is one too
 * many; `issuer` is what an authenticator calls us.
 */
export function createSecondFactor(
  ground: AccountContext,
  mayTry: (user: number) => boolean,
  issuer: string,
): SecondFactor {
  const { records, users, sessions, now, random, turn } = ground

  const existing = async (id: number): Promise<StoredUser> => {
    const user = await users.get(id)
    if (!user) throw new ApiError('unauthorized', 'You are not signed in, or no longer.')
    return user
  }
  const wrong = () => new ApiError('unauthorized', 'The code is wrong, too old, or was used before.', 'totp')
  const tried = (user: StoredUser) => {
    if (!mayTry(user.id)) throw new ApiError('rate_limited', 'Too many codes were tried; wait some minutes.', 'totp')
  }

  async function used(user: StoredUser, code: string | undefined): Promise<Sql[]> {
    if (!user.totp_on || user.totp_secret === null) return []
    if (code === undefined)
      throw new ApiError('unauthorized', 'Send totp: a code of your authenticator, or a recovery code.', 'totp')
    tried(user)
    const text = normaliseCode(code)
    if (/^\d{6}$/.test(text)) {
      const step = findStep(user.totp_secret, text, now(), user.totp_step)
      if (step === undefined) throw wrong()
      return [sql`update users set totp_step = ${step} where id = ${user.id}`]
    }
    const digest = sha256(text)
    const [found] = await records.query(
      sql`select digest from recovery_codes where user_id = ${user.id} and digest = ${digest}`,
    )
    if (!found) throw wrong()
    return [sql`delete from recovery_codes where user_id = ${user.id} and digest = ${digest}`]
  }

  /** Ten new codes and the statements that replace the old ones by them. */
  const recovery = (user: number): { codes: string[]; writing: Sql[] } => {
    const codes = Array.from({ length: RECOVERY_CODES }, () => base32(random(10)).replace(/(.{4})(?=.)/g, '$1-'))
    return {
      codes,
      writing: [
        sql`delete from recovery_codes where user_id = ${user}`,
        ...codes.map(
          (code) => sql`insert into recovery_codes (user_id, digest) values (${user}, ${sha256(normaliseCode(code))})`,
        ),
      ],
    }
  }
  const off = (user: number): Sql[] => [
    sql`update users set totp_on = false, totp_secret = null, totp_step = null where id = ${user}`,
    sql`delete from recovery_codes where user_id = ${user}`,
    sessions.endAllStatement(user),
  ]
  const written = createInvalidatingWrite(records, users, sessions)

  return {
    consumeCode: used,
    enrol: (id) =>
      turn(async () => {
        const user = await existing(id)
        if (user.totp_on) throw new ApiError('conflict', 'Two-factor sign-in is on: disable it first.')
        const secret = base32(random(SECRET_BYTES))
        await written(sql`update users set totp_secret = ${secret}, totp_step = null where id = ${id}`)
        return { secret, uri: totpUri(secret, user.email, issuer) }
      }),
    confirm: (id, code, from) =>
      turn(async () => {
        const user = await existing(id)
        if (user.totp_on || user.totp_secret === null)
          throw new ApiError('conflict', user.totp_on ? 'Two-factor sign-in is on.' : 'Enrol first.')
        tried(user)
        const step = findStep(user.totp_secret, normaliseCode(code), now(), user.totp_step)
        if (step === undefined) throw wrong()
        const { codes, writing } = recovery(id)
        const next = sessions.beginStatements(id, from)
        await written(
          sql`update users set totp_on = true, totp_step = ${step} where id = ${id}`,
          ...writing,
          sessions.endAllStatement(id),
          ...next.writing,
          ...(await accountAuditStatements(ground, user, from, { action: 'enable_totp' })),
        )
        return { codes, token: next.token }
      }),
    disable: (id, code, from) =>
      turn(async () => {
        const user = await existing(id)
        if (!user.totp_on) throw new ApiError('conflict', 'Two-factor sign-in is off.')
        await used(user, code)
        const next = sessions.beginStatements(id, from)
        await written(
          ...off(id),
          ...next.writing,
          ...(await accountAuditStatements(ground, user, from, { action: 'disable_totp' })),
        )
        return { token: next.token }
      }),
    revoke: (id) =>
      turn(async () => {
        const user = await existing(id)
        const by = { kind: 'operator', name: 'operator' } as const
        await written(...off(id), ...(await accountAuditStatements(ground, user, by, { action: 'disable_totp' })))
      }),
    renew: (id, code, from) =>
      turn(async () => {
        const user = await existing(id)
        if (!user.totp_on) throw new ApiError('conflict', 'Two-factor sign-in is off.')
        const spent = await used(user, code)
        const { codes, writing } = recovery(id)
        await written(
          ...spent,
          ...writing,
          ...(await accountAuditStatements(ground, user, from, { action: 'renew_recovery_codes' })),
        )
        return codes
      }),
  }
}
