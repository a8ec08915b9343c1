import { Sql, sql } from '../sql.js'
import { insertWithNextId } from './ids.js'

/** Who did a thing, and from where. */
export interface AuditActor {
  readonly kind: 'operator' | 'user' | 'key' | 'system'
  /** For a person who reads the log: an e-mail address, a key's prefix. */
  readonly name: string
  /** Absent: through the control socket, or by ourselves. */
  readonly ip?: string
}

/** One deed: what every write to the records is told, so that the log has it in the same transaction. */
export interface AuditContext {
  readonly by: AuditActor
  /** Its id, or what gives it within the transaction. */
  readonly org: number | Sql
  readonly at: Date
}

/** What the log says beside who, when and from where; details name what changed, and never a secret. */
export interface AuditedAction {
  /** `create`, `change`, `delete`, or the word for what else was done: `rotate`, `invite`. */
  readonly action: string
  /** The kind of object: `goal`, `member`. */
  readonly object: string
  /** As `org`: of what is only being made it is `lastOf` its kind. */
  readonly id?: number | string | Sql
  readonly details?: Readonly<Record<string, unknown>>
}

/** The statements that write a deed down, for the transaction that does it. */
export const auditStatements = ({ by, org, at }: AuditContext, { action, object, id, details }: AuditedAction): Sql[] =>
  insertWithNextId(
    'audit',
    sql`insert into audit (id, org, happened_at, actor_kind, actor, action, object, object_id, ip, details)`,
    sql`${org}, ${at}, ${by.kind}, ${by.name}, ${action}, ${object}, ${id === undefined ? null : id instanceof Sql ? id : String(id)},
      ${by.ip ?? null}, ${details === undefined ? null : JSON.stringify(details)}`,
  )
