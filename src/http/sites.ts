import { z } from 'zod'
import { ApiError } from '../errors.js'
import { IngestKey, type IngestKeys } from '../manage/ingest-keys.js'
import { NewSite, Site, SiteChange, type Sites } from '../manage/sites.js'
import { auditContext, canReachSite } from './auth.js'
import { chooseOrg } from './org-access.js'
import {
  type Call,
  Id,
  ifMatchVersion,
  jsonResponse,
  jsonWithEtag,
  parseBody,
  parseQuery,
  pathId,
  type Route,
  TotalMeta,
} from './route.js'

const SitesQuery = z.object({ org: Id.optional().describe('Only of this organisation.') })

/** `/api/sites` and what servers of a site sign with (contract 7); API keys never get at the latter (spec 5.3 rule 3). */
export function siteRoutes({ sites, ingestKeys }: { sites: Sites; ingestKeys: IngestKeys }): Route[] {
  const own = async (call: Call): Promise<Site> => {
    const site = await sites.get(pathId(call))
    if (site && canReachSite(call, site)) return site
    throw new ApiError('not_found', 'There is no such site.')
  }
  /** An organisation that locks its member out hides its sites among those of others, and does not shut all away. */
  const isLocked = ({ principal }: Call, { org }: Site) => principal.kind === 'person' && principal.locked.has(org)
  return [
    {
      method: 'get',
      path: '/api/sites',
      access: 'manage:read',
      tag: 'sites',
      summary: 'The sites that the caller can reach',
      query: SitesQuery,
      data: z.array(Site),
      meta: TotalMeta,
      run: async (call) => {
        const { org } = parseQuery(call, SitesQuery)
        const all = (await sites.list()).filter(
          (site) => (org === undefined || site.org === org) && !isLocked(call, site) && canReachSite(call, site),
        )
        return jsonResponse(all, { total: all.length })
      },
    },
    {
      method: 'post',
      path: '/api/sites',
      access: 'admin',
      tag: 'sites',
      summary: 'Make a site, and its ingest key',
      body: NewSite,
      data: Site.extend({ ingest_key: z.string() }),
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const asked = await parseBody(call, NewSite)
        const org = chooseOrg(call, asked.org)
        const site = await sites.create({ ...asked, org }, auditContext(call, org), ingestKeys.firstKeyStatement())
        const { ingest_key } = await ingestKeys.get(site.id)
        const made = { ...site, ingest_key }
        return jsonWithEtag(made, 201)
      },
    },
    {
      method: 'get',
      path: '/api/sites/{id}',
      access: 'manage:read',
      tag: 'sites',
      summary: 'One site',
      data: Site,
      run: async (call) => jsonWithEtag(await own(call)),
    },
    {
      method: 'patch',
      path: '/api/sites/{id}',
      access: 'admin',
      tag: 'sites',
      summary: 'Change a site, in part; in force at once',
      body: SiteChange,
      data: Site,
      mayConflict: true,
      run: async (call) => {
        const { id, org } = await own(call)
        return jsonWithEtag(
          await sites.change(id, await parseBody(call, SiteChange), auditContext(call, org), ifMatchVersion(call)),
        )
      },
    },
    {
      method: 'delete',
      path: '/api/sites/{id}',
      access: 'admin',
      tag: 'sites',
      summary: 'Delete a site with everything of it, for good',
      status: 204,
      mayConflict: true,
      run: async (call) => {
        const { id, org } = await own(call)
        await sites.delete(id, auditContext(call, org), ifMatchVersion(call))
        return new Response(null, { status: 204 })
      },
    },
    {
      method: 'get',
      path: '/api/sites/{id}/ingest-key',
      access: 'admin',
      tag: 'sites',
      summary: 'What the servers of a site sign with',
      data: IngestKey,
      run: async (call) => {
        const { id, org } = await own(call)
        return jsonResponse(await ingestKeys.show(id, auditContext(call, org)))
      },
    },
    {
      method: 'post',
      path: '/api/sites/{id}/ingest-key/rotate',
      access: 'admin',
      tag: 'sites',
      summary: 'A new ingest key; the one before stays good for a day, any earlier one ends now',
      data: IngestKey,
      run: async (call) => {
        const { id, org } = await own(call)
        return jsonResponse(await ingestKeys.rotate(id, auditContext(call, org)))
      },
    },
  ]
}
