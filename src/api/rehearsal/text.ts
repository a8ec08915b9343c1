import { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { parseRobots } from '../../agents/policy/parse-robots.js'
import { createPolicy } from '../../agents/policy/policy.js'
import { listDifferingLines } from '../../agents/policy/rehearsal/differing-lines.js'
import { createPresets, PRESETS } from '../../agents/policy/rehearsal/presets.js'
import {
  createTextRehearsal,
  type ListedPage,
  type TextRehearsal,
} from '../../agents/policy/rehearsal/text-rehearsal.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { fetchesByPage, obedience, sitemapPages } from '../../analytics/query/robots-fetches.js'
import { requireSite } from '../org-access.js'
import { Meta } from '../reads.js'
import { type Call, parseBody, parseQuery, type Route, routeMaker, SiteQuery } from '../route.js'
import { forEach, logOf, type RehearsalDeps, type Report, type RunRehearsal, respond, type StreamRows } from './run.js'
import { MAX_TEXT_BODY_BYTES, RehearsedText, TextBody } from './text-shape.js'

const MAX_HOSTNAMES = 20
const MAX_LISTED_PAGES = 50_000

const Versions = z.object({
  hostname: z.string().optional(),
  versions: z.array(
    z.object({ since: z.string(), standing: z.string(), status: z.int(), text: z.string().optional() }),
  ),
})

export type RehearseText = ReturnType<typeof createTextRehearser>

/** Returns a function that tries a text on the recorded fetches. */
export function createTextRehearser(run: RunRehearsal) {
  return ({ hostname, text, ...window }: z.output<typeof TextBody>, call: Call, report: Report = () => {}) =>
    run(window, call, (context, stream) =>
      rehearse(context, { hostname: hostname?.toLowerCase(), text, report }, stream),
    )
}

async function rehearse(
  context: ReadContext,
  { hostname, text, report }: { hostname: string | undefined; text: string; report: Report },
  stream: StreamRows,
): Promise<RehearsedText> {
  const catalog = loadCatalog()
  const present = await presentRobots(context, hostname)
  const [first] = present
  const rehearsal = createTextRehearsal({ text, present }, catalog)
  const { after, spoofed, fetches: total } = await obedienceOf(context, hostname, first?.since)
  let done = 0
  await forEach(stream(fetchesByPage(context.plan, hostname)), (row) => {
    done += Number(row.fetches)
    report(done, total)
    rehearsal.add({
      hostname: String(row.hostname),
      pathname: String(row.pathname),
      agent_id: String(row.agent_id),
      fetches: Number(row.fetches),
      bytes: Number(row.bytes),
    })
  })
  await forEach([(await listedPages(context, present)).values()], rehearsal.hidden.add)
  const { without_query, without_policy, agents, ...result } = rehearsal.result()
  const named = agents.map((agent) => ({
    ...agent,
    ...context.agentNames(agent.agent_id),
    after: after.get(agent.agent_id) ?? { ignored: 0, breaches: 0, reads: 0 },
  }))
  const limits = [
    { kind: 'query' as const, fetches: without_query },
    { kind: 'spoofed' as const, fetches: spoofed },
    { kind: 'no_policy' as const, fetches: without_policy },
  ]
  return {
    hostnames: present.map((one) => one.hostname).filter((one) => one !== ''),
    ...result,
    agents: named,
    search_engines: listSearchEngines(named, rehearsal),
    hidden: rehearsal.hidden.result(),
    differing: listDifferingLines(text, catalog),
    problems: [...parseRobots(text).problems],
    ...(first?.since === undefined ? {} : { since: first.since }),
    limits: limits.filter(({ fetches }) => fetches > 0),
  }
}

/** Returns the robots.txt and llms.txt of each hostname of the site as they are known today. */
async function presentRobots(context: ReadContext, hostname: string | undefined) {
  const asked = hostname === undefined ? {} : { hostname }
  const { hostnames } = z
    .object({ hostnames: z.array(z.string()) })
    .parse(await context.policy({ ...asked, agent_id: 'other' }))
  const before = context.now.getTime() + 1
  const present = []
  for (const one of hostname === undefined ? hostnames.slice(0, MAX_HOSTNAMES) : [hostname]) {
    const versionsOf = async (kind: 'robots' | 'llms') =>
      Versions.parse(await context.policyVersions({ hostname: one, kind, before, limit: 5 })).versions
    const robots = (await versionsOf('robots')).find(({ standing }) => standing !== 'unreachable')
    const [llms] = await versionsOf('llms')
    if (robots === undefined) continue
    const { since, status, text = '' } = robots
    present.push({ hostname: one, since, status, text, llms: { status: llms?.status ?? 404, body: llms?.text ?? '' } })
  }
  // Nothing is known: then every agent may fetch everything today.
  const none = { hostname: '', since: undefined, status: 404, text: '', llms: { status: 404, body: '' } }
  return present.length > 0 ? present : [none]
}

/** Returns the links of llms.txt and the pages of sitemaps, each once. */
async function listedPages(context: ReadContext, present: Awaited<ReturnType<typeof presentRobots>>) {
  const pages = new Map<string, ListedPage>()
  for (const { hostname, llms: file } of present) {
    const { llms } = createPolicy({ hostname, robots: { status: 404, body: '' }, llms: file })
    for (const { url, offsite } of llms?.sections.flatMap(({ links }) => links) ?? []) {
      const { pathname, search } = new URL(url)
      if (!offsite) pages.set(hostname + pathname + search, { hostname, pathname, search, llms: true, sitemap: false })
    }
  }
  const hostnames = present.map(({ hostname }) => hostname)
  for (const row of await context.rows(sitemapPages(hostnames, MAX_LISTED_PAGES))) {
    const [hostname, pathname] = [String(row.hostname), String(row.pathname)]
    const page = pages.get(hostname + pathname)
    if (page) page.sitemap = true
    else pages.set(hostname + pathname, { hostname, pathname, search: '', llms: false, sitemap: true })
  }
  return pages
}

/** Returns how each agent behaved in the window. Only an agent whose operator says that it obeys can break a rule. */
async function obedienceOf(context: ReadContext, hostname: string | undefined, since: string | undefined) {
  const obeying = new Set(context.catalog.filter((one) => one.respects_robots === 'yes').map((one) => one.agent_id))
  const start = since === undefined ? context.plan.window.start : new Date(since)
  const rows = await context.rows(obedience(context.plan, hostname, start))
  const after = rows.map(({ agent_id, ignored, breaches, reads, read_at }) => {
    const id = String(agent_id)
    return [
      id,
      {
        ignored: Number(ignored),
        breaches: obeying.has(id) ? Number(breaches) : 0,
        reads: Number(reads),
        ...(read_at instanceof Date && { read_at: read_at.toISOString() }),
      },
    ] as const
  })
  const sumOf = (column: 'spoofed' | 'fetches') => rows.reduce((sum, row) => sum + Number(row[column]), 0)
  return { after: new Map(after), spoofed: sumOf('spoofed'), fetches: sumOf('fetches') }
}

function listSearchEngines(agents: RehearsedText['agents'], rehearsal: TextRehearsal): RehearsedText['search_engines'] {
  const withFetches = agents
    .filter(({ purpose, newly_disallowed }) => purpose === 'search' && newly_disallowed.fetches > 0)
    .map(({ agent_id, name, newly_disallowed: { fetches, pages } }) => ({ agent_id, name, fetches, pages }))
  const withoutFetches = rehearsal
    .frontPageLost()
    .filter(({ id }) => withFetches.every(({ agent_id }) => agent_id !== id))
    .map(({ id, name }) => ({ agent_id: id, name, fetches: 0, pages: 0 }))
  return [...withFetches, ...withoutFetches]
}

const PresetsQuery = SiteQuery.extend({
  hostname: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('A hostname of the site; default its first.')
    .meta({ example: 'slackwater.example' }),
})

/** `/api/policy/rehearsal` and `/api/policy/presets`. */
export function policyRehearsalRoutes(
  deps: Pick<RehearsalDeps, 'sites' | 'now' | 'policyVersions'> & { log(error: unknown): void },
  rehearseText: RehearseText,
): Route[] {
  const route = routeMaker('policy')
  return [
    route('post', '/api/policy/rehearsal', 'stats:read', {
      summary: 'Try a robots.txt on the fetches of a window: which it would have disallowed, by agent and by line',
      body: TextBody,
      maxBodyBytes: MAX_TEXT_BODY_BYTES,
      data: RehearsedText,
      meta: Meta,
      run: async (call) => {
        const body = await parseBody(call, TextBody)
        return respond(body.progress, (report) => rehearseText(body, call, report), logOf(deps.log, call))
      },
    }),
    route('get', '/api/policy/presets', 'manage:read', {
      summary: 'Texts of robots.txt that are made from the catalogue of agents',
      query: PresetsQuery,
      data: z.array(z.object({ name: z.enum(PRESETS), text: z.string() })),
      run: async (call) => {
        const { site, hostname } = parseQuery(call, PresetsQuery)
        const { id } = await requireSite(call, deps.sites, site, 'site')
        const asked = { kind: 'robots' as const, before: deps.now().getTime() + 1, limit: 1 }
        const versions = await deps.policyVersions?.(id, { ...asked, ...(hostname === undefined ? {} : { hostname }) })
        return createPresets(loadCatalog(), Versions.parse(versions ?? { versions: [] }).versions[0]?.text ?? '')
      },
    }),
  ]
}
