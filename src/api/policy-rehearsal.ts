import { z } from 'zod'
import { loadCatalog } from '../agents/catalog.js'
import { parseRobots } from '../agents/policy/parse-robots.js'
import { createPolicy } from '../agents/policy/policy.js'
import { DIFFERENCES, listDifferingLines } from '../agents/policy/rehearsal/differing-lines.js'
import { createPresets, PRESETS } from '../agents/policy/rehearsal/presets.js'
import { createTextRehearsal, type ListedPage, type TextRehearsal } from '../agents/policy/rehearsal/text-rehearsal.js'
import { RANGES } from '../analytics/query/envelope.js'
import { runRead } from '../analytics/query/prepare-read.js'
import { defineRead } from '../analytics/query/read.js'
import type { ReadContext } from '../analytics/query/read-context.js'
import { fetchesByPage, obedience, sitemapPages } from '../analytics/query/robots-fetches.js'
import { Count, Instant } from '../analytics/reads/shapes.js'
import { ApiError } from '../base/errors.js'
import { createFairShare } from '../base/fair-share.js'
import { SiteId } from '../manage/fields.js'
import { queryCancelled, type Store } from '../storage/store.js'
import { requireSite } from './org-access.js'
import { createReadDependencies, Meta, type RouteReadDependencies } from './reads.js'
import { type Call, jsonResponse, parseBody, parseQuery, type Route, routeMaker, SiteQuery } from './route.js'

export type RehearsalDeps = Omit<RouteReadDependencies, 'store'> & {
  readonly store: Pick<Store, 'query' | 'stream' | 'dialect'>
}

/** Longer than the 500 KiB that agents read, so that a longer text is answered with its faults. */
const MAX_TEXT_CHARS = 600_000
/** JSON may write a character in six bytes. */
export const MAX_TEXT_BODY_BYTES = 4 << 20
/** Rehearsals at once; one organisation alone has half. */
const MAX_REHEARSALS = 4
const MAX_HOSTNAMES = 20
/** Groups of fetches by page and agent that are judged, and pages of sitemaps. */
const MAX_GROUPS = 1_000_000
const MAX_LISTED_PAGES = 50_000
/** After so many milliseconds of work other requests are served. */
const MAX_SLICE_MS = 5

const RehearsalBody = z.strictObject({
  site: SiteId,
  hostname: z.string().min(1).max(255).optional().describe("Only this hostname; default all of the site's."),
  text: z.string().max(MAX_TEXT_CHARS, 'A text has at most 600,000 characters.').describe('The robots.txt to try.'),
  range: z.enum(RANGES).optional().describe('As of reads; default `30d`.'),
  start: z.string().max(40).optional().describe('As of reads.'),
  end: z.string().max(40).optional().describe('As of reads.'),
})
const TallyShape = z.object({
  fetches: Count,
  pages: Count.describe('Pages with such fetches.'),
  bytes: Count,
})
const Hidden = { llms: Count.describe('Links of llms.txt.'), sitemap: Count.describe('Pages of sitemaps.') }
export const RehearsalResult = z.object({
  hostnames: z.array(z.string()).describe('Those whose fetches were judged: a robots.txt of theirs is known.'),
  fetches: Count.describe('Fetches that were judged; spoofed ones are left out.'),
  bytes: Count,
  disallowed: Count.describe('Fetches that the text would have disallowed, by the robots.txt of today or not.'),
  newly_disallowed: TallyShape.describe('By the text, and not by the robots.txt of today.'),
  newly_allowed: TallyShape.describe('The other way round.'),
  agents: z.array(
    z.object({
      agent_id: z.string(),
      name: z.string(),
      operator: z.string().optional(),
      purpose: z.string().optional(),
      fetches: Count,
      newly_disallowed: TallyShape,
      newly_allowed: TallyShape,
      after: z
        .object({
          ignored: Count.describe('Fetches that robots.txt disallowed at their time, without those of the day after.'),
          breaches: Count.describe('Those of a verified agent that says it obeys robots.txt.'),
          reads: Count.describe('Fetches of robots.txt.'),
          read_at: Instant.optional().describe('When it first read the robots.txt of today.'),
        })
        .describe('How it behaved after the rules of the window.'),
    }),
  ),
  lines: z.array(z.object({ line: z.int(), fetches: Count })).describe('Fetches that each line would have decided.'),
  search_engines: z
    .array(z.object({ agent_id: z.string(), name: z.string(), fetches: Count, pages: Count }))
    .describe('Search engines with fetches or a front page that the text newly disallows.'),
  hidden: z
    .object({
      ...Hidden,
      pages: z.array(z.object({ hostname: z.string(), pathname: z.string(), llms: z.boolean(), sitemap: z.boolean() })),
      named: z.array(z.object({ agents: z.array(z.string()), total: Count, ...Hidden })),
    })
    .describe('Listed pages that the text hides from agents that it does not name, and from those that it names.'),
  differing: z
    .array(
      z.object({
        line: z.int().optional(),
        text: z.string().optional(),
        kind: z.enum(DIFFERENCES),
        detail: z.string().optional(),
      }),
    )
    .describe('Lines that parsers read differently or not at all.'),
  problems: z.array(z.object({ line: z.int().optional(), problem: z.string() })),
  is_whole: z.boolean().describe(`False: only the first ${MAX_GROUPS} pairs of page and agent were judged.`),
  since: Instant.optional().describe('Since when the robots.txt of today applies.'),
  limits: z
    .array(
      z.object({
        kind: z.enum(['query', 'spoofed', 'no_policy']),
        fetches: Count,
      }),
    )
    .describe(
      'Fetches that rows say too little of. `query`: rows have no query, which a pattern of the text could match; `spoofed` and `no_policy` (no robots.txt of the hostname is known): not judged.',
    ),
})
type RehearsalResult = z.output<typeof RehearsalResult>

const Versions = z.object({
  hostname: z.string().optional(),
  versions: z.array(
    z.object({ since: z.string(), standing: z.string(), status: z.int(), text: z.string().optional() }),
  ),
})

/** Creates the rehearsal of texts over the stored fetches. */
export function createTextRehearser(deps: RehearsalDeps) {
  const places = createFairShare(MAX_REHEARSALS)
  return async ({ site, hostname, text, ...window }: z.output<typeof RehearsalBody>, call: Call) => {
    const read = defineRead({
      path: '/api/policy/rehearsal',
      summary: '',
      params: {},
      audience: { only: 'agent' },
      compare: 'none',
      data: RehearsalResult,
      run: async (context) => {
        const leave = places.enter(context.site.org ?? 0)
        if (!leave) throw new ApiError('rate_limited', 'Too many rehearsals are running; wait for the end of one.')
        try {
          const data = await rehearse(context, { hostname: hostname?.toLowerCase(), text }, deps.store, call)
          return { data, rows: data.agents.length }
        } finally {
          leave()
        }
      },
    })
    const query = new URLSearchParams({ site: String(site) })
    for (const [name, value] of Object.entries(window)) if (value !== undefined) query.set(name, value)
    const { data, meta } = await runRead(read, query, createReadDependencies(deps, call))
    return { data: RehearsalResult.parse(data), meta }
  }
}

async function rehearse(
  context: ReadContext,
  { hostname, text }: { hostname: string | undefined; text: string },
  store: Pick<Store, 'stream'>,
  { request: { signal } }: Pick<Call, 'request'>,
): Promise<RehearsalResult> {
  const catalog = loadCatalog()
  const present = await presentRobots(context, hostname)
  const [first] = present
  const rehearsal = createTextRehearsal({ text, present }, catalog)
  const slice = createSlices(signal)
  let groups = 0
  for await (const rows of store.stream(fetchesByPage(context.plan, hostname), signal)) {
    for (const row of rows) {
      rehearsal.add({
        hostname: String(row.hostname),
        pathname: String(row.pathname),
        agent_id: String(row.agent_id),
        fetches: Number(row.fetches),
        bytes: Number(row.bytes),
      })
      await slice()
    }
    groups += rows.length
    if (groups >= MAX_GROUPS) break
  }
  await addListedPages(context, present, rehearsal, slice)
  const { without_query, without_policy, agents, ...result } = rehearsal.result()
  const { after, spoofed } = await obedienceOf(context, hostname, first?.since)
  const named = agents.map((agent) => ({
    ...agent,
    ...context.agentNames(agent.agent_id),
    after: after.get(agent.agent_id) ?? { ignored: 0, breaches: 0, reads: 0 },
  }))
  return {
    hostnames: present.map((one) => one.hostname).filter((one) => one !== ''),
    ...result,
    agents: named,
    search_engines: listSearchEngines(named, rehearsal),
    hidden: rehearsal.hidden.result(),
    differing: listDifferingLines(text, catalog),
    problems: [...parseRobots(text).problems],
    is_whole: groups < MAX_GROUPS,
    ...(first?.since === undefined ? {} : { since: first.since }),
    limits: [
      { kind: 'query' as const, fetches: without_query },
      { kind: 'spoofed' as const, fetches: spoofed },
      { kind: 'no_policy' as const, fetches: without_policy },
    ].filter(({ fetches }) => fetches > 0),
  }
}

/** Returns a function that lets other work run when a slice of time is used up, and throws when the client has gone. */
function createSlices(signal: AbortSignal): () => Promise<void> | undefined {
  let from = performance.now()
  let steps = 0
  return () => {
    if (++steps % 64 !== 0 || performance.now() - from < MAX_SLICE_MS) return undefined
    if (signal.aborted) throw queryCancelled()
    return new Promise((resolve) =>
      setImmediate(() => {
        from = performance.now()
        resolve()
      }),
    )
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

/** Adds the links of llms.txt and the pages of sitemaps, each once. */
async function addListedPages(
  context: ReadContext,
  present: Awaited<ReturnType<typeof presentRobots>>,
  { hidden }: TextRehearsal,
  slice: () => Promise<void> | undefined,
): Promise<void> {
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
  for (const page of pages.values()) {
    hidden.add(page)
    await slice()
  }
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
  return { after: new Map(after), spoofed: rows.reduce((sum, { spoofed }) => sum + Number(spoofed), 0) }
}

function listSearchEngines(
  agents: readonly RehearsalResult['agents'][number][],
  rehearsal: TextRehearsal,
): RehearsalResult['search_engines'] {
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
  deps: RehearsalDeps,
  rehearseText: ReturnType<typeof createTextRehearser>,
): Route[] {
  const route = routeMaker('policy')
  return [
    route('post', '/api/policy/rehearsal', 'stats:read', {
      summary: 'Try a robots.txt on the fetches of a window: which it would have disallowed, by agent and by line',
      body: RehearsalBody,
      maxBodyBytes: MAX_TEXT_BODY_BYTES,
      data: RehearsalResult,
      meta: Meta,
      run: async (call) => {
        const { data, meta } = await rehearseText(await parseBody(call, RehearsalBody), call)
        return jsonResponse(data, meta)
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
