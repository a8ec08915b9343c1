import { z } from 'zod'
import { ASSISTANTS } from '../capture/assistants.js'
import { createSiteLookup } from '../capture/site.js'
import { ApiError } from '../errors.js'
import type { Collection, SiteRecord } from '../manage/collection.js'
import type { Sites } from '../manage/sites.js'
import { quote } from '../query/dimensions.js'
import { type ReadDependencies, runRead } from '../query/read.js'
import { formatStatement } from '../query/statement.js'
import { reads } from '../reads/index.js'
import type { Sql } from '../sql.js'
import { canReachSite } from './auth.js'
import { type Call, jsonResponse, parseQuery, type Route } from './route.js'
import type { SiteRecords } from './site-records.js'

/** The `meta` of a read (spec 2.3, contract 4). */
const Meta = z
  .object({
    query: z.record(z.string(), z.unknown()).describe('The query as it was understood, in canonical names.'),
    rows: z.int().describe('Rows in this answer.'),
    sampled: z.boolean().describe('Always false: every row is counted.'),
    took_ms: z.int().describe('Milliseconds from the question to the answer.'),
    total: z.int().optional().describe('Rows on all pages.'),
    limit: z.int().optional().describe('Rows of a page.'),
    page: z.int().optional().describe('The page, from 1.'),
    comparison: z
      .object({ start: z.iso.datetime(), end: z.iso.datetime() })
      .optional()
      .describe('The window compared with.'),
    warnings: z
      .array(z.object({ metric: z.string().optional(), code: z.string(), message: z.string() }))
      .optional()
      .describe('Why a metric is absent, or what a number is based on.'),
  })
  .meta({ id: 'Meta', description: 'What was asked, as it was understood, and what the answer is based on.' })

export type ReadDeps = Pick<
  ReadDependencies,
  'store' | 'now' | 'catalog' | 'blockedUrls' | 'policy' | 'agentRanges'
> & {
  sites: Pick<Sites, 'get' | 'list'>
} & Partial<Pick<SiteRecords, 'goals' | 'funnels' | 'segments'>>

/** What a read answers this call from: of the sites that its caller reaches, for as long as the caller is there. */
export function createReadDeps(
  { sites, goals, funnels, segments, ...own }: ReadDeps,
  call: Pick<Call, 'principal' | 'access' | 'request'>,
): ReadDependencies {
  const { principal } = call
  const shared = principal.kind === 'share' ? principal.share : undefined
  return {
    ...own,
    signal: call.request.signal,
    assistants: ASSISTANTS,
    site: async (id) => {
      const site = await sites.get(id)
      if (!site || !canReachSite(call, site)) return undefined
      const siteOf = createSiteLookup(await sites.list())
      return { ...site, owns: (hostname) => siteOf(hostname)?.id === id }
    },
    goals: async (site) => (await goals?.list(site)) ?? [],
    segment: async (id, site) => {
      const segment = await findInSite(segments, site, id)
      return shared && !segment?.shared ? undefined : segment?.filters
    },
    ...(shared ? { mandatory: shared.filters, checkDimension: shared.assertDimension } : {}),
    funnel: async (id, site) => findInSite(funnels, site, id),
  }
}

/** The routes of the reads, and one for the operator only that returns the SQL of any read. */
export const readRoutes = (deps: ReadDeps): Route[] => [
  ...reads.map(
    (read): Route => ({
      method: 'get',
      path: read.path,
      access: 'stats:read',
      tag: read.path.split('/')[2] ?? 'stats',
      summary: read.summary,
      pathParameter: z.string().describe('The id, as lists have it.'),
      query: z.object(read.query),
      data: read.data,
      meta: Meta,
      run: async (call) => {
        const { data, meta } = await runRead(read, call.query, createReadDeps(deps, call), call.params)
        return jsonResponse(data, meta)
      },
    }),
  ),
  {
    method: 'get',
    path: '/control/sql',
    access: 'operator',
    tag: 'control',
    summary: 'Run a read and return its SQL statements',
    query: SqlQuery,
    data: z.array(z.string()),
    run: async (call) => {
      const { read: path, id } = parseQuery(call, SqlQuery)
      const read = reads.find((each) => each.path === path)
      if (!read) throw new ApiError('validation_error', `No read has the path ${quote(path)}.`, 'read')
      const statements: string[] = []
      const onStatement = (statement: Sql) => statements.push(formatStatement(statement))
      await runRead(read, call.query, { ...createReadDeps(deps, call), onStatement }, id === undefined ? {} : { id })
      return jsonResponse(statements)
    },
  },
]

const SqlQuery = z.object({
  read: z.string().describe('The path of the read, such as /api/stats/pages.'),
  id: z.string().optional().describe('The id in that path, if it has one.'),
})

/** The one of a site with the id that a request has: anything but a number of one of them names nothing. */
const findInSite = async <O extends SiteRecord>(all: Collection<O> | undefined, site: number, id: string) =>
  (await all?.list(site))?.find((each) => String(each.id) === id)
