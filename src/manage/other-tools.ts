import { z } from 'zod'
import { parseDay } from '../analytics/query/calendar.js'
import type { HistoryDay, SiteHistory } from '../analytics/query/histories.js'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { join, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { FileName, ToolName } from './fields.js'
import { insertWithNextId, lastId } from './ids.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

const Figure = z.int().nonnegative().max(1e12).nullable()
const Day = z.string().refine((day) => parseDay(day) !== undefined, 'must be a day such as 2026-11-21')

/** Days that another tool counted, to be added to a site. */
export const NewHistory = z.object({
  tool: ToolName.describe('The tool that counted them, such as Plausible.'),
  files: z.array(FileName).max(100).default([]).describe('Names of the files, for the list.'),
  days: z
    .array(
      z
        .object({
          day: Day.describe("A calendar day in the site's time zone."),
          visitors: Figure.describe('People on that day; null: the tool does not know.'),
          visits: Figure.describe('Visits that began on that day.'),
          pageviews: Figure,
          bounces: Figure.describe('Visits of one page.'),
          seconds: Figure.describe('How long all visits lasted together.'),
        })
        .refine(({ visits, bounces }) => visits === null || bounces === null || bounces <= visits, {
          path: ['bounces'],
          message: '`bounces` must not exceed `visits`: each is a visit of one page.',
        }),
    )
    .min(1)
    .max(20_000)
    .refine((days) => new Set(days.map(({ day }) => day)).size === days.length, 'must have each day once'),
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
  })
  .transform(
    ({ files, created_at, ...row }): History => ({
      ...row,
      files: z.array(z.string()).parse(JSON.parse(files)),
      created_at: created_at.toISOString(),
    }),
  )
const DayRow = z.object({
  day: z.string(),
  tool: z.string(),
  visitors: Figure,
  visits: Figure,
  pageviews: Figure,
  bounces: Figure,
  seconds: Figure,
})

const ROWS_PER_INSERT = 100

export type Histories = ReturnType<typeof createHistories>

/** The statements that store the days of the addition with the last id. */
function insertDays(site: number, days: NewHistory['days']): Sql[] {
  return Array.from({ length: Math.ceil(days.length / ROWS_PER_INSERT) }, (_, i) => {
    const rows = days
      .slice(i * ROWS_PER_INSERT, (i + 1) * ROWS_PER_INSERT)
      .map(
        ({ day, visitors, visits, pageviews, bounces, seconds }) =>
          sql`(${lastId('histories')}, ${site}, ${day}, ${visitors}, ${visits}, ${pageviews}, ${bounces}, ${seconds})`,
      )
    return sql`insert into history_days values ${join(rows, ', ')}`
  })
}

/**
 * Keeps the days that other tools counted. A day of a site is there once: the addition that came first has it. Reads without
 * a history cost no query, because the list of additions is in memory.
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
    /** Adds the days that the site does not have. Throws `conflict` if it has all of them. */
    create: (site: number, { tool, files, days }: NewHistory, audit: AuditContext) =>
      lock(async (): Promise<z.output<typeof AddedHistory>> => {
        const known = await records.query(sql`select day from history_days where site = ${site}`)
        const taken = new Set(known.map(({ day }) => day))
        const added = days.filter(({ day }) => !taken.has(day)).sort((a, b) => (a.day < b.day ? -1 : 1))
        const [first, last] = [added[0], added.at(-1)]
        if (!first || !last) throw new ApiError('conflict', 'The site has every one of these days already.', 'days')
        await write(
          ...insertWithNextId(
            'histories',
            sql`insert into histories (id, site, tool, files, created_at, days, first_day, last_day)`,
            sql`${site}, ${tool}, ${JSON.stringify(files)}, ${audit.at}, ${added.length}, ${first.day}, ${last.day}`,
          ),
          ...insertDays(site, added),
          ...auditStatements(audit, {
            action: 'create',
            object: 'history',
            id: lastId('histories'),
            details: { site, tool, days: added.length },
          }),
        )
        const created = (await list(site)).at(-1)
        // The site was deleted meanwhile.
        if (!created) throw new ApiError('not_found', 'There is no such site.', 'site')
        return { ...created, left_out: days.length - added.length }
      }),
    /** Deletes an addition with its days; the site is as it was before. Throws `not_found`. */
    delete: (site: number, id: number, audit: AuditContext) =>
      lock(async (): Promise<void> => {
        const { tool, days } = await get(site, id)
        await write(
          sql`delete from history_days where history = ${id}`,
          sql`delete from histories where id = ${id}`,
          ...auditStatements(audit, { action: 'delete', object: 'history', id, details: { site, tool, days } }),
        )
      }),
    /** Returns the days of a site for reads; undefined if the site has no day of another tool. */
    async ofSite(site: number): Promise<SiteHistory | undefined> {
      const all = await list(site)
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
          return z.array(DayRow).parse(rows)
        },
      }
    },
  }
}
