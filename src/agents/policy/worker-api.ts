import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { Catalog } from '../catalog.js'
import type { Policy } from './policy.js'
import type { PolicyMonitor } from './policy-monitor.js'
import { agentsForRobots, createPolicyReport, findAgent } from './report.js'
import { POLICY_KINDS, standingOf } from './version.js'
import { createVersionsReport } from './versions-report.js'

interface PolicyApiDeps {
  monitor: PolicyMonitor
  /** Returns the site that a hostname belongs to. */
  siteOf: (hostname: string) => { id: number } | undefined
  catalog: Catalog
}

const PolicyArguments = z.object({
  site: z.int(),
  hostname: z.string().optional(),
  agent_id: z.string().optional(),
  path: z.string().startsWith('/').max(8_192).default('/'),
  /** Ids of agents of which the caller wants to know, whether robots.txt can name them or not. */
  seen: z.array(z.string()).default([]),
})
const VersionsArguments = z.object({
  site: z.int(),
  hostname: z.string().optional(),
  kind: z.enum(POLICY_KINDS).optional(),
  before: z.number(),
  offset: z.int().default(0),
  limit: z.int().default(Number.MAX_SAFE_INTEGER),
  /** Adds the links of llms.txt that lead to this hostname. */
  links: z.boolean().default(false),
})
const BlockedArguments = z.object({ site: z.int(), operator: z.string().optional() })
const UrlArgument = z.object({ hostname: z.string(), pathname: z.string() })
const ServedFileArguments = z.object({ hostname: z.string(), path: z.string(), at: z.number() })
/** After so many URLs other work of the worker may run. */
const URLS_PER_TURN = 50

/** The part of the worker API that answers questions about policies. Its functions throw `ApiError`. */
export function createPolicyApi({ monitor, siteOf, catalog }: PolicyApiDeps) {
  const hostnamesOf = (site: number) => monitor.hostnames().filter((hostname) => siteOf(hostname)?.id === site)
  const findFiles = (site: number, named: string | undefined) => filesOf(monitor, () => hostnamesOf(site), named)
  /** Returns the current policy. Undefined if robots.txt is not served; an unreachable origin blocks no agent here. */
  const currentPolicy = (hostname: string): Policy | undefined => {
    const version = monitor.files(hostname)?.robots.versions.at(-1)
    return version && standingOf(version.status) === 'served' ? monitor.policyOf(version) : undefined
  }
  return {
    /** Returns the policy of a site's hostname: what it allows each agent that robots.txt can name, and each of `seen`. */
    async policy(argument: unknown) {
      const { site, hostname: named, agent_id, path, seen } = PolicyArguments.parse(argument)
      const { hostnames, hostname, files } = await findFiles(site, named)
      const nameable = agentsForRobots(catalog)
      const others = seen.flatMap((id) => catalog.get(id) ?? []).filter((agent) => !nameable.includes(agent))
      const agents = agent_id === undefined ? [...nameable, ...others] : [findAgent(catalog, agent_id)]
      if (hostname === undefined || files === undefined) return { hostnames, agents: [], versions: [], path }
      const report = await createPolicyReport({
        hostname,
        agents,
        path,
        robots: files.robots.versions,
        llms: files.llms.versions,
        policyOf: monitor.policyOf,
      })
      return { hostnames, ...report }
    },
    /** Returns the versions of a hostname's files, newest first; those of one page with text and counts. */
    async policy_versions(argument: unknown) {
      const { site, hostname: named, kind, ...page } = VersionsArguments.parse(argument)
      const { hostname, files } = await findFiles(site, named)
      if (hostname === undefined || files === undefined) return { versions: [] }
      const of = (one: (typeof POLICY_KINDS)[number]) => (kind === undefined || kind === one ? files[one].versions : [])
      const { policyOf } = monitor
      return {
        hostname,
        versions: await createVersionsReport({ robots: of('robots'), llms: of('llms'), policyOf, ...page }),
      }
    },
    /** Returns patterns of which every path matches one that is blocked for all search and assistant agents of an operator. */
    async blocked_within(argument: unknown) {
      const { site, operator } = BlockedArguments.parse(argument)
      const agents = answeringAgents(catalog, operator)
      return hostnamesOf(site).flatMap((hostname) => {
        const patterns = currentPolicy(hostname)?.disallowPatterns(agents) ?? []
        return patterns.length === 0 ? [] : [{ hostname, patterns }]
      })
    },
    /** Tells for each URL whether it is blocked for all of these agents. */
    async blocked(argument: unknown) {
      const { site, operator, urls } = BlockedArguments.extend({ urls: z.array(UrlArgument).max(1_000) }).parse(
        argument,
      )
      const agents = answeringAgents(catalog, operator)
      const siteHostnames = new Set(hostnamesOf(site))
      const blocked: boolean[] = []
      for (const [n, { hostname, pathname }] of urls.entries()) {
        if (n % URLS_PER_TURN === URLS_PER_TURN - 1) await new Promise<void>((resolve) => setImmediate(resolve))
        blocked.push(siteHostnames.has(hostname) && currentPolicy(hostname)?.blocksAll(agents, pathname) === true)
      }
      return blocked
    },
    /** Reports that the proxy served a changed body of robots.txt or llms.txt. */
    async policy_seen(argument: unknown) {
      const { hostname, path, at } = ServedFileArguments.parse(argument)
      monitor.reportServedFile(hostname, path, at)
    },
  }
}

/**
 * Returns the files of a site's hostname; without a name, of the first listed one or the one with most requests. Throws
 * `not_found` for a hostname without a policy.
 */
async function filesOf(monitor: PolicyMonitor, hostnamesOf: () => string[], named: string | undefined) {
  const first = named?.toLowerCase() ?? hostnamesOf()[0]
  // Right after start the first fetch may still be running.
  if (first === undefined || monitor.files(first)?.robots.versions.length === 0) await monitor.fetchNow()
  const hostnames = hostnamesOf()
  const hostname = named?.toLowerCase() ?? hostnames[0]
  if (named !== undefined && !hostnames.includes(named.toLowerCase()))
    throw new ApiError(
      'not_found',
      'No policy is known for this hostname: no request named it, or it is not this site’s.',
    )
  return { hostnames, hostname, files: hostname === undefined ? undefined : monitor.files(hostname) }
}

/** Returns the search and assistant agents of an operator, or of all operators. */
const answeringAgents = ({ agents }: Catalog, wanted: string | undefined) =>
  agents.filter(
    ({ purpose, robots_only, operator }) =>
      (purpose === 'search' || purpose === 'assistant') &&
      !robots_only &&
      (wanted === undefined || wanted === operator),
  )
