import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { signingHosts, verificationMethods } from '../agents/catalog.js'
import { createIdentify, isBuildingBlock, UNKNOWN_AGENT } from '../agents/identify.js'
import { memoize } from '../base/cache.js'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { nameSystem, TELEVISION_PORTALS } from '../capture/system-names.js'
import type { AgentChange, Device, EventStore, FetchGroup } from '../storage/event-store.js'
import { sql } from '../storage/sql.js'

interface ReclassifyDeps {
  store: Pick<EventStore, 'query' | 'reclassify' | 'renameDevice'>
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

/** A step begins slices for this long; the caller repeats it while rows remain. */
const STEP_MS = 500
/** The event loop runs after this many identifications, which take 10 ms at most. */
const USER_AGENTS_PER_TURN = 500

/** Systems that run on televisions only. HP's telephones with webOS ended in 2012, before this program. */
const TELEVISION_SYSTEMS = ['webOS', ...TELEVISION_PORTALS]

/**
 * Returns a function that identifies stored rows of other catalogues again, by their user agents, and then gives people's
 * rows the present names of systems and kinds of device. One call is one bounded step; what a step has done stays done
 * if a later one fails. Concurrent calls run one after the other.
 *
 * If a row gets another agent, what was said of the old one is taken back: verification starts over without an address to
 * check (`indeterminate`, `unverifiable`), and `robots_allowed` with its rule becomes null, because it was judged for
 * another token and with a query string that is not stored. A row that a signature identified keeps its agent. A user
 * agent that no longer belongs to an agent becomes `other`: a fetch cannot become a person's view, nor the reverse, because
 * neither has what the other's row needs.
 */
export function createReclassify({ store, catalog, clock, obstacle }: ReclassifyDeps): () => Promise<ReclassifyStep> {
  const describeChange = createChangeDescriber(catalog)
  const lock = createLock()

  const describeChanges = async (groups: readonly FetchGroup[], result: ReclassifyStep): Promise<AgentChange[]> => {
    const why = obstacle?.()
    if (why !== undefined) throw new ApiError('database_error', `Rows cannot be changed: ${why}.`)
    const changes = new Map<string, AgentChange>()
    for (const [n, group] of groups.entries()) {
      const change = describeChange(group)
      result.rows += group.rows
      if (change) {
        changes.set(JSON.stringify([change.user_agent, change.agent_id, change.signed]), change)
        if (change.to !== change.agent_id) addMove(result, { from: change.agent_id, to: change.to }, group.rows)
      }
      if ((n + 1) % USER_AGENTS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    return [...changes.values()]
  }

  const step = async (): Promise<ReclassifyStep> => {
    const until = clock() + STEP_MS
    const result: ReclassifyStep = { catalog_version: catalog.version, rows: 0, changed: 0, remaining: 0, moves: [] }
    const updateSlice = () => store.reclassify(catalog.version, (groups) => describeChanges(groups, result))
    let { remaining } = await updateSlice()
    while (remaining > 0 && clock() < until) remaining = (await updateSlice()).remaining
    let misnamed = remaining === 0 ? await updateDevices(store, result) : 0
    while (misnamed > 0 && clock() < until) misnamed = await updateDevices(store, result)
    result.remaining = remaining + misnamed
    return result
  }

  return () => lock(step)
}

/** Returns a function that says what changes for rows of one user agent; undefined if nothing does. */
function createChangeDescriber(catalog: Catalog): (group: FetchGroup) => AgentChange | undefined {
  const identify = createIdentify(catalog)
  const agentOf = memoize(8192, (userAgent) => identify(userAgent)?.agent ?? UNKNOWN_AGENT)
  const byHost = new Map(catalog.agents.flatMap((agent) => signingHosts(agent).map((host) => [host, agent] as const)))
  // An agent in no catalog has the host of its signature directory as its id.
  const isSigner = (id: string) => id.includes('.') || catalog.get(id)?.web_bot_auth !== undefined
  const signerOf = (id: string) => catalog.get(id) ?? byHost.get(id)
  return ({ user_agent, agent_id, operator, purpose, signed }) => {
    const named = agentOf(user_agent)
    // A signature names the agent; so does its directory if the user agent names none. The catalogue may have changed.
    const isUnnamed = named === UNKNOWN_AGENT || isBuildingBlock(named)
    const agent = signed || (isUnnamed && isSigner(agent_id)) ? signerOf(agent_id) : named
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

const COUNT_DEVICES = sql`select os, device_type, count(*) as rows from events where os is not null
  group by os, device_type order by os, device_type`

/** Gives a slice of people's rows the present names of systems and kinds of device; returns how many rows are left. */
async function updateDevices(store: ReclassifyDeps['store'], result: ReclassifyStep): Promise<number> {
  const groups = DeviceGroups.parse(await store.query(COUNT_DEVICES))
  const wrong = groups.map((group) => ({ ...group, now: correctDevice(group) })).filter(isMisnamed)
  const one = wrong[0]
  if (one === undefined) return 0
  const rows = await store.renameDevice({ os: one.os, device_type: one.device_type }, one.now)
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

function addMove(result: ReclassifyStep, { from, to }: { from: string; to: string }, rows: number): void {
  result.changed += rows
  const move = result.moves.find((one) => one.from === from && one.to === to)
  if (move) move.rows += rows
  else result.moves.push({ from, to, rows })
}
