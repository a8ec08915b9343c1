import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { join, type Param, raw, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { type IdKind, insertWithNextId, lastId } from './ids.js'
import { createInvalidatingWrite, createTableCache, type Dependent } from './table-cache.js'

/** A record of which a site has several. */
export interface SiteRecord {
  readonly site: number
  readonly name: string
}
/** A stored record; `version` counts its changes from 1 and is what `If-Match` compares. */
export type WithId<O extends SiteRecord> = O & { readonly id: number; readonly version: number }

/** The records of one kind, of all sites. */
export interface Collection<O extends SiteRecord> extends Pick<CollectionTable<O>, 'table' | 'label'> {
  /** Returns a site's records in the order in which they were created. */
  list(site: number): Promise<readonly WithId<O>[]>
  /** Returns the records of all sites in that order; the same array until one of them changes. */
  all(): Promise<readonly WithId<O>[]>
  /** Throws `not_found`. */
  get(id: number): Promise<WithId<O>>
  /** Throws `conflict` for a name that the site has already (if names are unique) and for too many records, `not_found` if the site is deleted meanwhile. */
  create(record: O, audit: AuditContext): Promise<WithId<O>>
  /** Replaces a record by what `change` returns. Throws what `get`, `create` and `change` throw, and `conflict` for another `version`. */
  change(
    id: number,
    change: (current: WithId<O>) => Promise<O>,
    audit: AuditContext,
    version?: number,
  ): Promise<WithId<O>>
  /** Deletes a record for good; its id is never reused. Throws `not_found`, and `conflict` for another `version`. */
  delete(id: number, audit: AuditContext, version?: number): Promise<void>
  /** Call it after another module has written to the table. */
  invalidate(): void
}

/** Returns fields as the columns of their names have them: an absent one is null, lists and objects are JSON. */
export const encodeColumns = <O extends object>(record: O, names: readonly (keyof O & string)[]) =>
  Object.fromEntries(
    names.map((name): [string, Param] => {
      const value = record[name]
      return [name, value === undefined ? null : (PlainValue.safeParse(value).data ?? JSON.stringify(value))]
    }),
  )
const PlainValue = z.union([z.string(), z.number(), z.boolean(), z.date()])

/** Returns the statements that insert a record with the next id of its table. */
export const insertRecord = (table: IdKind, columns: Readonly<Record<string, Param>>): Sql[] => {
  const values = Object.values(columns).map((value) => sql`, ${value}`)
  return insertWithNextId(
    table,
    sql`insert into ${raw(table)} (id, version, ${join(Object.keys(columns).map(raw), ', ')})`,
    sql`1${join(values, '')}`,
  )
}

/** Returns the statement that changes a record and counts its version. */
export const changeRecord = (table: IdKind, id: number, columns: Readonly<Record<string, Param>>): Sql => {
  const set = Object.entries(columns).map(([name, value]) => sql`, ${raw(name)} = ${value}`)
  return sql`update ${raw(table)} set version = version + 1${join(set, '')} where id = ${id}`
}

/** Returns the record. Throws `not_found` without one, and `conflict` for another `version`. */
export function requireVersion<R extends { readonly version: number }>(
  record: R | undefined,
  version: number | undefined,
  label: string,
): R {
  if (!record) throw new ApiError('not_found', `There is no such ${label}.`)
  if (version === undefined || version === record.version) return record
  throw new ApiError('conflict', `The ${label} was changed in the meantime: it is at version ${record.version} now.`)
}

/** How a kind of record is stored in a table of `control.duckdb`. */
interface CollectionTable<O extends SiteRecord> {
  readonly table:
    | 'goals'
    | 'funnels'
    | 'segments'
    | 'flags'
    | 'shares'
    | 'alerts'
    | 'reports'
    | 'annotations'
    | 'redirects'
    | 'rules'
  /** The kind of record in messages: `goal`. */
  readonly label: string
  readonly maxPerSite: number
  /** Returns whether a record counts towards `maxPerSite`; all do if absent. */
  isCounted?(record: O): boolean
  /** Records of one site may have the same name. */
  readonly repeatsNames?: true
  /** The API's field for `name`; `name` if absent. */
  readonly nameField?: string
  /** Parses a row of the table. */
  readonly stored: { parse(row: unknown): WithId<O> }
  /** The fields that are written beside site and name, each to the column of its name; or the function that returns them. */
  readonly columns: readonly (keyof O & string)[] | ((record: O) => Readonly<Record<string, unknown>>)
  /** The order of `list` and `all`; `id` if absent. */
  readonly order?: Sql
  /** Columns that do not count as a change by themselves: when and by whom the record was changed. */
  readonly stamps?: readonly string[]
  /** Checks a record beside the site's other ones before it is written, and returns it as it is stored. */
  prepare?(record: O, others: readonly WithId<O>[], current: WithId<O> | undefined): O
  /** Returns further details of a write for the audit log. */
  describe?(write: CollectionWrite<O>): object
  /** Returns further statements of a write, for its transaction. */
  along?(write: CollectionWrite<O>, audit: AuditContext): Sql[]
  /** Returns columns that are written once, when the record is created: a secret. */
  initialColumns?(): Readonly<Record<string, Param>>
}

/** A write to a collection: `before` is absent for a new record, `after` for a deleted one, and `record` is the one that is there. */
export interface CollectionWrite<O extends SiteRecord> {
  readonly id: number | Sql
  readonly record: O
  readonly before?: O
  readonly after?: O
}

/**
 * Makes a collection over one table, cached in memory. Writes run one after the other, so unique names stay unique.
 * `dependents` are invalidated after each write, before the caller gets its result.
 */
export function createCollection<O extends SiteRecord>(
  records: Records,
  definition: CollectionTable<O>,
  ...dependents: readonly Dependent[]
): Collection<O> {
  const { table, label, maxPerSite, repeatsNames, nameField = 'name', stored, columns, initialColumns } = definition
  const { isCounted = () => true, order = sql`id`, stamps = [], prepare = (record) => record } = definition
  const tableName = raw(table)
  const cache = createTableCache(async () =>
    (await records.query(sql`select * from ${tableName} order by ${order}`)).map((row) => stored.parse(row)),
  )
  const toColumns = (record: O) => {
    if (typeof columns !== 'function') return encodeColumns(record, columns)
    const fields = columns(record)
    return encodeColumns(fields, Object.keys(fields))
  }
  const find = async (id: number, version?: number): Promise<WithId<O>> =>
    requireVersion(
      (await cache.get()).find((each) => each.id === id),
      version,
      label,
    )
  const comparable = (record: O) =>
    JSON.stringify([record.name, Object.entries(toColumns(record)).filter(([column]) => !stamps.includes(column))])
  const lock = createLock()
  const writeRecords = createInvalidatingWrite(records, cache, ...dependents)
  const write = (action: string, made: CollectionWrite<O>, audit: AuditContext, ...statements: Sql[]) => {
    const { id, record } = made
    const details = { site: record.site, name: record.name, ...definition.describe?.(made) }
    const line = auditStatements(audit, { action, object: label, id, details })
    return writeRecords(...statements, ...line, ...(definition.along?.(made, audit) ?? []))
  }
  /** Checks that the name may be used; returns the site's other records. */
  const checkName = async (record: SiteRecord, id?: number) => {
    const others = (await cache.get()).filter((each) => each.site === record.site && each.id !== id)
    if (!repeatsNames && others.some((each) => each.name === record.name))
      throw new ApiError('conflict', `The site already has ${withArticle(label)} with this ${nameField}.`, nameField)
    return others
  }
  return {
    table,
    label,
    all: () => cache.get(),
    list: async (site) => (await cache.get()).filter((each) => each.site === site),
    get: (id) => find(id),
    create: (given, audit) =>
      lock(async () => {
        const others = await checkName(given)
        if (others.filter(isCounted).length >= maxPerSite)
          throw new ApiError('conflict', `A site can have at most ${maxPerSite} ${table}.`)
        const record = prepare(given, others, undefined)
        const { site, name } = record
        const made = { id: lastId(table), record, after: record }
        const inserted = { site, name, ...toColumns(record), ...initialColumns?.() }
        await write('create', made, audit, ...insertRecord(table, inserted))
        const created = (await cache.get()).findLast((each) => each.site === site && each.name === name)
        // The site was deleted meanwhile, and the record with it.
        if (!created) throw new ApiError('not_found', 'There is no such site.', 'site')
        return created
      }),
    change: (id, change, audit, version) =>
      lock(async () => {
        const before = await find(id, version)
        const given = await change(before)
        const record = prepare(given, await checkName(given, id), before)
        if (comparable(before) === comparable(record)) return before
        const changed = changeRecord(table, id, { name: record.name, ...toColumns(record) })
        await write('change', { id, record, before, after: record }, audit, changed)
        return find(id)
      }),
    delete: (id, audit, version) =>
      lock(async () => {
        const record = await find(id, version)
        await write('delete', { id, record, before: record }, audit, sql`delete from ${tableName} where id = ${id}`)
      }),
    invalidate: cache.invalidate,
  }
}

/** `a goal`, `an alert`. */
export const withArticle = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
