import { z } from 'zod'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { createTableCache } from './table-cache.js'

/** A person who signs in, as the API shows them to themselves. */
export const User = z.object({
  id: z.int(),
  email: z.string(),
  name: z.string(),
  has_password: z.boolean().describe('Whether a password is set; without one, a mailed link signs in.'),
  totp: z.boolean().describe('Whether signing in needs a code of an authenticator.'),
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
/** An account with its secrets: never shown. */
export type StoredUser = z.infer<typeof StoredUserRow>

export const userView = ({ id, email, name, password, totp_on, created_at }: StoredUser): User => ({
  id,
  email,
  name,
  has_password: password !== null,
  totp: totp_on,
  created_at: created_at.toISOString(),
})

export type Users = ReturnType<typeof createUsers>

/** Looks up accounts. `accounts/` writes them. */
export function createUsers(records: Records) {
  const cache = createTableCache(async () => {
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
    list: async (): Promise<readonly StoredUser[]> => (await cache.get()).list,
    get: async (id: number) => (await cache.get()).byId.get(id),
    /** Takes an address in the form that `Email` gives it. */
    byEmail: async (email: string) => (await cache.get()).byEmail.get(email),
    /** Call it after another module has written to the table. */
    invalidate: cache.invalidate,
  }
}
