import type { Recorder } from '../../capture/recorder.js'
import { startWorkerClient, type WorkerClient } from '../../worker-client/worker-client.js'
import type { Config } from '../config.js'
import type { BackupConfig } from './backups.js'
import type { ServiceConfig } from './compose.js'
import type { Instance, InstanceDeps } from './instance.js'
import { rememberLastError } from './last-error.js'
import type { CurrentRules } from './rules-on-disk.js'

/** The settings of an instance that has a store of its own. */
export type InstanceConfig = Pick<
  Config,
  'data' | 'domain' | 'memory_limit' | 'min_free_disk' | 'geoip' | 'ranges' | 'offline' | 'origin'
> &
  Partial<
    Pick<
      Config,
      'max_disk' | 'pdf_font' | 'spam_referrers' | 'trusted_referrers' | 'store' | 'control' | 'role' | 'advertise'
    >
  > &
  BackupConfig &
  ServiceConfig

/**
 * Opens the data directory, starts the worker and puts the parts together. Rejects with an error of one line where the
 * store cannot be opened, because another process holds it or its directory cannot be written.
 */
export async function openInstance(
  config: InstanceConfig,
  deps: InstanceDeps & {
    /** Starts the worker; tests give another. */
    start?: typeof startWorkerClient
    /** A recorder that exists already; its batches are for the worker client that `onWorkerClient` gets. */
    recorder?: Recorder
    /** The active rules, if they were opened before. */
    currentRules?: CurrentRules
    onWorkerClient?(workerClient: WorkerClient): void
    /** Called with the stage of a long opening, in a few words. */
    onStage?(stage: string): void
    /** The origin is the application that opens this instance. */
    inApplication?: boolean
  },
): Promise<Instance> {
  const { version, start = startWorkerClient, now = () => new Date(), recorder } = deps
  const { log, last: lastError } = rememberLastError(deps.log, now)
  const { data, memory_limit, min_free_disk, geoip, ranges, offline, origin, domain } = config
  const { max_disk, spam_referrers, trusted_referrers, store, control, role, advertise } = config
  // Loaded once the worker starts: most of the program is here, and neither the proxy nor the worker waits for it.
  const parts = Promise.resolve().then(() => loadParts(config, now))
  // An unusable setting is reported below, once the worker runs and can be closed.
  parts.catch(() => {})
  const starting = start({
    data,
    memory_limit,
    min_free_disk,
    geoip,
    ranges,
    ...(max_disk !== undefined && { max_disk }),
    ...(spam_referrers && { spam_referrers }),
    ...(trusted_referrers && { trusted_referrers }),
    ...(store !== undefined && { store }),
    ...(control !== undefined && { control, role, address: advertise ?? deps.address?.() }),
    offline,
    origin,
    domain,
    in_application: deps.inApplication === true,
    version,
    log,
    onStage: deps.onStage,
    prepare: async (records) => (await parts).prepare(records),
  })
  const workerClient = await starting
  try {
    const { compose, pdf } = await parts
    deps.onWorkerClient?.(workerClient)
    return await compose(workerClient, { ...config, pdf }, { ...deps, log, lastError, ...(recorder && { recorder }) })
  } catch (error) {
    await workerClient.close()
    throw error
  }
}

async function loadParts({ domain, pdf_font }: InstanceConfig, now: () => Date) {
  const [{ compose }, { createPreparation }, { createPdfRenderer }] = await Promise.all([
    import('./compose.js'),
    import('./preparation.js'),
    import('../../analytics/export/pdf.js'),
  ])
  return { compose, prepare: createPreparation(domain, now), pdf: createPdfRenderer(pdf_font) }
}
