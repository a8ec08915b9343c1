import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { ApiError } from '../errors.js'
import type { Policy } from './policy.js'
import type { PolicyMonitor } from './policy-monitor.js'
import { agentsForRobots, createPolicyReport, findAgent } from './report.js'
import { standingOf } from './version.js'

interface PolicyApiDeps {
  monitor: PolicyMonitor
  /** Whose a hostname is. */
  siteOf: (hostname: string) => { id: number } | undefined
  catalog: Catalog
}

const PolicyArguments = z.object({
  site: z.int(),
  hostname: z.string().optional(),
  agent_id: z.string().optional(),
  path: z.string().startsWith('/').max(8_192).default('/'),
})
const BlockedArguments = z.object({ site: z.int(), operator: z.string().optional() })
const UrlArgument = z.object({ hostname: z.string(), pathname: z.string() })
/** URLs that are judged before other work of the worker is let in. */
const URLS_PER_TURN = 50
const ServedFileArguments = z.object({ hostname: z.string(), path: z.string(), at: z.number() })

/** What the site's process may ask about policies (`Desk` of the worker). Each throws `ApiError`. */
export function createPolicyApi({ monitor: keeper, siteOf, catalog }: PolicyApiDeps) {
  const hostnamesOf = (site: number) => keeper.hostnames().filter((hostname) => siteOf(hostname)?.id === site)
  /** What is served now; an origin that cannot be reached blocks nobody. */
  const policyNow = (hostname: string): Policy | undefined => {
    const version = keeper.files(hostname)?.robots.versions.at(-1)
    return version && standingOf(version.status) === 'served' ? keeper.policyOf(version) : undefined
  }
  return {
    /** The policy of one hostname of a site, its first or the one seen most where none is named (contract 5). */
    async policy(argument: unknown) {
      const { site, hostname: named, agent_id, path } = PolicyArguments.parse(argument)
      const hostnames = hostnamesOf(site)
      const hostname = named?.toLowerCase() ?? hostnames[0]
      if (named !== undefined && !hostnames.includes(named.toLowerCase()))
        throw new ApiError('not_found', 'No policy is kept of that hostname: it is not seen, or not this site’s.')
      const files = hostname === undefined ? undefined : keeper.files(hostname)
      const agents = agent_id === undefined ? agentsForRobots(catalog) : [findAgent(catalog, agent_id)]
      if (hostname === undefined || files === undefined) return { hostnames, agents: [], versions: [], path }
      const report = await createPolicyReport({
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
      const { site, operator } = BlockedArguments.parse(argument)
      const agents = answeringAgents(catalog, operator)
      return hostnamesOf(site).flatMap((hostname) => {
        const patterns = policyNow(hostname)?.disallowPatterns(agents) ?? []
        return patterns.length === 0 ? [] : [{ hostname, patterns }]
      })
    },
    /** Whether every one of them is kept from each of these URLs, in their order. */
    async blocked(argument: unknown) {
      const { site, operator, urls } = BlockedArguments.extend({ urls: z.array(UrlArgument).max(1_000) }).parse(
        argument,
      )
      const agents = answeringAgents(catalog, operator)
      const ours = new Set(hostnamesOf(site))
      const said: boolean[] = []
      for (const [n, { hostname, pathname }] of urls.entries()) {
        if (n % URLS_PER_TURN === URLS_PER_TURN - 1) await new Promise<void>((resolve) => setImmediate(resolve))
        said.push(ours.has(hostname) && policyNow(hostname)?.blocksAll(agents, pathname) === true)
      }
      return said
    },
    /** A body of robots.txt or llms.txt that was another than before went to a client. */
    async policy_seen(argument: unknown) {
      const { hostname, path, at } = ServedFileArguments.parse(argument)
      keeper.reportServedFile(hostname, path, at)
    },
  }
}

/** The agents that fetch for answers. */
const answeringAgents = ({ agents }: Catalog, operator: string | undefined) =>
  agents.filter(
    ({ purpose, robots_only, operator: theirs }) =>
      (purpose === 'search' || purpose === 'assistant') &&
      !robots_only &&
      (operator === undefined || operator === theirs),
  )
