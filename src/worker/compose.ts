import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { loadCatalog } from '../agents/catalog.js'
import { openKept } from '../agents/ranges/kept.js'
import { createRanges } from '../agents/ranges/ranges.js'
import { createOutbound } from '../outbound/guard.js'
import { createResolve } from '../outbound/resolve.js'
import { createClassifier } from '../record/classify.js'
import { openPlaces } from '../record/place/places.js'
import { openSalts, saltFile } from '../record/salt.js'
import { createSessions } from '../record/session.js'
import type { Compose } from './serve.js'

/** The write path as it is in service. */
export const compose: Compose = ({ options, siteOf, log }) => {
  const say = (message: string, error: unknown) => log('error', message, error)
  const now = () => Date.now()
  const sessions = createSessions({ now })
  const salts = openSalts({ file: saltFile(`${options.data}/salts.json`), now, random: randomBytes, log: say })
  const outbound = createOutbound({
    resolve: createResolve(new Resolver({ timeout: 2_000, tries: 2 })),
    offline: options.offline,
    version: options.version,
  })
  const ranges = createRanges({
    catalog: loadCatalog(),
    outbound,
    kept: openKept(`${options.data}/agents`),
    own: options.ranges,
    offline: options.offline,
    now,
    random: Math.random,
    log,
  })
  const places = openPlaces(options.geoip === undefined ? {} : { geoip: options.geoip })
  return {
    classifier: createClassifier({
      catalog: loadCatalog(),
      places,
      siteOf,
      salts,
      sessions,
      log: say,
      // A flood of new user agents may take half of the worker's time, and no more.
      clock: () => performance.now(),
    }),
    restore: (open) => sessions.restore(open),
    tick: () => {
      salts.expire()
      ranges.tick()
    },
    desk: {
      refresh: () => ranges.refresh(),
      holdings: async () => ranges.holdings(),
    },
  }
}
