import type { Agent } from '../../agents/agent.js'
import type { Catalog } from '../../agents/catalog.js'
import { type createIdentify, UNKNOWN_AGENT } from '../../agents/identify.js'
import { listBuckets } from '../../analytics/query/buckets.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { gapsWithin, joinGaps } from '../../analytics/query/recording.js'
import {
  aroundRefusals,
  fetchesByDay,
  groupedFetches,
  orderedFetches,
  userAgents,
} from '../../analytics/query/rehearsal-rows.js'
import { ApiError } from '../../base/errors.js'
import { DAY_MS } from '../../base/time-units.js'
import { WINDOW_MS } from '../../rules/budgets.js'
import { findRuleProblem, leaveOutSearchEngines, listRefusedSearchEngines } from '../../rules/check.js'
import { createRehearsal, type Rehearsal } from '../../rules/rehearse.js'
import { type DecidingRule, VERDICT_LIFETIME_MS } from '../../rules/rule.js'
import { addTo, agentKey, type PageEffect, pageKey, type RuleTally } from '../../rules/rule-tallies.js'
import type { ResultRow } from '../../storage/store.js'
import { addReaders } from './readers.js'
import { forEach, type Report, type StreamRows } from './run.js'
import type { Rehearsed } from './shape.js'

/** User agents are chosen by clients: of more, no statement could name them all. */
const MAX_USER_AGENTS = 200_000
const MAX_AGENTS_SHOWN = 100
const MAX_PAGES_SHOWN = 50

interface Question {
  /** In their order; without those that are off. */
  rules: readonly DecidingRule[]
  /** The rules that the site has. */
  stored: readonly DecidingRule[]
  sitemaps: readonly string[]
  catalog: Catalog
  identify: ReturnType<typeof createIdentify>
  report: Report
}
type RehearsedRule = Rehearsed['rules'][number]

/** Decides again about the fetches of a window, and says what each rule does, to whom, and which readers that puts at risk. */
export async function rehearse(context: ReadContext, question: Question, stream: StreamRows): Promise<Rehearsed> {
  const { catalog, sitemaps } = question
  const { plan } = context
  const problems = question.rules.map((rule) => {
    const stored = question.stored.find(({ id }) => id === rule.id)
    // An agreement to refuse search engines is asked for when the rule is switched on.
    return findRuleProblem({ ...rule, state: 'rehearse' }, catalog, stored)
  })
  const deciding = question.rules.map((rule, place) =>
    problems[place] ? { ...rule, state: 'off' as const } : leaveOutSearchEngines(rule, catalog),
  )
  const rehearsal = createRehearsal(deciding, sitemaps, plan.window.end)
  const recorded = await readRecorded(context)
  const unweighed = await decideAgain(context, question, rehearsal, recorded.refused.fetches > 0, stream)
  await addReaders(context, rehearsal, sitemaps, stream)
  const after = recorded.refused.fetches > 0 ? await findAfter(context) : new Map<string, After>()
  const { tallies, fetchesOf } = rehearsal
  const rules: RehearsedRule[] = []
  for (const [place, tally] of tallies.entries()) {
    const { bytes, duration_ms, would: fetches, readers, pages } = tally
    const [rule = tally.rule, problem] = [question.rules[place], problems[place]]
    const days = recorded.days.map(({ key, day }) => {
      const { would, readers } = tally.days.get(key) ?? { would: 0, readers: 0 }
      return { day, refused: recorded.refusedBy.get(`${rule.id} ${key}`) ?? 0, would, readers }
    })
    const agents = listAgents(tally, fetchesOf, after)
    rules.push({
      ...{ id: rule.id, name: rule.name, state: rule.state, action: rule.action },
      problems: problem ? [problem] : [],
      named_search_engines: listRefusedSearchEngines(rule, catalog).map(({ id, name }) => ({ agent_id: id, name })),
      refused: { fetches: days.reduce((sum, { refused }) => sum + refused, 0) },
      would: { fetches, bytes, duration_ms },
      days,
      agents: agents.slice(0, MAX_AGENTS_SHOWN),
      pages: await findTopPages(pages),
      total_pages: pages.size,
      readers,
      search_engines:
        rule.action === 'allow'
          ? []
          : agents.filter(({ search_engine, identity }) => search_engine && identity === 'verified'),
      ...neverDecides(tally, tallies),
    })
  }
  const refusing = tallies.filter(({ rule }) => rule.action !== 'allow')
  const days = recorded.days.map(({ key, ...day }) => ({
    ...day,
    would: refusing.reduce((sum, tally) => sum + (tally.days.get(key)?.would ?? 0), 0),
  }))
  return { ...recorded.all, refused: recorded.refused, days, rules, limits: listLimits(context, rehearsal, unweighed) }
}

/** Reads how much was fetched and refused, by day and by the rule that refused. */
async function readRecorded(context: ReadContext) {
  const { window, tz } = context.plan
  const all = { fetches: 0, bytes: 0, duration_ms: 0 }
  const refused = { fetches: 0 }
  const days = listBuckets(window, tz, 'day').map(({ key }) => ({
    ...{ key, day: new Date(key).toISOString().slice(0, 10), fetches: 0, refused: 0 },
  }))
  const byKey = new Map(days.map((day) => [day.key, day]))
  /** By the rule's id and the day. */
  const refusedBy = new Map<string, number>()
  for (const row of await context.rows(fetchesByDay(context.plan))) {
    const [fetches, day] = [Number(row.fetches), byKey.get(Number(row.day))]
    all.fetches += fetches
    all.bytes += Number(row.bytes)
    all.duration_ms += Number(row.duration_ms)
    if (day) day.fetches += fetches
    if (textOf(row.refused_by) === undefined) continue
    refused.fetches += fetches
    if (day) day.refused += fetches
    addTo(refusedBy, `${row.refused_by} ${row.day}`, fetches)
  }
  return { all, refused, days, refusedBy }
}

/** Decides again about all fetches that a rule may be about; returns how many have no known weight. */
async function decideAgain(
  { plan, recording }: ReadContext,
  { identify, report }: Question,
  rehearsal: Rehearsal,
  hasRefused: boolean,
  stream: StreamRows,
): Promise<number> {
  const { start, end } = plan.window
  const numbers = new Map<Agent | undefined, number>()
  /** The user agents about which a rule may decide, by what their rules need. */
  const groups = {
    any: new Map<string, number>(),
    identity: new Map<string, number>(),
    order: new Map<string, number>(),
  }
  let [done, total] = [0, 0]
  await forEach(stream(userAgents(plan)), (row) => {
    const name = String(row.user_agent)
    const identified = identify(name)
    if (!identified) return
    const { candidates, needsOrder, needsIdentity } = rehearsal.rulesFor(identified.agent)
    if (candidates.length === 0) return
    if (!numbers.has(identified.agent)) numbers.set(identified.agent, numbers.size)
    const group = groups[needsOrder ? 'order' : needsIdentity ? 'identity' : 'any']
    group.set(name, numbers.get(identified.agent) ?? 0)
    total += Number(row.fetches)
    if (group.size > MAX_USER_AGENTS)
      throw new ApiError('validation_error', 'Too many user agents in this time: choose a shorter one.', 'range')
  })
  const agents = [...numbers.keys()]
  const rowsOf = (group: ReadonlyMap<string, number>) => {
    const needsIdentity = [...new Set(group.values())].some((n) => rehearsal.rulesFor(agents[n]).needsIdentity)
    return { agents: group, hasRefused, lifetime_ms: needsIdentity ? VERDICT_LIFETIME_MS : 0 }
  }
  let unweighed = 0
  const add = (row: ResultRow) => {
    const fetches = Number(row.fetches)
    unweighed += fetches - Number(row.weighed)
    done += fetches
    report(done, total)
    rehearsal.add({
      agent: agents[Number(row.agent)],
      verification: textOf(row.verification),
      method: String(row.method),
      hostname: String(row.hostname),
      pathname: String(row.pathname),
      disallowed: Boolean(row.disallowed),
      address: textOf(row.ip_hash) ?? '',
      at: Number(row.at_ms ?? start.getTime()),
      day: Number(row.day),
      isFirst: Number(row.is_first) === 1,
      fetches,
      bytes: Number(row.bytes ?? 0),
      duration_ms: Number(row.duration_ms ?? 0),
    })
  }
  for (const group of [groups.any, groups.identity])
    if (group.size > 0) await forEach(stream(groupedFetches(plan, rowsOf(group))), add)
  if (groups.order.size === 0) return unweighed
  const rows = rowsOf(groups.order)
  // One day after the other, so that no statement sorts more than a day.
  for (let from = Math.max(start.getTime(), (recording.since ?? end).getTime()); from < end.getTime(); ) {
    const to = Math.min((Math.floor(from / DAY_MS) + 1) * DAY_MS, end.getTime())
    await forEach(stream(orderedFetches(plan, rows, { start: new Date(from), end: new Date(to) })), add)
    from = to
  }
  return unweighed
}

const textOf = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : String(value)

type After = NonNullable<RehearsedRule['agents'][number]['after']>
const VERDICTS = ['spoofed', 'verified'] as const

/** Finds what each agent did after a rule first refused it. */
async function findAfter({ plan, now, rows }: ReadContext): Promise<Map<string, After>> {
  const end = new Date(Math.min(plan.window.end.getTime(), now.getTime()))
  const after = (await rows(aroundRefusals(plan, end))).map((row): [string, After] => [
    `${row.agent_id} ${VERDICTS[Number(row.verdict)] ?? ''}`,
    {
      rule: Number(row.rule),
      since: new Date(Number(row.since)).toISOString(),
      fetches_before: Number(row.fetches_before),
      fetches_after: Number(row.fetches_after),
      refused: Number(row.refused),
    },
  ])
  return new Map(after)
}

/** Lists the agents whose fetches a rule decides, those with most fetches first. */
function listAgents(
  { agents, operators }: RuleTally,
  fetchesOf: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, After>,
): RehearsedRule['agents'] {
  return [...agents]
    .sort(([a, x], [b, y]) => y.would - x.would || (a < b ? -1 : 1))
    .map(([key, { agent, identity, would }]) => {
      const { id, name, operator } = agent ?? UNKNOWN_AGENT
      const then = after.get(identity === 'unverifiable' ? agentKey(agent, undefined) : key)
      return {
        ...{ agent_id: id, name, operator, would, search_engine: agent?.purpose === 'search' },
        ...(identity && { identity }),
        fetches: fetchesOf.get(key) ?? 0,
        readers: identity === 'spoofed' ? 0 : (operators.get(operator) ?? 0),
        ...(then && { after: then }),
      }
    })
}

async function findTopPages(pages: ReadonlyMap<string, PageEffect>): Promise<PageEffect[]> {
  const rank = (some: readonly PageEffect[]) =>
    some
      .map((page) => ({ page, key: pageKey(page.hostname, page.pathname) }))
      .sort((a, b) => b.page.would - a.page.would || (a.key < b.key ? -1 : 1))
      .slice(0, MAX_PAGES_SHOWN)
      .map(({ page }) => page)
  let top: PageEffect[] = []
  await forEach([pages.values()], (page) => {
    if (top.push(page) >= 10 * MAX_PAGES_SHOWN) top = rank(top)
  })
  return rank(top)
}

/** Names the earlier rule that takes most of what a rule matches, if the rule never decides. */
function neverDecides({ would, takenBy }: RuleTally, tallies: readonly RuleTally[]): Partial<RehearsedRule> {
  const [most] = [...takenBy].sort(([a, x], [b, y]) => y - x || a - b)
  const by = most && tallies[most[0]]?.rule.id
  return would > 0 || by === undefined ? {} : { never_decides: { by, fetches: most?.[1] ?? 0 } }
}

/** Lists what the record cannot tell about this rehearsal. */
function listLimits(
  { plan, recording }: ReadContext,
  { tallies, counts }: Rehearsal,
  unweighed: number,
): Rehearsed['limits'] {
  const { start, end } = plan.window
  const gaps = joinGaps(gapsWithin(recording, plan.window), plan.window)
  const limit = (kind: 'not_recorded' | 'budgets', from: Date, to: Date) => ({
    ...{ kind, from: from.toISOString(), to: to.toISOString() },
  })
  const length = Math.max(0, ...tallies.flatMap(({ rule: { budget } }) => (budget ? WINDOW_MS[budget.per] : [])))
  const firstEnd = new Date(Math.min(end.getTime(), Math.ceil((start.getTime() + 1) / (length || 1)) * length))
  const isLate = recording.since === undefined || recording.since > start
  return [
    ...(isLate ? [limit('not_recorded', start, recording.since ?? end)] : []),
    ...gaps.map((gap) => limit('not_recorded', gap.start, gap.end)),
    ...(length > 0 && start.getTime() % length > 0 ? [limit('budgets', start, firstEnd)] : []),
    ...(length > 0 ? gaps.map((gap) => limit('budgets', gap.start, gap.end)) : []),
    ...(counts.unverified > 0 ? [{ kind: 'unverified' as const, fetches: counts.unverified }] : []),
    ...(counts.firsts > 0 ? [{ kind: 'first_fetch' as const, fetches: counts.firsts }] : []),
    ...(unweighed > 0 ? [{ kind: 'weight' as const, fetches: unweighed }] : []),
    { kind: 'query' },
  ]
}
