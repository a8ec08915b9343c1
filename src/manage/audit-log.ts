import { z } from 'zod'
import { join, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { JsonText, toApiFields } from './fields.js'

/** A line of the audit log as the API shows it. */
export const AuditEntry = z.object({
  id: z.int(),
  at: z.iso.datetime(),
  org: z.int(),
  actor_kind: z.enum(['operator', 'user', 'key', 'system']),
  actor: z.string().describe("The actor: an e-mail address or a key's prefix."),
  action: z.string(),
  object: z.string().describe('The kind of object that it was done to.'),
  object_id: z.string().optional(),
  ip: z.string().optional().describe("The actor's IP address; absent for the operator."),
  details: z.record(z.string(), z.unknown()).optional(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

/** Selects lines of the log. */
export interface AuditFilter {
  /** Absent: all organisations. */
  readonly org?: number | undefined
  readonly action?: string | undefined
  readonly object?: string | undefined
  readonly since?: Date | undefined
  readonly limit: number
  /** Starts at 1. */
  readonly page: number
}

/** How long a line is kept. */
const AUDIT_RETENTION_MS = 400 * 86_400_000

const StoredEntry = z
  .object({
    ...AuditEntry.omit({ at: true }).shape,
    happened_at: z.date(),
    object_id: z.string().nullable(),
    ip: z.string().nullable(),
    details: JsonText.pipe(z.record(z.string(), z.unknown())).nullable(),
  })
  .transform(({ id, happened_at, ...entry }): AuditEntry => toApiFields({ id, at: happened_at, ...entry }))

export type AuditLog = ReturnType<typeof createAuditLog>

/** Reads the audit log. Lines are written by `auditStatements`. */
export const createAuditLog = (records: Records) => ({
  /** Returns a page of lines, newest first, and the number of all that match. */
  async list({
    org,
    action,
    object,
    since,
    limit,
    page,
  }: AuditFilter): Promise<{ entries: AuditEntry[]; total: number }> {
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
  /** Deletes lines that are older than `AUDIT_RETENTION_MS` at `at`. */
  async prune(at: Date): Promise<void> {
    const expired = sql`from audit where happened_at < ${new Date(at.getTime() - AUDIT_RETENTION_MS)}`
    const [row] = await records.query(sql`select count(*) as n ${expired}`)
    if (Number(row?.n) > 0) await records.write(sql`delete ${expired}`)
  },
})
