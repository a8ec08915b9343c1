import { z } from 'zod'
import { join, sql } from '../sql.js'
import type { Records } from '../store.js'
import { JsonText } from './collection.js'

/** One deed as the log shows it. */
export const AuditEntry = z.object({
  id: z.int(),
  at: z.iso.datetime(),
  org: z.int(),
  actor_kind: z.enum(['operator', 'user', 'key', 'system']),
  actor: z.string().describe("Who: an e-mail address, a key's prefix."),
  action: z.string(),
  object: z.string().describe('The kind of what it was done to.'),
  object_id: z.string().optional(),
  ip: z.string().optional().describe('From where; absent for the operator.'),
  details: z.record(z.string(), z.unknown()).optional(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

/** Which of them. */
export interface AuditFilter {
  /** Absent: of every organisation. */
  readonly org?: number | undefined
  readonly action?: string | undefined
  readonly object?: string | undefined
  readonly since?: Date | undefined
  readonly limit: number
  /** From 1. */
  readonly page: number
}

/** How long a deed is remembered. */
export const AUDIT_RETENTION_MS = 400 * 86_400_000

const StoredEntry = z
  .object({
    ...AuditEntry.omit({ at: true }).shape,
    happened_at: z.date(),
    object_id: z.string().nullable(),
    ip: z.string().nullable(),
    details: JsonText.pipe(z.record(z.string(), z.unknown())).nullable(),
  })
  .transform(
    ({ id, happened_at, object_id, ip, details, ...entry }): AuditEntry => ({
      ...{ id, at: happened_at.toISOString() },
      ...entry,
      ...(object_id === null ? {} : { object_id }),
      ...(ip === null ? {} : { ip }),
      ...(details === null ? {} : { details }),
    }),
  )

export interface AuditLog {
  /** Those of a page, the newest first, and how many there are in all. */
  list(wanted: AuditFilter): Promise<{ entries: AuditEntry[]; total: number }>
  /** Forgets what is older than `KEPT_MS` at `at`. */
  prune(at: Date): Promise<void>
}

/** What was done, by whom, when and from where, over the records. */
export const createAuditLog = (records: Records): AuditLog => ({
  async list({ org, action, object, since, limit, page }) {
    const conditions = [
      sql`true`,
      ...(org === undefined ? [] : [sql`org = ${org}`]),
      ...(action === undefined ? [] : [sql`action = ${action}`]),
      ...(object === undefined ? [] : [sql`object = ${object}`]),
      ...(since === undefined ? [] : [sql`happened_at >= ${since}`]),
    ]
    const from = sql`from audit where ${join(conditions, ' and ')}`
    const [counted, rows] = await Promise.all([
      records.query(sql`select count(*) as total ${from}`),
      records.query(sql`
        select id, org, happened_at, actor_kind, actor, action, object, object_id, ip, details ${from}
        order by id desc limit ${limit} offset ${(page - 1) * limit}`),
    ])
    return { entries: rows.map((row) => StoredEntry.parse(row)), total: Number(counted[0]?.total) }
  },
  async prune(at) {
    const before = new Date(at.getTime() - AUDIT_RETENTION_MS)
    const old = sql`from audit where happened_at < ${before}`
    const [row] = await records.query(sql`select count(*) as n ${old}`)
    if (Number(row?.n) > 0) await records.write(sql`delete ${old}`)
  },
})
