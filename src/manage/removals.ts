import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { DAY_MS } from '../base/time-units.js'
import { raw, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { insertWithNextId } from './ids.js'
import type { Sites } from './sites.js'

/**
 * The rows of a site that are to be removed, in bounded steps: those of a person, those that began before an instant, or
 * all. By `key` the store recognises a removal whose response was lost.
 */
export type RemovalTarget =
  | { readonly site: number; readonly key: string; readonly visitor: string }
  | { readonly site: number; readonly before: Date }
  | { readonly site: number; readonly key: string; readonly hostnames: readonly string[] }

/** The event rows that all steps of a key have removed so far, and their visitor ids; `more` if another step is needed. */
export const RemovalProgress = z.object({ rows: z.int(), more: z.boolean(), visitor_ids: z.array(z.string()) })
export type RemovalProgress = z.infer<typeof RemovalProgress>

/** The result of an erasure. */
export const ErasureResult = z.object({
  visitor_ids: z.array(z.string()).describe('The ids by which the person was recorded, 16 hex digits each.'),
  rows: z.int().describe('Number of rows that were removed.'),
})
export type ErasureResult = z.infer<typeof ErasureResult>

/** A removal that is not finished. */
const PendingRemoval = z
  .object({
    id: z.int(),
    site: z.int(),
    visitor: z.string().nullable(),
    hostnames: z.string().nullable(),
    requested_at: z.date(),
  })
  .transform(({ id, site, visitor, hostnames, requested_at }) => {
    // The time is part of the key because records that had to start afresh assign their ids again.
    const common = { site, key: `${id} ${requested_at.toISOString()}` }
    return {
      id,
      target:
        visitor === null
          ? { ...common, hostnames: z.array(z.string()).parse(JSON.parse(hostnames ?? '[]')) }
          : { ...common, visitor },
    }
  })
type PendingRemoval = z.infer<typeof PendingRemoval>

interface RemovalsDeps {
  records: Records
  sites: Pick<Sites, 'list'>
  /** Does one step in the store, all or nothing. May reject; it is retried. */
  remove: (target: RemovalTarget) => Promise<RemovalProgress>
  /** Tells the store to forget a finished key, or all keys. May reject; it is retried. */
  forget: (key?: string) => Promise<void>
  /** Whether rows of deleted sites and expired rows may be removed; erasures always may. */
  mayRemoveSites: () => boolean
  /** Whether this process removes rows; otherwise another one does, and `erase` must not be called. */
  isWriter: () => boolean
  /** A site was deleted: drops its counters. */
  onSiteDeleted: (site: number) => void
  /** Resolves when everything that was observed before the call is on its way to the store. */
  settle: () => Promise<void>
  now: () => Date
  /** Calls `run` once after `ms`; the returned function cancels it. */
  after: (ms: number, run: () => void) => () => void
  log: (message: string, error: unknown) => void
  /** How long `erase` waits; default 30,000. */
  erase_timeout_ms?: number
}

const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 60_000

export type Removals = ReturnType<typeof createRemovals>

/**
 * Removes rows: erased people, deleted sites, expired rows. A request is written down before the first step, so it is
 * carried out whatever crashes meanwhile. Steps run one after the other, people before sites,
 * organisations in turns.
 */
export function createRemovals(deps: RemovalsDeps) {
  const { forget, after, log, erase_timeout_ms = 30_000 } = deps
  /** The callers of `erase` that wait, by the id of their removal. */
  const waiting = new Map<number, (result: ErasureResult) => void>()
  /** Whether the store may still remember keys of finished removals, as it may after a start. */
  let mayHoldKeys = true
  // Keeps a removal from being worked on before its caller is registered in `waiting`.
  const lock = createLock()
  const takeNext = createTurns(deps.sites)

  const finish = async ({ id, target }: PendingRemoval, result: ErasureResult): Promise<void> => {
    await forget(target.key).catch(() => {
      mayHoldKeys = true
    })
    waiting.get(id)?.(result)
    waiting.delete(id)
  }
  /** Works until nothing is left that can be done now. */
  const work = async () => {
    const failed = new Set<number>()
    let isProgress = false
    let error: unknown
    try {
      while (!loop.isClosed()) {
        const pending = await lock(() => listPending(deps))
        const next = await takeNext(pending.filter(({ id }) => !failed.has(id)))
        if (!next) break
        try {
          const result = await runStep(deps, next)
          isProgress = true
          if (result) await finish(next, result)
        } catch (cause) {
          failed.add(next.id)
          error = cause
        }
      }
      if (mayHoldKeys && error === undefined && !loop.isClosed()) {
        await forget()
        mayHoldKeys = false
      }
    } catch (cause) {
      error = cause
    }
    if (error !== undefined && !loop.isClosed()) log('rows could not be removed; the removal is retried', error)
    return { isProgress, isFailed: error !== undefined }
  }
  const loop = createWorkLoop(deps, work)
  const expire = createDailyExpiry(deps, loop.isClosed)

  return {
    /**
     * Removes every row of a person (16 hex digits, as `/api/stats/visitors` shows them) and resolves when no read shows
     * them any more. Throws `database_error` if it takes longer than `erase_timeout_ms`; the removal goes on.
     */
    erase(site: number, visitor: string, audit: AuditContext): Promise<ErasureResult> {
      let stop = () => {}
      const erased = new Promise<ErasureResult>((resolve, reject) => {
        const late = 'The erasure takes longer than expected; it continues in the background.'
        stop = after(erase_timeout_ms, () => reject(new ApiError('database_error', late)))
        const request = async () => waiting.set(await writeErasure(deps, site, visitor, audit), resolve)
        lock(request).then(loop.wake, reject)
      })
      return erased.finally(() => stop())
    },
    /** Continues with pending removals. Call it after a write of `siteDeletionStatements`. */
    wake: loop.wake,
    /** Continues with what another process has left. Call it when this process becomes the writer. */
    takeOver(): void {
      mayHoldKeys = true
      loop.wake()
    },
    /** Wakes, and removes expired rows once a day. Call it at the start and every minute. */
    tick(): void {
      loop.wake()
      expire()
    },
    /** Begins no further step; the next start continues. */
    close: loop.close,
  }
}

async function listPending({ records, mayRemoveSites }: RemovalsDeps): Promise<PendingRemoval[]> {
  const rows = await records.query(sql`select id, site, visitor, hostnames, requested_at from removals
    where done_at is null and (kind = 'visitor' or ${mayRemoveSites()}) order by kind = 'site', id`)
  return rows.map((row) => PendingRemoval.parse(row))
}

/** Writes the request for a person's erasure and returns its id. */
async function writeErasure(deps: RemovalsDeps, site: number, visitor: string, audit: AuditContext): Promise<number> {
  const digest = visitorDigest(site, visitor)
  await deps.records.write(
    ...insertWithNextId(
      'removals',
      sql`insert into removals (id, site, kind, visitor, requested_at)`,
      sql`${site}, 'visitor', ${visitor}, ${audit.at}`,
    ),
    ...auditStatements(audit, { action: 'erase', object: 'visitor', id: digest, details: { site } }),
  )
  const id = (await listPending(deps)).findLast(({ target }) => 'visitor' in target)?.id
  if (id === undefined) throw new Error('a removal was written but cannot be read back')
  return id
}

/** Returns the result of the whole removal if this was its last step. */
async function runStep(deps: RemovalsDeps, { id, target }: PendingRemoval): Promise<ErasureResult | undefined> {
  if ('visitor' in target) await deps.settle()
  else deps.onSiteDeleted(target.site)
  const { rows, more, visitor_ids } = await deps.remove(target)
  await deps.records.write(
    sql`update removals set rows = ${rows} ${
      // When the last row is removed, the person's id is no longer needed and is cleared.
      more ? raw('') : sql`, done_at = ${deps.now()}, visitor = null, hostnames = null`
    } where id = ${id}`,
  )
  return more ? undefined : { visitor_ids, rows }
}

/** Returns a function that takes the next of pending removals: people before sites, and among them the organisations in turns. */
function createTurns(sites: RemovalsDeps['sites']) {
  /** Numbers of the organisations' last steps: the one whose last step is the oldest has the next. */
  const turns = new Map<number, number>()
  let steps = 0
  return async (pending: readonly PendingRemoval[]): Promise<PendingRemoval | undefined> => {
    const [first] = pending
    if (!first) return undefined
    const orgs = new Map((await sites.list()).map(({ id, org }) => [id, org]))
    // The site of a deleted one is in no list.
    const tenantOf = ({ target }: PendingRemoval) => orgs.get(target.site) ?? -target.site
    const turnOf = (one: PendingRemoval) => turns.get(tenantOf(one)) ?? 0
    const isPerson = 'visitor' in first.target
    const next = pending
      .filter(({ target }) => 'visitor' in target === isPerson)
      .reduce((best, one) => (turnOf(one) < turnOf(best) ? one : best))
    turns.set(tenantOf(next), ++steps)
    return next
  }
}

/**
 * Runs `work` when it is woken, one run at a time. A run that fails is followed by another, after a pause that doubles until
 * a run makes progress.
 */
function createWorkLoop(
  { after, isWriter }: RemovalsDeps,
  work: () => Promise<{ isProgress: boolean; isFailed: boolean }>,
) {
  let working: Promise<void> | undefined
  let wokenAgain = false
  let retryMs = FIRST_RETRY_MS
  let cancelRetry = () => {}
  let closed = false

  const run = async (): Promise<void> => {
    const { isProgress, isFailed } = await work()
    if (isProgress) retryMs = FIRST_RETRY_MS
    if (!isFailed || closed) return
    cancelRetry = after(retryMs, wake)
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
  }
  const wake = () => {
    wokenAgain = true
    cancelRetry()
    if (closed || working || !isWriter()) return
    wokenAgain = false
    working = run().finally(() => {
      working = undefined
      if (wokenAgain) wake()
    })
  }
  return {
    wake,
    isClosed: () => closed,
    close(): void {
      closed = true
      cancelRetry()
    },
  }
}

/** Returns a function that removes expired rows, at most once a day. */
function createDailyExpiry(deps: RemovalsDeps, isClosed: () => boolean) {
  const { sites, remove, now, log } = deps
  let removing: Promise<void> | undefined
  let removedAt = Number.NEGATIVE_INFINITY

  const removeExpired = async (): Promise<void> => {
    const today = now().getTime()
    for (const { id: site } of await sites.list())
      for (let more = true; more && !isClosed(); ) {
        // Read before each step: steps take a while, and the setting may be changed meanwhile.
        const days = (await sites.list()).find(({ id }) => id === site)?.retention_days
        more = days !== undefined && (await remove({ site, before: new Date(today - days * DAY_MS) })).more
      }
  }
  return (): void => {
    if (removing || !deps.isWriter() || !deps.mayRemoveSites() || now().getTime() - removedAt < DAY_MS) return
    const before = removedAt
    removedAt = now().getTime()
    removing = removeExpired()
      .catch((error) => {
        removedAt = before
        log('expired rows could not be removed; the removal is retried', error)
      })
      .finally(() => {
        removing = undefined
      })
  }
}

/** Returns a digest for the audit log: the holder of an id can check that it was erased, and the log does not name it. */
const visitorDigest = (site: number, visitor: string): string =>
  createHash('sha256').update(`${site} ${visitor}`).digest('hex').slice(0, 16)
