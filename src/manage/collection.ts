import { z } from 'zod'
import { ApiError } from '../errors.js'
import { join, type Param, raw, sql } from '../sql.js'
import type { Records, ResultRow } from '../store.js'
import { remember } from './remember.js'

/** What a site has several of, told apart by name. */
export interface Owned {
  readonly site: number
  readonly name: string
}
export type WithId<O extends Owned> = O & { readonly id: number }

/** A name as people give it: trimmed, 1 to 100 characters, none of which a terminal or a page would obey. */
export const Name = z
  .string()
  .trim()
  .min(1, 'A name is needed.')
  .max(100, 'A name has at most 100 characters.')
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]*$/u, 'A name has no control characters.')
export const SiteId = z.int().positive().max(2_147_483_647)

export interface Collection<O extends Owned> {
  /** In the order in which they were made. */
  list(site: number): Promise<readonly WithId<O>[]>
  /** Throws `not_found`. */
  get(id: number): Promise<WithId<O>>
  /** Throws `conflict` where the site has one of that name, or too many. */
  create(made: O): Promise<WithId<O>>
  /** What `changed` makes of it. Throws as `get` and `create` do, or what `changed` throws. */
  change(id: number, changed: (now: WithId<O>) => Promise<O>): Promise<WithId<O>>
  /** For good: no later one has its id. Throws `not_found`. */
  delete(id: number): Promise<void>
}

/** What a table of `control.duckdb` holds of them. */
export interface Kept<O extends Owned> {
  readonly table: 'goals' | 'funnels' | 'segments'
  /** One of them in words. */
  readonly one: string
  /** As many a site may have. */
  readonly most: number
  read(row: ResultRow): WithId<O>
  /** The columns beside id, site and name. */
  write(record: O): Readonly<Record<string, Param>>
}

/** Records of sites over one table, kept in memory. Writes go one after the other: names stay unique. */
export function collection<O extends Owned>(
  records: Records,
  { table, one, most, read, write }: Kept<O>,
): Collection<O> {
  const name = raw(table)
  const all = remember(async () => (await records.query(sql`select * from ${name} order by id`)).map(read))
  const find = async (id: number): Promise<WithId<O>> => {
    const found = (await all.get()).find((each) => each.id === id)
    if (!found) throw new ApiError('not_found', `There is no such ${one}.`)
    return found
  }
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
  const unique = async (record: Owned, id?: number) => {
    const others = (await all.get()).filter((each) => each.site === record.site && each.id !== id)
    if (others.some((each) => each.name === record.name))
      throw new ApiError('conflict', `The site has a ${one} of this name.`, 'name')
    return others.length
  }
  return {
    list: async (site) => (await all.get()).filter((each) => each.site === site),
    get: find,
    create: (made) =>
      inTurn(async () => {
        if ((await unique(made)) >= most) throw new ApiError('conflict', `A site has at most ${most} ${table}.`)
        const columns = Object.entries(write(made))
        const names = raw(columns.map(([column]) => `, ${column}`).join(''))
        const values = columns.map(([, value]) => sql`, ${value}`)
        await records.write(
          sql`update last_ids set id = id + 1 where kind = ${table}`,
          sql`insert into ${name} (id, site, name${names})
            select id, ${made.site}, ${made.name}${join(values, '')} from last_ids where kind = ${table}`,
        )
        all.forget()
        const latest = (await all.get()).at(-1)
        if (!latest) throw new Error(`a ${one} was written and is not there`)
        return latest
      }),
    change: (id, changed) =>
      inTurn(async () => {
        const now = await find(id)
        const made = await changed(now)
        await unique(made, id)
        const columns = Object.entries({ name: made.name, ...write(made) })
        const set = join(
          columns.map(([column, value]) => sql`${raw(column)} = ${value}`),
          ', ',
        )
        await records.write(sql`update ${name} set ${set} where id = ${id}`)
        all.forget()
        return find(id)
      }),
    delete: (id) =>
      inTurn(async () => {
        await find(id)
        await records.write(sql`delete from ${name} where id = ${id}`)
        all.forget()
      }),
  }
}

/** A column of JSON text. */
export const Json = z.string().transform((text): unknown => JSON.parse(text))
