import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { insertWithNextId } from './ids.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** Without a request for so long a session is over. */
export const SESSION_IDLE_MS = 14 * 86_400_000
/** However much it is used. */
export const SESSION_LIFETIME_MS = 90 * 86_400_000
/** Of one person; with one more the one whose last use is longest ago is over. All are kept in memory. */
export const MAX_SESSIONS_PER_USER = 100

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
export type LoginSession = Omit<Stored, 'digest'>

/** Where a session is used from. */
export interface SignInClient {
  readonly agent: string | null
  readonly ip: string
  /** The cookie's value that came with it: that session is over when another begins in its place. */
  readonly token?: string
}

export interface LoginSessions {
  /** Begins one; the answer is the cookie's value, which is kept nowhere. */
  begin(user: number, from: SignInClient): Promise<string>
  /** As `begin`, for the transaction of what it begins with; `forget` follows it. */
  beginStatements(user: number, from: SignInClient): { token: string; writing: Sql[] }
  /** Ends every session of a person, as a part of a transaction; `forget` follows it. */
  endAllStatement(user: number): Sql
  /** After a write to the table that was not made here. */
  invalidate(): void
  /** The records may be others than were read. */
  reset(): void
  /** The session of a cookie's value, noted as used; throws `unauthorized`. */
  authenticate(token: string): Promise<LoginSession>
  /** Those of a person that are not over, the last used first. */
  list(user: number): Promise<LoginSession[]>
  /** In force for every request that arrives after it resolves. */
  end(ids: readonly number[]): Promise<void>
  /** Writes when sessions were last used, and removes those that are over. */
  flush(): Promise<void>
}

/** 256 bits, which need no slow hash. */
const sha256 = (token: string) => createHash('sha256').update(token).digest('hex')
const TOKEN_PATTERN = /^[\w-]{43}$/

/** Who is signed in, by digest, in the order of their ids. */
interface SessionTable {
  readonly sessions: ReadonlyMap<string, Stored>
  readonly last: number
}

/**
 * The table; with what was read before, what has come and gone since, for somebody signs in more often than all can be read:
 * a row never changes but for when it was used, and no id comes again.
 */
async function loadSessions(records: Records, before: SessionTable | undefined): Promise<SessionTable> {
  const [first] = before?.sessions.values() ?? []
  const behind = before?.last ?? 0
  const read = async (from: number) => {
    const rows = await records.query(sql`select id, user_id, digest, created_at, last_seen_at, agent, ip
      from sessions where id > ${from} order by id`)
    return rows.map((row) => Stored.parse(row))
  }
  if (before === undefined || first === undefined) return addSessions(new Map(), await read(0), 0)
  const fresh = await read(behind)
  const [kept] = await records.query(sql`select count(*) as n,
    max(digest) filter (where id = ${first.id}) as digest from sessions where id <= ${behind}`)
  // Its first is gone; or the records are others, which had to begin anew.
  if (kept?.digest !== first.digest) return addSessions(new Map(), await read(0), 0)
  const sessions = new Map(before.sessions)
  if (kept.n !== sessions.size) {
    const [row] = await records.query(sql`select string_agg(id, ',') as ids from sessions where id <= ${behind}`)
    const there = new Set(String(row?.ids).split(',').map(Number))
    for (const [digest, { id }] of sessions) if (!there.has(id)) sessions.delete(digest)
  }
  return addSessions(sessions, fresh, behind)
}

function addSessions(sessions: Map<string, Stored>, fresh: readonly Stored[], behind: number): SessionTable {
  for (const session of fresh) sessions.set(session.digest, session)
  return { sessions, last: fresh.at(-1)?.id ?? behind }
}

/** Sessions over the records. `random(n)` gives n random bytes. */
export function createLoginSessions(deps: {
  records: Records
  now(): Date
  random(bytes: number): Buffer
}): LoginSessions {
  const { records, now, random } = deps
  const all = createTableCache((before: SessionTable | undefined) => loadSessions(records, before))
  const write = createInvalidatingWrite(records, all)
  /** When a session was used last, since the start; and those of which the table does not know it. */
  let used = new Map<number, Date>()
  let unwritten = new Set<number>()
  const isOver = ({ id, created_at, last_seen_at }: Stored, at: number) =>
    at - created_at.getTime() > SESSION_LIFETIME_MS || at - (used.get(id) ?? last_seen_at).getTime() > SESSION_IDLE_MS
  const shown = ({ digest: _, ...session }: Stored): LoginSession => ({
    ...session,
    last_seen_at: used.get(session.id) ?? session.last_seen_at,
  })

  const opening: LoginSessions['beginStatements'] = (user, { agent, ip, token: before }) => {
    const token = random(32).toString('base64url')
    const at = now()
    const writing = [
      ...(before === undefined ? [] : [sql`delete from sessions where digest = ${sha256(before)}`]),
      sql`delete from sessions where id in (
        select id from sessions where user_id = ${user} order by last_seen_at desc, id desc offset ${MAX_SESSIONS_PER_USER - 1})`,
      ...insertWithNextId(
        'sessions',
        sql`insert into sessions (id, user_id, digest, created_at, last_seen_at, agent, ip)`,
        sql`${user}, ${sha256(token)}, ${at}, ${at}, ${agent?.slice(0, 300) ?? null}, ${ip}`,
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
    beginStatements: opening,
    endAllStatement: (user) => sql`delete from sessions where user_id = ${user}`,
    invalidate: all.invalidate,
    reset: all.clear,

    async authenticate(token) {
      const session = TOKEN_PATTERN.test(token) ? (await all.get()).sessions.get(sha256(token)) : undefined
      const at = now()
      if (!session || isOver(session, at.getTime()))
        throw new ApiError('unauthorized', 'You are not signed in, or no longer.')
      used.set(session.id, at)
      unwritten.add(session.id)
      return shown(session)
    },

    async list(user) {
      const at = now().getTime()
      return [...(await all.get()).sessions.values()]
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
      const { sessions } = await all.get()
      const over = [...sessions.values()].filter((session) => isOver(session, at))
      if (unwritten.size === 0 && over.length === 0) return
      const writing = unwritten
      unwritten = new Set()
      const seen = [...writing].map(
        (id) => sql`update sessions set last_seen_at = ${used.get(id) ?? null} where id = ${id}`,
      )
      try {
        // What was read stays true of who is signed in, where none ends.
        if (over.length === 0) await records.write(...seen)
        else await write(...seen, ...over.map(({ id }) => sql`delete from sessions where id = ${id}`))
      } catch (error) {
        unwritten = new Set([...writing, ...unwritten])
        throw error
      }
      if (used.size <= sessions.size) return
      const there = new Set([...sessions.values()].map(({ id }) => id))
      used = new Map([...used].filter(([id]) => there.has(id) || unwritten.has(id)))
    },
  }
}
