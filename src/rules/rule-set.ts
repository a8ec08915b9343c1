import { z } from 'zod'
import { DecidingRule } from './rule.js'

/** The active robots.txt of one hostname. */
const RobotsInForce = z.object({ hostname: z.string(), status: z.int(), body: z.string() })

/** The place to which a missing page's readers are sent; it applies only where the origin answers 404 or 410. */
export const ActiveRedirect = z.object({
  /** A whole path, without a query. */
  from: z.string(),
  /** A path of the site, or a whole URL. */
  to: z.string(),
  status: z.union([z.literal(301), z.literal(302), z.literal(307), z.literal(308)]),
})
export type ActiveRedirect = z.infer<typeof ActiveRedirect>

/** The rules of one site with what deciding by them needs, as the process that serves the site has it. */
const SiteRules = z.object({
  site: z.int(),
  /** Digest of the rest: a site whose version is the same need not be compiled again. */
  version: z.string(),
  /** As the site lists them; a site with an empty list gets every hostname that no other site lists. */
  domains: z.array(z.string()),
  /** In the order in which they decide; without those that are off. */
  rules: z.array(DecidingRule),
  /** Since when no rule of the site refuses anything. */
  paused_since: z.iso.datetime().optional(),
  /** Paths of sitemaps that robots.txt names, which are never refused. */
  sitemaps: z.array(z.string()),
  /** Present if a rule asks what robots.txt disallows. */
  robots: z.array(RobotsInForce),
  redirects: z.array(ActiveRedirect),
  /** The robots.txt that readership serves in place of the origin's; absent unless it is managed. */
  managed_robots: z.string().optional(),
})
export type SiteRules = z.infer<typeof SiteRules>

/** The active rules of all sites: kept on disk, and sent to every process and sidecar that serves a site. */
export const RuleSet = z.object({
  /** Digest of the rest: two sets with one version are the same. */
  version: z.string(),
  sites: z.array(SiteRules),
})
export type RuleSet = z.infer<typeof RuleSet>

/** A set without rules: nothing is refused. */
export const NO_RULES: RuleSet = { version: 'none', sites: [] }
