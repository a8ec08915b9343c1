import { z } from 'zod'
import { parseDay } from '../analytics/query/calendar.js'
import type { CountedPages } from '../analytics/query/counted-pages.js'
import type { HistoryDay, SiteHistory } from '../analytics/query/histories.js'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { DAY_MS } from '../base/time-units.js'
import { isIn, join, raw, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { FileName, ToolName } from './fields.js'
import { insertWithNextId, lastId } from './ids.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

const Figure = z.int().nonnegative().max(1e12).nullable()
const Day = z.string().refine((day) => parseDay(day) !== undefined, 'must be a day such as 2026-11-21')

const MAX_ROWS = 20_000
const isOnce = (names: readonly string[]): boolean => new Set(names).size === names.length

const CountedDay = z.object({
  day: Day.describe("A calendar day in the site's time zone."),
  visitors: Figure.describe('People on that day; null: the tool does not know.'),
  visits: Figure.describe('Visits that began on that day.'),
  pageviews: Figure,
  bounces: Figure.describe('Visits of one page.'),
  seconds: Figure.describe('How long all visits lasted together.'),
})

const CountedPage = z.object({
  hostname: z.string().regex(/^[^\p{Cc}\p{Cs}/]{1,253}$/u, 'must be a hostname'),
  pathname: z.string().regex(/^\/[^\p{Cc}\p{Cs}]{0,2047}$/u, 'must be a path'),
  citations: Figure.default(null).describe("Times that an assistant's answers cited the page; null: not known."),
  clicks: Figure.default(null).describe('Clicks on it in search results.'),
  impressions: Figure.default(null).describe('Times that search results showed it.'),
})

/** Days or pages that another tool counted, to be added to a site. */
export const NewHistory = z
  .object({
    tool: ToolName.describe('The tool that counted them, such as Plausible.'),
    files: z.array(FileName).max(100).default([]).describe('Names of the files, for the list.'),
    days: z
      .array(
        CountedDay.refine(({ visits, bounces }) => visits === null || bounces === null || bounces <= visits, {
          path: ['bounces'],
          message: '`bounces` must not exceed `visits`: each is a visit of one page.',
        }),
      )
      .max(MAX_ROWS)
      .refine((days) => isOnce(days.map(({ day }) => day)), 'must have each day once')
      .default([]),
    pages: z
      .object({
        first_day: Day.describe('The first day of the time that all numbers are of.'),
        last_day: Day,
        rows: z
          .array(CountedPage)
          .min(1)
          .max(MAX_ROWS)
          .refine(
            (rows) => isOnce(rows.map(({ hostname, pathname }) => hostname + pathname)),
            'must have each page once',
          ),
      })
      .refine(({ first_day, last_day }) => first_day <= last_day, {
        path: ['last_day'],
        message: 'must not be before `first_day`',
      })
      .optional()
      .describe('Pages in place of days.'),
  })
  .refine(({ days, pages }) => days.length > 0 !== (pages !== undefined), {
    path: ['days'],
    message: 'Give `days`, or `pages` in their place.',
  })
export type NewHistory = z.output<typeof NewHistory>

/** One addition of days to a site. */
export const History = z.object({
  id: z.int(),
  site: z.int(),
  tool: z.string(),
  files: z.array(z.string()),
  created_at: z.iso.datetime(),
  days: z.int().describe('Number of days.'),
  first_day: z.string(),
  last_day: z.string(),
  pages: z.int().optional().describe('Number of pages, counted for all of these days together; absent: it has days.'),
})
export type History = z.output<typeof History>

export const AddedHistory = History.extend({
  left_out: z.int().describe('Days that the site has already from an earlier addition.'),
})

const HistoryRow = z
  .object({
    id: z.int(),
    site: z.int(),
    tool: z.string(),
    files: z.string(),
    created_at: z.date(),
    days: z.int(),
    first_day: z.string(),
    last_day: z.string(),
    pages: z.int().nullable(),
  })
  .transform(
    ({ files, created_at, pages, ...row }): History => ({
      ...row,
      ...(pages === null ? {} : { pages }),
      files: z.array(z.string()).parse(JSON.parse(files)),
      created_at: created_at.toISOString(),
    }),
  )
const ROWS_PER_INSERT = 100

export type Histories = ReturnType<typeof createHistories>

/** The statements that store rows of the addition with the last id. */
function insertRows(table: 'history_days' | 'history_pages', site: number, rows: readonly Sql[]): Sql[] {
  const values = rows.map((row) => sql`(${lastId('histories')}, ${site}, ${row})`)
  return Array.from({ length: Math.ceil(rows.length / ROWS_PER_INSERT) }, (_, i) => {
    const part = values.slice(i * ROWS_PER_INSERT, (i + 1) * ROWS_PER_INSERT)
    return sql`insert into ${raw(table)} values ${join(part, ', ')}`
  })
}

/** The rows of an addition, and what the list of additions says about it. */
interface Addition extends Pick<History, 'days' | 'first_day' | 'last_day' | 'pages'> {
  readonly left_out: number
  readonly statements: readonly Sql[]
}

/** Returns the days that the site does not have. Throws `conflict` if it has all of them. */
function addDays(site: number, days: NewHistory['days'], taken: ReadonlySet<unknown>): Addition {
  const added = days.filter(({ day }) => !taken.has(day)).sort((a, b) => (a.day < b.day ? -1 : 1))
  const [first, last] = [added[0], added.at(-1)]
  if (!first || !last) throw new ApiError('conflict', 'The site has every one of these days already.', 'days')
  const rows = added.map(
    ({ day, visitors, visits, pageviews, bounces, seconds }) =>
      sql`${day}, ${visitors}, ${visits}, ${pageviews}, ${bounces}, ${seconds}`,
  )
  return {
    ...{ days: added.length, first_day: first.day, last_day: last.day, left_out: days.length - added.length },
    statements: insertRows('history_days', site, rows),
  }
}

/** Returns the pages of a time. Throws `conflict` if an addition of the tool has a day of it: numbers of a time have no parts. */
function addPages(
  site: number,
  tool: string,
  { first_day, last_day, rows }: NonNullable<NewHistory['pages']>,
  before: readonly History[],
): Addition {
  const other = before.find(
    (each) =>
      each.tool === tool && each.pages !== undefined && each.first_day <= last_day && each.last_day >= first_day,
  )
  if (other)
    throw new ApiError(
      'conflict',
      `The site has pages of ${tool} from ${other.first_day} to ${other.last_day} already: delete addition ${other.id} first.`,
      'pages',
    )
  const values = rows.map(
    ({ hostname, pathname, citations, clicks, impressions }) =>
      sql`${hostname}, ${pathname}, ${citations}, ${clicks}, ${impressions}`,
  )
  return {
    ...{ first_day, last_day, pages: rows.length, left_out: 0 },
    days: (Date.parse(last_day) - Date.parse(first_day)) / DAY_MS + 1,
    statements: insertRows('history_pages', site, values),
  }
}

const createCountedPages = (records: Records, site: number, additions: readonly History[]): CountedPages => ({
  additions,
  async list(ids, pathnames) {
    const rows = await records.query(sql`
      select hostname, pathname, citations, clicks, impressions from history_pages
      where site = ${site} and ${isIn(raw('history'), ids)} and ${isIn(raw('pathname'), pathnames)}`)
    return z.array(CountedPage).parse(rows)
  },
})

/**
 * Keeps the days and pages that other tools counted. A day of a site is there once: the addition that came first has it.
 * Reads without a history cost no query, because the list of additions is in memory.
 */
export function createHistories(records: Records) {
  const cache = createTableCache(async () =>
    z.array(HistoryRow).parse(await records.query(sql`select * from histories order by id`)),
  )
  const lock = createLock()
  const write = createInvalidatingWrite(records, cache)
  const list = async (site: number): Promise<readonly History[]> =>
    (await cache.get()).filter((each) => each.site === site)
  /** Finds an addition of the site. Throws `not_found`. */
  const get = async (site: number, id: number): Promise<History> => {
    const history = (await list(site)).find((each) => each.id === id)
    if (!history) throw new ApiError('not_found', 'There is no such history.')
    return history
  }
  return {
    list,
    invalidate: cache.invalidate,
    /** Adds pages, or the days that the site does not have. Throws `conflict` if it has them. */
    create: (site: number, { tool, files, days, pages }: NewHistory, audit: AuditContext) =>
      lock(async (): Promise<z.output<typeof AddedHistory>> => {
        const known = await records.query(sql`select day from history_days where site = ${site}`)
        const added = pages
          ? addPages(site, tool, pages, await list(site))
          : addDays(site, days, new Set(known.map(({ day }) => day)))
        const { first_day, last_day } = added
        await write(
          ...insertWithNextId(
            'histories',
            sql`insert into histories (id, site, tool, files, created_at, days, first_day, last_day, pages)`,
            sql`${site}, ${tool}, ${JSON.stringify(files)}, ${audit.at}, ${added.days}, ${first_day}, ${last_day}, ${added.pages ?? null}`,
          ),
          ...added.statements,
          ...auditStatements(audit, {
            action: 'create',
            object: 'history',
            id: lastId('histories'),
            details: { site, tool, days: added.days, ...(added.pages === undefined ? {} : { pages: added.pages }) },
          }),
        )
        const created = (await list(site)).at(-1)
        // The site was deleted meanwhile.
        if (!created) throw new ApiError('not_found', 'There is no such site.', 'site')
        return { ...created, left_out: added.left_out }
      }),
    /** Deletes an addition with its days or pages; the site is as it was before. Throws `not_found`. */
    delete: (site: number, id: number, audit: AuditContext) =>
      lock(async (): Promise<void> => {
        const { tool, days } = await get(site, id)
        await write(
          sql`delete from history_days where history = ${id}`,
          sql`delete from history_pages where history = ${id}`,
          sql`delete from histories where id = ${id}`,
          ...auditStatements(audit, { action: 'delete', object: 'history', id, details: { site, tool, days } }),
        )
      }),
    /** Returns the days of a site for reads; undefined if the site has no day of another tool. */
    async ofSite(site: number): Promise<SiteHistory | undefined> {
      const all = (await list(site)).filter(({ pages }) => pages === undefined)
      if (all.length === 0) return undefined
      const ends = all.flatMap(({ first_day, last_day }) => [first_day, last_day]).sort()
      return {
        first: ends[0] ?? '',
        last: ends.at(-1) ?? '',
        async list(first, end): Promise<readonly HistoryDay[]> {
          const rows = await records.query(sql`
            select day, tool, visitors, visits, pageviews, bounces, seconds from history_days d
            join histories h on h.id = d.history
            where d.site = ${site} and day >= ${first} and day < ${end} order by day`)
          return z.array(CountedDay.extend({ tool: z.string() })).parse(rows)
        },
      }
    },
    /** Returns the pages of a site for reads; undefined if no tool counted any. */
    async pagesOfSite(site: number): Promise<CountedPages | undefined> {
      const additions = (await list(site)).filter(({ pages }) => pages !== undefined)
      if (additions.length === 0) return undefined
      return createCountedPages(records, site, additions)
    },
  }
}
