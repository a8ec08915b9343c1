import { createHash } from 'node:crypto'
import { z } from 'zod'
import { withWindow } from '../../analytics/query/plan.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { inWindow } from '../../analytics/query/window-conditions.js'
import { DAY_MS } from '../../base/time-units.js'
import { raw, sql } from '../../storage/sql.js'
import { forEach, type StreamRows } from '../rehearsal/run.js'
import { type Facts, Fetch, MAX_FETCHES, type Sum } from './document.js'
import { createRobotsVersions, lineOf, type VersionsOfHosts } from './robots-versions.js'

/** An agent may keep a copy of robots.txt for a day; a month shows how often it asks. */
const READS_BEFORE_MS = 30 * DAY_MS
/** Fetches of robots.txt that a folder lists. */
const MAX_READS = 200
/** User agents that a folder names, those with most fetches. Clients choose them, and the memory for sums is bounded. */
const MAX_USER_AGENTS = 20
const MAX_SUMS = 10_000
/** Hostnames whose versions of robots.txt are looked up, those with most fetches first. */
const MAX_HOSTNAMES = 50

/** A rule of the site as it is now. */
export interface OwnRule {
  readonly id: number
  readonly name: string
  readonly changed_at: Date
}

interface Question {
  readonly agent_id: string
  readonly site: Facts['site']
  readonly ownRules: readonly OwnRule[]
  readonly made_by: string
  readonly stream: StreamRows
}

const IS_IN_FOLDER = raw(
  "((robots_allowed is not null and not robots_allowed) or coalesce(action, 'allow') <> 'allow')",
)
const IS_READ = raw("pathname = '/robots.txt' and method = 'GET'")
const SPOOFED = raw("verification = 'spoofed'")

const StoredFetch = Fetch.pick({
  ...{ method: true, hostname: true, pathname: true, status: true, bytes: true, content_type: true, user_agent: true },
  ...{ verification: true, proof: true, action: true, rule: true },
}).extend({
  ...{ timestamp: z.date(), proof_at: z.date().nullable(), import_id: z.number().nullable() },
  ...{ robots_allowed: z.boolean().nullable(), robots_grace: z.boolean().nullable() },
  ...{ robots_rule: z.string().nullable(), robots_line: z.number().nullable() },
})
type StoredFetch = z.infer<typeof StoredFetch>

/** Collects the facts about one agent's fetches in the window of a read. */
export async function collectEvidence(context: ReadContext, question: Question): Promise<Facts> {
  const { plan, now } = context
  const { agent_id, site, made_by, stream } = question
  const { start, end } = plan.window
  const ofAgent = sql`agent_id = ${agent_id}`
  const hosts = await context.rows(sql`
    select hostname, count(*) filter (where not ${SPOOFED}) as fetches, count(*) filter (where ${SPOOFED}) as spoofed
    from agent_events where ${inWindow(plan)} and ${ofAgent} and ${IS_IN_FOLDER}
    group by hostname order by fetches desc, hostname`)
  const names = hosts.slice(0, MAX_HOSTNAMES).map(({ hostname }) => String(hostname))
  const versions = await createRobotsVersions(context, names)
  const reads = createReads()
  const tally = createTally(versions, reads.last)
  const columns = raw(Object.keys(StoredFetch.shape).join(', '))
  const before = new Date(start.getTime() - READS_BEFORE_MS)
  await forEach(
    stream(sql`select ${columns} from agent_events
      where ${inWindow(withWindow(plan, { start: before, end }))} and ${ofAgent} and not ${SPOOFED}
        and (timestamp >= ${start} and ${IS_IN_FOLDER} or ${IS_READ})
      order by timestamp, hostname, pathname, method, status, bytes, user_agent`),
    (row) => {
      const fetch = StoredFetch.parse(row)
      const { timestamp, robots_allowed, action, pathname, method } = fetch
      const isInFolder = robots_allowed === false || (action ?? 'allow') !== 'allow'
      if (timestamp >= start && isInFolder) tally.add(fetch)
      if (pathname === '/robots.txt' && method === 'GET') reads.add(fetch)
    },
  )
  const { counts, rules, own_rules, ...sums } = tally.finish()
  const robots_txt = await versions.listUsed()
  const entry = context.catalog.find((one) => one.agent_id === agent_id)
  const { name = agent_id, operator = null, docs_url = null, respects_robots = 'unknown' } = entry ?? {}
  return {
    format: 'readership-evidence-1',
    made_at: now.toISOString(),
    ...{ made_by, site, agent: { agent_id, name, operator, docs_url, respects_robots } },
    // A window of the present ends at a whole ten seconds to come, and a signed text must not speak of the future.
    window: { start: start.toISOString(), end: new Date(Math.min(end.getTime(), now.getTime())).toISOString() },
    counts: { ...counts, spoofed: hosts.reduce((sum, { spoofed }) => sum + Number(spoofed), 0) },
    rules: rules.map((rule) => {
      const version = robots_txt.find((one) => one.hostname === rule.hostname && one.sha256 === rule.sha256)
      return { ...rule, line_text: lineOf(version?.text, rule.line) }
    }),
    own_rules: own_rules.map((rule) => {
      const now = question.ownRules.find(({ id }) => id === rule.id)
      const { name = null, changed_at } = now ?? {}
      return { ...rule, name, changed_at: changed_at?.toISOString() ?? null, definition: now ?? null }
    }),
    ...{ robots_txt, ...reads.list(), ...sums, not_recorded: [] },
  }
}

/** Keeps note of the fetches of robots.txt, which come in the order of their times. */
function createReads() {
  const robots_reads: Facts['robots_reads'] = []
  let total = 0
  /** The last two instants of each hostname: the last one may be that of the fetch that is asked about. */
  const times = new Map<string, readonly [last: number, before: number | undefined]>()
  return {
    add({ timestamp, hostname, status, user_agent, verification }: StoredFetch): void {
      total++
      const at = timestamp.getTime()
      if (robots_reads.length < MAX_READS)
        robots_reads.push({ at: timestamp.toISOString(), hostname, status, user_agent, verification })
      if (status !== 304 && (status < 200 || status >= 300)) return
      const [last, before] = times.get(hostname) ?? []
      times.set(hostname, [at, last === at ? before : last])
    },
    /** Returns the last successful read of a hostname before an instant. */
    last: (hostname: string, at: number) => times.get(hostname)?.find((time) => time !== undefined && time < at),
    list: () => ({ robots_reads, robots_reads_left_out: total - robots_reads.length }),
  }
}
type LastRead = ReturnType<typeof createReads>['last']

/** Counts fetches by the fields that name a sum, for `MAX_SUMS` sums. Fetches come in the order of their times. */
function createSums<T extends object>() {
  const sums = new Map<string, T & Sum>()
  return {
    add(at: string, fields: T): T & Sum {
      const key = JSON.stringify(fields)
      const sum = sums.get(key) ?? { ...fields, fetches: 0, first: at, last: at }
      if (sums.size < MAX_SUMS) sums.set(key, sum)
      return Object.assign(sum, { fetches: sum.fetches + 1, last: at })
    },
    list: () => [...sums.values()].sort((a, b) => b.fetches - a.fetches),
  }
}

function createTally(versions: VersionsOfHosts, lastRead: LastRead) {
  const digest = createHash('sha256')
  const fetches: Fetch[] = []
  const count = { fetches: 0, bytes: 0, disallowed: 0, in_grace: 0, refused: 0, after_reading: 0, imported: 0 }
  const rules = createSums<Omit<Facts['rules'][number], keyof Sum | 'line_text'>>()
  const ownRules = createSums<{ id: number; action: string }>()
  const identity = createSums<{ verification: string; proof: string | null }>()
  const served = createSums<{ status: number; content_type: string | null }>()
  const userAgents = createSums<{ user_agent: string }>()
  /** Seconds, by the sum of `identity`. */
  const oldest = new Map<object, number>()
  return {
    add(stored: StoredFetch): void {
      const { timestamp, proof_at, action, rule } = stored
      const time = timestamp.getTime()
      const version = stored.robots_allowed === false ? versions.use(stored.hostname, time) : undefined
      const fetch = describeFetch(stored, version && Date.parse(version.since), lastRead(stored.hostname, time))
      const { at, hostname, pattern, line, verification, proof, status, content_type } = fetch
      digest.update(`${JSON.stringify(fetch)}\n`)
      if (fetches.length < MAX_FETCHES) fetches.push(fetch)
      count.fetches++
      count.bytes += fetch.bytes
      count.imported += Number(fetch.imported)
      if (stored.robots_allowed === false) {
        count.disallowed++
        count.in_grace += Number(fetch.robots === 'disallowed_in_grace')
        count.after_reading += Number(fetch.read_active_version === true)
        rules.add(at, { hostname, pattern, line, sha256: version?.sha256 ?? null })
      }
      if (action !== null && action !== 'allow' && rule !== null) {
        count.refused++
        ownRules.add(at, { id: rule, action })
      }
      served.add(at, { status, content_type })
      userAgents.add(at, { user_agent: fetch.user_agent })
      const sum = identity.add(at, { verification, proof })
      if (proof_at === null) return
      const age = Math.round((time - proof_at.getTime()) / 1000)
      oldest.set(sum, Math.max(oldest.get(sum) ?? age, age))
    },
    finish: () => ({
      counts: { ...count, left_out: count.fetches - fetches.length, rows_sha256: digest.digest('hex') },
      ...{ rules: rules.list(), own_rules: ownRules.list(), served: served.list(), fetches },
      user_agents: userAgents.list().slice(0, MAX_USER_AGENTS),
      identity: identity.list().map((sum) => ({ ...sum, oldest_s: oldest.get(sum) ?? null })),
    }),
  }
}

/** Describes a fetch; `since` is the beginning of the version that decided, and `read` the last read before. */
function describeFetch(stored: StoredFetch, since: number | undefined, read: number | undefined): Fetch {
  const { timestamp, robots_allowed, robots_grace, robots_rule, robots_line, proof_at, import_id, ...row } = stored
  const { action, rule, ...before } = row
  const isDisallowed = robots_allowed === false
  const verdict = robots_allowed === null ? 'not_judged' : 'allowed'
  const isActive = since !== undefined && since <= timestamp.getTime()
  return {
    at: timestamp.toISOString(),
    ...before,
    proof_at: proof_at?.toISOString() ?? null,
    robots: isDisallowed ? (robots_grace ? 'disallowed_in_grace' : 'disallowed') : verdict,
    ...{ pattern: isDisallowed ? robots_rule : null, line: isDisallowed ? robots_line : null, action, rule },
    robots_read_at: read === undefined ? null : new Date(read).toISOString(),
    read_active_version: isActive ? read !== undefined && read >= since : null,
    imported: import_id !== null,
  }
}
