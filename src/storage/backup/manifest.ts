import { z } from 'zod'

const Count = z.int().nonnegative()
/** A version of a program, which messages show. */
const Version = z.string().regex(/^[\w.+-]{1,60}$/)
/** Days that a `Date` can hold. */
const Day = z.int().min(-90_000_000).max(90_000_000)

/** Rows of one table in a Parquet file of their own. */
const TablePart = z.object({
  /** The path in the archive, such as `events/agent_events-2026-11-23.parquet`. */
  name: z.string().regex(/^(events|control)\/[a-z_]+(-\d{4}-\d{2}(-\d{2})?)?\.parquet$/),
  file: z.enum(['events', 'control']),
  table: z.string().regex(/^[a-z_]+$/),
  /** Days since 1970 in UTC; absent for a table that is copied as a whole. */
  days: z.object({ first: Day, last: Day }).optional(),
  rows: Count,
  /** Another text when the rows are others; absent for records, which are copied each time. */
  fingerprint: z.string().optional(),
})
export type TablePart = z.infer<typeof TablePart>

const Member = TablePart.extend({ bytes: Count, sha256: z.string().regex(/^[0-9a-f]{64}$/) })
/** A file of an archive. */
export type Member = z.infer<typeof Member>

/** The facts about a backup that restoring it needs. */
const BackupFacts = z.object({
  /** ISO-8601: everything that was committed before is in the backup. */
  taken_at: z.iso.datetime(),
  /** When the records were created: another readership's were at another moment. Absent in earlier backups. */
  records_born: z.string().optional(),
  /** The version of the program. */
  readership: Version,
  duckdb: Version,
  /** The versions of the two schemas. */
  schema: z.object({ events: z.int().positive(), control: z.int().positive() }),
  /** The size of the two files. */
  store_bytes: Count,
})

/** The content of `manifest.json`. */
export const Manifest = BackupFacts.extend({ format: z.literal(1), members: z.array(Member) })
export type Manifest = z.infer<typeof Manifest>

/** A backup whose files wait in the directory for backups; `isNew` is false for a part that the caller has already. */
export const TakenBackup = BackupFacts.extend({ parts: z.array(TablePart.extend({ isNew: z.boolean() })) })
export type TakenBackup = z.infer<typeof TakenBackup>

/** The parts that an earlier backup has. */
export const KnownParts = z.array(TablePart.pick({ name: true, rows: true, fingerprint: true }))
export type KnownParts = z.infer<typeof KnownParts>

export const BackupProgress = z.object({ done: z.int(), total: z.int() })
export type BackupProgress = z.infer<typeof BackupProgress>

/** Rows of one site to write to a Parquet file, in the window [start, end). */
export const RowsToExport = z.object({
  table: z.enum(['events', 'agent_events']),
  site: z.int(),
  start: z.iso.datetime(),
  end: z.iso.datetime(),
})
export type RowsToExport = z.infer<typeof RowsToExport>
/** The file of exported rows in the directory for backups. */
export const EXPORTED_ROWS = 'rows.parquet'
export const ExportedRows = z.object({ rows: z.int() })

/** Lines of `/control/backup` and `/control/export/file`: progress, and at last what is there until the client leaves. */
export const BackupLine = z.union([
  z.object({ taken: TakenBackup }),
  z.object({ exported: ExportedRows }),
  BackupProgress,
])
export type BackupLine = z.infer<typeof BackupLine>

/** The backups that are taken each day, for `status`, `doctor` and `/metrics`. */
export const ScheduleStatus = z.object({
  directory: z.string(),
  keep: z.int(),
  /** The newest whole one; absent without one. */
  last: z.object({ taken_at: z.iso.datetime(), bytes: z.int() }).optional(),
  /** Tries that failed since the start. */
  failures: z.int(),
  /** Why the last try failed; absent after a good one. */
  failure: z.object({ at: z.iso.datetime(), says: z.string(), mend: z.string() }).optional(),
})
export type ScheduleStatus = z.infer<typeof ScheduleStatus>

export const MANIFEST = 'manifest.json'
/** A line as `sha256sum` writes it, about the manifest. */
export const MANIFEST_SUM = 'manifest.json.sha256'
