import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Catalog } from '../../agents/catalog.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { inWindow } from '../../analytics/query/window-conditions.js'
import { DAY_MS } from '../../base/time-units.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { forEach, type StreamRows } from '../rehearsal/run.js'
import { type Facts, type Fetch, MAX_FETCHES, MAX_READS, type RobotsRead } from './document.js'
import { createRobotsVersions, lineOf, type VersionsOfHosts } from './robots-versions.js'

/** An agent may keep a copy of robots.txt for a day; a month shows how often it asks. */
const READS_BEFORE_MS = 30 * DAY_MS
/** Hostnames whose versions of robots.txt are looked up, those with most fetches first. */
const MAX_HOSTNAMES = 50
const MAX_USER_AGENTS = 20
/** Bounds the memory for user agents, which clients choose. */
const MAX_COUNTED_USER_AGENTS = 10_000

/** A rule of the site as it is now. */
export interface OwnRule {
  readonly id: number
  readonly name: string
  readonly changed_at: Date
}

interface Question {
  readonly agent_id: string
  readonly catalog: Catalog
  readonly site: Facts['site']
  readonly ownRules: readonly OwnRule[]
  readonly made_by: string
  readonly stream: StreamRows
}

const IS_IN_FOLDER = raw(
  "((robots_allowed is not null and not robots_allowed) or coalesce(action, 'allow') <> 'allow')",
)
const SPOOFED = raw("verification = 'spoofed'")

const StoredFetch = z.object({
  timestamp: z.date(),
  method: z.string(),
  hostname: z.string(),
  pathname: z.string(),
  status: z.coerce.number(),
  bytes: z.coerce.number(),
  content_type: z.string().nullable(),
  user_agent: z.string(),
  verification: z.string(),
  proof: z.string().nullable(),
  proof_at: z.date().nullable(),
  robots_allowed: z.boolean().nullable(),
  robots_grace: z.boolean().nullable(),
  robots_rule: z.string().nullable(),
  robots_line: z.number().nullable(),
  action: z.string().nullable(),
  rule: z.number().nullable(),
  import_id: z.number().nullable(),
})
type StoredFetch = z.infer<typeof StoredFetch>

/** Collects the facts about one agent's fetches in the window of a read. */
export async function collectEvidence(context: ReadContext, question: Question): Promise<Facts> {
  const { plan } = context
  const { agent_id, catalog, site, made_by, stream } = question
  const ofAgent = sql`agent_id = ${agent_id}`
  const hosts = await context.rows(sql`
    select hostname, count(*) filter (where not ${SPOOFED}) as fetches, count(*) filter (where ${SPOOFED}) as spoofed
    from agent_events where ${inWindow(plan)} and ${ofAgent} and ${IS_IN_FOLDER}
    group by hostname order by fetches desc, hostname`)
  const versions = await createRobotsVersions(
    context,
    hosts.slice(0, MAX_HOSTNAMES).map(({ hostname }) => String(hostname)),
  )
  const reads = await listReads(stream, plan, ofAgent)
  const tally = createTally(versions, reads.lastRead)
  const columns = raw(Object.keys(StoredFetch.shape).join(', '))
  await forEach(
    stream(sql`select ${columns} from agent_events
      where ${inWindow(plan)} and ${ofAgent} and ${IS_IN_FOLDER} and not ${SPOOFED}
      order by timestamp, hostname, pathname, method, status, bytes, user_agent`),
    tally.add,
  )
  const entry = catalog.get(agent_id)
  const { counts, ...sums } = tally.finish()
  const robots_txt = await versions.listUsed()
  const { start, end } = plan.window
  return {
    format: 'readership-evidence-1',
    made_at: context.now.toISOString(),
    made_by,
    site,
    agent: {
      agent_id,
      name: entry?.name ?? agent_id,
      operator: entry?.operator ?? null,
      docs_url: entry?.docs_url ?? null,
      respects_robots: entry?.respects_robots ?? null,
      catalog_version: catalog.version,
    },
    window: { start: start.toISOString(), end: end.toISOString() },
    counts: { ...counts, spoofed: hosts.reduce((sum, { spoofed }) => sum + Number(spoofed), 0) },
    ...sums,
    own_rules: sums.own_rules.map((rule) => {
      const now = question.ownRules.find(({ id }) => id === rule.id)
      const { name = null, changed_at } = now ?? {}
      return { ...rule, name, changed_at: changed_at?.toISOString() ?? null, definition: now ?? null }
    }),
    rules: sums.rules.map((rule) => {
      const version = robots_txt.find((one) => one.hostname === rule.hostname && one.sha256 === rule.sha256)
      return { ...rule, line_text: lineOf(version?.text, rule.line) }
    }),
    robots_txt,
    robots_reads: reads.listed,
    robots_reads_left_out: reads.total - reads.listed.length,
    not_recorded: [],
  }
}

/** Reads when the agent fetched robots.txt, by hostname. */
async function listReads(stream: StreamRows, { site, window }: ReadContext['plan'], ofAgent: Sql) {
  const since = new Date(window.start.getTime() - READS_BEFORE_MS)
  const listed: RobotsRead[] = []
  const times = new Map<string, number[]>()
  let total = 0
  await forEach(
    stream(sql`select timestamp, hostname, status, user_agent, verification from agent_events
      where site_id = ${site} and timestamp >= ${since} and timestamp < ${window.end} and ${ofAgent}
        and pathname = '/robots.txt' and method = 'GET' and not ${SPOOFED}
      order by timestamp, hostname, status, user_agent`),
    (row: ResultRow) => {
      const { timestamp, hostname, status, user_agent, verification } = StoredFetch.pick({
        ...{ timestamp: true, hostname: true, status: true, user_agent: true, verification: true },
      }).parse(row)
      total++
      if (listed.length < MAX_READS)
        listed.push({ at: timestamp.toISOString(), hostname, status, user_agent, verification })
      if (status !== 304 && (status < 200 || status >= 300)) return
      const known = times.get(hostname)
      if (known) known.push(timestamp.getTime())
      else times.set(hostname, [timestamp.getTime()])
    },
  )
  const lastRead = (hostname: string, at: number): number | undefined =>
    times.get(hostname)?.findLast((time) => time < at)
  return { listed, total, lastRead }
}

type Sum = { fetches: number; first: string; last: string }

/** Adds the fetches up, in the order of their times. */
function createTally(versions: VersionsOfHosts, lastRead: (hostname: string, at: number) => number | undefined) {
  const digest = createHash('sha256')
  const fetches: Fetch[] = []
  const count = { fetches: 0, bytes: 0, disallowed: 0, in_grace: 0, refused: 0, after_reading: 0, imported: 0 }
  const rules = new Map<string, Facts['rules'][number]>()
  const ownRules = new Map<string, Sum & { id: number; action: string }>()
  const identity = new Map<string, Facts['identity'][number]>()
  const served = new Map<string, Facts['served'][number]>()
  const userAgents = new Map<string, number>()
  let first: string | null = null
  let last: string | null = null

  function add(row: ResultRow): void {
    const stored = StoredFetch.parse(row)
    const { version, fetch } = describeFetch(stored, versions, lastRead)
    const { at, status, content_type, bytes, user_agent, action, rule } = fetch
    digest.update(`${JSON.stringify(fetch)}\n`)
    if (fetches.length < MAX_FETCHES) fetches.push(fetch)
    first ??= at
    last = at
    count.fetches++
    count.bytes += bytes
    if (fetch.imported) count.imported++
    if (fetch.robots.startsWith('disallowed')) {
      count.disallowed++
      if (fetch.robots === 'disallowed_in_grace') count.in_grace++
      if (fetch.read_active_version) count.after_reading++
      const { hostname, pattern, line } = fetch
      const key = [hostname, pattern, line, version?.sha256, version?.since].join('\n')
      sumUp<Omit<Facts['rules'][number], keyof Sum>>(rules, key, at, () => ({
        hostname,
        pattern,
        line,
        line_text: null,
        sha256: version?.sha256 ?? null,
      }))
    }
    if (action !== null && action !== 'allow' && rule !== null) {
      count.refused++
      sumUp(ownRules, `${rule} ${action}`, at, () => ({ id: rule, action }))
    }
    addIdentity(identity, stored, at)
    const kind = `${status} ${content_type}`
    const same = served.get(kind) ?? { status, content_type, fetches: 0, bytes: 0 }
    served.set(kind, { ...same, fetches: same.fetches + 1, bytes: same.bytes + bytes })
    if (userAgents.size < MAX_COUNTED_USER_AGENTS || userAgents.has(user_agent))
      userAgents.set(user_agent, (userAgents.get(user_agent) ?? 0) + 1)
  }

  const most = <T extends { fetches: number }>(all: Iterable<T>): T[] => [...all].sort((a, b) => b.fetches - a.fetches)
  return {
    add,
    finish: () => ({
      counts: {
        ...{ ...count, listed: fetches.length, left_out: count.fetches - fetches.length },
        ...{ rows_sha256: digest.digest('hex'), first, last },
      },
      rules: most(rules.values()),
      own_rules: most(ownRules.values()),
      identity: most(identity.values()),
      served: most(served.values()),
      user_agents: most([...userAgents].map(([name, n]) => ({ user_agent: name, fetches: n }))).slice(
        0,
        MAX_USER_AGENTS,
      ),
      fetches,
    }),
  }
}

/** Adds a fetch to the sum with this key. */
function sumUp<T extends object>(sums: Map<string, T & Sum>, key: string, at: string, create: () => T): void {
  const sum = sums.get(key)
  if (sum === undefined) sums.set(key, { ...create(), fetches: 1, first: at, last: at })
  else Object.assign(sum, { fetches: sum.fetches + 1, last: at })
}

function addIdentity(
  sums: Map<string, Facts['identity'][number]>,
  { verification, proof, proof_at, timestamp }: StoredFetch,
  at: string,
): void {
  const key = `${verification}\n${proof}`
  const none = { proof_from: null, proof_to: null, oldest_s: null }
  sumUp<Omit<Facts['identity'][number], keyof Sum>>(sums, key, at, () => ({ verification, proof, ...none }))
  const sum = sums.get(key)
  if (sum === undefined || proof_at === null) return
  const copy = proof_at.toISOString()
  const age = Math.round((timestamp.getTime() - proof_at.getTime()) / 1000)
  if (sum.proof_from === null || copy < sum.proof_from) sum.proof_from = copy
  if (sum.proof_to === null || copy > sum.proof_to) sum.proof_to = copy
  sum.oldest_s = Math.max(sum.oldest_s ?? age, age)
}

function describeFetch(
  stored: StoredFetch,
  versions: VersionsOfHosts,
  lastRead: (hostname: string, at: number) => number | undefined,
) {
  const { timestamp, robots_allowed, robots_grace, robots_rule, robots_line, proof_at, import_id, ...row } = stored
  const at = timestamp.getTime()
  const isDisallowed = robots_allowed === false
  const version = isDisallowed ? versions.use(row.hostname, at) : undefined
  const since = Date.parse(version?.since ?? '')
  const isActive = since <= at
  const read = lastRead(row.hostname, at)
  const { method, hostname, pathname, status, bytes, content_type, user_agent, verification, proof, action, rule } = row
  const fetch: Fetch = {
    at: timestamp.toISOString(),
    ...{ method, hostname, pathname, status, bytes, content_type, user_agent, verification, proof },
    proof_at: proof_at?.toISOString() ?? null,
    robots: isDisallowed
      ? robots_grace === true
        ? 'disallowed_in_grace'
        : 'disallowed'
      : robots_allowed === null
        ? 'not_judged'
        : 'allowed',
    ...{ pattern: isDisallowed ? robots_rule : null, line: isDisallowed ? robots_line : null, action, rule },
    robots_read_at: read === undefined ? null : new Date(read).toISOString(),
    read_active_version: isActive ? read !== undefined && read >= since : null,
    imported: import_id !== null,
  }
  return { version, fetch }
}
