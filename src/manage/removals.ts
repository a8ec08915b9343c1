import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../errors.js'
import { join, raw, type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { insertWithNextId } from './ids.js'
import { createLock } from './lock.js'
import type { Site, Sites } from './sites.js'

/**
 * What is to leave a site's rows, one bounded step after the other: a person, what began before a moment, or all of it. By
 * its `key` the store knows one again whose answer was lost.
 */
export type RemovalTarget =
  | { readonly site: number; readonly key: string; readonly visitor: string }
  | { readonly site: number; readonly before: Date }
  | { readonly site: number; readonly key: string; readonly hostnames: readonly string[] }

/**
 * What a step removed, or all steps of its key: rows of events, and under which ids; with `more` a further step has
 * something to do.
 */
export const RemovalProgress = z.object({ rows: z.int(), more: z.boolean(), visitor_ids: z.array(z.string()) })
export type RemovalProgress = z.infer<typeof RemovalProgress>

/** What an erasure removed (contract 7). */
export const ErasureResult = z.object({
  visitor_ids: z.array(z.string()).describe('The ids under which the person was known, 16 hex digits each.'),
  rows: z.int().describe('Rows that were removed; 0 of somebody who is not there.'),
})
export type ErasureResult = z.infer<typeof ErasureResult>

export interface Removals {
  /**
   * Removes every row of a person (`visitor`: 16 hex digits, as `/api/stats/visitors` shows them); resolves when no read
   * shows them any more. Of somebody who is not there it removes nothing. Throws `database_error` where that takes
   * longer than `patience` ms: it is written down then, and done as soon as it can be.
   */
  erase(site: number, visitor: string, deed: AuditContext): Promise<ErasureResult>
  /** Goes on with what is written down and not done. To be called behind a write of `removalOfSite`. */
  wake(): void
  /** To be called each minute, and at the start: wakes, and once a day removes what is older than its site keeps it. */
  tick(): void
  /** No step is begun any more; what is not done the next start goes on with. */
  close(): void
}

/**
 * For the transaction that deletes a site: its rows leave in the background from then on (`Removals.wake`), and what
 * else is kept of it under its number or its hostnames leaves at once.
 */
export const siteRemovalStatements = ({ id, domains }: Pick<Site, 'id' | 'domains'>, at: Date): Sql[] => [
  ...insertWithNextId(
    'removals',
    sql`insert into removals (id, site, kind, hostnames, requested_at)`,
    sql`${id}, 'site', ${JSON.stringify(domains)}, ${at}`,
  ),
  sql`delete from drops where site = ${id}`,
  ...(domains.length === 0 ? [] : [sql`delete from policies where hostname in (${sqlList(domains)})`]),
]

const sqlList = (texts: readonly string[]): Sql =>
  join(
    texts.map((text) => sql`${text}`),
    ', ',
  )

/** A removal that is not done. */
const PendingRemoval = z
  .object({
    ...{ id: z.int(), site: z.int(), visitor: z.string().nullable(), hostnames: z.string().nullable() },
    requested_at: z.date(),
  })
  .transform(({ id, site, visitor, hostnames, requested_at }) => {
    // Records that had to begin anew give their numbers anew.
    const of = { site, key: `${id} ${requested_at.toISOString()}` }
    return {
      id,
      leaving:
        visitor === null
          ? { ...of, hostnames: z.array(z.string()).parse(JSON.parse(hostnames ?? '[]')) }
          : { ...of, visitor },
    }
  })

type PendingRemoval = z.infer<typeof PendingRemoval>

export interface RemovalsDeps {
  records: Records
  sites: Pick<Sites, 'list'>
  /** One step, in the store: all of it or none. May reject; it is asked again. */
  remove: (leaving: RemovalTarget) => Promise<RemovalProgress>
  /** What the store keeps of a key, or of all, is needed no more. May reject; it is asked again. */
  forget: (key?: string) => Promise<void>
  /** A site is no more: nothing is counted of it. */
  onSiteDeleted: (site: number) => void
  /** What was seen of people before this moment is on its way to the store before it resolves. */
  settle: () => Promise<void>
  now: () => Date
  /** Calls `run` once; what is returned stops it. */
  after: (ms: number, run: () => void) => () => void
  log: (message: string, error: unknown) => void
  /** For which an erasure is waited for, ms; 30,000. */
  erase_timeout_ms?: number
}

const DAY_MS = 86_400_000
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 60_000

/**
 * Rows that leave. What was asked for is written down first, so that it is done whatever dies meanwhile; steps go one
 * after the other, people before sites.
 */
export function createRemovals({
  records,
  remove,
  forget,
  now,
  after,
  log,
  erase_timeout_ms: patience = 30_000,
  ...deps
}: RemovalsDeps): Removals {
  const waiting = new Map<number, (erased: ErasureResult) => void>()
  let working: Promise<void> | undefined
  let retaining: Promise<void> | undefined
  let retained = Number.NEGATIVE_INFINITY
  let woken = false
  /** Whether the store may keep keys of what is done: as after a start. */
  let noted = true
  let retry = FIRST_RETRY_MS
  let cancel = () => {}
  let closed = false
  // What is being written down is not worked on before it is known who waits for it.
  const inTurn = createLock()

  const unfinished = async (): Promise<PendingRemoval[]> => {
    const rows = await records.query(sql`select id, site, visitor, hostnames, requested_at from removals
      where done_at is null order by kind = 'site', id`)
    return rows.map((row) => PendingRemoval.parse(row))
  }

  const step = async ({ id, leaving }: PendingRemoval): Promise<void> => {
    if ('visitor' in leaving) await deps.settle()
    else deps.onSiteDeleted(leaving.site)
    const { rows, more, visitor_ids } = await remove(leaving)
    await records.write(
      sql`update removals set rows = ${rows} ${
        // Who it was is kept no longer than it takes.
        more ? raw('') : sql`, done_at = ${now()}, visitor = null, hostnames = null`
      } where id = ${id}`,
    )
    if (more) return
    await forget(leaving.key).catch(() => {
      noted = true
    })
    waiting.get(id)?.({ visitor_ids, rows })
    waiting.delete(id)
  }

  /** Until nothing is left, or nothing that can be done now. */
  const work = async (): Promise<void> => {
    const failed = new Set<number>()
    let error: unknown
    try {
      while (!closed) {
        const next = (await inTurn(unfinished)).find(({ id }) => !failed.has(id))
        if (!next) break
        try {
          await step(next)
          retry = FIRST_RETRY_MS
        } catch (cause) {
          failed.add(next.id)
          error = cause
        }
      }
      if (noted && error === undefined && !closed) {
        await forget()
        noted = false
      }
    } catch (cause) {
      error = cause
    }
    if (error === undefined || closed) return
    log('what is to be removed is there still; it is tried again', error)
    cancel = after(retry, wake)
    retry = Math.min(retry * 2, MAX_RETRY_MS)
  }

  const wake = () => {
    woken = true
    cancel()
    if (closed || working) return
    woken = false
    working = work().finally(() => {
      working = undefined
      if (woken) wake()
    })
  }

  const retain = async (): Promise<void> => {
    const today = now().getTime()
    /** What leaves now: steps take a while, and a site may be told meanwhile to keep more. */
    const older = async (site: number): Promise<RemovalTarget | undefined> => {
      const days = (await deps.sites.list()).find(({ id }) => id === site)?.retention_days
      return days === undefined ? undefined : { site, before: new Date(today - days * DAY_MS) }
    }
    for (const { id } of await deps.sites.list())
      for (let more = true; more && !closed; ) {
        const leaving = await older(id)
        more = leaving !== undefined && (await remove(leaving)).more
      }
  }

  return {
    erase: (site, visitor, deed) =>
      new Promise((resolve, reject) => {
        const late = () =>
          reject(new ApiError('database_error', 'It takes longer; it is written down and goes on by itself.'))
        const stop = after(patience, late)
        const written = async () => {
          await records.write(
            ...insertWithNextId(
              'removals',
              sql`insert into removals (id, site, kind, visitor, requested_at)`,
              sql`${site}, 'visitor', ${visitor}, ${deed.at}`,
            ),
            ...auditStatements(deed, {
              action: 'erase',
              object: 'visitor',
              id: visitorDigest(site, visitor),
              details: { site },
            }),
          )
          const id = (await unfinished()).findLast(({ leaving }) => 'visitor' in leaving)?.id
          if (id === undefined) throw new Error('a removal was written and is not there')
          waiting.set(id, (erased) => {
            stop()
            resolve(erased)
          })
        }
        inTurn(written).then(wake, (error) => {
          stop()
          reject(error)
        })
      }),
    wake,
    tick() {
      wake()
      if (retaining || now().getTime() - retained < DAY_MS) return
      const before = retained
      retained = now().getTime()
      retaining = retain()
        .catch((error) => {
          retained = before
          log('what is older than it is kept could not be removed; it is tried again', error)
        })
        .finally(() => {
          retaining = undefined
        })
    },
    close() {
      closed = true
      cancel()
    },
  }
}

/** What the log may keep of somebody of whom nothing else is: it says whether this one was erased to who asks by id. */
const visitorDigest = (site: number, visitor: string): string =>
  createHash('sha256').update(`${site} ${visitor}`).digest('hex').slice(0, 16)
