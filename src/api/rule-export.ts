import { z } from 'zod'
import { loadCatalog } from '../agents/catalog.js'
import type { Rules } from '../manage/rules.js'
import type { Sites } from '../manage/sites.js'
import { EXPORT_TARGETS, exportText } from '../rules/export/export-text.js'
import { requireSite } from './org-access.js'
import { parseQuery, type Route, routeMaker, SiteQuery } from './route.js'

const ExportQuery = SiteQuery.extend({
  for: z.enum(EXPORT_TARGETS).describe('The server or file that gets the text.'),
})

/** `GET /api/rules/export`: the rules that are on, as text for another server. */
export const ruleExportRoute = ({
  sites,
  rules,
  now,
}: {
  sites: Pick<Sites, 'get'>
  rules: Pick<Rules, 'list'>
  now(): Date
}): Route =>
  routeMaker('rules')('get', '/api/rules/export', 'manage:read', {
    summary: 'The rules that are on as text for nginx, Caddy, Apache, HAProxy, Cloudflare or robots.txt',
    query: ExportQuery,
    contentType: 'text/plain; charset=utf-8',
    run: async (call) => {
      const { site: id, for: target } = parseQuery(call, ExportQuery)
      const site = await requireSite(call, sites, id, 'site')
      const text = exportText(target, await rules.list(site.id), loadCatalog().agents, now().getTime())
      return new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
    },
  })
