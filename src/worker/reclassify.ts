import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { verificationMethods } from '../agents/catalog.js'
import { createIdentify, UNKNOWN_AGENT } from '../agents/identify.js'
import { memoize } from '../cache.js'
import { nameSystem, TELEVISION_PORTALS } from '../capture/system-names.js'
import type { EventStore } from '../duckdb/event-store.js'
import { rowsAsTable } from '../duckdb/query.js'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'

interface ReclassifyDeps {
  store: Pick<EventStore, 'query' | 'updateRows'>
  catalog: Catalog
  /** Milliseconds of a monotonic clock. */
  clock: () => number
  /** Why nothing may be written at present; undefined if it may. */
  obstacle?: () => string | undefined
}

/** The result of one step. */
interface ReclassifyStep {
  catalog_version: string
  /** Rows that the step brought to this catalogue, and those of them whose agent changed. */
  rows: number
  changed: number
  /** Rows of other catalogues. */
  remaining: number
  moves: { from: string; to: string; rows: number }[]
}

/** Rows in one transaction: a quarter of a row group, so that appends run between transactions. */
const SLICE_ROWS = 30_720
/** Also the most user agents in a slice: each is read, compared and sent to the store. A slice with more becomes this short. */
const CROWDED_SLICE_ROWS = 3_840
/** A step begins slices for this long; the caller repeats it while rows remain. */
const STEP_MS = 500
/** The event loop runs after this many identifications, which take 10 ms at most. */
const USER_AGENTS_PER_TURN = 500

/** Systems that run on televisions only. HP's telephones with webOS ended in 2012, before this program. */
const TELEVISION_SYSTEMS = ['webOS', ...TELEVISION_PORTALS]

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
  /** The agent that the catalogue has for the user agent now. */
  to: string
  operator: string
  purpose: string
  verification: string
}

/**
 * Returns a function that identifies stored rows of other catalogues again, by their user agents, and then gives people's
 * rows the present names of systems and kinds of device. One call is one bounded step; what a step has done stays done
 * if a later one fails. Concurrent calls run one after the other.
 *
 * If a row gets another agent, what was said of the old one is taken back: verification starts over without an address to
 * check (`indeterminate`, `unverifiable`), and `robots_allowed` with its rule becomes null, because it was judged for
 * another token and with a query string that is not stored. A row that a signature identified keeps its agent. A user
 * agent that is no agent's any more becomes `other`: a fetch cannot become a person's view, nor the reverse, because
 * neither has what the other's row needs.
 */
export function createReclassify({ store, catalog, clock, obstacle }: ReclassifyDeps): () => Promise<ReclassifyStep> {
  const describeChange = createChangeDescriber(catalog)
  let last: Promise<unknown> = Promise.resolve()

  const countRemaining = async () => {
    const [row] = await store.query(sql`select count(*) as remaining, min(rowid) as first from agent_events
      where catalog_version is distinct from ${catalog.version}`)
    return Remaining.parse(row)
  }

  const updateSlice = async (first: number, result: ReclassifyStep): Promise<void> => {
    const rangeOf = (rows: number) => sql`rowid >= ${first} and rowid < ${first + rows}
      and catalog_version is distinct from ${catalog.version}`
    await store.updateRows(async (query) => {
      const selectGroups = (range: Sql) =>
        query(sql`select user_agent, agent_id, operator, purpose, verification = 'web_bot_auth' as signed,
          count(*) as rows from agent_events where ${range} group by all limit ${CROWDED_SLICE_ROWS + 1}`)
      let range = rangeOf(SLICE_ROWS)
      let groups = await selectGroups(range)
      if (groups.length > CROWDED_SLICE_ROWS) {
        range = rangeOf(CROWDED_SLICE_ROWS)
        groups = await selectGroups(range)
      }
      const changes = new Map<string, AgentChange>()
      for (const [n, row] of groups.entries()) {
        const group = UserAgentGroup.parse(row)
        const change = describeChange(group)
        result.rows += group.rows
        if (change) {
          changes.set(JSON.stringify([change.user_agent, change.agent_id, change.signed]), change)
          if (change.to !== change.agent_id) countMove(result, change, group.rows)
        }
        if ((n + 1) % USER_AGENTS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      return [
        ...(changes.size > 0 ? [markDays(range), updateAgents(range, [...changes.values()])] : []),
        sql`update agent_events set catalog_version = ${catalog.version} where ${range}`,
      ]
    })
  }

  const step = async (): Promise<ReclassifyStep> => {
    const until = clock() + STEP_MS
    const result: ReclassifyStep = { catalog_version: catalog.version, rows: 0, changed: 0, remaining: 0, moves: [] }
    let left = await countRemaining()
    while (left.first !== null) {
      const why = obstacle?.()
      if (why !== undefined) throw new ApiError('database_error', `Rows cannot be changed: ${why}.`)
      await updateSlice(left.first, result)
      left = await countRemaining()
      if (clock() >= until) break
    }
    let misnamed = left.first === null ? await updateDevices(store, result) : 0
    while (misnamed > 0 && clock() < until) misnamed = await updateDevices(store, result)
    result.remaining = left.remaining + misnamed
    return result
  }

  return () => {
    const next = last.then(step, step)
    last = next.catch(() => {})
    return next
  }
}

/** Returns a function that says what changes for rows of one user agent; undefined if nothing does. */
function createChangeDescriber(catalog: Catalog): (group: UserAgentGroup) => AgentChange | undefined {
  const identify = createIdentify(catalog)
  const agentOf = memoize(8192, (userAgent) => identify(userAgent)?.agent ?? UNKNOWN_AGENT)
  return ({ user_agent, agent_id, operator, purpose, signed }) => {
    // The signature names the agent; the catalogue may have changed its operator or purpose.
    const agent = signed ? catalog.get(agent_id) : agentOf(user_agent)
    if (agent === undefined) return undefined
    if (agent.id === agent_id && agent.operator === operator && agent.purpose === purpose) return undefined
    const known = catalog.get(agent.id)
    const verification = known && verificationMethods(known).length > 0 ? 'indeterminate' : 'unverifiable'
    const to = { to: agent.id, operator: agent.operator, purpose: agent.purpose, verification }
    return { user_agent, agent_id, signed, ...to }
  }
}

const DeviceGroups = z.array(
  z.object({ os: z.string().nullable(), device_type: z.string().nullable(), rows: z.number() }),
)
type Device = Pick<z.infer<typeof DeviceGroups>[number], 'os' | 'device_type'>

const COUNT_DEVICES = sql`select os, device_type, count(*) as rows from events where os is not null
  group by all order by all`

/** Gives a slice of people's rows the present names of systems and kinds of device; returns how many rows are left. */
async function updateDevices(store: ReclassifyDeps['store'], result: ReclassifyStep): Promise<number> {
  const groups = DeviceGroups.parse(await store.query(COUNT_DEVICES))
  const wrong = groups.map((group) => ({ ...group, now: correctDevice(group) })).filter(isMisnamed)
  const one = wrong[0]
  if (one === undefined) return 0
  const rows = Math.min(one.rows, SLICE_ROWS)
  const same = sql`os is not distinct from ${one.os} and device_type is not distinct from ${one.device_type}`
  await store.updateRows(async (query) => {
    const ids = sql`select rowid as id from events where ${same} order by rowid limit ${SLICE_ROWS}`
    const [last] = await query(sql`select max(id) as id from (${ids}) slice`)
    const slice = sql`${same} and rowid <= ${z.object({ id: z.number() }).parse(last).id}`
    return [
      // The aggregates of these sessions are computed again; until then reads count their hits.
      sql`insert into unsealed select site_id, session_id, min(session_start) from events where ${slice} group by all`,
      sql`update events set os = ${one.now.os}, device_type = ${one.now.device_type} where ${slice}`,
    ]
  })
  result.rows += rows
  addMove(result, { from: describeDevice(one), to: describeDevice(one.now) }, rows)
  return wrong.reduce((sum, group) => sum + group.rows, -rows)
}

/** Returns the present names for a stored system and kind of device. The user agent is not stored, so no more can be told. */
const correctDevice = ({ os, device_type }: Device): Device => ({
  os: nameSystem(os ?? undefined),
  device_type: TELEVISION_SYSTEMS.some((name) => name.toLowerCase() === os?.toLowerCase()) ? 'tv' : device_type,
})

const isMisnamed = ({ os, device_type, now }: Device & { now: Device }) =>
  os !== now.os || device_type !== now.device_type

const describeDevice = ({ os, device_type }: Device): string => `${os ?? 'no system'} on ${device_type ?? 'no device'}`

const countMove = (result: ReclassifyStep, { agent_id, to }: AgentChange, rows: number) =>
  addMove(result, { from: agent_id, to }, rows)

function addMove(result: ReclassifyStep, { from, to }: { from: string; to: string }, rows: number): void {
  result.changed += rows
  const move = result.moves.find((one) => one.from === from && one.to === to)
  if (move) move.rows += rows
  else result.moves.push({ from, to, rows })
}

/** Has the days of the rows of `range` counted again. */
const markDays = (range: Sql): Sql => sql`
  insert into daily_changed select distinct site_id, date_trunc('day', timestamp) from agent_events where ${range}`

/** Gives the rows of `range` their new agents. */
const updateAgents = (range: Sql, changes: readonly AgentChange[]): Sql => sql`
  update agent_events set agent_id = m.now_id, operator = m.now_operator, purpose = m.now_purpose,
    verified = case when m.moved then null else verified end,
    verification = case when m.moved then m.now_verification else verification end,
    robots_allowed = case when m.moved then null else robots_allowed end,
    robots_rule = case when m.moved then null else robots_rule end,
    robots_line = case when m.moved then null else robots_line end,
    robots_grace = case when m.moved then null else robots_grace end
  from ${rowsAsTable(
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
    {
      of_user_agent: 'VARCHAR',
      of_agent: 'VARCHAR',
      of_signed: 'BOOLEAN',
      now_id: 'VARCHAR',
      now_operator: 'VARCHAR',
      now_purpose: 'VARCHAR',
      now_verification: 'VARCHAR',
      moved: 'BOOLEAN',
    },
  )} as m
  where ${range} and user_agent = m.of_user_agent and agent_id = m.of_agent
    and (verification = 'web_bot_auth') = m.of_signed`
