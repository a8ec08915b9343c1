import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { loadCatalog } from '../agents/catalog.js'
import { createVerifier } from '../agents/claim-check.js'
import { createPolicyMonitor, type PolicyMonitorDeps } from '../agents/policy/policy-monitor.js'
import { createSitemapMonitor } from '../agents/policy/sitemap-monitor.js'
import { createPolicyApi } from '../agents/policy/worker-api.js'
import { openListCache } from '../agents/ranges/list-cache.js'
import { createRanges } from '../agents/ranges/ranges.js'
import { createRdns, type DnsResolver } from '../agents/rdns.js'
import { createSignatures } from '../agents/signature/signatures.js'
import { createOutbound, createResolve } from '../base/outbound/guarded-outbound.js'
import { createOriginOutbound } from '../base/outbound/origin-outbound.js'
import type { Outbound } from '../base/outbound/outbound.js'
import { openPrivateFile, type PrivateFile } from '../base/private-file.js'
import type { SiteByHostname, SiteById, SiteSettings } from '../capture/site.js'
import type { EventStore } from '../storage/event-store.js'
import type { Log, Records } from '../storage/store.js'
import type { WorkerOptions } from '../worker-client/protocol.js'
import { createAgentApi } from './agent-api.js'
import { type Classifier, createClassifier } from './ingest/classifier.js'
import { createPlaceApi, openPlaceLookup } from './ingest/place/place-lookup.js'
import { SaltStore } from './ingest/salts.js'
import { SessionMemory } from './ingest/session-memory.js'
import { createSiteActivityCounter } from './ingest/site-activity.js'
import { createViewMemory } from './ingest/view-memory.js'
import { createPageSamples } from './pages/page-samples.js'
import type { ParentPort } from './parent-port.js'
import { createReclassify } from './reclassify.js'
import { createClaimIdentity, createVerdictNotes } from './verdict-notes.js'

/** Functions that the site's process calls by name; each parses its argument. */
export type WorkerApi = Readonly<Record<string, (argument: unknown) => Promise<unknown>>>

/** The worker's access to the internet. */
interface Network {
  outbound: Outbound
  /** Absent: no DNS. */
  resolver?: DnsResolver
}

/** Opens the internet, guarded against private addresses; with `offline`, every request is refused. */
export function openNetwork({ offline, version }: Pick<WorkerOptions, 'offline' | 'version'>): Network {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  const outbound = createOutbound({ resolve: createResolve(resolver), offline, version })
  return offline ? { outbound } : { outbound, resolver }
}

const now = () => Date.now()
const clock = () => performance.now()
const random = Math.random

interface PartsDeps {
  options: WorkerOptions
  siteOf: SiteByHostname
  siteById: SiteById
  listSites: PolicyMonitorDeps['sites']
  records: Records
  events: EventStore
  /** Salts that several processes share; a file of the data directory without them. */
  salts?: { file: PrivateFile; keepEnded: boolean } | undefined
  /** Why nothing may be written at present; undefined if it may. */
  obstacle: () => string | undefined
  log: Log
  /** Sends changes of policies, and verdicts on claims while `setNoting` is on; absent in a process that classifies nothing. */
  post?: ParentPort['post']
}

const faultLog = (log: Log) => (message: string, error: unknown) => log('error', message, error)

export type CreateParts = ReturnType<typeof createPartsFactory>

/** Returns the function that builds the write path; tests open another network. */
export const createPartsFactory = (open: (options: WorkerOptions) => Network) => (deps: PartsDeps) => {
  const { options, siteOf, siteById, log, events, obstacle } = deps
  const { offline } = options
  const network = open(options)
  const catalog = loadCatalog()
  const { ranges, signatures, verifier } = createVerification(options, network, catalog, log)
  const { policies, sitemaps } = createPolicyMonitors(deps, network)
  const { file = openPrivateFile(`${options.data}/salts.json`), ...kept } = deps.salts ?? {}
  const salts = new SaltStore({ file, ...kept, now, random: randomBytes, log: faultLog(log) })
  const sessions = new SessionMemory({ now })
  const views = createViewMemory()
  const activity = createSiteActivityCounter(now)
  const places = openPlaceLookup(options.geoip === undefined ? {} : { geoip: options.geoip })
  const samples = createPageSamples({ store: events, siteOf, obstacle, now, log })
  const shared = { catalog, places, siteOf, siteById, sessions, verifier, referrerSpam: options }
  const { setNoting, noting } = createVerdictNotes((verdicts) => deps.post?.({ type: 'claim_verdicts', verdicts }), now)
  const classifier: Classifier = createClassifier({
    ...shared,
    verifier: noting(verifier),
    salts,
    viewMemory: views,
    policyJudge: policies.judge,
    activity,
    describePage: samples.describe,
    log: faultLog(log),
    // The clock limits a flood of new user agents to half of the worker's time.
    clock,
  })
  const api: WorkerApi = {
    ...createPolicyApi({ monitor: policies, siteOf, catalog }),
    ...createAgentApi({ catalog, verifier, ranges, signatures, offline, now }),
    check_claim: createClaimIdentity({ catalog, verifier, now }),
    ...createPlaceApi(places),
    activity: async () => activity.take(),
    freshness: async () => ({
      robots: policies.robotsChecks().map((check) => ({ ...check, site: siteOf(check.hostname)?.id })),
      ranges: ranges.status(),
      geo: places.sources,
    }),
    page_sampled: samples.take,
    reclassify: createReclassify({ store: events, catalog, clock, obstacle }),
  }

  return {
    classifier,
    setNoting,
    sessions,
    views,
    activity,
    api,
    judgement: { policies, catalog, clock },
    importing: {
      ...shared,
      obstacle,
      now,
      log,
      policyJudge: policies.judgeOfPast,
      held: (policy: SiteSettings['visitor_salt'], at: number) => salts.held(policy, at),
    },
    /** Call it before the first row; never rejects. */
    async start(): Promise<void> {
      if (!offline) signatures.start()
      await policies.start()
    },
    /** Reads the policies that are stored, in the place of those that were read before. Never rejects. */
    readPolicies: (): Promise<void> => policies.start(),
    /** Call it each second. */
    tick(): void {
      salts.expire()
      ranges.tick()
      void Promise.all([policies.tick(), sitemaps.tick(), samples.tick()])
    },
    /** Stores what is not stored yet; call it before the files are closed. Never rejects. */
    async close(): Promise<void> {
      signatures.close()
      sitemaps.close()
      await Promise.all([policies.close(), samples.close()])
    },
  }
}

function createVerification(
  { data, ranges: localPaths, offline }: WorkerOptions,
  { outbound, resolver }: Network,
  catalog: ReturnType<typeof loadCatalog>,
  log: Log,
) {
  const cache = openListCache(`${data}/agents`)
  const ranges = createRanges({ catalog, outbound, cache, localPaths, offline, now, random, log })
  const signatures = createSignatures({
    catalog,
    outbound,
    file: `${data}/agents/directories.json`,
    now,
    random,
    clock,
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    log: { warn: ({ err }: { err?: unknown }, message) => log('warn', message, err) },
  })
  const verifier = createVerifier({ signatures, ranges, ...(resolver && { rdns: createRdns({ resolver, clock }) }) })
  return { ranges, signatures, verifier }
}

function createPolicyMonitors({ options, records, listSites, events, log, post }: PartsDeps, { outbound }: Network) {
  const { origin, domain, version, offline, in_application } = options
  const originOutbound =
    origin === undefined ? undefined : createOriginOutbound({ origin: new URL(origin), version, outbound })
  // Always through the guard: an admin of a site must not send requests to what only this machine can reach.
  const siteOutbound =
    (siteOrigin: string): Outbound =>
    (url, requestOptions) =>
      outbound(new URL(new URL(url).pathname, siteOrigin).href, requestOptions)
  const policies = createPolicyMonitor({
    originOutbound,
    ...(origin === undefined ? {} : { assumedHostname: domain[0] ?? new URL(origin).hostname }),
    startsWithRequest: in_application,
    now,
    random,
    log,
    ...(offline ? {} : { siteOutbound }),
    records,
    sites: listSites,
    onChange: (change) => post?.({ type: 'policy', change }),
  })
  const sitemaps = createSitemapMonitor({
    originOutbound,
    now,
    random,
    log,
    policies,
    outbound,
    replace: events.replaceSitemap,
  })
  return { policies, sitemaps }
}
