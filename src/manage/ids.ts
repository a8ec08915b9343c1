import { type Sql, sql } from '../sql.js'

/** What has ids that are given once: one that was deleted never comes to mean another. */
export type IdKind =
  | 'goals'
  | 'funnels'
  | 'segments'
  | 'flags'
  | 'shares'
  | 'alerts'
  | 'reports'
  | 'sites'
  | 'organisations'
  | 'users'
  | 'sessions'
  | 'invitations'
  | 'notices'
  | 'removals'
  | 'audit'

/** An insert of one row whose first column is the next id of its kind; `into` names the columns, `values` all the others. */
export const insertWithNextId = (kind: IdKind, into: Sql, values: Sql): Sql[] => [
  sql`update last_ids set id = id + 1 where kind = ${kind}`,
  sql`${into} select id, ${values} from last_ids where kind = ${kind}`,
]

/** The id given last, of this kind: in the transaction that made it, that of what it made. */
export const lastId = (kind: IdKind): Sql => sql`(select id from last_ids where kind = ${kind})`
