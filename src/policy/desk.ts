import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { ApiError } from '../errors.js'
import type { Keeper } from './keeper.js'
import type { Policy } from './policy.js'
import { agentNamed, nameable, reportOf } from './report.js'
import { standingOf } from './timeline.js'

export interface PolicyDeskDeps {
  keeper: Keeper
  /** Whose a hostname is. */
  siteOf: (hostname: string) => { id: number } | undefined
  catalog: Catalog
}

const PolicyQuestion = z.object({
  site: z.int(),
  hostname: z.string().optional(),
  agent_id: z.string().optional(),
  path: z.string().startsWith('/').max(8_192).default('/'),
})
const Barred = z.object({ site: z.int(), operator: z.string().optional() })
const Url = z.object({ hostname: z.string(), pathname: z.string() })
/** URLs that are judged before other work of the worker is let in. */
const BREATH = 50
const Seen = z.object({ hostname: z.string(), path: z.string(), at: z.number() })

/** What the site's process may ask about policies (`Desk` of the worker). Each throws `ApiError`. */
export function createPolicyDesk({ keeper, siteOf, catalog }: PolicyDeskDeps) {
  const hostnamesOf = (site: number) => keeper.hostnames().filter((hostname) => siteOf(hostname)?.id === site)
  /** What is served now; an origin that cannot be reached blocks nobody. */
  const policyNow = (hostname: string): Policy | undefined => {
    const version = keeper.files(hostname)?.robots.versions.at(-1)
    return version && standingOf(version.status) === 'served' ? keeper.policyOf(version) : undefined
  }
  return {
    /** The policy of one hostname of a site, its first or the one seen most where none is named (contract 5). */
    async policy(argument: unknown) {
      const { site, hostname: named, agent_id, path } = PolicyQuestion.parse(argument)
      const hostnames = hostnamesOf(site)
      const hostname = named?.toLowerCase() ?? hostnames[0]
      if (named !== undefined && !hostnames.includes(named.toLowerCase()))
        throw new ApiError('not_found', 'No policy is kept of that hostname: it is not seen, or not this site’s.')
      const files = hostname === undefined ? undefined : keeper.files(hostname)
      const agents = agent_id === undefined ? nameable(catalog) : [agentNamed(catalog, agent_id)]
      if (hostname === undefined || files === undefined) return { hostnames, agents: [], versions: [], path }
      const report = await reportOf({
        hostname,
        agents,
        path,
        robots: files.robots.versions,
        llms: files.llms.versions,
        policyOf: keeper.policyOf,
      })
      return { hostnames, ...report }
    },
    /** Where on the site every search and assistant agent, of one operator or of all, may be kept out (`Blocked.within`). */
    async blocked_within(argument: unknown) {
      const { site, operator } = Barred.parse(argument)
      const agents = readersOf(catalog, operator)
      return hostnamesOf(site).flatMap((hostname) => {
        const patterns = policyNow(hostname)?.disallowPatterns(agents) ?? []
        return patterns.length === 0 ? [] : [{ hostname, patterns }]
      })
    },
    /** Whether every one of them is kept from each of these URLs, in their order. */
    async blocked(argument: unknown) {
      const { site, operator, urls } = Barred.extend({ urls: z.array(Url).max(1_000) }).parse(argument)
      const agents = readersOf(catalog, operator)
      const ours = new Set(hostnamesOf(site))
      const said: boolean[] = []
      for (const [n, { hostname, pathname }] of urls.entries()) {
        if (n % BREATH === BREATH - 1) await new Promise<void>((resolve) => setImmediate(resolve))
        said.push(ours.has(hostname) && policyNow(hostname)?.blocksAll(agents, pathname) === true)
      }
      return said
    },
    /** A body of robots.txt or llms.txt that was another than before went to a client. */
    async policy_seen(argument: unknown) {
      const { hostname, path, at } = Seen.parse(argument)
      keeper.seen(hostname, path, at)
    },
  }
}

/** The agents that fetch for answers. */
const readersOf = ({ agents }: Catalog, operator: string | undefined) =>
  agents.filter(
    ({ purpose, robots_only, operator: theirs }) =>
      (purpose === 'search' || purpose === 'assistant') &&
      !robots_only &&
      (operator === undefined || operator === theirs),
  )
