import type { Agent } from '../../agents/agent.js'
import type { Catalog } from '../../agents/catalog.js'
import type { createIdentify } from '../../agents/identify.js'
import { listBuckets } from '../../analytics/query/buckets.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { gapsWithin, joinGaps } from '../../analytics/query/recording.js'
import { type DecidedRows, groupedFetches, orderedFetches } from '../../analytics/query/rehearsal-rows.js'
import { DAY_MS } from '../../base/time-units.js'
import { WINDOW_MS } from '../../rules/budgets.js'
import { findRuleProblem, leaveOutSearchEngines, listRefusedSearchEngines } from '../../rules/check.js'
import { createRehearsal, type Rehearsal } from '../../rules/rehearse.js'
import { type DecidingRule, VERDICT_LIFETIME_MS } from '../../rules/rule.js'
import { pageKeyOf } from '../../rules/rule-tallies.js'
import type { ResultRow } from '../../storage/store.js'
import { agentsOf, findTopPages, neverDecides, searchEnginesOf } from './findings.js'
import { findReaders, NO_READERS } from './readers.js'
import { findAfter, forEach, type Recorded, readRecorded, type StreamRows, textOf } from './recorded.js'
import type { Rehearsed } from './shape.js'

interface Question {
  /** In their order; without those that are off. */
  rules: readonly DecidingRule[]
  /** The rules that the site has. */
  stored: readonly DecidingRule[]
  sitemaps: readonly string[]
  catalog: Catalog
  identify: ReturnType<typeof createIdentify>
}

/** Decides again about the fetches of a window, and says what each rule does, to whom, and which readers that puts at risk. */
export async function rehearse(context: ReadContext, question: Question, stream: StreamRows): Promise<Rehearsed> {
  const { plan } = context
  const { catalog } = question
  const problems = question.rules.map((rule) => {
    const stored = question.stored.find(({ id }) => id === rule.id)
    // An agreement to refuse search engines is asked for when the rule is switched on.
    return findRuleProblem({ ...rule, state: 'rehearse' }, catalog, stored)
  })
  const deciding = question.rules.map((rule, place) =>
    problems[place] ? { ...rule, state: 'off' as const } : leaveOutSearchEngines(rule, catalog),
  )
  const rehearsal = createRehearsal(deciding, question.sitemaps)
  const recorded = await readRecorded(context, rehearsal, question.identify, stream)
  const unweighed = await decideAgain(context, rehearsal, recorded, stream)
  const buckets = listBuckets(plan.window, plan.tz, 'day').map(({ key }) => key)
  const tops = await Promise.all(rehearsal.tallies.map(findTopPages))
  const readers = await findReaders(context, rehearsal, question.sitemaps, stream)
  const after = await findAfter(context, recorded)
  const rules = question.rules.flatMap((rule, place) => {
    const [tally, problem] = [rehearsal.tallies[place], problems[place]]
    if (!tally) return []
    const { fetches, bytes, duration_ms } = tally
    const atRisk = readers[place] ?? NO_READERS
    const refusedBy = recorded.refusedBy.get(rule.id)
    return {
      ...{ id: rule.id, name: rule.name, state: rule.state, action: rule.action },
      problems: problem ? [problem] : [],
      named_search_engines: listRefusedSearchEngines(rule, catalog).map(({ id, name }) => ({ agent_id: id, name })),
      refused: { fetches: refusedBy?.fetches ?? 0 },
      would: { fetches, bytes, duration_ms },
      days: buckets.map((key) => ({
        day: dayName(key),
        refused: refusedBy?.days.get(key) ?? 0,
        would: tally.days.get(key) ?? 0,
        readers: atRisk.days.get(key) ?? 0,
      })),
      agents: agentsOf(tally, recorded, atRisk, after),
      pages: (tops[place]?.pages ?? []).map((page) => ({
        ...{ hostname: page.hostname, pathname: page.pathname, would: page.fetches },
        readers: atRisk.pages.get(pageKeyOf(page)) ?? 0,
      })),
      total_pages: tops[place]?.total ?? 0,
      readers: atRisk.all,
      search_engines: searchEnginesOf(tally, recorded, atRisk),
      ...neverDecides(tally, rehearsal.tallies),
    }
  })
  const days = buckets.map((key) => ({
    day: dayName(key),
    fetches: recorded.days.get(key)?.fetches ?? 0,
    refused: recorded.days.get(key)?.refused ?? 0,
    would: rehearsal.refusedDays.get(key) ?? 0,
  }))
  const limits = listLimits(context, rehearsal, unweighed)
  return { ...recorded.all, refused: { fetches: recorded.refused }, days, rules, limits }
}

const dayName = (key: number): string => new Date(key).toISOString().slice(0, 10)

/** Decides again about all fetches that a rule may be about; returns how many have no known weight. */
async function decideAgain(
  { plan, recording }: ReadContext,
  rehearsal: Rehearsal,
  { userAgents, refused }: Recorded,
  stream: StreamRows,
): Promise<number> {
  const { start, end } = plan.window
  const changes = [...new Set(rehearsal.tallies.flatMap(({ rule }) => (rule.until ? Date.parse(rule.until) : [])))]
    .filter((at) => at > start.getTime() && at < end.getTime())
    .sort((a, b) => a - b)
    .map((at) => new Date(at))
  const parts = [start, ...changes]
  const agents: (Agent | undefined)[] = [...new Set(userAgents.values())]
  const numbers = new Map(agents.map((agent, number) => [agent, number]))
  /** Returns the rows of the agents whose rules have these needs; undefined without any. */
  const rowsOf = (order: boolean, ...identity: boolean[]): DecidedRows | undefined => {
    const needed = agents
      .map(rehearsal.rulesFor)
      .map(({ needsOrder, needsIdentity }) => needsOrder === order && identity.includes(needsIdentity))
    const names = [...userAgents].flatMap(([name, agent]) => {
      const number = numbers.get(agent) ?? 0
      return needed[number] ? [[name, number] as const] : []
    })
    if (names.length === 0) return undefined
    const lifetime_ms = identity.includes(true) ? VERDICT_LIFETIME_MS : undefined
    return { agents: new Map(names), changes, hasRefused: refused > 0, lifetime_ms }
  }
  let unweighed = 0
  const add = (row: ResultRow) => {
    const fetches = Number(row.fetches)
    unweighed += fetches - Number(row.weighed)
    rehearsal.add({
      agent: agents[Number(row.agent)],
      verification: textOf(row.verification),
      method: String(row.method),
      hostname: String(row.hostname),
      pathname: String(row.pathname),
      disallowed: Boolean(row.disallowed),
      address: textOf(row.ip_hash) ?? '',
      at: row.at_ms === undefined ? (parts[Number(row.part)] ?? start).getTime() : Number(row.at_ms),
      day: Number(row.day),
      isFirst: Number(row.is_first) === 1,
      fetches,
      bytes: Number(row.bytes ?? 0),
      duration_ms: Number(row.duration_ms ?? 0),
    })
  }
  for (const grouped of [rowsOf(false, false), rowsOf(false, true)])
    if (grouped) await forEach(stream(groupedFetches(plan, grouped)), add)
  const ordered = rowsOf(true, false, true)
  if (!ordered) return unweighed
  // One day after the other, so that no statement sorts more than a day.
  for (let from = Math.max(start.getTime(), (recording.since ?? end).getTime()); from < end.getTime(); ) {
    const to = Math.min((Math.floor(from / DAY_MS) + 1) * DAY_MS, end.getTime())
    await forEach(stream(orderedFetches(plan, ordered, { start: new Date(from), end: new Date(to) })), add)
    from = to
  }
  return unweighed
}

/** Lists what the record cannot tell about this rehearsal. */
function listLimits(
  { plan, recording }: ReadContext,
  { tallies, counts }: Rehearsal,
  unweighed: number,
): Rehearsed['limits'] {
  const { start, end } = plan.window
  const gaps = joinGaps(gapsWithin(recording, plan.window), plan.window)
  const span = (from: Date, to: Date) => ({ from: from.toISOString(), to: to.toISOString() })
  const lengths = tallies.flatMap(({ rule: { budget } }) => (budget ? WINDOW_MS[budget.per] : []))
  const length = Math.max(0, ...lengths)
  const firstEnd = new Date(Math.min(end.getTime(), Math.ceil((start.getTime() + 1) / (length || 1)) * length))
  const isLate = recording.since === undefined || recording.since > start
  return [
    ...(isLate ? [{ kind: 'not_recorded' as const, ...span(start, recording.since ?? end) }] : []),
    ...gaps.map((gap) => ({ kind: 'not_recorded' as const, ...span(gap.start, gap.end) })),
    ...(length > 0 && start.getTime() % length > 0 ? [{ kind: 'budgets' as const, ...span(start, firstEnd) }] : []),
    ...(length > 0 ? gaps.map((gap) => ({ kind: 'budgets' as const, ...span(gap.start, gap.end) })) : []),
    ...(counts.unverified > 0 ? [{ kind: 'unverified' as const, fetches: counts.unverified }] : []),
    ...(counts.firsts > 0 ? [{ kind: 'first_fetch' as const, fetches: counts.firsts }] : []),
    ...(unweighed > 0 ? [{ kind: 'weight' as const, fetches: unweighed }] : []),
    { kind: 'query' },
  ]
}
