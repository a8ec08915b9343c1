import type { Lock } from '../../base/lock.js'
import type { Sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import { type AuditActor, type AuditedAction, auditStatements } from '../audit.js'
import type { Invitations } from '../invitations.js'
import type { LoginSessions } from '../login-sessions.js'
import type { Members } from '../members.js'
import type { Orgs } from '../orgs.js'
import type { Passwords } from '../passwords.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser, Users } from '../users.js'
import type { Tokens } from './tokens.js'

/** The dependencies that the modules of this folder share. */
export interface AccountContext {
  readonly records: Records
  readonly users: Users
  readonly members: Members
  readonly orgs: Orgs
  readonly invitations: Pick<Invitations, 'find'>
  readonly sessions: LoginSessions
  readonly tokens: Tokens
  readonly passwords: Passwords
  now(): Date
  /** Returns n random bytes. */
  random(bytes: number): Buffer
  /** The lock that every write to accounts takes, and every change of an organisation's owners. */
  readonly lock: Lock
}

/** The operator as the actor of an action. */
export const BY_OPERATOR: AuditActor = { kind: 'operator', name: 'operator' }

type AccountAction = [
  user: Pick<StoredUser, 'id' | 'email'>,
  by: AuditActor | { ip: string },
  action: Omit<AuditedAction, 'object' | 'id'>,
]

/**
 * Returns the audit lines of an action on an account, one for each of the person's organisations. `by` is an IP address if
 * the person did it themselves.
 */
export async function accountAuditStatements(
  { members, now }: AccountContext,
  ...[user, by, action]: AccountAction
): Promise<Sql[]> {
  const at = now()
  const actor: AuditActor = 'kind' in by ? by : { kind: 'user', name: user.email, ip: by.ip }
  const memberships = await members.ofUser(user.id)
  return memberships.flatMap(({ org }) =>
    auditStatements({ by: actor, org, at }, { ...action, object: 'account', id: user.id }),
  )
}

/** Returns a function that writes statements about an account together with the audit lines of the action. */
export function createAccountWrite(context: AccountContext) {
  const write = createInvalidatingWrite(context.records, context.users, context.sessions)
  return async (statements: readonly Sql[], ...action: AccountAction): Promise<void> =>
    write(...statements, ...(await accountAuditStatements(context, ...action)))
}
