import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { AuthorColumn, authorOf } from './author.js'
import { insertWithNextId, lastId } from './ids.js'
import type { Sites } from './sites.js'
import { createInvalidatingWrite } from './table-cache.js'

/** Versions that are kept of each site. */
const MAX_KEPT = 100

const StoredText = z.object({ id: z.int(), text: z.string(), created_at: z.date(), created_by: AuthorColumn })

export type RobotsTexts = ReturnType<typeof createRobotsTexts>

/** The versions of each site's robots.txt, and the one that readership serves in place of the origin's. */
export function createRobotsTexts(records: Records, sites: Pick<Sites, 'invalidate'>) {
  const lock = createLock()
  const write = createInvalidatingWrite(records, sites)
  const servedId = async (site: number): Promise<number | undefined> => {
    const [row] = await records.query(sql`select managed_robots from sites where id = ${site}`)
    return z.int().nullish().parse(row?.managed_robots) ?? undefined
  }
  const textOf = async (site: number, id: number): Promise<string> => {
    const [row] = await records.query(sql`select text from robots_texts where id = ${id} and site = ${site}`)
    if (row === undefined) throw new ApiError('not_found', 'There is no such version of robots.txt.', 'version')
    return z.string().parse(row.text)
  }
  /** Serves a text whose id is given, or the origin's without one; writes `along` in the same transaction. */
  const serve = async (
    site: number,
    id: Sql | number | null,
    text: string | null,
    audit: AuditContext,
    ...along: Sql[]
  ): Promise<void> => {
    const served = await servedId(site)
    const before = served === undefined ? null : await textOf(site, served)
    await write(
      ...along,
      sql`update sites set managed_robots = ${id} where id = ${site}`,
      ...auditStatements(audit, {
        ...{ action: text === null ? 'delete' : 'change', object: 'robots.txt', id: site },
        details: { site, before, after: text },
      }),
    )
  }
  return {
    /** Returns the versions of a site, newest first. */
    list: async (site: number) =>
      (await records.query(sql`select * from robots_texts where site = ${site} order by id desc`)).map((row) =>
        StoredText.parse(row),
      ),
    /** Returns the id of the version that is served; undefined if the origin's robots.txt is. */
    servedId,
    /** Throws `not_found`. */
    textOf,
    /** Stores a new version and serves it. */
    publish: (site: number, text: string, audit: AuditContext) =>
      lock(async () => {
        const added = insertWithNextId(
          'robots_texts',
          sql`insert into robots_texts (id, site, text, created_at, created_by)`,
          sql`${site}, ${text}, ${audit.at}, ${JSON.stringify(authorOf(audit.by))}`,
        )
        const kept = sql`select id from robots_texts where site = ${site} order by id desc limit ${MAX_KEPT}`
        const old = sql`delete from robots_texts where site = ${site} and id not in (select id from (${kept}) k)`
        await serve(site, lastId('robots_texts'), text, audit, ...added, old)
      }),
    /** Serves a version that is stored. Throws `not_found`. */
    rollBack: (site: number, id: number, audit: AuditContext) =>
      lock(async () => serve(site, id, await textOf(site, id), audit)),
    /** Lets the origin serve its robots.txt again. */
    switchOff: (site: number, audit: AuditContext) => lock(() => serve(site, null, null, audit)),
  }
}
