import type { MissingPage, Redirection } from '../../capture/decision.js'
import { createSiteLookup } from '../../capture/site.js'
import { indexRedirects, isRedirectable, redirectOf } from '../../rules/redirect.js'
import type { RuleSet } from '../../rules/rule-set.js'
import { hostnameOf } from '../proxy/observe-request.js'

/** Compiles the redirects of a set into the function that finds that of a missing page; undefined without any. */
export function createRedirector({ sites }: RuleSet): ((missing: MissingPage) => Redirection | undefined) | undefined {
  if (sites.every(({ redirects }) => redirects.length === 0)) return undefined
  // Sites without redirects are in the list too, because their hostnames are not those of the site that gets the rest.
  const siteOf = createSiteLookup(
    sites.map(({ domains, redirects }) => ({ domains, redirects: indexRedirects(redirects) })),
  )
  return ({ status, method, target, host }) => {
    if (!isRedirectable(status, method)) return undefined
    const site = siteOf(hostnameOf(host))
    return site && redirectOf(site.redirects, { target, host })
  }
}
