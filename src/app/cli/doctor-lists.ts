import { join } from 'node:path'
import { loadCatalog } from '../../agents/catalog.js'
import { openListCache } from '../../agents/ranges/list-cache.js'
import { createRanges } from '../../agents/ranges/ranges.js'
import { listsOfAgent } from '../../agents/ranges/sources.js'
import type { RangesStatus } from '../../agents/ranges/status.js'
import { OutboundError } from '../../base/outbound/outbound.js'
import { openPlaceLookup } from '../../worker/ingest/place/place-lookup.js'
import type { Config } from '../config.js'
import { type Finding, fail, ok, warn } from './finding.js'

/** A year and a month; networks move to other countries and operators. */
const MAX_GEO_DATA_AGE_MS = 400 * 86_400_000

/**
 * Reads the published ranges from the data directory and the files of `--ranges`, and counts the agents that publish
 * any. Throws a one-line error if a file of `--ranges` is unusable.
 */
function cachedRanges({ data, ranges: localPaths }: Config, at: number): { ranges: RangesStatus[]; total: number } {
  const catalog = loadCatalog()
  const { status } = createRanges({
    catalog,
    outbound: async () => {
      throw new OutboundError('offline', 'doctor fetches no lists')
    },
    cache: openListCache(join(data, 'agents')),
    localPaths,
    offline: true,
    now: () => at,
    random: () => 0,
    log: () => {},
  })
  const total = catalog.agents.filter((agent) => !agent.client_side && listsOfAgent(agent).length > 0).length
  return { ranges: status(), total }
}

/** Checks the ranges of the running instance; if none runs, those that an instance with these settings would have. */
export function checkRanges(config: Config, running: RangesStatus[] | undefined, at: number): Finding {
  const check = 'published addresses'
  const mend = config.offline
    ? 'Give newer files with --ranges; without them agents cannot be verified by address.'
    : 'Run `readership agents refresh` to see what fails; without internet access give files with --ranges.'
  try {
    const { ranges: cached, total } = cachedRanges(config, at)
    const ranges = running ?? cached
    const oldest = ranges.toSorted((a, b) => (a.refreshed_at < b.refreshed_at ? -1 : 1))[0]
    if (!oldest) return warn(check, 'none: claims of agents stay indeterminate', mend)
    const says = `for ${ranges.length} of ${total} agents, the oldest from ${oldest.refreshed_at.slice(0, 10)} (${oldest.agent_id})`
    const stale = ranges.filter((one) => one.stale)
    return stale.length > 0
      ? warn(check, `${says}; incomplete or older than a week, and refuting nothing: ${stale.length}`, mend)
      : ok(check, says)
  } catch (error) {
    return fail(check, error instanceof Error ? error.message : String(error), 'Correct or remove --ranges.')
  }
}

/** Checks that the places of addresses are known, and not from long ago. */
export function checkGeoData({ geoip }: Pick<Config, 'geoip'>, at: number): Finding {
  try {
    const { sources } = openPlaceLookup({ geoip })
    if (sources.length === 0) return fail('geo data', 'missing', 'Run npm run build, or reinstall the package.')
    const says = sources.map(({ name, date }) => `${name} of ${date}`).join(', ')
    const oldest = Math.min(...sources.map(({ date }) => Date.parse(date)))
    return at - oldest > MAX_GEO_DATA_AGE_MS
      ? warn(
          'geo data',
          `${says}: networks have moved since, and countries are wrong`,
          'Update the package, or give a newer file with --geoip.',
        )
      : ok('geo data', says)
  } catch (error) {
    return fail('geo data', error instanceof Error ? error.message : String(error), 'Correct or remove --geoip.')
  }
}
