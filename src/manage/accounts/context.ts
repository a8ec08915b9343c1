import type { Sql } from '../../sql.js'
import type { Records } from '../../store.js'
import { type AuditActor, type AuditedAction, auditStatements } from '../audit.js'
import type { Invitations } from '../invitations.js'
import type { Lock } from '../lock.js'
import type { LoginSessions } from '../login-sessions.js'
import type { Members } from '../members.js'
import type { Orgs } from '../orgs.js'
import type { Passwords } from '../passwords.js'
import type { StoredUser, Users } from '../users.js'
import type { Tokens } from './tokens.js'

/** What everything about accounts stands on. */
export interface AccountContext {
  readonly records: Records
  readonly users: Users
  readonly members: Members
  readonly orgs: Orgs
  readonly invitations: Pick<Invitations, 'find' | 'acceptStatements'>
  readonly sessions: LoginSessions
  readonly tokens: Tokens
  readonly passwords: Passwords
  now(): Date
  /** n random bytes. */
  random(bytes: number): Buffer
  /** Every write to accounts is made in it. */
  readonly turn: Lock
}

/** The log's lines of what somebody did to an account, their own unless `by` says else: one for each organisation of theirs. */
export async function accountAuditStatements(
  { members, now }: Pick<AccountContext, 'members' | 'now'>,
  user: Pick<StoredUser, 'id' | 'email'>,
  by: AuditActor | { ip: string },
  done: Omit<AuditedAction, 'object' | 'id'>,
): Promise<Sql[]> {
  const at = now()
  const who: AuditActor = 'kind' in by ? by : { kind: 'user', name: user.email, ip: by.ip }
  const mine = await members.ofUser(user.id)
  return mine.flatMap(({ org }) => auditStatements({ by: who, org, at }, { ...done, object: 'account', id: user.id }))
}
