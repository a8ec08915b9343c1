import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { InstanceStatus } from '../../api/instance-status.js'
import { createRateLimit } from '../../api/rate-limit.js'
import { createShippingApp } from '../../api/shipping-app.js'
import { createTrackEndpoints } from '../../api/track/endpoints.js'
import { createNodeTrackHandler } from '../../api/track/node-handler.js'
import { createScriptHandler } from '../../api/tracker-script.js'
import { SECOND_MS } from '../../base/time-units.js'
import { type Hit, isHit } from '../../capture/hit.js'
import { readEvidence, unpackBatch } from '../../capture/packed-batch.js'
import { writePayload } from '../../capture/payload.js'
import type { SiteSettings } from '../../capture/site.js'
import { sleep } from '../../site/shipping/back-off.js'
import { createCollectorClient } from '../../site/shipping/collector-client.js'
import { createFixedKey, watchKeyFile } from '../../site/shipping/ingest-key.js'
import { createShipper, type Shipper } from '../../site/shipping/shipper.js'
import type { DropReason } from '../../storage/drops.js'
import type { Config } from '../config.js'
import { measureDataFiles } from './data-files.js'
import type { Instance, InstanceDeps } from './instance.js'
import { rememberLastError } from './last-error.js'
import { createRateMeter } from './rate-meter.js'
import { startSidecarRules } from './sidecar-rules.js'
import { describeProcess } from './status.js'

/** The settings of an instance that ships its rows to a collector. */
type ShippingConfig = Pick<
  Config,
  'data' | 'min_free_disk' | 'site' | 'ingest_key' | 'ingest_key_file' | 'spool_limit'
> &
  Partial<Pick<Config, 'rules'>> & { collector: string }

/**
 * Opens the spool in the data directory and ships rows to the collector. Rejects with an error of one line where the key
 * cannot be read, or where the spool cannot be written or belongs to another process.
 */
export async function openShipping(
  config: ShippingConfig,
  deps: Pick<InstanceDeps, 'log' | 'version' | 'now' | 'proxy' | 'otherRecorders' | 'status' | 'rules' | 'ruleCounts'>,
): Promise<Instance> {
  const { version = '0', now = () => new Date() } = deps
  const { log, last: lastError } = rememberLastError(deps.log, now)
  const { collector, site, ingest_key, ingest_key_file } = config
  const key = ingest_key_file === undefined ? createFixedKey(ingest_key ?? '') : watchKeyFile(ingest_key_file, log)
  const transport = createCollectorClient(collector, version)
  const shipper = await openShipper(config, { key, send: transport.send, now, log }).catch(async (error) => {
    await transport.close()
    throw error
  })
  const sidecarRules =
    deps.rules &&
    startSidecarRules({
      rules: deps.rules,
      fetchRules: transport.fetchRules,
      key: key.current,
      site,
      isOff: config.rules === 'off',
      path: join(config.data, 'rules.json'),
      now: () => now().getTime(),
      log,
    })
  const drops = new Map<DropReason, number>()
  const localSite = createLocalSite(site)
  const recordHit = ({ timestamp, ip, user_agent, headers, ...payload }: Hit) =>
    shipper.hit({ timestamp, ip, user_agent, ...(headers && { headers }), payload: writePayload(payload) })
  const countDrop = (_site: unknown, _door: unknown, reason: DropReason, count = 1) =>
    void drops.set(reason, (drops.get(reason) ?? 0) + count)
  const endpoints = createTrackEndpoints({
    sites: async () => [localSite],
    record: recordHit,
    drop: countDrop,
    limit: createRateLimit({ now: () => now().getTime(), random: randomBytes }),
    now: () => now().getTime(),
    log: (error) => log.error({ err: error }, 'a hit could not be accepted'),
  })
  const rulesState = sidecarRules?.read
  const status = createShippingStatus(shipper, { ...config, ...deps, version, now, lastError, rulesState })
  const app = createShippingApp({
    collector,
    shipping: () => shipper.stats(),
    ingestDrops: () => [...drops].map(([reason, count]) => ({ door: 'track', reason, count })),
    proxy: () => deps.proxy?.(),
    ...(deps.ruleCounts && { rules: deps.ruleCounts }),
    ...(rulesState && { rulesAge: () => Math.max(0, now().getTime() - rulesState().confirmed) / SECOND_MS }),
    refresh: async () => deps.otherRecorders?.()?.refresh(),
    status: status.read,
  })
  const script = createScriptHandler()
  return {
    record: (observation) => shipper.record(observation),
    hit: createNodeTrackHandler(endpoints),
    fetch: async (request, { ip }) => script(request) ?? app(request, { ip, operator: false }),
    siteOf: () => site,
    // The collector decides.
    noteHostname() {},
    async recordBatch(batch) {
      for (const packed of unpackBatch(batch)) {
        const evidence = readEvidence(packed)
        if (isHit(evidence)) recordHit(evidence)
        else shipper.record(evidence)
      }
    },
    countDrop,
    watchSites: (listener) => listener([localSite]),
    control: (request) => app(request, { ip: '', operator: true }),
    // The collector fetches the site's policies itself, and bodies are not shipped.
    ...{ policySeen() {}, pageSampled() {}, endStreams() {} },
    async close() {
      status.stop()
      sidecarRules?.stop()
      await shipper.close()
      await transport.close()
    },
  }
}

const openShipper = (
  { data, site, spool_limit, min_free_disk }: ShippingConfig,
  { now, ...deps }: Pick<Parameters<typeof createShipper>[0], 'key' | 'send' | 'log'> & { now(): Date },
) =>
  createShipper({
    ...deps,
    site,
    directory: join(data, 'spool'),
    spool_limit,
    min_free_disk,
    now: () => now().getTime(),
    clock: () => performance.now(),
    random: Math.random,
    id: () => randomBytes(8).toString('hex'),
    sleep,
  })

/** The collector applies its site's excluded paths and opt-outs; any hostname is accepted here. */
const createLocalSite = (id: number): SiteSettings => ({
  id,
  domains: [],
  timezone: 'UTC',
  respect_gpc: false,
  visitor_salt: 'month',
  excluded_paths: [],
})

/** Returns the function that describes an instance that ships its rows, and the one that ends its measuring. */
function createShippingStatus(
  shipper: Pick<Shipper, 'stats'>,
  {
    now,
    lastError,
    ...deps
  }: Pick<Config, 'data' | 'spool_limit'> &
    Required<Pick<InstanceDeps, 'version' | 'now' | 'lastError'>> &
    Pick<InstanceDeps, 'status' | 'proxy' | 'otherRecorders'> & {
      collector: string
      rulesState: ReturnType<typeof startSidecarRules>['read'] | undefined
    },
) {
  const started = now().toISOString()
  const countRows = () => Object.values(shipper.stats().shipped).reduce((sum, rows) => sum + rows, 0)
  const rate = createRateMeter(countRows, () => performance.now())
  return {
    async read(): Promise<Record<string, unknown>> {
      await deps.otherRecorders?.()?.refresh()
      const { state, reason, trouble, waiting, spool_bytes: bytes, losses } = shipper.stats()
      const a_second = rate.perSecond()
      const error = lastError()
      const { confirmed, problem } = deps.rulesState?.() ?? {}
      const status: InstanceStatus = {
        version: deps.version,
        started_at: started,
        now: now().toISOString(),
        collector: deps.collector,
        store: { state, ...(reason !== undefined && { reason }), ...(trouble !== undefined && { trouble }) },
        rows: { stored: countRows(), ...(a_second !== undefined && { a_second }), waiting, dropped: { ...losses } },
        ...describeProcess(deps),
        data: await measureDataFiles(deps.data),
        spool: { rows: waiting, bytes, limit_bytes: deps.spool_limit },
        ...(confirmed !== undefined && {
          rules: {
            confirmed_at: new Date(confirmed).toISOString(),
            ...(problem !== undefined && { trouble: problem }),
          },
        }),
        ...(error && { last_error: { at: error.at.toISOString(), message: error.message } }),
      }
      return { ...deps.status?.(), ...status }
    },
    stop: rate.stop,
  }
}
