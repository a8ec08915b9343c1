import { randomBytes } from 'node:crypto'
import type { Config } from '../config.js'
import { startEngine } from '../engine/engine.js'
import { createPdfRenderer } from '../export/pdf.js'
import { createIngestKeys } from '../manage/ingest-keys.js'
import { bootstrap } from '../manage/orgs.js'
import { createSites } from '../manage/sites.js'
import type { Records } from '../store.js'
import { compose, type ServiceConfig } from './compose.js'
import type { Instance, InstanceDeps } from './instance.js'

/** The settings of an instance that has a store of its own. */
type InstanceConfig = Pick<
  Config,
  'data' | 'domain' | 'memory_limit' | 'min_free_disk' | 'geoip' | 'ranges' | 'offline' | 'origin'
> &
  Partial<Pick<Config, 'pdf_font' | 'spam_referrers' | 'trusted_referrers'>> &
  ServiceConfig

/**
 * Opens the data directory, starts the worker and puts the parts together. Rejects with an error of one line where the
 * store cannot be opened, because another process holds it or its directory cannot be written.
 */
export async function openInstance(
  config: InstanceConfig,
  deps: InstanceDeps & {
    /** Starts the worker; tests give another. */
    start?: typeof startEngine
  },
): Promise<Instance> {
  const { log, version, start = startEngine, now = () => new Date() } = deps
  const { data, memory_limit, min_free_disk, geoip, ranges, offline, origin } = config
  const { spam_referrers, trusted_referrers } = config
  const prepare = createPreparation(config.domain, now)
  const engine = await start({
    data,
    memory_limit,
    min_free_disk,
    geoip,
    ranges,
    ...(spam_referrers && { spam_referrers }),
    ...(trusted_referrers && { trusted_referrers }),
    offline,
    origin,
    version,
    log,
    prepare,
  })
  try {
    return await compose(engine, { ...config, pdf: createPdfRenderer(config.pdf_font) }, deps)
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** Returns a function that adds what the records must hold before rows are stored; it runs after each opening. */
function createPreparation(domains: readonly string[], now: () => Date) {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  let isStart = true
  return async (records: Records) => {
    await bootstrap(records, { domains, timezone, now: now() })
    const sites = createSites(records)
    // Only at start: after a crash of the worker, the site's owner may have removed a domain on purpose.
    if (isStart) await sites.addDomains(domains)
    isStart = false
    const ids = (await sites.list()).map(({ id }) => id)
    await createIngestKeys({ records, now, random: randomBytes }).ensure(ids)
  }
}
