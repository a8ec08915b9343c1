import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import type { Annotations } from './annotations.js'
import { type AuditContext, auditStatements } from './audit.js'
import { type Author, AuthorColumn } from './author.js'
import { pauseNoteStatements } from './rule-notes.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** Since when, and for whom, no rule of a site refuses anything. */
export interface RulePause {
  readonly since: Date
  readonly by: Author
}

const PauseRow = z.object({ id: z.int(), rules_paused_since: z.date(), rules_paused_by: AuthorColumn })

export type RulePauses = ReturnType<typeof createRulePauses>

interface RulePausesDeps {
  readonly records: Records
  readonly annotations: Pick<Annotations, 'invalidate'>
  /** Updates the active rules. Awaited after every write, before the caller gets its result. */
  readonly onChange: () => Promise<void>
}

/** The pauses of rules: one of a site at most. A pause keeps every rule as it is. */
export function createRulePauses({ records, annotations, onChange }: RulePausesDeps) {
  const cache = createTableCache(async () => {
    const rows = await records.query(
      sql`select id, rules_paused_since, rules_paused_by from sites where rules_paused_since is not null`,
    )
    return new Map(
      rows
        .map((row) => PauseRow.parse(row))
        .map(({ id, rules_paused_since, rules_paused_by }): [number, RulePause] => [
          id,
          { since: rules_paused_since, by: rules_paused_by },
        ]),
    )
  })
  const lock = createLock()
  const write = createInvalidatingWrite(records, cache, annotations, { invalidate: onChange })
  const get = async (site: number): Promise<RulePause | undefined> => (await cache.get()).get(site)
  /** Writes nothing if the rules are paused, or are not, already. */
  const set = (site: number, by: Author | undefined, audit: AuditContext): Promise<RulePause | undefined> =>
    lock(async () => {
      const current = await get(site)
      const paused = by !== undefined
      if (paused === (current !== undefined)) return current
      const details = { site, before: { paused: !paused }, after: { paused } }
      await write(
        sql`update sites set rules_paused_since = ${paused ? audit.at : null},
          rules_paused_by = ${paused ? JSON.stringify(by) : null} where id = ${site}`,
        ...auditStatements(audit, { action: paused ? 'pause' : 'resume', object: 'rules', id: site, details }),
        ...pauseNoteStatements(site, paused, audit.at),
      )
      const after = await get(site)
      if (paused && !after) throw new ApiError('not_found', 'There is no such site.', 'site')
      return after
    })
  return {
    get,
    /** Returns the pauses by site. */
    all: (): Promise<ReadonlyMap<number, RulePause>> => cache.get(),
    pause: (site: number, by: Author, audit: AuditContext) => set(site, by, audit),
    resume: (site: number, audit: AuditContext) => set(site, undefined, audit),
    /** Call it after another module has written to the table. */
    invalidate: cache.invalidate,
  }
}
