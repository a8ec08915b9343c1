import { type Sql, sql } from '../storage/sql.js'

/** Kinds of records whose ids are never reused: the id of a deleted record never means another one. */
export type IdKind =
  | 'goals'
  | 'funnels'
  | 'segments'
  | 'flags'
  | 'shares'
  | 'alerts'
  | 'reports'
  | 'annotations'
  | 'rules'
  | 'redirects'
  | 'robots_texts'
  | 'histories'
  | 'sites'
  | 'organisations'
  | 'users'
  | 'sessions'
  | 'invitations'
  | 'notices'
  | 'removals'
  | 'imports'
  | 'audit'

/** Returns an insert of one row whose first column is the next id of its kind; `into` names all columns, `values` gives the others. */
export const insertWithNextId = (kind: IdKind, into: Sql, values: Sql): Sql[] => [
  sql`update last_ids set id = id + 1 where kind = ${kind}`,
  sql`${into} select id, ${values} from last_ids where kind = ${kind}`,
]

/** Returns the last id of a kind: inside the transaction that inserts a record, the id of that record. */
export const lastId = (kind: IdKind): Sql => sql`(select id from last_ids where kind = ${kind})`
