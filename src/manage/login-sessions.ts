import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { insertWithNextId } from './ids.js'
import { createToken, hashToken, TOKEN_PATTERN } from './secret-token.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** A session ends after so long without a request. */
export const SESSION_IDLE_MS = 14 * 86_400_000
/** A session ends after so long, however much it is used. */
export const SESSION_LIFETIME_MS = 90 * 86_400_000
/** Bounds one person's sessions, because all are kept in memory; the least recently used one makes room. */
export const MAX_LOGIN_SESSIONS_PER_USER = 100

const StoredSession = z.object({
  id: z.number(),
  user_id: z.number(),
  digest: z.string(),
  created_at: z.date(),
  last_seen_at: z.date(),
  agent: z.string().nullable(),
  ip: z.string().nullable(),
})
type StoredSession = z.infer<typeof StoredSession>
const StoredUse = StoredSession.pick({ digest: true, last_seen_at: true })
/** One sign-in of a person. */
export type LoginSession = Omit<StoredSession, 'digest'>

/** The client that a person signs in from. */
export interface SignInClient {
  readonly agent: string | null
  readonly ip: string
  /** The session cookie that came with the request: that session ends when the new one begins. */
  readonly token?: string
}

/** Earlier times of use are not read again: by then every process has written its own. */
const REREAD_MS = 3_600_000

/** The sessions by digest, in the order of their ids. */
interface SessionTable {
  readonly sessions: ReadonlyMap<string, StoredSession>
  readonly lastId: number
}

/**
 * Loads the table. With a previous value it reads only what was added and deleted since, because people sign in too often
 * to read all rows each time: a row changes only its time of use, and ids are never reused. Times of use are read if other
 * processes have written them.
 */
async function loadSessions(
  records: Records,
  before: SessionTable | undefined,
  isUsedElsewhere: boolean,
): Promise<SessionTable> {
  const [first] = before?.sessions.values() ?? []
  const lastId = before?.lastId ?? 0
  const readAfter = async (id: number) => {
    const rows = await records.query(sql`select id, user_id, digest, created_at, last_seen_at, agent, ip
      from sessions where id > ${id} order by id`)
    return rows.map((row) => StoredSession.parse(row))
  }
  if (before === undefined || first === undefined) return addSessions(new Map(), await readAfter(0), 0)
  const added = await readAfter(lastId)
  const [remaining] = await records.query(sql`select count(*) as n,
    max(digest) filter (where id = ${first.id}) as digest from sessions where id <= ${lastId}`)
  // The first session was deleted, or this is another file.
  if (remaining?.digest !== first.digest) return addSessions(new Map(), await readAfter(0), 0)
  const sessions = new Map(before.sessions)
  if (remaining.n !== sessions.size) {
    const [row] = await records.query(
      sql`select string_agg(cast(id as varchar), ',') as ids from sessions where id <= ${lastId}`,
    )
    const ids = new Set(String(row?.ids).split(',').map(Number))
    for (const [digest, { id }] of sessions) if (!ids.has(id)) sessions.delete(digest)
  }
  for (const { digest, last_seen_at } of isUsedElsewhere ? await readUses(records, sessions) : []) {
    const session = sessions.get(digest)
    if (session) sessions.set(digest, { ...session, last_seen_at })
  }
  return addSessions(sessions, added, lastId)
}

/** The latest times of use, which other processes may have written. */
async function readUses(records: Records, sessions: ReadonlyMap<string, StoredSession>) {
  let latest = 0
  for (const { last_seen_at } of sessions.values()) latest = Math.max(latest, last_seen_at.getTime())
  const rows = await records.query(
    sql`select digest, last_seen_at from sessions where last_seen_at > ${new Date(latest - REREAD_MS)}`,
  )
  return rows.map((row) => StoredUse.parse(row))
}

function addSessions(
  sessions: Map<string, StoredSession>,
  added: readonly StoredSession[],
  lastId: number,
): SessionTable {
  for (const session of added) sessions.set(session.digest, session)
  return { sessions, lastId: added.at(-1)?.id ?? lastId }
}

export type LoginSessions = ReturnType<typeof createLoginSessions>

/** The table in memory. */
function createSessionTable(records: Records) {
  let isUsedElsewhere = false
  const cache = createTableCache(async (before: SessionTable | undefined) => {
    const readsUses = isUsedElsewhere
    isUsedElsewhere = false
    try {
      return await loadSessions(records, before, readsUses)
    } catch (error) {
      isUsedElsewhere ||= readsUses
      throw error
    }
  })
  return {
    ...cache,
    /** The next load reads times of use too: other processes may have written some. */
    expectUses(): void {
      isUsedElsewhere = true
    },
  }
}

/** When each session was last used since the start. */
function createUses() {
  let lastUse = new Map<number, Date>()
  /** The ids whose time of use is not yet written. */
  let unwritten = new Set<number>()
  return {
    lastOf({ id, last_seen_at }: LoginSession): Date {
      const here = lastUse.get(id)
      return here && here > last_seen_at ? here : last_seen_at
    },
    note(id: number, at: Date): void {
      lastUse.set(id, at)
      unwritten.add(id)
    },
    areWritten: () => unwritten.size === 0,
    /** Has `write` make the updates; if it fails, the next call repeats them. */
    async flush(write: (updates: readonly Sql[]) => Promise<void>): Promise<void> {
      const writing = unwritten
      unwritten = new Set()
      const updates = [...writing].map((id) => {
        const last = lastUse.get(id) ?? null
        return sql`update sessions set last_seen_at = ${last} where id = ${id} and last_seen_at < ${last}`
      })
      try {
        await write(updates)
      } catch (error) {
        unwritten = new Set([...writing, ...unwritten])
        throw error
      }
    },
    /** Forgets what is not in the table any more. */
    keepOnly(sessions: SessionTable['sessions']): void {
      if (lastUse.size <= sessions.size) return
      const ids = new Set([...sessions.values()].map(({ id }) => id))
      lastUse = new Map([...lastUse].filter(([id]) => ids.has(id) || unwritten.has(id)))
    },
  }
}

/** Returns the statements that begin a session with this token. */
const beginningStatements = (token: string, user: number, client: SignInClient, at: Date): Sql[] => [
  ...(client.token === undefined ? [] : [sql`delete from sessions where digest = ${hashToken(client.token)}`]),
  sql`delete from sessions where id in (
    select id from sessions where user_id = ${user} order by last_seen_at desc, id desc offset ${MAX_LOGIN_SESSIONS_PER_USER - 1})`,
  ...insertWithNextId(
    'sessions',
    sql`insert into sessions (id, user_id, digest, created_at, last_seen_at, agent, ip)`,
    sql`${user}, ${hashToken(token)}, ${at}, ${at}, ${client.agent?.slice(0, 300) ?? null}, ${client.ip}`,
  ),
]

/** The sign-in sessions; `random(n)` gives n random bytes. */
export function createLoginSessions(deps: { records: Records; now(): Date; random(bytes: number): Buffer }) {
  const { records, now, random } = deps
  const table = createSessionTable(records)
  const write = createInvalidatingWrite(records, table)
  const uses = createUses()
  const isExpired = (session: StoredSession, at: number) =>
    at - session.created_at.getTime() > SESSION_LIFETIME_MS || at - uses.lastOf(session).getTime() > SESSION_IDLE_MS
  const sessionView = ({ digest: _, ...session }: StoredSession) => ({ ...session, last_seen_at: uses.lastOf(session) })

  /** Returns a new token and the statements that begin its session, for a transaction; call `invalidate` after it. */
  const beginStatements = (user: number, client: SignInClient): { token: string; writing: Sql[] } => {
    const token = createToken(random)
    return { token, writing: beginningStatements(token, user, client, now()) }
  }

  return {
    /** Begins a session and returns the value of its cookie, which is not stored. */
    async begin(user: number, client: SignInClient): Promise<string> {
      const { token, writing } = beginStatements(user, client)
      await write(...writing)
      return token
    },
    beginStatements,
    /** Returns the statement that ends every session of a person, for a transaction; call `invalidate` after it. */
    endAllStatement: (user: number): Sql => sql`delete from sessions where user_id = ${user}`,
    /** Call it after another module has written to the table. */
    invalidate: table.invalidate,
    /** Call it when another process may have written to the table. */
    reload(): void {
      table.expectUses()
      table.invalidate()
    },
    /** Call it when the file may be another one. */
    reset: table.clear,

    /** Returns the session of a cookie's value and notes its use. Throws `unauthorized`. */
    async authenticate(token: string): Promise<LoginSession> {
      const session = TOKEN_PATTERN.test(token) ? (await table.get()).sessions.get(hashToken(token)) : undefined
      const at = now()
      if (!session || isExpired(session, at.getTime())) throw new ApiError('unauthorized', 'You are not signed in.')
      uses.note(session.id, at)
      return sessionView(session)
    },

    /** Returns a person's sessions, the most recently used first. */
    async list(user: number): Promise<LoginSession[]> {
      const at = now().getTime()
      return [...(await table.get()).sessions.values()]
        .filter((session) => session.user_id === user && !isExpired(session, at))
        .map(sessionView)
        .toSorted((a, b) => b.last_seen_at.getTime() - a.last_seen_at.getTime() || b.id - a.id)
    },

    /** Ends sessions for every request that arrives after this resolves. */
    async end(ids: readonly number[]): Promise<void> {
      if (ids.length === 0) return
      await write(...ids.map((id) => sql`delete from sessions where id = ${id}`))
    },

    /** Writes the times of use that are only in memory, and deletes expired sessions. */
    async flush(): Promise<void> {
      const at = now().getTime()
      const { sessions } = await table.get()
      const hasExpired = [...sessions.values()].some((session) => isExpired(session, at))
      if (uses.areWritten() && !hasExpired) return
      // As the table has them: another process may know of a later use.
      const before = (ms: number) => new Date(at - ms)
      const isOver = sql`last_seen_at < ${before(SESSION_IDLE_MS)} or created_at < ${before(SESSION_LIFETIME_MS)}`
      await uses.flush((updates) => {
        // Times of use alone do not change who is signed in: the cache stays valid.
        if (!hasExpired) return records.write(...updates)
        table.expectUses()
        return write(...updates, sql`delete from sessions where ${isOver}`)
      })
      uses.keepOnly(sessions)
    },
  }
}
