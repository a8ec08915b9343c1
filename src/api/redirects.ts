import { z } from 'zod'
import { authorOf, presentAuthor } from '../manage/author.js'
import type { Collection, WithId } from '../manage/collection.js'
import {
  NewRedirect,
  normaliseRedirect,
  type Redirect,
  RedirectChange,
  RedirectView,
  toActive,
} from '../manage/redirects.js'
import type { Sites } from '../manage/sites.js'
import type { Users } from '../manage/users.js'
import { exportRedirects, REDIRECT_TARGETS } from '../rules/redirect-export.js'
import { auditContext } from './auth.js'
import { requireSite } from './org-access.js'
import { type Call, parseQuery, type Route, routeMaker, SiteQuery } from './route.js'
import { recordRoutes } from './site-records.js'
import { validate } from './validation.js'

interface RedirectDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly redirects: Collection<Redirect>
  readonly users: Pick<Users, 'get'>
  now(): Date
}

const ExportQuery = SiteQuery.extend({ for: z.enum(REDIRECT_TARGETS).describe('The server that the text is for.') })

/** `/api/redirects`: where readers of missing pages are sent, and the same as configuration of other servers. */
export function redirectRoutes({ sites, redirects, users, now }: RedirectDeps): Route[] {
  const normalise = async (body: { site: number; from: string; to: string }, except?: number) => {
    const others = (await redirects.list(body.site)).filter(({ id }) => id !== except)
    const { domains = [] } = (await sites.get(body.site)) ?? {}
    return normaliseRedirect(body, { others, domains })
  }
  const authorOfCall = (call: Call) =>
    authorOf(auditContext(call, 0).by, call.principal.kind === 'person' ? call.principal.user.id : undefined)
  return [
    // Before the routes of records, where `export` would be read as an id.
    routeMaker('redirects')('get', '/api/redirects/export', 'manage:read', {
      summary: 'The redirects of a site as configuration for nginx, Caddy or Apache',
      query: ExportQuery,
      contentType: 'text/plain; charset=utf-8',
      run: async (call) => {
        const query = parseQuery(call, ExportQuery)
        const site = await requireSite(call, sites, query.site, 'site')
        const text = exportRedirects(query.for, (await redirects.list(site.id)).map(toActive))
        return new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
      },
    }),
    ...recordRoutes<Redirect, z.output<typeof NewRedirect>>(sites, {
      shape: RedirectView,
      newShape: NewRedirect,
      changeShape: RedirectChange,
      records: redirects,
      access: { read: 'manage:read', write: 'admin' },
      normalise: async (body, call) => ({
        site: body.site,
        status: body.status,
        ...(await normalise(body)),
        created_at: now(),
        created_by: authorOfCall(call),
      }),
      async applyChange({ id, version: _, ...current }, change) {
        const { from = current.name, to = current.target, status = current.status } = validate(RedirectChange, change)
        return { ...current, status, ...(await normalise({ site: current.site, from, to }, id)) }
      },
      async present({ name, target, created_at, created_by, ...record }: WithId<Redirect>) {
        return {
          ...record,
          from: name,
          to: target,
          created_at: created_at.toISOString(),
          created_by: await presentAuthor(created_by, users),
        }
      },
    }),
  ]
}
