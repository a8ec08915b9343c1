import { createHash } from 'node:crypto'
import { Sql, sql } from '../storage/sql.js'
import { insertWithNextId } from './ids.js'

/** The actor of an audited action, with their address. */
export interface AuditActor {
  readonly kind: 'operator' | 'user' | 'key' | 'system'
  /** An e-mail address or a key's prefix, for the reader of the log. */
  readonly name: string
  /** The account of a signed-in person. */
  readonly user?: number
  /** Absent for the control socket and for readership itself. */
  readonly ip?: string
}

/** Actor, time and organisation: every write takes one, so that the log has it in the same transaction. */
export interface AuditContext {
  readonly by: AuditActor
  /** The organisation's id, or the SQL that gives it within the transaction. */
  readonly org: number | Sql
  readonly at: Date
}

/** An action and its object. */
export interface AuditedAction {
  /** `create`, `change`, `delete`, or the verb of another action: `rotate`, `invite`. */
  readonly action: string
  /** The kind of object: `goal`, `member`. */
  readonly object: string
  /** The object's id; `lastId` of its kind while it is being created. */
  readonly id?: number | string | Sql
  /** Changed values, never a secret. The log has the digest and the length of a long text. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** Returns the statements that add a line to the audit log, for the transaction of the action itself. */
export const auditStatements = ({ by, org, at }: AuditContext, { action, object, id, details }: AuditedAction): Sql[] =>
  insertWithNextId(
    'audit',
    sql`insert into audit (id, org, happened_at, actor_kind, actor, action, object, object_id, ip, details)`,
    sql`${org}, ${at}, ${by.kind}, ${by.name}, ${action}, ${object}, ${id === undefined ? null : id instanceof Sql ? id : String(id)},
      ${by.ip ?? null}, ${details === undefined ? null : JSON.stringify(details, shortenText)}`,
  )

/** Characters of a text that the log has as it is: a robots.txt would make every line as long as the file. */
const MAX_TEXT_CHARS = 2_000

const shortenText = (_: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_TEXT_CHARS
    ? { sha256: createHash('sha256').update(value).digest('hex'), characters: value.length }
    : value
