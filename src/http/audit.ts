import { z } from 'zod'
import { type AuditLog, Entry } from '../manage/audit-log.js'
import type { Orgs } from '../manage/orgs.js'
import { organisationOf } from './organisation.js'
import { answer, Id, queryOf, type Route } from './route.js'

const Wanted = z.object({
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
const OfAll = Wanted.extend({ org: Id.optional().describe('Of one organisation, also one that is gone.') })
const Page = z.object({
  total: z.int().describe('Rows there are.'),
  page: z.int(),
  limit: z.int(),
})

/** What was done in an organisation, and for the operator in any. */
export function auditRoutes({ orgs, audit }: { orgs: Pick<Orgs, 'get'>; audit: AuditLog }): Route[] {
  const found = async (wanted: z.infer<typeof OfAll>) => {
    const { entries, total } = await audit.list(wanted)
    return answer(entries, { total, page: wanted.page, limit: wanted.limit })
  }
  return [
    {
      ...{ method: 'get', path: '/api/orgs/{id}/audit', access: 'admin', tag: 'orgs' },
      summary: 'What was done in an organisation, by whom and from where, the newest first',
      query: Wanted,
      data: z.array(Entry),
      meta: Page,
      run: async (call) => {
        const { id } = await organisationOf(call, orgs)
        return found({ ...queryOf(call, Wanted), org: id })
      },
    },
    {
      ...{ method: 'get', path: '/control/audit', access: 'operator', tag: 'control' },
      summary: 'What was done in any organisation',
      query: OfAll,
      data: z.array(Entry),
      meta: Page,
      run: async (call) => found(queryOf(call, OfAll)),
    },
  ]
}
