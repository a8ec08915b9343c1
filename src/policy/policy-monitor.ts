import { z } from 'zod'
import type { Outbound } from '../outbound/outbound.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { changeText, firstText, type PolicyChange, stateOf } from './change.js'
import { fetchPolicy } from './fetch-policy.js'
import {
  addVersion,
  createFileState,
  type PolicyFileState,
  previousAnswer,
  recheckSoon,
  scheduleNext,
} from './file-schedule.js'
import { createHostnames, MAX_UNLISTED_HOSTNAMES } from './hostnames.js'
import type { PolicyJudge } from './judgement.js'
import type { Policy } from './policy.js'
import { createPolicyCache } from './policy-cache.js'
import { createPolicyJudge } from './policy-judge.js'
import { POLICY_KINDS, POLICY_PATHS, type PolicyKind, type PolicyVersion, standingOf } from './version.js'
import { insertVersion, loadVersions, releaseBodies, updateVersion } from './version-store.js'

export interface PolicyMonitorDeps {
  /**
   * The way to the origin: whatever hostname a URL has, the origin is asked, with `Host` as it says, and redirects to
   * elsewhere go through the guard. Undefined: there is no origin, and nothing is asked.
   */
  ask: Outbound | undefined
  /** The way to a site that has an origin of its own; absent: there is none. Its admins named it, not the operator. */
  siteOutbound?: (origin: string) => Outbound
  records: Records
  /** Epoch ms. */
  now: () => number
  /** From 0 to 1, for jitter. */
  random: () => number
  log: (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void
  /** Told when a hostname's file became another one, never for its first version. */
  onChange?: (change: PolicyChange) => void
}

/** A hostname's files, as they are kept. */
export type PolicyFiles = { readonly [K in PolicyKind]: PolicyFileState }

/** Keeps robots.txt and llms.txt of each hostname: asks for them, remembers every version, and judges rows by them. */
export interface PolicyMonitor {
  readonly judge: PolicyJudge
  /** Reads what is stored, so that rows are judged from the first on. Never rejects. */
  start(): Promise<void>
  /** To be called each second. Resolves when all that it asked for is answered, which is for tests. Never rejects. */
  tick(): Promise<void>
  /** A body of `/robots.txt` or `/llms.txt` that was another than before went to a client; `at`: its request, epoch ms. */
  reportServedFile(hostname: string, path: string, at: number): void
  /** Every hostname that is kept: those that sites list first, then those seen most. */
  hostnames(): readonly string[]
  /** Whether a site lists it; a stranger can name any other. */
  isListed(hostname: string): boolean
  files(hostname: string): PolicyFiles | undefined
  /** As parsed; undefined where the text is not held any more. */
  policyOf(version: PolicyVersion): Policy | undefined
  /** Stores what is not yet stored; asks for nothing any more. */
  close(): Promise<void>
}

/** The sites' hostnames are looked up this often, ms: a new site need not wait longer. */
const SITES_REFRESH_MS = 10_000
/** That a version was seen again is stored this often, ms; what is new is stored at once. */
const RENEWALS_STORE_MS = 3_600_000
/** And tried again after this long, ms. */
const STORE_RETRY_MS = 30_000
/** Questions at the same time: the origin has people to serve. */
const MAX_CONCURRENT_FETCHES = 2
/** Hostnames that only requests name are taken up at one each ten seconds, eight at once at most. */
const ADMISSION_INTERVAL_MS = 10_000
const MAX_ADMISSION_BURST = 8

const SiteRow = z.object({
  origin: z.string().nullable(),
  domains: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(z.string())),
})

export function createPolicyMonitor(deps: PolicyMonitorDeps): PolicyMonitor {
  const { ask, siteOutbound: askAt, records, now, random, log } = deps
  /** By hostname, of the sites that have one. */
  let origins: ReadonlyMap<string, string> = new Map()
  const wayTo = (hostname: string): Outbound | undefined => {
    const origin = origins.get(hostname)
    return (origin === undefined ? undefined : askAt?.(origin)) ?? ask
  }
  const kept = new Map<string, PolicyFiles>()
  const hostnames = createHostnames()
  const policyOf = createPolicyCache()
  const unstored = new Set<PolicyVersion>()
  const renewed = new Set<PolicyVersion>()
  let listed_at = Number.NEGATIVE_INFINITY
  let storing: Promise<void> | undefined
  let store_after = 0
  let renew_after = 0
  /** Named only by requests, and not yet taken up. */
  const newcomers = new Set<string>()
  let take_up = 0
  let asking = 0
  let closed = false

  const keep = (hostname: string, due: number): PolicyFiles => {
    const files: PolicyFiles = { robots: createFileState(hostname, 'robots'), llms: createFileState(hostname, 'llms') }
    for (const kind of POLICY_KINDS) files[kind].due = due
    kept.set(hostname, files)
    return files
  }

  /** Lets go of the hostnames that are not known any more. */
  const prune = () => {
    for (const hostname of kept.keys())
      if (!hostnames.has(hostname)) {
        kept.delete(hostname)
        newcomers.delete(hostname)
      }
  }

  const observe = (hostname: string, at: number) => {
    if (!hostnames.observe(hostname, at)) return
    keep(hostname, Number.POSITIVE_INFINITY)
    newcomers.add(hostname)
    prune()
  }

  /** Takes up as many newcomers as may be now: those that a site lists meanwhile, then those seen most. */
  const admit = () => {
    if (newcomers.size === 0) return
    const time = now()
    for (const hostname of hostnames.all()) {
      if (!newcomers.has(hostname)) continue
      if (!hostnames.isListed(hostname)) {
        const next = Math.max(take_up, time - ADMISSION_INTERVAL_MS * MAX_ADMISSION_BURST) + ADMISSION_INTERVAL_MS
        if (next > time) return
        take_up = next
      }
      newcomers.delete(hostname)
      const files = kept.get(hostname)
      for (const kind of POLICY_KINDS) if (files) files[kind].due = time
    }
  }

  const list = async () => {
    const time = now()
    if (time - listed_at < SITES_REFRESH_MS) return
    listed_at = time
    const sites = (await records.query(sql`select domains, origin from sites`)).map((row) => SiteRow.parse(row))
    hostnames.setListed(sites.flatMap(({ domains }) => domains))
    origins = new Map(
      sites.flatMap(({ domains, origin }) =>
        origin === null ? [] : domains.map((domain): [string, string] => [domain, origin]),
      ),
    )
    hostnames.forget(time)
    prune()
    for (const hostname of hostnames.all()) if (!kept.has(hostname)) keep(hostname, time)
  }

  const announce = (file: PolicyFileState, version: PolicyVersion) => {
    const before = previousAnswer(file, version)
    const to = stateOf(version, policyOf(version))
    if (standingOf(version.status) === 'unreachable') {
      log('warn', firstText(version, to))
      return
    }
    if (before === undefined || before.sha256 === version.sha256) {
      log('info', firstText(version, to))
      return
    }
    const { hostname, kind, first_seen: at } = version
    const change = { hostname, kind, at, from: stateOf(before, policyOf(before)), to }
    log('info', changeText(change))
    deps.onChange?.(change)
  }

  const look = async (file: PolicyFileState) => {
    const way = wayTo(file.hostname)
    if (way === undefined) return
    const at = now()
    const noticed = scheduleNext(file, at, random() * 2 - 1)
    file.fetching = true
    asking++
    try {
      const { hostname, kind } = file
      const last = file.versions.at(-1)
      const known = last !== undefined && last.body !== undefined ? last : undefined
      const found = await fetchPolicy(way, { hostname, kind, at, previous: known })
      if (closed) return
      const version = addVersion(file, found, now(), noticed)
      const current = file.versions.at(-1)
      if (version !== undefined) {
        unstored.add(version)
        announce(file, version)
        releaseBodies([...kept.values()].flatMap((files) => POLICY_KINDS.map((kind) => files[kind].versions)))
      } else if (current !== undefined && !unstored.has(current)) renewed.add(current)
    } catch (error) {
      log('error', `${file.hostname}${POLICY_PATHS[file.kind]} could not be kept`, error)
    } finally {
      file.fetching = false
      asking--
    }
  }

  const dueFiles = (): PolicyFileState[] => {
    const time = now()
    return [...kept.values()]
      .flatMap((files) => POLICY_KINDS.map((kind) => files[kind]))
      .filter((file) => !file.fetching && file.due <= time && wayTo(file.hostname) !== undefined)
      .sort((a, b) => a.due - b.due)
  }

  const store = async (everything: boolean) => {
    const time = now()
    const renewals = everything || time >= renew_after ? [...renewed] : []
    const insertions = [...unstored]
    if (insertions.length + renewals.length === 0) return
    if (!everything && time < store_after) return
    try {
      await records.write(
        ...insertions.flatMap((version) => insertVersion(version, hostnames.all())),
        ...renewals.map(updateVersion),
      )
      for (const version of insertions) unstored.delete(version)
      for (const version of renewals) renewed.delete(version)
      if (time >= renew_after) renew_after = time + RENEWALS_STORE_MS
    } catch (error) {
      store_after = time + STORE_RETRY_MS
      log('warn', 'versions of policies could not be stored; they are kept and tried again', error)
    }
  }
  const storeInTurn = (everything = false): Promise<void> => {
    const next = (storing ?? Promise.resolve()).then(() => store(everything))
    storing = next
    return next
  }

  const run = async () => {
    if (closed || (ask === undefined && askAt === undefined)) return
    await list()
    admit()
    // As many at a time as may be, until none is due.
    const looks: Promise<void>[] = []
    const next = async (): Promise<void> => {
      for (let [file] = dueFiles(); file !== undefined && !closed; [file] = dueFiles()) await look(file)
    }
    while (asking < MAX_CONCURRENT_FETCHES && dueFiles().length > 0) looks.push(next())
    await Promise.all(looks)
    if (!closed) await storeInTurn()
  }

  return {
    judge: createPolicyJudge({
      versionsOf: (hostname) => {
        const files = kept.get(hostname)
        return files && { robots: files.robots.versions, llms: files.llms.versions }
      },
      policyOf,
      observe,
    }),
    async start() {
      try {
        const versions = await loadVersions(records)
        const time = now()
        await list()
        // Those that no site lists are taken up as if they were seen now: what was down for days is not forgotten by it.
        const latest = new Map(versions.map(({ hostname, last_seen }) => [hostname, last_seen]))
        const others = [...latest].filter(([hostname]) => !hostnames.has(hostname)).sort((a, b) => b[1] - a[1])
        for (const [hostname] of others.slice(0, MAX_UNLISTED_HOSTNAMES))
          if (hostnames.observe(hostname, time)) keep(hostname, time)
        for (const version of versions) kept.get(version.hostname)?.[version.kind].versions.push(version)
      } catch (error) {
        log('error', 'the stored versions of policies cannot be read: rows wait for new ones', error)
      }
      renew_after = now() + RENEWALS_STORE_MS
      // Of a new instance the sites are made only when it is open.
      listed_at = Number.NEGATIVE_INFINITY
    },
    async tick() {
      try {
        await run()
      } catch (error) {
        log('warn', 'policies could not be looked after', error)
      }
    },
    reportServedFile(hostname, path, at) {
      const kind = POLICY_KINDS.find((one) => POLICY_PATHS[one] === path)
      const file = kind && kept.get(hostname)?.[kind]
      // Whose `Host` a stranger made up waits for its turn, whatever passes.
      if (!file || newcomers.has(hostname)) return
      recheckSoon(file, Math.min(at, now()), now())
      void this.tick()
    },
    hostnames: () => hostnames.all(),
    isListed: (hostname) => hostnames.isListed(hostname),
    files: (hostname) => kept.get(hostname),
    policyOf,
    async close() {
      closed = true
      await storeInTurn(true)
    },
  }
}
