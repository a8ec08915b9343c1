import { z } from 'zod'
import type { Outbound } from '../outbound/outbound.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { changeText, firstText, type PolicyChange, sideOf } from './change.js'
import { fetchPolicy } from './fetch.js'
import { add, answeredBefore, newFile, notice, type PolicyFileState, schedule } from './file.js'
import { createHostnames, OBSERVED } from './hostnames.js'
import type { Judges } from './judgement.js'
import { createJudges } from './judges.js'
import { createPolicies } from './policies.js'
import type { Policy } from './policy.js'
import { KINDS, type Kind, PATHS, standingOf, type Version } from './timeline.js'
import { insertion, loadVersions, releaseBodies, renewal } from './versions.js'

export interface KeeperDeps {
  /**
   * The way to the origin: whatever hostname a URL has, the origin is asked, with `Host` as it says, and redirects to
   * elsewhere go through the guard. Undefined: there is no origin, and nothing is asked.
   */
  ask: Outbound | undefined
  /** The way to a site that has an origin of its own; absent: there is none. Its admins named it, not the operator. */
  askAt?: (origin: string) => Outbound
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
export type Files = { readonly [K in Kind]: PolicyFileState }

/** Keeps robots.txt and llms.txt of each hostname: asks for them, remembers every version, and judges rows by them. */
export interface Keeper {
  readonly judges: Judges
  /** Reads what is stored, so that rows are judged from the first on. Never rejects. */
  start(): Promise<void>
  /** To be called each second. Resolves when all that it asked for is answered, which is for tests. Never rejects. */
  tick(): Promise<void>
  /** A body of `/robots.txt` or `/llms.txt` that was another than before went to a client; `at`: its request, epoch ms. */
  seen(hostname: string, path: string, at: number): void
  /** Every hostname that is kept: those that sites list first, then those seen most. */
  hostnames(): readonly string[]
  /** Whether a site lists it; a stranger can name any other. */
  isListed(hostname: string): boolean
  files(hostname: string): Files | undefined
  /** As parsed; undefined where the text is not held any more. */
  policyOf(version: Version): Policy | undefined
  /** Stores what is not yet stored; asks for nothing any more. */
  close(): Promise<void>
}

/** The sites' hostnames are looked up this often, ms: a new site need not wait longer. */
const LISTING = 10_000
/** That a version was seen again is stored this often, ms; what is new is stored at once. */
const RENEWING = 3_600_000
/** And tried again after this long, ms. */
const STORING = 30_000
/** Questions at the same time: the origin has people to serve. */
const AT_ONCE = 2
/** Hostnames that only requests name are taken up at one each ten seconds, eight at once at most. */
const TAKE_UP = 10_000
const TAKE_UP_BURST = 8

const Listed = z.object({
  origin: z.string().nullable(),
  domains: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(z.string())),
})

export function createKeeper(deps: KeeperDeps): Keeper {
  const { ask, askAt, records, now, random, log } = deps
  /** By hostname, of the sites that have one. */
  let origins: ReadonlyMap<string, string> = new Map()
  const wayTo = (hostname: string): Outbound | undefined => {
    const origin = origins.get(hostname)
    return (origin === undefined ? undefined : askAt?.(origin)) ?? ask
  }
  const kept = new Map<string, Files>()
  const hostnames = createHostnames()
  const policyOf = createPolicies()
  const unstored = new Set<Version>()
  const renewed = new Set<Version>()
  let listed_at = Number.NEGATIVE_INFINITY
  let storing: Promise<void> | undefined
  let store_after = 0
  let renew_after = 0
  /** Named only by requests, and not yet taken up. */
  const newcomers = new Set<string>()
  let take_up = 0
  let asking = 0
  let closed = false

  const keep = (hostname: string, due: number): Files => {
    const files: Files = { robots: newFile(hostname, 'robots'), llms: newFile(hostname, 'llms') }
    for (const kind of KINDS) files[kind].due = due
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
        const next = Math.max(take_up, time - TAKE_UP * TAKE_UP_BURST) + TAKE_UP
        if (next > time) return
        take_up = next
      }
      newcomers.delete(hostname)
      const files = kept.get(hostname)
      for (const kind of KINDS) if (files) files[kind].due = time
    }
  }

  const list = async () => {
    const time = now()
    if (time - listed_at < LISTING) return
    listed_at = time
    const sites = (await records.query(sql`select domains, origin from sites`)).map((row) => Listed.parse(row))
    hostnames.list(sites.flatMap(({ domains }) => domains))
    origins = new Map(
      sites.flatMap(({ domains, origin }) =>
        origin === null ? [] : domains.map((domain): [string, string] => [domain, origin]),
      ),
    )
    hostnames.forget(time)
    prune()
    for (const hostname of hostnames.all()) if (!kept.has(hostname)) keep(hostname, time)
  }

  const announce = (file: PolicyFileState, version: Version) => {
    const before = answeredBefore(file, version)
    const to = sideOf(version, policyOf(version))
    if (standingOf(version.status) === 'unreachable') {
      log('warn', firstText(version, to))
      return
    }
    if (before === undefined || before.sha256 === version.sha256) {
      log('info', firstText(version, to))
      return
    }
    const { hostname, kind, first_seen: at } = version
    const change = { hostname, kind, at, from: sideOf(before, policyOf(before)), to }
    log('info', changeText(change))
    deps.onChange?.(change)
  }

  const look = async (file: PolicyFileState) => {
    const way = wayTo(file.hostname)
    if (way === undefined) return
    const at = now()
    const noticed = schedule(file, at, random() * 2 - 1)
    file.asking = true
    asking++
    try {
      const { hostname, kind } = file
      const last = file.versions.at(-1)
      const known = last !== undefined && last.body !== undefined ? last : undefined
      const found = await fetchPolicy(way, { hostname, kind, at, known })
      if (closed) return
      const version = add(file, found, now(), noticed)
      const current = file.versions.at(-1)
      if (version !== undefined) {
        unstored.add(version)
        announce(file, version)
        releaseBodies([...kept.values()].flatMap((files) => KINDS.map((kind) => files[kind].versions)))
      } else if (current !== undefined && !unstored.has(current)) renewed.add(current)
    } catch (error) {
      log('error', `${file.hostname}${PATHS[file.kind]} could not be kept`, error)
    } finally {
      file.asking = false
      asking--
    }
  }

  const dueFiles = (): PolicyFileState[] => {
    const time = now()
    return [...kept.values()]
      .flatMap((files) => KINDS.map((kind) => files[kind]))
      .filter((file) => !file.asking && file.due <= time && wayTo(file.hostname) !== undefined)
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
        ...insertions.flatMap((version) => insertion(version, hostnames.all())),
        ...renewals.map(renewal),
      )
      for (const version of insertions) unstored.delete(version)
      for (const version of renewals) renewed.delete(version)
      if (time >= renew_after) renew_after = time + RENEWING
    } catch (error) {
      store_after = time + STORING
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
    while (asking < AT_ONCE && dueFiles().length > 0) looks.push(next())
    await Promise.all(looks)
    if (!closed) await storeInTurn()
  }

  return {
    judges: createJudges({
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
        for (const [hostname] of others.slice(0, OBSERVED)) if (hostnames.observe(hostname, time)) keep(hostname, time)
        for (const version of versions) kept.get(version.hostname)?.[version.kind].versions.push(version)
      } catch (error) {
        log('error', 'the stored versions of policies cannot be read: rows wait for new ones', error)
      }
      renew_after = now() + RENEWING
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
    seen(hostname, path, at) {
      const kind = KINDS.find((one) => PATHS[one] === path)
      const file = kind && kept.get(hostname)?.[kind]
      // Whose `Host` a stranger made up waits for its turn, whatever passes.
      if (!file || newcomers.has(hostname)) return
      notice(file, Math.min(at, now()), now())
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
