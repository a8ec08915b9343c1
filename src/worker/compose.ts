import { randomBytes } from 'node:crypto'
import { loadCatalog } from '../agents/catalog.js'
import { createClassifier } from '../record/classify.js'
import { openPlaces } from '../record/place/places.js'
import { openSalts, saltFile } from '../record/salt.js'
import { createSessions } from '../record/session.js'
import { createReclassify } from './reclassify.js'
import type { Compose } from './serve.js'

/** The write path as it is in service. */
export const compose: Compose = ({ options, siteOf, events, obstacle, log }) => {
  const say = (message: string, error: unknown) => log('error', message, error)
  const now = () => Date.now()
  const catalog = loadCatalog()
  const clock = () => performance.now()
  const sessions = createSessions({ now })
  const salts = openSalts({ file: saltFile(`${options.data}/salts.json`), now, random: randomBytes, log: say })
  const places = openPlaces(options.geoip === undefined ? {} : { geoip: options.geoip })
  return {
    classifier: createClassifier({
      catalog,
      places,
      siteOf,
      salts,
      sessions,
      log: say,
      // A flood of new user agents may take half of the worker's time, and no more.
      clock,
    }),
    restore: (open) => sessions.restore(open),
    tick: () => salts.expire(),
    desk: { reclassify: createReclassify({ store: events, catalog, clock, obstacle }) },
  }
}
