import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { numbered } from './numbered.js'
import { createWrite, remember } from './remember.js'

/** Without a request for so long a session is over. */
export const IDLE_MS = 14 * 86_400_000
/** However much it is used. */
export const LIFETIME_MS = 90 * 86_400_000
/** Of one person; with one more the one that was used last is over. All are kept in memory, and read again with each. */
export const MOST = 100

const Stored = z.object({
  id: z.number(),
  user_id: z.number(),
  digest: z.string(),
  created_at: z.date(),
  last_seen_at: z.date(),
  agent: z.string().nullable(),
  ip: z.string().nullable(),
})
type Stored = z.infer<typeof Stored>
/** One sign-in of a person. */
export type Session = Omit<Stored, 'digest'>

/** Where a session is used from. */
export interface From {
  readonly agent: string | null
  readonly ip: string
  /** The cookie's value that came with it: that session is over when another begins in its place. */
  readonly token?: string
}

export interface Sessions {
  /** Begins one; the answer is the cookie's value, which is kept nowhere. */
  begin(user: number, from: From): Promise<string>
  /** As `begin`, for the transaction of what it begins with; `forget` follows it. */
  opening(user: number, from: From): { token: string; writing: Sql[] }
  /** Ends every session of a person, as a part of a transaction; `forget` follows it. */
  closing(user: number): Sql
  /** After a write to the table that was not made here. */
  forget(): void
  /** The session of a cookie's value, noted as used; throws `unauthorized`. */
  authenticate(token: string): Promise<Session>
  /** Those of a person that are not over, the last used first. */
  list(user: number): Promise<Session[]>
  /** In force for every request that arrives after it resolves. */
  end(ids: readonly number[]): Promise<void>
  /** Writes when sessions were last used, and removes those that are over. */
  flush(): Promise<void>
}

/** 256 bits, which need no slow hash. */
const digestOf = (token: string) => createHash('sha256').update(token).digest('hex')
const TOKEN = /^[\w-]{43}$/

/** Sessions over the records. `random(n)` gives n random bytes. */
export function createSessions(deps: { records: Records; now(): Date; random(bytes: number): Buffer }): Sessions {
  const { records, now, random } = deps
  const all = remember(async () => {
    const rows = await records.query(
      sql`select id, user_id, digest, created_at, last_seen_at, agent, ip from sessions order by id`,
    )
    return new Map(rows.map((row) => Stored.parse(row)).map((session) => [session.digest, session]))
  })
  const write = createWrite(records, all)
  /** When a session was used and the table does not know yet. */
  let used = new Map<number, Date>()
  const isOver = ({ id, created_at, last_seen_at }: Stored, at: number) =>
    at - created_at.getTime() > LIFETIME_MS || at - (used.get(id) ?? last_seen_at).getTime() > IDLE_MS
  const shown = ({ digest: _, ...session }: Stored): Session => ({
    ...session,
    last_seen_at: used.get(session.id) ?? session.last_seen_at,
  })

  const opening: Sessions['opening'] = (user, { agent, ip, token: before }) => {
    const token = random(32).toString('base64url')
    const at = now()
    const writing = [
      ...(before === undefined ? [] : [sql`delete from sessions where digest = ${digestOf(before)}`]),
      sql`delete from sessions where id in (
        select id from sessions where user_id = ${user} order by last_seen_at desc, id desc offset ${MOST - 1})`,
      ...numbered(
        'sessions',
        sql`insert into sessions (id, user_id, digest, created_at, last_seen_at, agent, ip)`,
        sql`${user}, ${digestOf(token)}, ${at}, ${at}, ${agent?.slice(0, 300) ?? null}, ${ip}`,
      ),
    ]
    return { token, writing }
  }

  return {
    async begin(user, from) {
      const { token, writing } = opening(user, from)
      await write(...writing)
      return token
    },
    opening,
    closing: (user) => sql`delete from sessions where user_id = ${user}`,
    forget: all.forget,

    async authenticate(token) {
      const session = TOKEN.test(token) ? (await all.get()).get(digestOf(token)) : undefined
      const at = now()
      if (!session || isOver(session, at.getTime()))
        throw new ApiError('unauthorized', 'You are not signed in, or no longer.')
      used.set(session.id, at)
      return shown(session)
    },

    async list(user) {
      const at = now().getTime()
      return [...(await all.get()).values()]
        .filter((session) => session.user_id === user && !isOver(session, at))
        .map(shown)
        .toSorted((a, b) => b.last_seen_at.getTime() - a.last_seen_at.getTime() || b.id - a.id)
    },

    async end(ids) {
      if (ids.length === 0) return
      await write(...ids.map((id) => sql`delete from sessions where id = ${id}`))
    },

    async flush() {
      const at = now().getTime()
      const over = [...(await all.get()).values()].filter((session) => isOver(session, at))
      if (used.size === 0 && over.length === 0) return
      const writing = new Map(used)
      await write(
        ...[...writing].map(([id, seen]) => sql`update sessions set last_seen_at = ${seen} where id = ${id}`),
        ...over.map(({ id }) => sql`delete from sessions where id = ${id}`),
      )
      // What was used meanwhile stays for the next time.
      used = new Map([...used].filter(([id, seen]) => writing.get(id) !== seen))
    },
  }
}
