import type { Agent } from '../../agents/agent.js'
import type { createIdentify } from '../../agents/identify.js'
import { listBuckets } from '../../analytics/query/buckets.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { gapsWithin, joinGaps } from '../../analytics/query/recording.js'
import { type DecidedRows, firstFetches, groupedFetches, orderedFetches } from '../../analytics/query/rehearsal-rows.js'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time-units.js'
import { createRehearsal, type Rehearsal, VERDICT_LIFETIME_MS } from '../../rules/rehearse.js'
import type { DecidingRule } from '../../rules/rule.js'
import { pageKeyOf, type RecordedFetches } from '../../rules/rule-tallies.js'
import type { Sql } from '../../storage/sql.js'
import { agentsOf, findPasses, findTopPages, neverDecides, searchEnginesOf } from './findings.js'
import { findReaders, NO_READERS } from './readers.js'
import { findAfter, forEach, type Recorded, readRecorded, type StreamRows, textOf } from './recorded.js'
import type { Rehearsed } from './shape.js'

interface Question {
  rules: readonly DecidingRule[]
  sitemaps: readonly string[]
  identify: ReturnType<typeof createIdentify>
}

/** Decides again about the fetches of a window, and says what each rule does, to whom, and which readers that puts at risk. */
export async function rehearse(context: ReadContext, question: Question, stream: StreamRows): Promise<Rehearsed> {
  const { plan } = context
  const rehearsal = createRehearsal(question.rules, question.sitemaps)
  const recorded = await readRecorded(context, rehearsal, question.identify, stream)
  const unweighed = await decideAgain(context, rehearsal, recorded, stream)
  const buckets = listBuckets(plan.window, plan.tz, 'day').map(({ key }) => key)
  const tops = await Promise.all(rehearsal.tallies.map(findTopPages))
  const readers = await findReaders(context, rehearsal, question.sitemaps, stream)
  const after = await findAfter(context, recorded)
  const passes = await findPasses(context, rehearsal, tops)
  const rules = rehearsal.tallies.map((tally, place) => {
    const { rule, matches, fetches, bytes, duration_ms } = tally
    const atRisk = readers[place] ?? NO_READERS
    const refusedBy = recorded.refusedBy.get(rule.id)
    return {
      ...{ id: rule.id, name: rule.name, state: rule.state, action: rule.action, matches },
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
        passes: passes.get(pageKeyOf(page)) ?? 0,
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
  const agents: (Agent | undefined)[] = [...new Set(userAgents.values())]
  const numbers = new Map(agents.map((agent, number) => [agent, number]))
  const select = (keeps: (agent: Agent | undefined) => boolean) =>
    new Map(
      [...userAgents].flatMap(([name, agent]) => (keeps(agent) ? [[name, numbers.get(agent) ?? 0] as const] : [])),
    )
  const { start, end } = plan.window
  const changes = [...new Set(rehearsal.tallies.flatMap(({ rule }) => (rule.until ? Date.parse(rule.until) : [])))]
    .filter((at) => at > start.getTime() && at < end.getTime())
    .sort((a, b) => a - b)
    .map((at) => new Date(at))
  const parts = [start, ...changes]
  let unweighed = 0
  const read = async (statement: Sql, use: (fetch: RecordedFetches) => void, weighs = true) =>
    forEach(stream(statement), (row) => {
      const fetches = Number(row.fetches)
      if (weighs) unweighed += fetches - Number(row.weighed)
      use({
        agent: agents[Number(row.agent)],
        verification: textOf(row.verification),
        method: String(row.method),
        hostname: String(row.hostname),
        pathname: String(row.pathname),
        disallowed: Boolean(row.disallowed),
        address: textOf(row.ip_hash) ?? '',
        at: row.at_ms === undefined ? (parts[Number(row.part)] ?? start).getTime() : Number(row.at_ms),
        day: Number(row.day),
        fetches,
        bytes: Number(row.bytes ?? 0),
        duration_ms: Number(row.duration_ms ?? 0),
      })
    })
  const of = (names: Map<string, number>): DecidedRows => ({ agents: names, changes, hasRefused: refused > 0 })
  const grouped = select((agent) => !rehearsal.rulesFor(agent).needsOrder)
  if (grouped.size > 0) await read(groupedFetches(plan, of(grouped)), rehearsal.addGroup)
  const checked = select((agent) => rehearsal.rulesFor(agent).needsIdentity && !rehearsal.rulesFor(agent).needsOrder)
  if (checked.size > 0) await read(firstFetches(plan, of(checked), VERDICT_LIFETIME_MS), rehearsal.correctFirsts, false)
  const ordered = select((agent) => rehearsal.rulesFor(agent).needsOrder)
  if (ordered.size === 0) return unweighed
  // One day after the other, so that no statement sorts more than a day.
  for (let from = Math.max(start.getTime(), (recording.since ?? end).getTime()); from < end.getTime(); ) {
    const to = Math.min((Math.floor(from / DAY_MS) + 1) * DAY_MS, end.getTime())
    const time = { start: new Date(from), end: new Date(to) }
    await read(orderedFetches(plan, { ...of(ordered), time }), rehearsal.addNext)
    from = to
  }
  return unweighed
}

const WINDOW_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const

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
