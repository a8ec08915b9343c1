import { z } from 'zod'
import { ApiError } from '../errors.js'
import { IngestKey, type IngestKeys } from '../manage/ingest-keys.js'
import { NewSite, Site, SiteChange, type Sites } from '../manage/sites.js'
import { deedOf, reaches } from './auth.js'
import { named } from './organisation.js'
import { answer, bodyOf, type Call, Id, idOf, queryOf, type Route, Total, versioned, versionOf } from './route.js'

const OfOrg = z.object({ org: Id.optional().describe('Only of this organisation.') })

/** `/api/sites` and what servers of a site sign with (contract 7); API keys never get at the latter (spec 5.3 rule 3). */
export function siteRoutes({ sites, ingestKeys }: { sites: Sites; ingestKeys: IngestKeys }): Route[] {
  const own = async (call: Call): Promise<Site> => {
    const site = await sites.get(idOf(call))
    if (site && reaches(call, site)) return site
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
      query: OfOrg,
      data: z.array(Site),
      meta: Total,
      run: async (call) => {
        const { org } = queryOf(call, OfOrg)
        const all = (await sites.list()).filter(
          (site) => (org === undefined || site.org === org) && !isLocked(call, site) && reaches(call, site),
        )
        return answer(all, { total: all.length })
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
      conflicts: true,
      run: async (call) => {
        const asked = await bodyOf(call, NewSite)
        const org = named(call, asked.org)
        const site = await sites.create({ ...asked, org }, deedOf(call, org), ingestKeys.first())
        const { ingest_key } = await ingestKeys.get(site.id)
        const made = { ...site, ingest_key }
        return versioned(made, 201)
      },
    },
    {
      method: 'get',
      path: '/api/sites/{id}',
      access: 'manage:read',
      tag: 'sites',
      summary: 'One site',
      data: Site,
      run: async (call) => versioned(await own(call)),
    },
    {
      method: 'patch',
      path: '/api/sites/{id}',
      access: 'admin',
      tag: 'sites',
      summary: 'Change a site, in part; in force at once',
      body: SiteChange,
      data: Site,
      conflicts: true,
      run: async (call) => {
        const { id, org } = await own(call)
        return versioned(await sites.change(id, await bodyOf(call, SiteChange), deedOf(call, org), versionOf(call)))
      },
    },
    {
      method: 'delete',
      path: '/api/sites/{id}',
      access: 'admin',
      tag: 'sites',
      summary: 'Delete a site with everything of it, for good',
      status: 204,
      conflicts: true,
      run: async (call) => {
        const { id, org } = await own(call)
        await sites.delete(id, deedOf(call, org), versionOf(call))
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
        return answer(await ingestKeys.show(id, deedOf(call, org)))
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
        return answer(await ingestKeys.rotate(id, deedOf(call, org)))
      },
    },
  ]
}
