import { z } from 'zod'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { remember } from './remember.js'
import { ROLES } from './roles.js'

const Stored = z.object({
  org: z.number(),
  user_id: z.number(),
  role: z.enum(ROLES),
  created_at: z.date(),
})
/** That a person is in an organisation, and as what. */
export type Member = z.infer<typeof Stored>

export interface Members {
  ofUser(user: number): Promise<readonly Member[]>
  ofOrg(org: number): Promise<readonly Member[]>
  /** After a write to the table that was not made here. */
  forget(): void
}

/** Who is in which organisation, over the records. */
export function createMembers(records: Records): Members {
  const all = remember(async () => {
    const rows = await records.query(
      sql`select org, user_id, role, created_at from members order by created_at, user_id`,
    )
    const ofUser = new Map<number, Member[]>()
    const ofOrg = new Map<number, Member[]>()
    for (const member of rows.map((row) => Stored.parse(row))) {
      ofUser.set(member.user_id, [...(ofUser.get(member.user_id) ?? []), member])
      ofOrg.set(member.org, [...(ofOrg.get(member.org) ?? []), member])
    }
    return { ofUser, ofOrg }
  })
  return {
    ofUser: async (user) => (await all.get()).ofUser.get(user) ?? [],
    ofOrg: async (org) => (await all.get()).ofOrg.get(org) ?? [],
    forget: all.forget,
  }
}
