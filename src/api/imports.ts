import { z } from 'zod'
import { parseTimeZone } from '../analytics/query/calendar.js'
import { ApiError } from '../base/errors.js'
import { asciiHostname } from '../base/hostname.js'
import { DataPathList } from '../capture/path-pattern.js'
import type { AuditContext } from '../manage/audit.js'
import { FileName } from '../manage/fields.js'
import { Import, type Imports } from '../manage/imports.js'
import type { Sites } from '../manage/sites.js'
import { ImportCounts, ImportOptions } from '../worker-client/log-batch.js'
import { auditContext } from './auth.js'
import { requireSite } from './org-access.js'
import { type Call, parseBody, parseQuery, pathId, type Route, routeMaker, SiteQuery, TotalMeta } from './route.js'

export const NewImport = z.object({
  site: z.int(),
  source: z.string(),
  format: z.string().nullable(),
  /** Bytes of all logs; null if that is not known. */
  total: z.int().nullable(),
  options: ImportOptions,
})
export type NewImport = z.infer<typeof NewImport>

/** Numbers of lines and bytes that were read so far. */
const ReadQuery = z.object({
  lines: z.coerce.number().int(),
  broken: z.coerce.number().int(),
  not_pages: z.coerce.number().int(),
  data_lines: z.coerce.number().int(),
  bytes: z.coerce.number().int(),
})
export type ReadSoFar = z.infer<typeof ReadQuery>
const EndQuery = ReadQuery.extend({ state: z.enum(['done', 'failed']) })

/** Imports as this process runs them. */
export interface ImportJobs {
  /**
   * Begins an import and returns its id: a negative one for a trial, which has no record. Throws `conflict` while another
   * one of the organisation runs or is undone, and `rate_limited` while those of too many others run.
   */
  begin(about: NewImport, audit: AuditContext): Promise<number>
  /** Stores a batch of lines (JSON of a `LineBatch`). */
  lines(id: number, text: string, read: ReadSoFar): Promise<ImportCounts>
  end(id: number, read: ReadSoFar, state: 'done' | 'failed'): Promise<ImportCounts>
  /**
   * Keeps a log that is uploaded, and begins to import it. Resolves with the record. Throws as `begin`, and `validation_error`
   * for an unknown format, before the body is read where that is known.
   */
  upload(
    about: Omit<NewImport, 'total'>,
    body: ReadableStream<Uint8Array>,
    read: { format: string | undefined; tz: string; data_paths: readonly string[] | undefined },
    audit: AuditContext,
  ): Promise<Import>
  /**
   * Ends an import if it runs, and begins to remove its rows; the record is deleted at the end. Throws `conflict` while
   * another one of the organisation runs.
   */
  undo(one: Pick<Import, 'site' | 'id' | 'source'>, audit: AuditContext): Promise<void>
  /** Call it when the worker has started: goes on with removals, and ends the records of imports that ran in the last one. */
  resume(): Promise<void>
}

const ImportView = Import.extend({
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  first_at: z.iso.datetime().nullable(),
  last_at: z.iso.datetime().nullable(),
})

const UploadQuery = SiteQuery.extend({
  name: FileName.default('upload').describe('Name of the log, for the list.'),
  format: z
    .string()
    .max(500, 'A format has at most 500 characters.')
    .regex(/^[^\0\r\n]*$/, 'A format is one line, without NUL.')
    .optional()
    .describe('Format of the lines; detected by default.'),
  host: z
    .string()
    .max(253, 'A hostname has at most 253 characters.')
    .transform(asciiHostname)
    .refine((name) => name !== undefined, '`host` must be a hostname, such as shop.example.')
    .optional()
    .describe("Hostname of lines without one; the site's first by default."),
  tz: z
    .string()
    .refine((zone) => parseTimeZone(zone) !== undefined, '`tz` must be an IANA time zone, such as Europe/Berlin.')
    .default('UTC')
    .describe('Time zone of a log without one.'),
  data_paths: DataPathList.optional().describe(
    'Paths of data, with commas between, or `none`: without a content type they are not pages. By default `/api/**`, `/graphql`, `/wp-json/**` and others.',
  ),
})

interface ImportRoutesDeps {
  sites: Pick<Sites, 'get'>
  imports: Pick<Imports, 'list' | 'get'>
  jobs: ImportJobs
}

/** `/api/imports`: imports of access logs, for a site's admins. */
export function importRoutes({ sites, imports, jobs }: ImportRoutesDeps): Route[] {
  const route = routeMaker('imports')
  const findImport = async (call: Call): Promise<{ found: Import; audit: AuditContext }> => {
    const { site } = parseQuery(call, SiteQuery)
    const { org } = await requireSite(call, sites, site, 'site')
    const found = await imports.get(site, pathId(call))
    if (found === undefined) throw new ApiError('not_found', 'There is no such import.')
    return { found, audit: auditContext(call, org) }
  }
  return [
    route('get', '/api/imports', 'admin', {
      summary: 'List the imports of access logs into a site, the latest first',
      query: SiteQuery,
      data: z.array(ImportView),
      meta: TotalMeta,
      async run(call) {
        const { site } = parseQuery(call, SiteQuery)
        await requireSite(call, sites, site, 'site')
        return imports.list(site)
      },
    }),
    route('post', '/api/imports', 'admin', {
      summary: 'Import an access log: the body is the log, plain, gzip or zstd. Ask for the import to see its progress',
      query: UploadQuery,
      data: ImportView,
      status: 202,
      fileBody: {
        type: 'application/octet-stream',
        example: '203.0.113.7 - - [01/Oct/2026:00:00:04 +0000] "GET /tides HTTP/1.1" 200 5120 "-" "ClaudeBot/1.0"',
      },
      mayConflict: true,
      readsOwnBody: true,
      async run(call) {
        const { site: id } = parseQuery(call, SiteQuery)
        const site = await requireSite(call, sites, id, 'site')
        const { name, format, host, tz, data_paths } = parseQuery(call, UploadQuery)
        const hostname = host ?? site.domains[0]
        if (hostname === undefined)
          throw new ApiError(
            'validation_error',
            'The site lists no hostname: `host` must name that of the log.',
            'host',
          )
        if (call.request.body === null) throw new ApiError('bad_request', 'The body must be an access log.')
        const options = { dry_run: false, verify_now: false, host: hostname, robots: null }
        const about = { site: id, source: name, format: format ?? null, options }
        return jobs.upload(about, call.request.body, { format, tz, data_paths }, auditContext(call, site.org))
      },
    }),
    route('get', '/api/imports/{id}', 'admin', {
      summary:
        'Get an import: how far it is (`done` of `total`, `lines` since `created_at`), or what became of its lines',
      query: SiteQuery,
      data: ImportView,
      run: async (call) => (await findImport(call)).found,
    }),
    route('delete', '/api/imports/{id}', 'admin', {
      summary:
        'Undo an import, also while it runs: its rows are removed, and sessions are as before. It is gone when that is done',
      query: SiteQuery,
      data: ImportView,
      status: 202,
      mayConflict: true,
      async run(call) {
        const { found, audit } = await findImport(call)
        if (found.state !== 'removing') await jobs.undo(found, audit)
        return { ...found, state: 'removing' }
      },
    }),
  ]
}

/** `/control/imports/*`: `readership import` sends the lines of logs, one batch after the other. */
export function importControlRoutes({ jobs, sites }: Pick<ImportRoutesDeps, 'jobs' | 'sites'>): Route[] {
  const route = routeMaker('control')
  /** A trial has a negative id. */
  const importId = (call: Call): number =>
    /^-\d{1,15}$/.test(call.params.id ?? '') ? Number(call.params.id) : pathId(call)
  return [
    route('post', '/control/imports', 'operator', {
      summary: 'Begin an import of access logs',
      body: NewImport,
      data: z.object({ id: z.int() }),
      mayConflict: true,
      readsOwnBody: true,
      async run(call) {
        const about = await parseBody(call, NewImport)
        const { org } = await requireSite(call, sites, about.site, 'site')
        return { id: await jobs.begin(about, auditContext(call, org)) }
      },
    }),
    route('post', '/control/imports/{id}/lines', 'operator', {
      summary: 'Store a batch of lines',
      pathParameter: z.coerce.number().int(),
      query: ReadQuery,
      data: ImportCounts,
      mayConflict: true,
      readsOwnBody: true,
      run: async (call) => jobs.lines(importId(call), await call.request.text(), parseQuery(call, ReadQuery)),
    }),
    route('post', '/control/imports/{id}/end', 'operator', {
      summary: 'End an import',
      pathParameter: z.coerce.number().int(),
      query: EndQuery,
      data: ImportCounts,
      mayConflict: true,
      async run(call) {
        const { state, ...read } = parseQuery(call, EndQuery)
        return jobs.end(importId(call), read, state)
      },
    }),
  ]
}
