import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { verificationMethods } from '../agents/catalog.js'
import { createIdentify, UNKNOWN_AGENT } from '../agents/identify.js'
import { memoize } from '../cache.js'
import type { EventStore } from '../duckdb/event-store.js'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'

export interface ReclassifyDeps {
  store: Pick<EventStore, 'query' | 'amend'>
  catalog: Catalog
  /** Milliseconds of a clock that never jumps. */
  clock: () => number
  /** Why nothing may be written just now; undefined when it may. */
  obstacle?: () => string | undefined
}

/** What one step did, and what is left for the next. */
export interface ReclassifyStep {
  catalog_version: string
  /** Rows that are now of this catalog, and those of them whose agent is another one than before. */
  rows: number
  changed: number
  /** Rows of other catalogs still. */
  remaining: number
  moves: { from: string; to: string; rows: number }[]
}

/** Rows in one transaction: a quarter of a row group, so that appends go on between. */
const SLICE_ROWS = 30_720
/** And so many where a slice holds more user agents than this: each is read, compared and sent to the store. */
const CROWDED_SLICE_ROWS = 3_840
/** Slices are gone on with for so long; the asker asks again while something remains. */
const STEP_MS = 500
/** User agents that are identified before other work of the worker is let in: 10 ms at their worst. */
const USER_AGENTS_PER_TURN = 500

const Remaining = z.object({ remaining: z.number(), first: z.number().nullable() })
const UserAgentGroup = z.object({
  user_agent: z.string(),
  agent_id: z.string(),
  operator: z.string(),
  purpose: z.string(),
  signed: z.boolean(),
  rows: z.number(),
})
type UserAgentGroup = z.infer<typeof UserAgentGroup>

interface AgentChange {
  user_agent: string
  agent_id: string
  signed: boolean
  /** The agent as the catalog has it now. */
  to: string
  operator: string
  purpose: string
  verification: string
}

/**
 * Identifies stored rows again, by their user agents, where another catalog did before. One call is one bounded step;
 * whatever ends it, what is done stays done and a further call goes on. Two at once take turns.
 *
 * Where the agent is another one now, what was said of the old one is taken back: verification starts over without an
 * address to check (`indeterminate`, `unverifiable`), and `robots_allowed` with its rule is null, since it was judged for
 * another token and the query it was judged with is not stored. A row that a signature named keeps its agent. What the
 * catalog no longer takes for an agent is `other`: a fetch cannot become a person's view, nor the reverse, for neither
 * holds what the other's row needs.
 */
export function createReclassify({ store, catalog, clock, obstacle }: ReclassifyDeps): () => Promise<ReclassifyStep> {
  const identify = createIdentify(catalog)
  const who = memoize(8192, (userAgent) => identify(userAgent)?.agent ?? UNKNOWN_AGENT)
  let last: Promise<unknown> = Promise.resolve()

  const left = async () => {
    const [row] = await store.query(sql`select count(*) as remaining, min(rowid) as first from agent_events
      where catalog_version is distinct from ${catalog.version}`)
    return Remaining.parse(row)
  }

  const changeOf = ({ user_agent, agent_id, operator, purpose, signed }: UserAgentGroup): AgentChange | undefined => {
    // The signer is who it is; the catalog may have moved it to another operator or purpose.
    const now = signed ? catalog.get(agent_id) : who(user_agent)
    if (now === undefined || (now.id === agent_id && now.operator === operator && now.purpose === purpose))
      return undefined
    const known = catalog.get(now.id)
    const verification = known && verificationMethods(known).length > 0 ? 'indeterminate' : 'unverifiable'
    return { user_agent, agent_id, signed, to: now.id, operator: now.operator, purpose: now.purpose, verification }
  }

  const slice = async (first: number, told: ReclassifyStep): Promise<void> => {
    const rangeOf = (rows: number) => sql`rowid >= ${first} and rowid < ${first + rows}
      and catalog_version is distinct from ${catalog.version}`
    await store.amend(async (ask) => {
      const groupsOf = (range: Sql) =>
        ask(sql`select user_agent, agent_id, operator, purpose, verification = 'web_bot_auth' as signed,
          count(*) as rows from agent_events where ${range} group by all limit ${CROWDED_SLICE_ROWS + 1}`)
      let range = rangeOf(SLICE_ROWS)
      let found = await groupsOf(range)
      if (found.length > CROWDED_SLICE_ROWS) {
        range = rangeOf(CROWDED_SLICE_ROWS)
        found = await groupsOf(range)
      }
      const changes = new Map<string, AgentChange>()
      let read = 0
      for (const group of found.map((row) => UserAgentGroup.parse(row))) {
        const change = changeOf(group)
        told.rows += group.rows
        if (change) {
          changes.set(JSON.stringify([change.user_agent, change.agent_id, change.signed]), change)
          if (change.to !== change.agent_id) countMove(told, change, group.rows)
        }
        if (++read % USER_AGENTS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      return [
        ...(changes.size > 0 ? [updateAgents(range, [...changes.values()])] : []),
        sql`update agent_events set catalog_version = ${catalog.version} where ${range}`,
      ]
    })
  }

  const step = async (): Promise<ReclassifyStep> => {
    const until = clock() + STEP_MS
    const told: ReclassifyStep = { catalog_version: catalog.version, rows: 0, changed: 0, remaining: 0, moves: [] }
    let now = await left()
    while (now.first !== null) {
      const why = obstacle?.()
      if (why !== undefined) throw new ApiError('database_error', `Rows cannot be changed: ${why}.`)
      await slice(now.first, told)
      now = await left()
      if (clock() >= until) break
    }
    told.remaining = now.remaining
    return told
  }

  return () => {
    const next = last.then(step, step)
    last = next.catch(() => {})
    return next
  }
}

function countMove(told: ReclassifyStep, { agent_id: from, to }: AgentChange, rows: number): void {
  told.changed += rows
  const known = told.moves.find((one) => one.from === from && one.to === to)
  if (known) known.rows += rows
  else told.moves.push({ from, to, rows })
}

/** Gives the rows of `range` their new agents. The changes travel as one parameter, however many they are. */
const updateAgents = (range: Sql, changes: readonly AgentChange[]): Sql => sql`
  update agent_events set agent_id = m.now_id, operator = m.now_operator, purpose = m.now_purpose,
    verified = case when m.moved then null else verified end,
    verification = case when m.moved then m.now_verification else verification end,
    robots_allowed = case when m.moved then null else robots_allowed end,
    robots_rule = case when m.moved then null else robots_rule end,
    robots_line = case when m.moved then null else robots_line end,
    robots_grace = case when m.moved then null else robots_grace end
  from (select unnest(from_json(${JSON.stringify(
    changes.map((one) => ({
      of_user_agent: one.user_agent,
      of_agent: one.agent_id,
      of_signed: one.signed,
      now_id: one.to,
      now_operator: one.operator,
      now_purpose: one.purpose,
      now_verification: one.verification,
      moved: one.to !== one.agent_id,
    })),
  )}, '[{"of_user_agent": "VARCHAR", "of_agent": "VARCHAR", "of_signed": "BOOLEAN", "now_id": "VARCHAR",
    "now_operator": "VARCHAR", "now_purpose": "VARCHAR", "now_verification": "VARCHAR", "moved": "BOOLEAN"}]'),
    recursive := true)) as m
  where ${range} and user_agent = m.of_user_agent and agent_id = m.of_agent
    and (verification = 'web_bot_auth') = m.of_signed`
