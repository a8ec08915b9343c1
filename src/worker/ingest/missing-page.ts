import { isExcludedPath } from '../../capture/excluded-paths.js'
import type { Observation } from '../../capture/observation.js'
import { isOptedOut } from '../../capture/opt-out.js'
import { isConventionalFile, kindOfExtension } from '../../capture/request-kind.js'
import { isNavigation, isPrefetch } from '../../capture/response-type.js'
import type { SiteSettings } from '../../capture/site.js'

/**
 * Returns whether a person asked for a page in a window or tab and the origin answered 404 or 410, redirected or not. Pictures, scripts and other files are
 * not pages, whatever the origin answers; a browser says with `Accept` or `Sec-Fetch-Dest` that it wants a page.
 */
export function isMissingPage(observation: Observation, site: SiteSettings): boolean {
  const { status, redirected, method, pathname, headers, shipped, imported } = observation
  if ((status !== 404 && status !== 410 && !redirected) || method !== 'GET') return false
  if (shipped !== undefined || imported !== undefined) return false
  const wantsPage = headers?.['sec-fetch-dest'] === 'document' || headers?.accept?.includes('text/html') === true
  if (!wantsPage || !isNavigation(observation) || isPrefetch(observation)) return false
  const kind = kindOfExtension(pathname)
  if (kind === 'asset' || isConventionalFile(pathname)) return false
  return !isExcludedPath(site, pathname) && !isOptedOut(observation, site)
}
