import { z } from 'zod'
import { createLock } from '../base/lock.js'
import { ARRIVAL_COLUMNS, type Arrival } from '../storage/rows.js'
import { isIn, join, type Param, raw, type Sql, sql } from '../storage/sql.js'
import { HexId, type Records, toHexId } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { insertWithNextId, lastId } from './ids.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** An import of access logs into a site. */
export const Import = z.object({
  id: z.int(),
  site: z.int(),
  state: z.enum(['running', 'done', 'failed', 'removing']),
  /** Why it failed, where that is known. */
  reason: z.string().nullable(),
  /** The names of its files, or where else its lines came from. */
  source: z.string(),
  format: z.string().nullable(),
  created_at: z.date(),
  ended_at: z.date().nullable(),
  /** The earliest and the latest time of its lines. */
  first_at: z.date().nullable(),
  last_at: z.date().nullable(),
  lines: z.int().describe('Lines that are read so far.'),
  /** Lines that are not of the format. */
  broken: z.int(),
  /** Lines that become no row, and lines whose exchange is stored already. */
  skipped: z.int(),
  data_lines: z
    .int()
    .nullable()
    .describe('Skipped lines that are not pages because of the paths of data alone; null of an older import.'),
  known: z.int(),
  human: z.int().describe('Pageviews of people that it added.'),
  agent: z.int().describe('Fetches of agents that it added.'),
  own_salts: z
    .boolean()
    .describe('Whether people of it have ids that recorded people do not have: the salt of their time was destroyed.'),
  done: z.int().describe('Bytes of the logs that are read so far.'),
  total: z
    .int()
    .nullable()
    .describe('All bytes of the logs; null if their number is not known, as of a log that grows.'),
})
export type Import = z.infer<typeof Import>
type NewImport = Pick<Import, 'site' | 'source' | 'format' | 'created_at' | 'total'>
type ImportChange = Partial<Omit<Import, 'id' | 'site' | 'created_at'>>

/** A stored session as it was before an import made it part of another. */
export interface ImportedOverSession {
  session_id: bigint
  session_start: Date
  arrival: Arrival
}

const text = z.string().nullable()
const ArrivalText = z.string().transform((json) =>
  z
    .object({
      entry_page: text,
      referrer: text,
      source: text,
      channel: z.string(),
      utm_source: text,
      utm_medium: text,
      utm_campaign: text,
      utm_content: text,
      utm_term: text,
    })
    .parse(JSON.parse(json)),
)
const NotedSession = z.object({ session_id: HexId, session_start: z.date() })
const StoredSession = NotedSession.extend({ arrival: ArrivalText })

const SESSIONS_PER_STATEMENT = 1_000
const SECRET_BYTES = 32

export type Imports = ReturnType<typeof createImports>

/** The records of imports. `random` returns that many random bytes. Long because it lists all their methods. */
export function createImports(records: Records, random: (bytes: number) => Buffer) {
  const { query } = records
  const lock = createLock()
  const find = async (where: Sql): Promise<Import[]> =>
    z.array(Import).parse(await query(sql`select * from imports where ${where} order by id desc`))

  const cache = createTableCache(() => find(sql`human + agent > 0`))
  const write = createInvalidatingWrite(records, cache)

  return {
    invalidate: cache.invalidate,
    /** Returns the times of a site that imports have filled. It costs no query, because the list is in memory. */
    async ofSite(site: number): Promise<{ time: { start: Date; end: Date }; own_salts: boolean }[]> {
      const imports = (await cache.get()).filter((one) => one.site === site)
      return imports.flatMap(({ first_at: start, last_at: end, own_salts }) =>
        start && end ? [{ time: { start, end }, own_salts }] : [],
      )
    },
    /** Returns the imports of a site, the latest first. */
    list: (site: number): Promise<Import[]> => find(sql`site = ${site}`),
    get: async (site: number, id: number): Promise<Import | undefined> =>
      (await find(sql`site = ${site} and id = ${id}`))[0],
    /** Creates an import that runs, and the secret with the first one. */
    create: ({ site, source, format, created_at, total }: NewImport): Promise<Import> =>
      lock(async () => {
        const secret = random(SECRET_BYTES).toString('base64')
        await write(
          sql`insert into import_secrets select ${secret} where not exists (select * from import_secrets)`,
          ...insertWithNextId(
            'imports',
            sql`insert into imports (id, site, state, source, format, created_at, lines, broken, skipped, data_lines,
              known, human, agent, own_salts, done, total)`,
            sql`${site}, 'running', ${source}, ${format}, ${created_at}, 0, 0, 0, 0, 0, 0, 0, false, 0, ${total}`,
          ),
        )
        const [created] = await find(sql`id = ${lastId('imports')}`)
        if (created === undefined) throw new Error('an import was written but cannot be read back')
        return created
      }),
    /** Returns the imports of all sites that run or are being removed. */
    listUnfinished: (): Promise<Import[]> => find(sql`state in ('running', 'removing')`),
    /** Adds a line about an import to the audit log: `create` when it runs, `delete` when its undoing begins. */
    audit: (
      context: AuditContext,
      action: 'create' | 'delete',
      { site, id, source }: Pick<Import, 'site' | 'id' | 'source'>,
    ) => write(...auditStatements(context, { action, object: 'import', id, details: { site, source } })),
    async update(id: number, change: ImportChange): Promise<void> {
      const columns = Object.entries<Param>(change).map(([name, value]) => sql`${raw(name)} = ${value}`)
      if (columns.length > 0) await write(sql`update imports set ${join(columns, ', ')} where id = ${id}`)
    },
    /** Deletes the record of an import whose rows are removed. */
    delete: ({ site, id }: Pick<Import, 'site' | 'id'>): Promise<void> =>
      write(
        sql`delete from imports where id = ${id}`,
        // Sessions that one import has moved may have been moved on by another: they stay until the site has no import.
        sql`delete from import_sessions where site = ${site} and not exists (select * from imports where site = ${site})`,
        DELETE_UNUSED_SECRET,
      ),
    /** Returns the key of the hashes that identify exchanges, in base64; undefined without an import. */
    async secret(): Promise<string | undefined> {
      const [row] = await query(sql`select secret from import_secrets`)
      return row && z.string().parse(row.secret)
    },
    ...createSessionNotes(records),
  }
}

/** Sessions as they were before imports moved them. */
const createSessionNotes = ({ query, write }: Records) => ({
  /** Notes sessions before they become part of others. One that is noted already may be noted again. */
  async addSessions(
    { site, id }: Pick<Import, 'site' | 'id'>,
    sessions: readonly ImportedOverSession[],
  ): Promise<void> {
    for (let from = 0; from < sessions.length; from += SESSIONS_PER_STATEMENT) {
      const rows = sessions
        .slice(from, from + SESSIONS_PER_STATEMENT)
        .map(
          ({ session_id, session_start, arrival }) =>
            sql`(${id}, ${site}, ${toHexId(session_id)}, ${session_start}, ${JSON.stringify(arrival, [...ARRIVAL_COLUMNS])})`,
        )
      await write(
        sql`insert into import_sessions (import, site, session_id, session_start, arrival) values ${join(rows, ', ')}`,
      )
    }
  },
  /** Returns the noted sessions of a site that began in a span, both ends inclusive; each once, as it was noted first. */
  async readSessions(site: number, from: Date, to: Date): Promise<ImportedOverSession[]> {
    const rows = await query(sql`select session_id, session_start, arrival from import_sessions
        where site = ${site} and session_start between ${from} and ${to} order by import desc`)
    const noted = z.array(StoredSession).parse(rows)
    return [...new Map(noted.map((one) => [one.session_id, one])).values()]
  },
  /** Deletes the notes of sessions whose rows leave the store. */
  async forgetSessions(
    site: number,
    leaves: (session: Omit<ImportedOverSession, 'arrival'>) => boolean,
  ): Promise<void> {
    const rows = await query(sql`select distinct session_id, session_start from import_sessions where site = ${site}`)
    const gone = z.array(NotedSession).parse(rows).filter(leaves)
    for (let from = 0; from < gone.length; from += SESSIONS_PER_STATEMENT) {
      const ids = gone.slice(from, from + SESSIONS_PER_STATEMENT).map(({ session_id }) => toHexId(session_id))
      await write(sql`delete from import_sessions where site = ${site} and ${isIn(raw('session_id'), ids)}`)
    }
  },
})

/** Deletes the secret if no import is left. */
export const DELETE_UNUSED_SECRET: Sql = sql`delete from import_secrets where not exists (select * from imports)`
