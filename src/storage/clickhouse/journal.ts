import { type CommitPosition, formatCommitPosition, parseCommitPosition } from '../commit-position.js'
import type { StoredChanges } from '../event-store.js'
import type { Rows } from '../rows.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'

/*
 * The journal of commits, in the records: ClickHouse has no transactions, so a commit is written down here before it is
 * applied there. It has one entry at most, the last commit.
 */

/** The content of a commit. */
export interface Commit {
  readonly rows: Rows
  readonly changes: StoredChanges
}

/** A commit in the journal. */
export interface JournalEntry extends Commit {
  /** The first of the `NUMBERS_PER_COMMIT` numbers of its changes. */
  readonly number: bigint
  /** The id of its first row; the others follow. No row that was stored before has a higher one. */
  readonly firstRow: number
}

/** Each kind of change in a commit has a number of its own, so that a repetition can tell what was changed already. */
const NUMBERS_PER_COMMIT = 4

/**
 * Opens the journal for the writer that holds the lease under this epoch. The records refuse a writer that was taken over
 * (shared-records.ts), so every write fails then. Throws `ApiError('database_error')`.
 */
export async function openJournal(records: Pick<Records, 'query' | 'write'>, epoch: number) {
  await records.write()
  const [last] = await records.query(sql`select epoch, last_number, last_row from journal`)
  let number = Number(last?.epoch) === epoch ? Number(last?.last_number) : 0
  let lastRow = Number(last?.last_row)

  /** Takes numbers and row ids, replaces the entry by this one or none, and runs `statements`, in one transaction. */
  const advance = async (numbers: number, rows: number, body: string | null, statements: readonly Sql[] = []) => {
    const [firstNumber, firstRow] = [number + 1, lastRow + 1]
    // A failed write does not give its numbers back.
    number += numbers
    lastRow += rows
    await records.write(
      sql`update journal set epoch = ${epoch}, last_number = ${number}, last_row = ${lastRow},
        first_number = ${firstNumber}, first_row = ${firstRow}, body = ${body}`,
      ...statements,
    )
    return { number: numberOf(epoch, firstNumber), firstRow }
  }

  return {
    /**
     * Waits until a write that failed has ended for good: its commit may still be on the way, and look as if it were not
     * there. Call it before `read` then.
     */
    settle: () => records.write(),
    /** The last commit of a run; undefined before its first. */
    async lastCommit(run: string): Promise<CommitPosition | undefined> {
      const [row] = await records.query(sql`select mark from commits where run = ${run}`)
      return row && parseCommitPosition(String(row.mark))
    },
    /** The entry, if there is one. */
    async read(): Promise<JournalEntry | undefined> {
      const [row] = await records.query(sql`select epoch, first_number, first_row, body from journal`)
      if (typeof row?.body !== 'string') return undefined
      const first = numberOf(Number(row.epoch), Number(row.first_number))
      return { number: first, firstRow: Number(row.first_row), ...decodeCommit(row.body) }
    },
    /** Replaces the entry, whose commit must be applied, by this commit. If it rejects, the commit may be written. */
    async write(commit: Commit, rows: number, position: CommitPosition | undefined): Promise<JournalEntry> {
      const mark = position && [
        sql`delete from commits where run = ${position.run}`,
        sql`insert into commits values (${position.run}, ${formatCommitPosition(position)})`,
      ]
      return { ...(await advance(NUMBERS_PER_COMMIT, rows, encodeCommit(commit), mark)), ...commit }
    },
    /**
     * Empties the journal, whose commit must be applied, and returns the first of `count` numbers for changes that need no
     * entry. Call it before each such change: it fails if another writer has taken over.
     */
    takeNumbers: async (count = 1): Promise<bigint> => (await advance(count, 0, null)).number,
  }
}

/** The number of a change, the version of the rows that it writes: those of a later epoch are higher. */
const numberOf = (epoch: number, n: number): bigint => (BigInt(epoch) << 32n) + BigInt(n)

/** The commit as JSON text: each text has a letter before it, `s` for text, `n` for a bigint, `d` for an instant. */
export const encodeCommit = (commit: Commit): string => JSON.stringify(tagValues(commit))

export function decodeCommit(text: string): Commit {
  const commit: Commit = JSON.parse(text, (_key, value: unknown) => (typeof value === 'string' ? untag(value) : value))
  return commit
}

function tagValues(value: unknown): unknown {
  if (typeof value === 'string') return `s${value}`
  if (typeof value === 'bigint') return `n${value}`
  if (value instanceof Date) return `d${value.getTime()}`
  if (Array.isArray(value)) return value.map(tagValues)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, tagValues(each)]))
}

function untag(text: string): unknown {
  const rest = text.slice(1)
  if (text.startsWith('n')) return BigInt(rest)
  return text.startsWith('d') ? new Date(Number(rest)) : rest
}
