import { z } from 'zod'
import { IngestKey, type IngestKeys } from '../manage/ingest-keys.js'
import { NewSite, Site, type Sites } from '../manage/sites.js'
import { reaches } from './auth.js'
import { answer, bodyOf, Id, idOf, queryOf, type Route, Total } from './route.js'

const OfOrg = z.object({ org: Id.optional().describe('Only of this organisation.') })

/** `/api/sites` and what servers of a site sign with (contract 7); API keys never get at the latter (spec 5.3 rule 3). */
export const siteRoutes = (deps: { sites: Sites; ingestKeys: IngestKeys; now(): Date }): Route[] => [
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
      const all = (await deps.sites.list()).filter(
        (site) => reaches(call, site) && (org === undefined || site.org === org),
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
      const site = await deps.sites.create(await bodyOf(call, NewSite), deps.now())
      await deps.ingestKeys.provide([site.id])
      const { ingest_key } = await deps.ingestKeys.get(site.id)
      return answer({ ...site, ingest_key }, undefined, 201)
    },
  },
  {
    method: 'get',
    path: '/api/sites/{id}/ingest-key',
    access: 'admin',
    tag: 'sites',
    summary: 'What the servers of a site sign with',
    data: IngestKey,
    run: async (call) => answer(await deps.ingestKeys.get(idOf(call))),
  },
  {
    method: 'post',
    path: '/api/sites/{id}/ingest-key/rotate',
    access: 'admin',
    tag: 'sites',
    summary: 'A new ingest key; the one before stays good for a day, any earlier one ends now',
    data: IngestKey,
    run: async (call) => answer(await deps.ingestKeys.rotate(idOf(call))),
  },
]
