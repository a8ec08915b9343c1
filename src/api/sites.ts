import { z } from 'zod'
import { HexId } from '../analytics/reads/shapes.js'
import { ApiError } from '../base/errors.js'
import { DailyDrops, type Drops } from '../manage/drops.js'
import { IngestKey, type IngestKeys } from '../manage/ingest-keys.js'
import { DeliveryStatus } from '../manage/notify/notices.js'
import type { Notify } from '../manage/notify/notify.js'
import { RefusedHostname, type RefusedHostnames } from '../manage/refused-hostnames.js'
import { ErasureResult, type Removals } from '../manage/removals.js'
import { ManagedSite, NewSite, SiteChange, type Sites } from '../manage/sites.js'
import { auditContext, canReachSite } from './auth.js'
import { chooseOrg, requireSite } from './org-access.js'
import {
  type Call,
  Id,
  ifMatchVersion,
  jsonWithEtag,
  parseBody,
  parseQuery,
  pathId,
  type Route,
  routeMaker,
  SiteQuery,
  TotalMeta,
} from './route.js'
import { siteUrl } from './site-url.js'

const SitesQuery = z.object({ org: Id.optional().describe('Only sites of this organisation.') })

/** A site, and the address at which readers reach it. */
const ReachedSite = ManagedSite.extend({
  url: z
    .url()
    .optional()
    .describe(
      'The address at which readers reach the site; absent if it has no domain and this instance has no listener for it.',
    ),
})

interface SiteDeps {
  sites: Sites
  ingestKeys: IngestKeys
  /** The URL of the listener that serves the site; undefined on an instance that has none. */
  listener?(): string | undefined
}

const withUrl = (site: ManagedSite, url: string | undefined) => (url === undefined ? site : { ...site, url })

/** `/api/sites` and the sites' ingest keys. API keys can read sites, and nothing more. */
export function siteRoutes({ sites, ingestKeys, listener }: SiteDeps): Route[] {
  const route = routeMaker('sites')
  const siteOfPath = (call: Call): Promise<ManagedSite> => requireSite(call, sites, pathId(call))
  const reached = (site: ManagedSite) => withUrl(site, siteUrl(site, listener?.()))
  /** Sites of an organisation that locks its member out are left out of lists, which still show the other sites. */
  const isLocked = ({ principal }: Call, { org }: ManagedSite) =>
    principal.kind === 'person' && principal.locked.has(org)
  return [
    route('get', '/api/sites', 'manage:read', {
      summary: 'List the sites that the caller can reach',
      query: SitesQuery,
      data: z.array(ReachedSite),
      meta: TotalMeta,
      run: async (call) => {
        const { org } = parseQuery(call, SitesQuery)
        const isListed = (site: ManagedSite) =>
          (org === undefined || site.org === org) && !isLocked(call, site) && canReachSite(call, site)
        return (await sites.list()).filter(isListed).map(reached)
      },
    }),
    route('post', '/api/sites', 'admin', {
      summary: 'Create a site and its ingest key',
      body: NewSite,
      data: ManagedSite.extend({ ingest_key: z.string() }),
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const body = await parseBody(call, NewSite)
        const org = chooseOrg(call, body.org)
        const site = await sites.create({ ...body, org }, auditContext(call, org), ingestKeys.firstKeyStatement())
        const { ingest_key } = await ingestKeys.get(site.id)
        const created = { ...site, ingest_key }
        return jsonWithEtag(created, 201)
      },
    }),
    route('get', '/api/sites/{id}', 'manage:read', {
      summary: 'Get a site',
      data: ReachedSite,
      run: async (call) => jsonWithEtag(reached(await siteOfPath(call))),
    }),
    route('patch', '/api/sites/{id}', 'admin', {
      summary: 'Change fields of a site; takes effect at once',
      body: SiteChange,
      data: ManagedSite,
      mayConflict: true,
      run: async (call) => {
        const { id, org } = await siteOfPath(call)
        const change = await parseBody(call, SiteChange)
        return jsonWithEtag(await sites.change(id, change, auditContext(call, org), ifMatchVersion(call)))
      },
    }),
    route('delete', '/api/sites/{id}', 'admin', {
      summary: 'Delete a site and all its data; cannot be undone',
      status: 204,
      mayConflict: true,
      run: async (call) => {
        const { id, org } = await siteOfPath(call)
        await sites.delete(id, auditContext(call, org), ifMatchVersion(call))
      },
    }),
    route('get', '/api/sites/{id}/ingest-key', 'admin', {
      summary: "Get the ingest key that the site's servers sign with",
      data: IngestKey,
      run: async (call) => {
        const { id, org } = await siteOfPath(call)
        return ingestKeys.show(id, auditContext(call, org))
      },
    }),
    route('post', '/api/sites/{id}/ingest-key/rotate', 'admin', {
      summary: 'Replace the ingest key; the previous key stays valid for 24 hours, earlier keys end now',
      data: IngestKey,
      run: async (call) => {
        const { id, org } = await siteOfPath(call)
        return ingestKeys.rotate(id, auditContext(call, org))
      },
    }),
  ]
}

const DropsQuery = z.object({
  days: z.coerce.number().int().min(1).max(366).default(30).describe('Number of UTC days, today included.'),
})

interface DropRoutesDeps {
  sites: Pick<Sites, 'get'>
  drops: Pick<Drops, 'list'>
  refusedHostnames: Pick<RefusedHostnames, 'list'>
}

/** The counts of hits that were not recorded. The track endpoints answer all drops alike; the site's owner sees why. */
export const dropRoutes = ({ sites, drops, refusedHostnames }: DropRoutesDeps): Route[] => [
  routeMaker('sites')('get', '/api/sites/{id}/drops', 'manage:read', {
    summary: 'Count hits of a site that were not recorded, by day, endpoint and reason',
    query: DropsQuery,
    data: z.array(DailyDrops),
    meta: TotalMeta,
    run: async (call) => {
      const { days } = parseQuery(call, DropsQuery)
      const { id } = await requireSite(call, sites, pathId(call))
      return drops.list(id, days)
    },
  }),
  routeMaker('sites')('get', '/api/sites/{id}/refused-hostnames', 'manage:read', {
    summary: 'List the hostnames that were refused since the start because no site lists them, at most 10',
    data: z.array(RefusedHostname),
    meta: TotalMeta,
    run: async (call) => refusedHostnames.list((await requireSite(call, sites, pathId(call))).id),
  }),
]

/** The announcements of a site's changed pages. */
export const pingRoutes = ({
  sites,
  notify,
}: {
  sites: Pick<Sites, 'get'>
  notify: Pick<Notify, 'deliveries'>
}): Route[] => [
  routeMaker('sites')('get', '/api/sites/{id}/indexnow', 'manage:read', {
    summary: 'List the IndexNow pings of a site in the last 30 days, the latest first; at most 200',
    data: z.array(DeliveryStatus),
    meta: TotalMeta,
    run: async (call) => notify.deliveries({ site: (await requireSite(call, sites, pathId(call))).id }),
  }),
]

/** Erasure of a person's rows. API keys cannot use it. */
export const visitorRoutes = (deps: { sites: Pick<Sites, 'get'>; removals: Pick<Removals, 'erase'> }): Route[] => [
  routeMaker('visitors')('delete', '/api/visitors/{id}', 'admin', {
    summary:
      "Erase a person: delete all the person's rows; cannot be undone. 404 if none is stored, as after an earlier erasure",
    pathParameter: HexId.describe('The id, as `/api/stats/visitors` shows it.'),
    query: SiteQuery,
    data: ErasureResult,
    run: async (call) => {
      const id = HexId.safeParse(call.params.id)
      if (!id.success) throw new ApiError('not_found', 'Not found.')
      const site = await requireSite(call, deps.sites, parseQuery(call, SiteQuery).site, 'site')
      const erased = await deps.removals.erase(site.id, id.data, auditContext(call, site.org))
      if (erased.rows > 0) return erased
      throw new ApiError(
        'not_found',
        'No row of this visitor is stored: the id is unknown, or the person was erased before.',
      )
    },
  }),
]
