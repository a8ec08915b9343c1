import type { MissingPage, Redirection } from '../../capture/decision.js'
import { createSiteLookup } from '../../capture/site.js'
import { isRedirectable, redirectOf } from '../../rules/redirect.js'
import { hostnameOf } from '../proxy/observe-request.js'
import type { SiteList } from './site-list.js'

/** Creates the function that finds the redirect of a missing page; undefined without any redirect. */
export function createRedirector(
  lists: readonly SiteList[],
): ((missing: MissingPage) => Redirection | undefined) | undefined {
  if (lists.every(({ redirects }) => redirects.size === 0)) return undefined
  // Sites without redirects are in the list too, because their hostnames are not those of the site that gets the rest.
  const siteOf = createSiteLookup(lists)
  return ({ status, method, target, host }) => {
    if (!isRedirectable(status, method)) return undefined
    const site = siteOf(hostnameOf(host))
    return site && redirectOf(site.redirects, { target, host })
  }
}
