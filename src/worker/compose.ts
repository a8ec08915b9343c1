import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { loadCatalog } from '../agents/catalog.js'
import { createOutbound } from '../outbound/guard.js'
import { createOriginOutbound } from '../outbound/origin.js'
import { createResolve } from '../outbound/resolve.js'
import { createPolicyDesk } from '../policy/desk.js'
import { createKeeper } from '../policy/keeper.js'
import { createSitemaps } from '../policy/sitemaps.js'
import { createClassifier } from '../record/classify.js'
import { openPlaces } from '../record/place/places.js'
import { openSalts, saltFile } from '../record/salt.js'
import { createSessions } from '../record/session.js'
import type { Compose } from './serve.js'

const VERSION = '0.1.0'

/** The write path as it is in service. */
export const compose: Compose = ({ options, siteOf, log, records, events, policyChanged }) => {
  const say = (message: string, error: unknown) => log('error', message, error)
  const now = () => Date.now()
  const sessions = createSessions({ now })
  const salts = openSalts({ file: saltFile(`${options.data}/salts.json`), now, random: randomBytes, log: say })
  const places = openPlaces(options.geoip === undefined ? {} : { geoip: options.geoip })
  const catalog = loadCatalog()
  const outside = createOutbound({ resolve: createResolve(new Resolver()), offline: options.offline, version: VERSION })
  const ask =
    options.origin === undefined
      ? undefined
      : createOriginOutbound({ origin: new URL(options.origin), version: VERSION, outbound: outside })
  const world = { ask, now, random: Math.random, log }
  const keeper = createKeeper({ ...world, records, onChange: policyChanged })
  const sitemaps = createSitemaps({ ...world, keeper, outside, replace: events.replaceSitemap })
  return {
    classifier: createClassifier({
      catalog,
      places,
      siteOf,
      salts,
      sessions,
      log: say,
      // A flood of new user agents may take half of the worker's time, and no more.
      clock: () => performance.now(),
    }),
    restore: (open) => sessions.restore(open),
    start: () => keeper.start(),
    tick() {
      salts.expire()
      void keeper.tick()
      void sitemaps.tick()
    },
    close() {
      sitemaps.close()
      return keeper.close()
    },
    desk: createPolicyDesk({ keeper, siteOf, catalog }),
  }
}
