import type { z } from 'zod'
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
import type { Route } from './route.js'
import { exportRoute } from './rule-export.js'
import { recordRoutes } from './site-records.js'
import { validate } from './validation.js'

interface RedirectDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly redirects: Collection<Redirect>
  readonly users: Pick<Users, 'get'>
}

/** `/api/redirects`: where readers of missing pages are sent, and the same as configuration of other servers. */
export function redirectRoutes({ sites, redirects, users }: RedirectDeps): Route[] {
  const normalise = async (body: { site: number; from: string; to: string }, except?: number) => {
    const others = (await redirects.list(body.site)).filter(({ id }) => id !== except)
    const { domains = [] } = (await sites.get(body.site)) ?? {}
    return normaliseRedirect(body, { others, domains })
  }
  const summary = 'The redirects of a site as configuration for nginx, Caddy or Apache'
  return [
    exportRoute(sites, 'redirects', summary, REDIRECT_TARGETS, async (target, site) =>
      exportRedirects(target, (await redirects.list(site)).map(toActive)),
    ),
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
        created_at: call.at,
        created_by: authorOf(auditContext(call, 0).by),
      }),
      async applyChange({ id, version: _, ...current }, change, call) {
        const { from = current.name, to = current.target, status = current.status } = validate(RedirectChange, change)
        const changed = await normalise({ site: current.site, from, to }, id)
        // Readers lost before and since are counted from the moment at which the path was redirected.
        const created_at = changed.name === current.name ? current.created_at : call.at
        return { ...current, status, ...changed, created_at }
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
