import { createHash } from 'node:crypto'
import type { Catalog } from '../agents/catalog.js'
import { parseRobots } from '../agents/policy/parse-robots.js'
import { standingOf } from '../agents/policy/version.js'
import { createSiteLookup, type SiteSettings } from '../capture/site.js'
import { leaveOutSearchEngines } from './check.js'
import { DecidingRule } from './rule.js'
import { type ActiveRedirect, NO_RULES, type RuleSet, type SiteRules } from './rule-set.js'

/** A robots.txt as it was fetched last. `status` is 0 if there was no response. */
export interface FetchedRobots {
  readonly hostname: string
  readonly status: number
  readonly body: string
}

/** The sources of the active rules; each list has the entries of all sites. */
export interface RuleSources {
  readonly catalog: Pick<Catalog, 'agents'>
  readonly sites: readonly Pick<SiteSettings, 'id' | 'domains'>[]
  /** In the order in which they decide. */
  readonly rules: readonly (DecidingRule & { readonly site: number })[]
  /** Since when the rules of a site are paused. */
  readonly pauses: ReadonlyMap<number, Date>
  readonly redirects: readonly (ActiveRedirect & { readonly site: number })[]
  /** The robots.txt that readership serves for a site, by its id. */
  readonly managed: ReadonlyMap<number, string>
  readonly robots: readonly FetchedRobots[]
}

const MAX_SITEMAPS = 1_000

/** Builds the active rules. Without a rule that is not off, a redirect or a managed robots.txt there is nothing in them. */
export function buildRuleSet(sources: RuleSources): RuleSet {
  const { sites } = sources
  const siteOf = createSiteLookup(sites)
  const all = sites.map((site) => buildSite(site, sources, (hostname) => siteOf(hostname)?.id === site.id))
  // A site without rules takes its hostnames from one that gets all others.
  const isNeeded = all.some((site) => !isEmpty(site) && site.domains.length === 0)
  return nameRuleSet(isNeeded ? all : all.filter((site) => !isEmpty(site)))
}

type UnnamedSite = Omit<SiteRules, 'version'>

/** Returns the set of the sites: the version of each one, and that of the set, is a digest. */
export function nameRuleSet(unnamed: readonly UnnamedSite[]): RuleSet {
  const sites = unnamed.map((site) => ({ ...site, version: digest({ ...site, version: undefined }) }))
  return sites.length === 0 ? NO_RULES : { version: digest(sites.map(({ version }) => version)), sites }
}

const digest = (content: object): string =>
  createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16)

const isEmpty = ({ rules, redirects, managed_robots }: UnnamedSite): boolean =>
  rules.length === 0 && redirects.length === 0 && managed_robots === undefined

function buildSite(
  { id, domains }: RuleSources['sites'][number],
  sources: RuleSources,
  isOwn: (hostname: string) => boolean,
): UnnamedSite {
  const rules = sources.rules
    .filter(({ site, state }) => site === id && state !== 'off')
    .map((rule) => leaveOutSearchEngines(DecidingRule.parse(rule), sources.catalog))
  const managed = sources.managed.get(id)
  const files =
    rules.length === 0
      ? []
      : robotsInForce(
          sources.robots.filter(({ hostname }) => isOwn(hostname)),
          managed,
        )
  const paused = sources.pauses.get(id)
  return {
    site: id,
    domains: [...domains],
    rules,
    ...(paused && { paused_since: paused.toISOString() }),
    sitemaps: listSitemaps(files, isOwn),
    robots: rules.some(({ disallowed }) => disallowed) ? files : [],
    redirects: sources.redirects
      .filter(({ site }) => site === id)
      .map(({ from, to, status }) => ({ from, to, status })),
    ...(managed !== undefined && { managed_robots: managed }),
  }
}

/** Returns what fetches are judged by: not a file that could not be reached, and the managed one in place of the origin's. */
const robotsInForce = (fetched: readonly FetchedRobots[], managed: string | undefined): FetchedRobots[] =>
  managed === undefined
    ? fetched.filter(({ status }) => standingOf(status) !== 'unreachable')
    : fetched.map(({ hostname }) => ({ hostname, status: 200, body: managed }))

function listSitemaps(files: readonly FetchedRobots[], isOwn: (hostname: string) => boolean): string[] {
  const urls = files
    .filter(({ status }) => standingOf(status) === 'served')
    .flatMap(({ body }) => parseRobots(body).sitemaps)
    .flatMap((text) => (URL.canParse(text) ? [new URL(text)] : []))
  return [...new Set(urls.filter(({ hostname }) => isOwn(hostname)).map(({ pathname }) => pathname))].slice(
    0,
    MAX_SITEMAPS,
  )
}
