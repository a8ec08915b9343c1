import { randomBytes } from 'node:crypto'
import { loadCatalog } from '../agents/catalog.js'
import { createVerifier } from '../agents/claim-check.js'
import { openListCache } from '../agents/ranges/list-cache.js'
import { createRanges } from '../agents/ranges/ranges.js'
import { createRdns } from '../agents/rdns.js'
import { createSignatures } from '../agents/signature/signatures.js'
import type { WorkerOptions } from '../engine/protocol.js'
import { createClassifier } from '../ingest/classify.js'
import { openPlaceLookup } from '../ingest/place/place-lookup.js'
import { openSaltFile, openSaltStore } from '../ingest/salts.js'
import { createSessionMemory } from '../ingest/session-memory.js'
import { createViewMemory } from '../ingest/view-memory.js'
import { createOriginOutbound } from '../outbound/origin-outbound.js'
import type { Outbound } from '../outbound/outbound.js'
import { createPolicyMonitor } from '../policy/policy-monitor.js'
import { createSitemapMonitor } from '../policy/sitemap-monitor.js'
import { createPolicyApi } from '../policy/worker-api.js'
import { createAgentApi } from './agent-api.js'
import type { Network } from './network.js'
import { createReclassify } from './reclassify.js'
import type { CreateParts } from './serve.js'

/** The write path as it is in service, before this outside. */
export const createPartsFactory =
  (open: (options: WorkerOptions) => Network): CreateParts =>
  ({ options, siteOf, siteById, log, records, events, obstacle, policyChanged }) => {
    const { data, version, offline, origin } = options
    const say = (message: string, error: unknown) => log('error', message, error)
    const now = () => Date.now()
    const clock = () => performance.now()
    const random = Math.random
    const catalog = loadCatalog()
    const { outbound, names } = open(options)

    const ranges = createRanges({
      catalog,
      outbound,
      cache: openListCache(`${data}/agents`),
      localPaths: options.ranges,
      offline,
      now,
      random,
      log,
    })
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
    const verifier = createVerifier({
      signatures,
      ranges,
      ...(names && { rdns: createRdns({ resolver: names, clock }) }),
    })

    const ask = origin === undefined ? undefined : createOriginOutbound({ origin: new URL(origin), version, outbound })
    const world = { ask, now, random, log }
    // Through the guard, whoever named it: no admin of a site sends us to what only this machine can reach.
    const askAt =
      (named: string): Outbound =>
      (url, asked) =>
        outbound(new URL(new URL(url).pathname, named).href, asked)
    const keeper = createPolicyMonitor({
      ...world,
      ...(offline ? {} : { siteOutbound: askAt }),
      records,
      onChange: policyChanged,
    })
    const sitemaps = createSitemapMonitor({
      ...world,
      policies: keeper,
      outbound: outbound,
      replace: events.replaceSitemap,
    })

    const salts = openSaltStore({ file: openSaltFile(`${data}/salts.json`), now, random: randomBytes, log: say })
    const sessions = createSessionMemory({ now })
    const browsing = createViewMemory()
    const classifier = createClassifier({
      catalog,
      places: openPlaceLookup(options.geoip === undefined ? {} : { geoip: options.geoip }),
      siteOf,
      siteById,
      salts,
      sessions,
      browsing,
      verifier,
      judges: keeper.judge,
      log: say,
      // A flood of new user agents may take half of the worker's time, and no more.
      clock,
    })

    return {
      classifier,
      sessions,
      browsing,
      async start() {
        if (!offline) signatures.start()
        await keeper.start()
      },
      tick() {
        salts.expire()
        ranges.tick()
        void keeper.tick()
        void sitemaps.tick()
      },
      close() {
        signatures.close()
        sitemaps.close()
        return keeper.close()
      },
      api: {
        ...createPolicyApi({ monitor: keeper, siteOf, catalog }),
        ...createAgentApi({ catalog, verifier, ranges, signatures, offline, now }),
        reclassify: createReclassify({ store: events, catalog, clock, obstacle }),
      },
    }
  }
