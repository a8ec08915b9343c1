import { setImmediate as breath } from 'node:timers/promises'
import type { Agent } from '../../agents/agent.js'
import { type createIdentify, UNKNOWN_AGENT } from '../../agents/identify.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { fetchesAround, recordedFetches } from '../../analytics/query/rehearsal-rows.js'
import { ApiError } from '../../base/errors.js'
import type { Rehearsal } from '../../rules/rehearse.js'
import type { Identity } from '../../rules/rule.js'
import { addTo, identityOf } from '../../rules/rule-tallies.js'
import type { Sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import type { Rehearsed } from './shape.js'

export type StreamRows = (statement: Sql) => AsyncIterable<ResultRow[]>

/** User agents are chosen by clients: of more, no statement could name them all. */
const MAX_USER_AGENTS = 200_000
/** The process serves the site: it does nothing else for at most this long. */
const SLICE_MS = 2

/** Calls `use` for each row, and lets the process do other work between. */
export async function forEach<T>(chunks: AsyncIterable<readonly T[]> | Iterable<readonly T[]>, use: (row: T) => void) {
  let began = performance.now()
  for await (const rows of chunks)
    for (const row of rows) {
      use(row)
      if (performance.now() - began < SLICE_MS) continue
      await breath()
      began = performance.now()
    }
}

export const textOf = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : String(value)

/** The fetches of one agent with one identity, whatever became of them. */
interface RecordedAgent {
  fetches: number
  readonly byVerification: Map<string, number>
  readonly names: { user_agent: string; verification: string }[]
  /** The first refusal by a rule. */
  first?: { rule: number; since: Date }
}
export const agentKey = (agent: Agent | undefined, identity: Identity | undefined): string =>
  `${agent?.id ?? UNKNOWN_AGENT.id} ${identity ?? ''}`

export type Recorded = Awaited<ReturnType<typeof readRecorded>>

/** Reads what was recorded: all fetches, by day, by agent, and by the rule that refused them. */
export async function readRecorded(
  { plan }: ReadContext,
  { rulesFor }: Rehearsal,
  identify: ReturnType<typeof createIdentify>,
  stream: StreamRows,
) {
  const all = { fetches: 0, bytes: 0, duration_ms: 0 }
  const days = new Map<number, { fetches: number; refused: number }>()
  const refusedBy = new Map<number, { fetches: number; days: Map<number, number> }>()
  const agents = new Map<string, RecordedAgent>()
  /** The user agents about which a rule may decide. */
  const userAgents = new Map<string, Agent | undefined>()
  let refused = 0
  await forEach(stream(recordedFetches(plan)), (row) => {
    const [fetches, day, name] = [Number(row.fetches), Number(row.day), String(row.user_agent)]
    all.fetches += fetches
    all.bytes += Number(row.bytes)
    all.duration_ms += Number(row.duration_ms)
    const rule = row.refused_by === null ? undefined : Number(row.refused_by)
    const ofDay = days.get(day) ?? { fetches: 0, refused: 0 }
    days.set(day, { fetches: ofDay.fetches + fetches, refused: ofDay.refused + (rule === undefined ? 0 : fetches) })
    if (rule !== undefined) {
      refused += fetches
      const by = refusedBy.get(rule) ?? { fetches: 0, days: new Map<number, number>() }
      by.fetches += fetches
      addTo(by.days, day, fetches)
      refusedBy.set(rule, by)
    }
    const identified = identify(name)
    if (!identified || rulesFor(identified.agent).candidates.length === 0) return
    userAgents.set(name, identified.agent)
    if (userAgents.size > MAX_USER_AGENTS)
      throw new ApiError('validation_error', 'Too many user agents in this time: choose a shorter one.', 'range')
    const verification = textOf(row.verification) ?? ''
    const key = agentKey(identified.agent, identityOf(verification))
    const one: RecordedAgent = agents.get(key) ?? { fetches: 0, byVerification: new Map(), names: [] }
    agents.set(key, one)
    one.fetches += fetches
    addTo(one.byVerification, verification, fetches)
    one.names.push({ user_agent: name, verification })
    const since = row.first instanceof Date ? row.first : undefined
    if (rule !== undefined && since && !(one.first && one.first.since <= since)) one.first = { rule, since }
  })
  return { all, days, refused, refusedBy, agents, userAgents }
}

export type After = Rehearsed['rules'][number]['agents'][number]['after']

/** Finds what each agent did after a rule first refused it: in as long a time before as after, within the window. */
export async function findAfter(context: ReadContext, { agents }: Recorded): Promise<Map<string, After>> {
  const { plan, now } = context
  const start = plan.window.start.getTime()
  const end = Math.min(plan.window.end.getTime(), now.getTime())
  const refused = [...agents].flatMap(([key, { first, names }]) => (first ? [{ key, first, names }] : []))
  const around = refused.flatMap(({ first: { since }, names }, n) => {
    const length = Math.max(0, Math.min(since.getTime() - start, end - since.getTime()))
    const [from, until] = [new Date(since.getTime() - length), new Date(since.getTime() + length)]
    const unique = new Map(names.map((name) => [JSON.stringify(Object.values(name)), name]))
    return [...unique.values()].map((name) => ({ n, ...name, from, since, until }))
  })
  const rows = around.length === 0 ? [] : await context.rows(fetchesAround(plan, around))
  const counted = new Map(rows.map((row) => [Number(row.n), row]))
  return new Map(
    refused.map(({ key, first: { rule, since } }, n) => {
      const { fetches_before = 0, fetches_after = 0, refused: turned = 0 } = counted.get(n) ?? {}
      const counts = { fetches_before: Number(fetches_before), fetches_after: Number(fetches_after) }
      return [key, { rule, since: since.toISOString(), ...counts, refused: Number(turned) }]
    }),
  )
}
