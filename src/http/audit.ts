import { z } from 'zod'
import { AuditEntry, type AuditLog } from '../manage/audit-log.js'
import type { Orgs } from '../manage/orgs.js'
import { orgOfPath } from './org-access.js'
import { Id, jsonResponse, parseQuery, type Route } from './route.js'

const AuditQuery = z.object({
  action: z.string().max(100).optional().describe('Only this action: create, change, delete, ...'),
  object: z.string().max(100).optional().describe('Only of this kind of object: site, key, member, ...'),
  since: z.iso
    .datetime({ offset: true, error: 'since is an ISO-8601 instant.' })
    .transform((instant) => new Date(instant))
    .optional()
    .describe('Only from this instant on.'),
  limit: z.coerce.number().int().min(1).max(1_000).default(50).describe('Rows of a page, 1 to 1000; default 50.'),
  page: z.coerce.number().int().min(1).max(1_000_000).default(1).describe('Page, from 1 (default).'),
})
const InstanceAuditQuery = AuditQuery.extend({
  org: Id.optional().describe('Of one organisation, also one that is gone.'),
})
const PageMeta = z.object({
  total: z.int().describe('Rows there are.'),
  page: z.int(),
  limit: z.int(),
})

/** What was done in an organisation, and for the operator in any. */
export function auditRoutes({ orgs, audit }: { orgs: Pick<Orgs, 'get'>; audit: AuditLog }): Route[] {
  const found = async (wanted: z.infer<typeof InstanceAuditQuery>) => {
    const { entries, total } = await audit.list(wanted)
    return jsonResponse(entries, { total, page: wanted.page, limit: wanted.limit })
  }
  return [
    {
      ...{ method: 'get', path: '/api/orgs/{id}/audit', access: 'admin', tag: 'orgs' },
      summary: 'What was done in an organisation, by whom and from where, the newest first',
      query: AuditQuery,
      data: z.array(AuditEntry),
      meta: PageMeta,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        return found({ ...parseQuery(call, AuditQuery), org: id })
      },
    },
    {
      ...{ method: 'get', path: '/control/audit', access: 'operator', tag: 'control' },
      summary: 'What was done in any organisation',
      query: InstanceAuditQuery,
      data: z.array(AuditEntry),
      meta: PageMeta,
      run: async (call) => found(parseQuery(call, InstanceAuditQuery)),
    },
  ]
}
