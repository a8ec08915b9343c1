import { randomBytes } from 'node:crypto'
import { loadCatalog } from '../agents/catalog.js'
import { openKept } from '../agents/ranges/kept.js'
import { createRanges } from '../agents/ranges/ranges.js'
import { createRdns } from '../agents/rdns.js'
import { createSignatures } from '../agents/signature/signatures.js'
import { createVerifier } from '../agents/verifier.js'
import type { WorkerOptions } from '../engine/protocol.js'
import { createBrowsing } from '../ingest/browsing.js'
import { createClassifier } from '../ingest/classify.js'
import { openPlaces } from '../ingest/place/places.js'
import { openSalts, saltFile } from '../ingest/salt.js'
import { createSessions } from '../ingest/session.js'
import { createOriginOutbound } from '../outbound/origin.js'
import type { Outbound } from '../outbound/outbound.js'
import { createPolicyDesk } from '../policy/desk.js'
import { createKeeper } from '../policy/keeper.js'
import { createSitemaps } from '../policy/sitemaps.js'
import { createAgentDesk } from './agent-desk.js'
import type { Outside } from './outside.js'
import { createReclassify } from './reclassify.js'
import type { Compose } from './serve.js'

/** The write path as it is in service, before this outside. */
export const createCompose =
  (open: (options: WorkerOptions) => Outside): Compose =>
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
      kept: openKept(`${data}/agents`),
      own: options.ranges,
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
    const verifier = createVerifier({ signatures, ranges, ...(names && { rdns: createRdns({ names, clock }) }) })

    const ask = origin === undefined ? undefined : createOriginOutbound({ origin: new URL(origin), version, outbound })
    const world = { ask, now, random, log }
    // Through the guard, whoever named it: no admin of a site sends us to what only this machine can reach.
    const askAt =
      (named: string): Outbound =>
      (url, asked) =>
        outbound(new URL(new URL(url).pathname, named).href, asked)
    const keeper = createKeeper({ ...world, ...(offline ? {} : { askAt }), records, onChange: policyChanged })
    const sitemaps = createSitemaps({ ...world, keeper, outside: outbound, replace: events.replaceSitemap })

    const salts = openSalts({ file: saltFile(`${data}/salts.json`), now, random: randomBytes, log: say })
    const sessions = createSessions({ now })
    const browsing = createBrowsing()
    const classifier = createClassifier({
      catalog,
      places: openPlaces(options.geoip === undefined ? {} : { geoip: options.geoip }),
      siteOf,
      siteById,
      salts,
      sessions,
      browsing,
      verifier,
      judges: keeper.judges,
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
      desk: {
        ...createPolicyDesk({ keeper, siteOf, catalog }),
        ...createAgentDesk({ catalog, verifier, ranges, signatures, offline, now }),
        reclassify: createReclassify({ store: events, catalog, clock, obstacle }),
      },
    }
  }
