import { z } from 'zod'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { createTableCache } from './table-cache.js'

/** A person who signs in, as the API shows them to themselves. */
export const User = z.object({
  id: z.int(),
  email: z.string(),
  name: z.string(),
  has_password: z.boolean().describe('Whether one is set; without, a link signs in.'),
  totp: z.boolean().describe('Whether signing in takes a code of an authenticator.'),
  created_at: z.iso.datetime(),
})
export type User = z.infer<typeof User>

const StoredUserRow = z.object({
  id: z.number(),
  email: z.string(),
  name: z.string(),
  password: z.string().nullable(),
  totp_secret: z.string().nullable(),
  totp_on: z.boolean(),
  totp_step: z.number().nullable(),
  created_at: z.date(),
})
/** With what nobody is shown. */
export type StoredUser = z.infer<typeof StoredUserRow>

export const userView = ({ id, email, name, password, totp_on, created_at }: StoredUser): User => ({
  id,
  email,
  name,
  has_password: password !== null,
  totp: totp_on,
  created_at: created_at.toISOString(),
})

export interface Users {
  list(): Promise<readonly StoredUser[]>
  get(id: number): Promise<StoredUser | undefined>
  /** By an address as `Email` has it. */
  byEmail(email: string): Promise<StoredUser | undefined>
  /** After a write to the table that was not made here. */
  invalidate(): void
}

/** The people of this instance, over its records. */
export function createUsers(records: Records): Users {
  const all = createTableCache(async () => {
    const rows = await records.query(sql`
      select id, email, name, password, totp_secret, totp_on, totp_step, created_at from users order by id`)
    const list = rows.map((row) => StoredUserRow.parse(row))
    return {
      list,
      byId: new Map(list.map((user) => [user.id, user])),
      byEmail: new Map(list.map((user) => [user.email, user])),
    }
  })
  return {
    list: async () => (await all.get()).list,
    get: async (id) => (await all.get()).byId.get(id),
    byEmail: async (email) => (await all.get()).byEmail.get(email),
    invalidate: all.invalidate,
  }
}
