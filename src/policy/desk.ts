import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { ApiError } from '../errors.js'
import type { Keeper } from './keeper.js'
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
const OfSite = z.object({ site: z.int() })
const Seen = z.object({ hostname: z.string(), path: z.string(), at: z.number() })

/** What the main thread may ask about policies (`Desk` of the worker). Each throws `ApiError`. */
export function createPolicyDesk({ keeper, siteOf, catalog }: PolicyDeskDeps) {
  const hostnamesOf = (site: number) => keeper.hostnames().filter((hostname) => siteOf(hostname)?.id === site)
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
    /** The robots.txt in force now of each hostname of a site where it is served, as text, with its hash. */
    async policies(argument: unknown) {
      const { site } = OfSite.parse(argument)
      return hostnamesOf(site).flatMap((hostname) => {
        const version = keeper.files(hostname)?.robots.versions.at(-1)
        if (version?.body === undefined || standingOf(version.status) !== 'served') return []
        return [{ hostname, sha256: version.sha256, body: version.body }]
      })
    },
    /** A body of robots.txt or llms.txt that was another than before went to a client. */
    async policy_seen(argument: unknown) {
      const { hostname, path, at } = Seen.parse(argument)
      keeper.seen(hostname, path, at)
    },
  }
}
