import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { isIn, raw, sql } from '../storage/sql.js'
import type { Records, Store } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { toApiFields } from './fields.js'
import { insertWithNextId } from './ids.js'
import type { Sites } from './sites.js'

/** The kinds of losses as `src/storage/duckdb/binding.ts` finds them, with their meaning. */
const KINDS = {
  records_lost:
    'control.duckdb was missing or damaged, and an empty one took its place: accounts, sites and keys are gone. The rows of the old sites are in events.duckdb and cannot be read.',
  records_older:
    'control.duckdb is an older copy or lost its last writes: later accounts, sites, keys and changes are gone, and what was revoked or removed later is valid again. Rows of sites that it does not know cannot be read.',
  events_lost: 'events.duckdb was missing or damaged, and an empty one took its place: the rows until then are gone.',
  events_older:
    'events.duckdb is an older copy: later rows are gone, and people who were erased later are in it again.',
  events_foreign:
    'events.duckdb and control.duckdb are not of the same instance: the events were set aside, and an empty file took their place.',
} as const
const KIND_NAMES = ['records_lost', 'records_older', 'events_lost', 'events_older', 'events_foreign'] as const

/** A loss of stored data that waits for the operator's decision. */
export const StoreLoss = z.object({
  kind: z.enum(KIND_NAMES),
  message: z.string(),
  found_at: z.iso.datetime(),
  since: z.iso.datetime().optional().describe('The older copy is not older than this.'),
  backup: z.string().optional().describe('Path of the file that was set aside.'),
})
export type StoreLoss = z.infer<typeof StoreLoss>

/** A site that does not exist any more and has rows. */
export const OldSite = z.object({
  site: z.int(),
  rows: z.int(),
  first: z.iso.datetime(),
  last: z.iso.datetime(),
  hostname: z.string().describe('The hostname of most of its rows.'),
})
export type OldSite = z.infer<typeof OldSite>

const StoredLoss = z
  .object({
    kind: z.enum(KIND_NAMES),
    found_at: z.date(),
    since: z.date().nullable(),
    backup: z.string().nullable(),
  })
  .transform((row): StoreLoss => ({ ...toApiFields(row), message: KINDS[row.kind] }))
const StoredOldSite = z
  .object({ site: z.int(), rows: z.int(), first: z.date(), last: z.date(), hostname: z.string() })
  .transform((row): OldSite => toApiFields(row))
/** One step of moving rows from one site to another. */
const AssignStep = z.object({ rows: z.int(), more: z.boolean() })

interface StoreLossesDeps {
  records: Records
  events: Pick<Store, 'dialect' | 'query'>
  sites: Pick<Sites, 'list'>
  /** Gives rows of a site to another, one bounded step. May reject; it can be repeated. */
  assignStep: (argument: { from: number; to: number }) => Promise<unknown>
  /** Called when rows are to be removed. */
  wakeRemovals: () => void
}

export type StoreLosses = Awaited<ReturnType<typeof openStoreLosses>>

async function loadLosses(records: Records): Promise<StoreLoss[]> {
  const rows = await records.query(
    sql`select kind, found_at, since, backup from losses where decided_at is null order by found_at`,
  )
  return rows.map((row) => StoredLoss.parse(row))
}

/** The sites that have rows and are not among `sites`. */
async function findOtherSites(events: Pick<Store, 'dialect' | 'query'>, sites: readonly number[]): Promise<OldSite[]> {
  const rows = await events.query(sql`
    select site_id as site, sum(n) as rows, min(earliest) as first, max(latest) as last,
      ${events.dialect.lastBy(raw('hostname'), raw('(n, hostname)'))} as hostname
    from (
      select site_id, hostname, count(*) as n, min(timestamp) as earliest, max(timestamp) as latest from (
        select site_id, timestamp, hostname from events union all select site_id, timestamp, hostname from loose_reports
        union all select site_id, timestamp, hostname from agent_events) r
      where not ${isIn(raw('site_id'), sites)} group by site_id, hostname) h
    group by site_id order by site_id`)
  return rows.map((row) => StoredOldSite.parse(row))
}

/** Reads the losses that the operator has not decided about, and carries the decisions out. */
export async function openStoreLosses({ records, events, sites, assignStep, wakeRemovals }: StoreLossesDeps) {
  let losses = await loadLosses(records)
  const oldSites = async (): Promise<OldSite[]> => {
    const known = (await sites.list()).map(({ id }) => id)
    // Rows of a deleted site are on their way out.
    const leaving = await records.query(sql`select site from removals where kind = 'site' and done_at is null`)
    const ids = [...known, ...leaving.map(({ site }) => Number(site))]
    return findOtherSites(events, ids)
  }
  let isCurrent = true
  const refresh = async (): Promise<void> => {
    isCurrent = false
    losses = await loadLosses(records)
    isCurrent = true
  }
  return {
    /** Losses without a decision, the first found first. */
    list: (): readonly StoreLoss[] => losses,
    /** Reads the losses again: after the engine's restart there may be more. */
    refresh,
    /** Repeats a `refresh` that failed. */
    async retry(): Promise<void> {
      if (!isCurrent) await refresh()
    },
    /** Sites that have rows and do not exist. */
    oldSites,
    /**
     * Gives the rows of an old site to the existing site `to`, and returns how many those were. Throws `not_found` for a
     * number that no old site had.
     */
    async assign(from: number, to: number, audit: AuditContext): Promise<number> {
      if (!(await oldSites()).some(({ site }) => site === from))
        throw new ApiError('not_found', `There is no old site ${from}.`, 'from')
      let rows = 0
      for (let more = true; more; ) {
        const step = AssignStep.parse(await assignStep({ from, to }))
        rows += step.rows
        more = step.more
      }
      await records.write(
        ...auditStatements(audit, { action: 'assign', object: 'site', id: to, details: { from, rows } }),
      )
      return rows
    },
    /**
     * Accepts all losses. Rows of old sites are deleted, in the background, if `deleteOldRows`; throws `conflict` if there
     * are some and they may not be deleted.
     */
    async accept(deleteOldRows: boolean, at: Date): Promise<{ accepted: number; deleted: OldSite[] }> {
      const old = await oldSites()
      if (old.length > 0 && !deleteOldRows)
        throw new ApiError(
          'conflict',
          `There are rows of sites that do not exist (${old.length}): assign them to a site, or accept that they are deleted.`,
        )
      const accepted = losses.length
      await records.write(
        sql`update losses set decided_at = ${at} where decided_at is null`,
        // Older events have rows of sites that were deleted since.
        ...(losses.some(({ kind }) => kind === 'events_older')
          ? [sql`update removals set done_at = null where kind = 'site'`]
          : []),
        ...old.flatMap(({ site }) =>
          insertWithNextId(
            'removals',
            sql`insert into removals (id, site, kind, hostnames, requested_at)`,
            sql`${site}, 'site', '[]', ${at}`,
          ),
        ),
      )
      await refresh()
      wakeRemovals()
      return { accepted, deleted: old }
    },
  }
}
