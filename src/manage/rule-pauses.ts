import { z } from 'zod'
import { createLock } from '../base/lock.js'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { automaticNoteStatements } from './annotations.js'
import { type AuditContext, auditStatements } from './audit.js'
import { AuthorColumn, authorOf } from './author.js'
import { createInvalidatingWrite, type Dependent } from './table-cache.js'

const PauseRow = z
  .object({ rules_paused_since: z.date(), rules_paused_by: AuthorColumn })
  .transform(({ rules_paused_since: since, rules_paused_by: by }) => ({ since, by }))

export type RulePauses = ReturnType<typeof createRulePauses>

/** The pauses of rules: one of a site at most. A pause keeps every rule as it is. */
export function createRulePauses(records: Records, ...dependents: readonly Dependent[]) {
  const lock = createLock()
  const write = createInvalidatingWrite(records, ...dependents)
  /** Returns since when, and for whom, no rule of a site refuses anything. */
  const get = async (site: number) => {
    const [row] = await records.query(sql`
      select rules_paused_since, rules_paused_by from sites where id = ${site} and rules_paused_since is not null`)
    return row && PauseRow.parse(row)
  }
  return {
    get,
    /** Pauses or resumes the rules. Writes nothing if that is how they are. */
    set: (site: number, paused: boolean, audit: AuditContext): Promise<void> =>
      lock(async () => {
        if (paused === ((await get(site)) !== undefined)) return
        const { at, by } = audit
        const details = { site, before: { paused: !paused }, after: { paused } }
        await write(
          sql`update sites set rules_paused_since = ${paused ? at : null},
            rules_paused_by = ${paused ? JSON.stringify(authorOf(by)) : null} where id = ${site}`,
          ...auditStatements(audit, { action: paused ? 'pause' : 'resume', object: 'rules', id: site, details }),
          ...automaticNoteStatements({
            ...{ site, kind: 'rules_paused', at, cause: `rules_paused:${paused}:${at.toISOString()}` },
            text: paused ? 'Rules were paused' : 'Rules are active again',
            data: { paused },
          }),
        )
      }),
  }
}
