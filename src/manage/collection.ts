import { z } from 'zod'
import { ApiError } from '../errors.js'
import { join, type Param, raw, sql } from '../sql.js'
import type { Records, ResultRow } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { insertWithNextId, lastId } from './ids.js'
import { createLock } from './lock.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** What a site has several of, told apart by name. */
export interface SiteRecord {
  readonly site: number
  readonly name: string
}
/** `version` counts its changes, from 1: what somebody saw is what `If-Match` names. */
export type WithId<O extends SiteRecord> = O & { readonly id: number; readonly version: number }

/** A name as people give it: trimmed, 1 to 100 characters, none of which a terminal or a page would obey. */
export const Name = z
  .string()
  .trim()
  .min(1, 'A name is needed.')
  .max(100, 'A name has at most 100 characters.')
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]*$/u, 'A name has no control characters.')
/** Of a record: how often it was changed, and one more; what `ETag` has and `If-Match` takes. */
export const Version = z.int().describe('Counts its changes, from 1: what `ETag` has and `If-Match` takes.')
export const SiteId = z.int().positive().max(2_147_483_647)

export interface Collection<O extends SiteRecord> {
  /** In the order in which they were made. */
  list(site: number): Promise<readonly WithId<O>[]>
  /** Of every site, in that order; the same array until one of them changes. */
  all(): Promise<readonly WithId<O>[]>
  /** Throws `not_found`. */
  get(id: number): Promise<WithId<O>>
  /** Throws `conflict` where the site has one of that name, or too many, `not_found` where it goes meanwhile. */
  create(made: O, deed: AuditContext): Promise<WithId<O>>
  /**
   * What `changed` makes of it. Throws as `get` and `create` do, what `changed` throws, and `conflict` where it is not of
   * the `version` that is asked for.
   */
  change(id: number, changed: (now: WithId<O>) => Promise<O>, deed: AuditContext, version?: number): Promise<WithId<O>>
  /** For good: no later one has its id. Throws as `change` does. */
  delete(id: number, deed: AuditContext, version?: number): Promise<void>
  /** After a write to the table that was not made here. */
  invalidate(): void
}

/** What a table of `control.duckdb` holds of them. */
export interface CollectionTable<O extends SiteRecord> {
  readonly table: 'goals' | 'funnels' | 'segments' | 'flags' | 'shares' | 'alerts' | 'reports'
  /** One of them in words. */
  readonly label: string
  /** As many a site may have. */
  readonly maxPerSite: number
  /** What its name is called; `name` where absent. */
  readonly nameField?: string
  fromRow(row: ResultRow): WithId<O>
  /** The columns beside id, site and name. */
  toColumns(record: O): Readonly<Record<string, Param>>
  /** Columns that it has from the day it is made, whatever is changed of it: a secret. */
  initialColumns?(): Readonly<Record<string, Param>>
}

/** Records of sites over one table, kept in memory. Writes go one after the other: names stay unique. */
export function createCollection<O extends SiteRecord>(
  records: Records,
  {
    table,
    label: one,
    maxPerSite: most,
    nameField: named = 'name',
    fromRow: read,
    toColumns: columnsOf,
    initialColumns: born,
  }: CollectionTable<O>,
): Collection<O> {
  const name = raw(table)
  const all = createTableCache(async () => (await records.query(sql`select * from ${name} order by id`)).map(read))
  const find = async (id: number): Promise<WithId<O>> => {
    const found = (await all.get()).find((each) => each.id === id)
    if (!found) throw new ApiError('not_found', `There is no such ${one}.`)
    return found
  }
  const sameAs = (a: O, b: O) => a.name === b.name && JSON.stringify(columnsOf(a)) === JSON.stringify(columnsOf(b))
  const current = async (id: number, version: number | undefined): Promise<WithId<O>> => {
    const found = await find(id)
    if (version === undefined || version === found.version) return found
    throw new ApiError('conflict', `The ${one} was changed meanwhile: it is version ${found.version} now.`)
  }
  const inTurn = createLock()
  const write = createInvalidatingWrite(records, all)
  const unique = async (record: SiteRecord, id?: number) => {
    const others = (await all.get()).filter((each) => each.site === record.site && each.id !== id)
    if (others.some((each) => each.name === record.name))
      throw new ApiError('conflict', `The site has a ${one} of this ${named}.`, named)
    return others.length
  }
  return {
    all: () => all.get(),
    list: async (site) => (await all.get()).filter((each) => each.site === site),
    get: find,
    create: (made, deed) =>
      inTurn(async () => {
        if ((await unique(made)) >= most) throw new ApiError('conflict', `A site has at most ${most} ${table}.`)
        const columns = Object.entries({ ...columnsOf(made), ...born?.() })
        const names = raw(columns.map(([column]) => `, ${column}`).join(''))
        const values = columns.map(([, value]) => sql`, ${value}`)
        await write(
          ...insertWithNextId(
            table,
            sql`insert into ${name} (id, site, name, version${names})`,
            sql`${made.site}, ${made.name}, 1${join(values, '')}`,
          ),
          ...auditStatements(deed, {
            ...{ action: 'create', object: one, id: lastId(table) },
            details: { site: made.site, name: made.name },
          }),
        )
        const latest = (await all.get()).find(({ site, name }) => site === made.site && name === made.name)
        // The site was deleted meanwhile, and this with it: what stands last is somebody else's.
        if (!latest) throw new ApiError('not_found', 'There is no such site.', 'site')
        return latest
      }),
    change: (id, changed, deed, version) =>
      inTurn(async () => {
        const now = await current(id, version)
        const made = await changed(now)
        await unique(made, id)
        if (sameAs(now, made)) return now
        const columns = Object.entries({ name: made.name, ...columnsOf(made) })
        const set = join(
          columns.map(([column, value]) => sql`${raw(column)} = ${value}`),
          ', ',
        )
        await write(
          sql`update ${name} set version = version + 1, ${set} where id = ${id}`,
          ...auditStatements(deed, { action: 'change', object: one, id, details: { site: now.site, name: made.name } }),
        )
        return find(id)
      }),
    delete: (id, deed, version) =>
      inTurn(async () => {
        const now = await current(id, version)
        await write(
          sql`delete from ${name} where id = ${id}`,
          ...auditStatements(deed, { action: 'delete', object: one, id, details: { site: now.site, name: now.name } }),
        )
      }),
    invalidate: all.invalidate,
  }
}

/** A column of JSON text. */
export const JsonText = z.string().transform((text): unknown => JSON.parse(text))
