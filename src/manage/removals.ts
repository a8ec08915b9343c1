import { z } from 'zod'
import { join, type Sql, sql } from '../sql.js'
import type { Deed } from './audit.js'
import { numbered } from './numbered.js'
import type { Site } from './sites.js'

/** What is to leave a site's rows, one bounded step after the other: a person, what began before a moment, or all of it. */
export type Leaving =
  | { readonly site: number; readonly visitor: string }
  | { readonly site: number; readonly before: Date }
  | { readonly site: number; readonly hostnames: readonly string[] }

/** What a step removed: rows of events, and under which ids; with `more` a further step has something to do. */
export const Removed = z.object({ rows: z.int(), more: z.boolean(), visitor_ids: z.array(z.string()) })
export type Removed = z.infer<typeof Removed>

/** What an erasure removed (contract 7). */
export interface Erased {
  /** The ids under which the person was known, 16 hex digits each. */
  readonly visitor_ids: readonly string[]
  readonly rows: number
}

export interface Removals {
  /**
   * Removes every row of a person (`visitor`: 16 hex digits, as `/api/stats/visitors` shows them); resolves when no read
   * shows them any more. Of somebody who is not there it removes nothing. Throws `database_error` where that takes
   * longer than `patience` ms: it is written down then, and done as soon as it can be.
   */
  erase(site: number, visitor: string, deed: Deed): Promise<Erased>
  /** Goes on with what is written down and not done, from the start of the process or of another part of it. */
  wake(): void
  /** Removes what is older than its site keeps it. Never rejects; what could not be removed the next time has. */
  retain(): Promise<void>
  close(): Promise<void>
}

/**
 * For the transaction that deletes a site: its rows leave in the background from then on (`Removals.wake`), and what
 * else is kept of it under its number or its hostnames leaves at once.
 */
export const removalOfSite = ({ id, domains }: Pick<Site, 'id' | 'domains'>, at: Date): Sql[] => [
  ...numbered(
    'removals',
    sql`insert into removals (id, site, kind, hostnames, requested_at)`,
    sql`${id}, 'site', ${JSON.stringify(domains)}, ${at}`,
  ),
  sql`delete from drops where site = ${id}`,
  ...(domains.length === 0 ? [] : [sql`delete from policies where hostname in (${listOf(domains)})`]),
]

const listOf = (texts: readonly string[]): Sql =>
  join(
    texts.map((text) => sql`${text}`),
    ', ',
  )
