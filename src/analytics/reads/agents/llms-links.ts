import { z } from 'zod'
import { HOUR_MS } from '../../../base/time-units.js'
import { raw, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { wholeNumber } from '../../query/envelope.js'
import { listConditions } from '../../query/filters.js'
import { type LinkedTime, llmsFollows, llmsReads, passingPaths } from '../../query/llms-follows.js'
import { defineRead } from '../../query/read.js'
import type { ReadContext } from '../../query/read-context.js'
import { Count, Instant } from '../shapes.js'

/** Versions, newest first, whose links are known, and links in the answer. */
const MAX_VERSIONS = 50
const MAX_LINKS = 500
const MAX_STEPS = 2_000

const Target = z.object({ title: z.string(), pathname: z.string(), section: z.string() })
const Versions = z.object({
  hostname: z.string().optional(),
  versions: z.array(z.object({ since: Instant, until: Instant.optional(), targets: z.array(Target).optional() })),
})
const following = {
  follows: Count.describe('Reads of llms.txt that a fetch followed, each link for itself.'),
  fetches: Count,
  seconds: z.number().nonnegative().describe('Median from the read to the first fetch of the link.'),
  place: z.number().positive().describe('Median place among the links that followed the same read.'),
}
const Following = z.object(following)

/** GET /api/agents/llms-links: who read llms.txt, and which of its links these agents fetched afterwards. */
export default defineRead({
  path: '/api/agents/llms-links',
  summary: 'Readers of llms.txt, the links that they fetched afterwards, in what order and how soon, and unread links',
  params: {
    hostname: z.string().min(1).max(255).optional().describe('A hostname of the site; default its first.'),
    hours: wholeNumber(168, 1)
      .default(24)
      .describe('A fetch follows a read of llms.txt by the same agent at most so many hours before; default 24.'),
  },
  compare: 'none',
  audience: { only: 'agent' },
  data: z.object({
    hostname: z
      .string()
      .optional()
      .describe('Absent: no llms.txt is recorded; its readers on all hostnames are counted.'),
    reads: Count.describe('Reads of llms.txt, without spoofed ones.'),
    readers: Count.describe('Agents that read it.'),
    full_reads: Count.describe('Reads of llms-full.txt.'),
    followers: Count.optional().describe('Agents that fetched a link afterwards. Absent if no links are known.'),
    listed: Count.optional().describe('Distinct paths of this hostname that llms.txt links in the window.'),
    unfollowed: Count.optional().describe('Those that no fetch followed to.'),
    agents: z.array(
      z.object({
        agent_id: z.string(),
        name: z.string(),
        reads: Count,
        full_reads: Count,
        last_read: Instant.optional().describe('The last read of either file. Absent: before the window.'),
        links: Count.optional().describe('Distinct links that it fetched afterwards. Absent if no links are known.'),
        fetches: Count.optional(),
        seconds: following.seconds.optional(),
        steps: z.array(z.object({ pathname: z.string(), ...following })).describe('In the usual order.'),
      }),
    ),
    links: z
      .array(
        z.object({
          pathname: z.string(),
          title: z.string(),
          section: z.string(),
          current: z.boolean().describe('False: the last version in the window does not link it any more.'),
          agents: Count.describe('Agents that fetched it afterwards; 0: no fetch followed.'),
          follows: following.follows,
          fetches: Count,
          seconds: following.seconds.optional(),
          place: following.place.optional(),
        }),
      )
      .describe(`The first ${MAX_LINKS}, those with most agents first, then in the order of the file.`),
  }),
  run: async (context, { hostname, hours }) => {
    const { plan } = context
    const within = hours * HOUR_MS
    const listed = await findLinks(context, hostname, within)
    const { name, current } = listed
    const isKnown = listed.times.length > 0
    const passes = await pathFilter(context, name ?? '', listed.times)
    const [times, targets] = [listed.times.filter(passes), listed.targets.filter(passes)]
    const reads = await context.rows(sql`${llmsReads(plan, name)} order by agent_id, pathname`)
    const options = { hostname: name ?? '', links: times, within }
    const follow = async (by: readonly ('agent_id' | 'pathname')[], order: string) => {
      if (times.length === 0) return []
      const rows = llmsFollows(plan, options, by)
      return context.rows(sql`select * from (${rows}) f order by ${raw(order)} limit ${MAX_STEPS}`)
    }
    const byAgent = await follow(['agent_id'], 'agent_id')
    const byLink = await follow(['pathname'], 'pathname')
    const steps = await follow(['agent_id', 'pathname'], 'follows desc, agent_id, pathname')
    const agents = listAgents(context, { reads, byAgent, steps, isKnown })
    const links = listLinks(targets, current, byLink)
    const sum = (key: 'reads' | 'full_reads') => agents.reduce((all, agent) => all + agent[key], 0)
    const data = {
      ...(name === undefined ? {} : { hostname: name }),
      reads: sum('reads'),
      readers: agents.filter((agent) => agent.reads > 0).length,
      full_reads: sum('full_reads'),
      ...(isKnown && {
        ...{ followers: byAgent.length, listed: links.length },
        unfollowed: links.filter((link) => link.follows === 0).length,
      }),
      agents,
      links: links.slice(0, MAX_LINKS),
    }
    if (!isKnown)
      context.warn({
        code: 'no_llms_links',
        message: 'No links of llms.txt are known for this time, so it is not known which of them were read afterwards.',
      })
    return { data, rows: agents.length }
  },
})

type Target = z.output<typeof Target>

/** Returns which paths the filters select: a path that they leave out is neither followed nor unfollowed. */
async function pathFilter({ plan, rows }: ReadContext, hostname: string, times: readonly LinkedTime[]) {
  if (times.length === 0 || listConditions([...plan.filters, ...(plan.mandatory ?? [])]).length === 0) return () => true
  const paths = [...new Set(times.map(({ pathname }) => pathname))]
  const passing = await rows(sql`${passingPaths(plan, hostname, paths)} order by pathname`)
  const names = new Set(passing.map(({ pathname }) => pathname))
  return ({ pathname }: { pathname: string }) => names.has(pathname)
}

/** Finds the hostname, the times in which each path was linked, and the links of the window by path, the newest text first. */
async function findLinks(context: ReadContext, hostname: string | undefined, within: number) {
  const { start, end } = context.plan.window
  const { hostname: name, versions } = Versions.parse(
    await context.policyVersions({
      ...(hostname === undefined ? {} : { hostname }),
      ...{ kind: 'llms', before: end.getTime(), limit: MAX_VERSIONS, links: true },
    }),
  )
  const from = start.getTime() - within
  const endOf = ({ until }: { until?: string | undefined }) =>
    Math.min(until ? Date.parse(until) : Infinity, end.getTime())
  const recent = versions.filter((version) => endOf(version) > from)
  const times: LinkedTime[] = []
  const targets = new Map<string, Target>()
  for (const version of recent)
    for (const target of version.targets ?? []) {
      times.push({ pathname: target.pathname, since: new Date(version.since), until: new Date(endOf(version)) })
      const isInWindow = endOf(version) > start.getTime()
      if (isInWindow && !targets.has(target.pathname)) targets.set(target.pathname, target)
    }
  const current = new Set(versions[0]?.targets?.map(({ pathname }) => pathname))
  return { name, times: joinTimes(times), targets: [...targets.values()], current }
}

/** Joins the times of a path in versions of which one follows the other. */
function joinTimes(times: readonly LinkedTime[]): LinkedTime[] {
  const joined = new Map<string, LinkedTime[]>()
  for (const time of times.toSorted((a, b) => a.since.getTime() - b.since.getTime())) {
    const parts = joined.get(time.pathname) ?? []
    const last = parts.at(-1)
    if (last !== undefined && last.until >= time.since) parts[parts.length - 1] = { ...last, until: time.until }
    else parts.push(time)
    joined.set(time.pathname, parts)
  }
  return [...joined.values()].flat()
}

interface AgentRows {
  readonly reads: readonly ResultRow[]
  readonly byAgent: readonly ResultRow[]
  readonly steps: readonly ResultRow[]
  /** Whether any links are known. */
  readonly isKnown: boolean
}

function listAgents(context: ReadContext, { reads, byAgent, steps, isKnown }: AgentRows) {
  const ids = new Set([...reads, ...byAgent].map(({ agent_id }) => String(agent_id)))
  const agents = [...ids].map((agent_id) => {
    const rowsOf = (rows: readonly ResultRow[]) => rows.filter((row) => row.agent_id === agent_id)
    const readsOf = (file: string) => Number(rowsOf(reads).find(({ pathname }) => pathname === file)?.reads ?? 0)
    const last = rowsOf(reads).flatMap(({ last_read }) => (last_read instanceof Date ? [last_read.toISOString()] : []))
    const [sum] = rowsOf(byAgent)
    const order = rowsOf(steps).map((row) => ({ pathname: String(row.pathname), ...Following.parse(row) }))
    return {
      agent_id,
      name: context.agentNames(agent_id).name,
      reads: readsOf('/llms.txt'),
      full_reads: readsOf('/llms-full.txt'),
      ...(last.length > 0 ? { last_read: last.sort().at(-1) } : {}),
      ...(isKnown ? { links: Number(sum?.links ?? 0), fetches: Number(sum?.fetches ?? 0) } : {}),
      ...(sum ? { seconds: Number(sum.seconds) } : {}),
      steps: order.sort((a, b) => a.place - b.place || b.follows - a.follows || (a.pathname < b.pathname ? -1 : 1)),
    }
  })
  return agents.sort((a, b) => b.reads - a.reads || b.full_reads - a.full_reads || (a.agent_id < b.agent_id ? -1 : 1))
}

function listLinks(targets: readonly Target[], current: ReadonlySet<string>, byLink: readonly ResultRow[]) {
  const rows = new Map(byLink.map((row) => [String(row.pathname), row]))
  const links = targets.map((target) => {
    const row = rows.get(target.pathname)
    const counts = row ? Following.parse(row) : { follows: 0, fetches: 0 }
    return { ...target, current: current.has(target.pathname), agents: Number(row?.agents ?? 0), ...counts }
  })
  // The order of the file breaks ties: the sort is stable.
  return links.sort((a, b) => b.agents - a.agents || b.follows - a.follows)
}
