import type { Agent, Catalog } from '../../catalog.js'
import { createGroupSelector, modeOf } from '../group-selection.js'
import { parseRobots } from '../parse-robots.js'
import { createPolicy, type Policy } from '../policy.js'

/** The fetches of one agent of one page, as rows are grouped. */
export interface FetchGroup {
  hostname: string
  pathname: string
  agent_id: string
  fetches: number
  bytes: number
}

/** The robots.txt of a hostname today. */
export interface PresentRobots {
  hostname: string
  status: number
  text: string
}

/** Numbers of fetches, of pages with them, and of their bytes. */
interface Tally {
  fetches: number
  pages: number
  bytes: number
}
interface AgentTally {
  agent_id: string
  fetches: number
  newly_disallowed: Tally
  newly_allowed: Tally
}

/** A page that llms.txt or a sitemap lists. */
export interface ListedPage {
  hostname: string
  pathname: string
  search: string
  llms: boolean
  sitemap: boolean
}

const emptyTally = (): Tally => ({ fetches: 0, pages: 0, bytes: 0 })
/** Texts whose agents are grouped by the rules that they obey show so many groups. */
const MAX_SELECTIONS = 30
const MAX_HIDDEN = 200
const MAX_NAMES = 5
const FRONT_PAGE = '/'

export type TextRehearsal = ReturnType<typeof createTextRehearsal>

/**
 * Judges fetches of the past by a text and by the robots.txt of today, with the code that judges live requests. Each step
 * takes microseconds; the caller decides when other work may run.
 */
export function createTextRehearsal(
  { text, present }: { text: string; present: readonly PresentRobots[] },
  catalog: Catalog,
) {
  const proposed = createPolicy({ hostname: 'proposed', robots: { status: 200, body: text } })
  const today = new Map(
    present.map(({ hostname, status, text: body }) => [hostname, createPolicy({ hostname, robots: { status, body } })]),
  )
  const all = { fetches: 0, bytes: 0, disallowed: 0, newly_disallowed: emptyTally(), newly_allowed: emptyTally() }
  const agents = new Map<string, AgentTally>()
  const lines = new Map<number, number>()
  let without_policy = 0
  /** Rows of one page stand together, so that a page with several agents counts once. */
  let page = ''

  return {
    /** Adds a group. Groups of one page have to come one after the other. */
    add({ hostname, pathname, agent_id, fetches, bytes }: FetchGroup): void {
      const before = today.get(hostname)
      if (before === undefined) {
        without_policy += fetches
        return
      }
      const agent = catalog.get(agent_id)
      const tally = agents.get(agent_id) ?? {
        ...{ agent_id, fetches: 0, newly_disallowed: emptyTally(), newly_allowed: emptyTally() },
      }
      agents.set(agent_id, tally)
      const decision = proposed.allows(agent, pathname)
      all.fetches += fetches
      all.bytes += bytes
      tally.fetches += fetches
      if (decision.line !== undefined) lines.set(decision.line, (lines.get(decision.line) ?? 0) + fetches)
      if (!decision.allowed) all.disallowed += fetches
      if (decision.allowed === before.allows(agent, pathname).allowed) return
      const change = decision.allowed ? 'newly_allowed' : 'newly_disallowed'
      const key = `${change} ${hostname} ${pathname}`
      addTo(all[change], fetches, bytes, key !== page)
      addTo(tally[change], fetches, bytes, true)
      page = key
    },
    result: () => ({
      ...all,
      agents: [...agents.values()].sort(byChange),
      lines: [...lines].sort(([a], [b]) => a - b).map(([line, fetches]) => ({ line, fetches })),
      /** A query, which rows do not have, could change what the text says about these. */
      without_query: [...agents.values()].reduce(
        (sum, { agent_id, fetches }) => sum + (proposed.hasOnlyPrefixes(catalog.get(agent_id)) ? 0 : fetches),
        0,
      ),
      without_policy,
    }),
    /** Returns the search engines of the catalogue that may read a front page today, and may not by the text. */
    frontPageLost: (): Agent[] =>
      catalog.agents.filter(
        (agent) =>
          agent.purpose === 'search' &&
          !proposed.allows(agent, FRONT_PAGE).allowed &&
          [...today.values()].some((policy) => policy.allows(agent, FRONT_PAGE).allowed),
      ),
    hidden: createHiddenPages(text, proposed, catalog),
  }
}

function addTo(tally: Tally, fetches: number, bytes: number, isNewPage: boolean): void {
  tally.fetches += fetches
  tally.bytes += bytes
  if (isNewPage) tally.pages += 1
}

const byChange = (a: AgentTally, b: AgentTally): number =>
  b.newly_disallowed.fetches - a.newly_disallowed.fetches ||
  b.newly_allowed.fetches - a.newly_allowed.fetches ||
  b.fetches - a.fetches ||
  (a.agent_id < b.agent_id ? -1 : 1)

/** Counts the listed pages that a text hides: from agents that it does not name, and from those that it names. */
function createHiddenPages(text: string, proposed: Policy, catalog: Catalog) {
  const select = {
    rfc: createGroupSelector(parseRobots(text, 'rfc').groups, 'rfc'),
    google: createGroupSelector(parseRobots(text, 'google').groups, 'google'),
  }
  /** Agents with the same groups may fetch the same. */
  const selectionOf = (agent: Agent | undefined) => {
    const mode = modeOf(agent)
    return [mode, ...select[mode](agent).groups.map(({ line }) => line)].join()
  }
  const selections = new Map([[selectionOf(undefined), { agent: undefined as Agent | undefined, agents: ['*'] }]])
  for (const agent of catalog.agents) {
    if ((agent.robots_tokens?.length ?? 0) === 0 || proposed.groupOf(agent).group[0] === '*') continue
    const selection = selections.get(selectionOf(agent)) ?? { agent, agents: [] }
    selection.agents.push(agent.name)
    if (selections.size < MAX_SELECTIONS) selections.set(selectionOf(agent), selection)
  }
  const counted = [...selections.values()].map((selection) => ({ ...selection, llms: 0, sitemap: 0 }))
  const pages: Omit<ListedPage, 'search'>[] = []
  return {
    add({ search, ...listed }: ListedPage): void {
      for (const selection of counted) {
        if (proposed.allows(selection.agent, listed.pathname + search).allowed) continue
        if (listed.llms) selection.llms += 1
        if (listed.sitemap) selection.sitemap += 1
        if (selection.agent === undefined && pages.length < MAX_HIDDEN) pages.push(listed)
      }
    },
    /** The first selection is that of agents that the text does not name. */
    result: () => {
      const [others, ...rest] = counted.map(({ agents, llms, sitemap }) => ({
        agents: agents.slice(0, MAX_NAMES),
        total: agents.length,
        llms,
        sitemap,
      }))
      return { pages, llms: others?.llms ?? 0, sitemap: others?.sitemap ?? 0, named: rest.filter(isHiding) }
    },
  }
}

const isHiding = ({ llms, sitemap }: { llms: number; sitemap: number }): boolean => llms + sitemap > 0
