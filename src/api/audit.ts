import { z } from 'zod'
import { AuditEntry, type AuditLog } from '../manage/audit-log.js'
import type { Orgs } from '../manage/orgs.js'
import { inOrgOfPath } from './org-access.js'
import { Id, jsonResponse, parseQuery, type Route, routeMaker } from './route.js'

const AuditQuery = z.object({
  action: z.string().max(100).optional().describe('Only this action: create, change, delete, ...'),
  object: z.string().max(100).optional().describe('Only objects of this kind: site, key, member, ...'),
  since: z.iso
    .datetime({ offset: true })
    .transform((instant) => new Date(instant))
    .optional()
    .describe('Only entries at or after this instant.'),
  limit: z.coerce.number().int().min(1).max(1_000).default(50).describe('Rows per page, 1 to 1000; default 50.'),
  page: z.coerce.number().int().min(1).max(1_000_000).default(1).describe('Page number, from 1 (default).'),
})
const InstanceAuditQuery = AuditQuery.extend({
  org: Id.optional().describe('Only this organisation; it may be deleted already.'),
})
const PageMeta = z.object({
  total: z.int().describe('Number of rows on all pages.'),
  page: z.int(),
  limit: z.int(),
})

/** The audit log of one organisation for its admins, and of all organisations for the operator. */
export function auditRoutes({ orgs, audit }: { orgs: Pick<Orgs, 'get'>; audit: AuditLog }): Route[] {
  const list = async (query: z.infer<typeof InstanceAuditQuery>) => {
    const { entries, total } = await audit.list(query)
    return jsonResponse(entries, { total, page: query.page, limit: query.limit })
  }
  return [
    routeMaker('orgs')('get', '/api/orgs/{id}/audit', 'admin', {
      summary: 'List the audit log of an organisation: who did what, when and from which address; newest first',
      query: AuditQuery,
      data: z.array(AuditEntry),
      meta: PageMeta,
      run: inOrgOfPath(orgs)((call, { id }) => list({ ...parseQuery(call, AuditQuery), org: id })),
    }),
    routeMaker('control')('get', '/control/audit', 'operator', {
      summary: 'List the audit log of all organisations',
      query: InstanceAuditQuery,
      data: z.array(AuditEntry),
      meta: PageMeta,
      run: async (call) => list(parseQuery(call, InstanceAuditQuery)),
    }),
  ]
}
