import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { DropReason } from '../capture/drop.js'
import { writePayload } from '../capture/payload.js'
import type { Site } from '../capture/site.js'
import type { Config } from '../config.js'
import type { Peer } from '../http/app.js'
import { createScript } from '../http/script.js'
import { createShippingApp } from '../http/shipping.js'
import { createDoors } from '../http/track/doors.js'
import { createLimit } from '../http/track/limit.js'
import { nodeDoors } from '../http/track/node.js'
import { givenKey, keyFile } from '../ship/key.js'
import { openSend } from '../ship/send.js'
import { createShipper } from '../ship/shipper.js'
import { sleep } from '../ship/wait.js'
import type { Instance, InstanceDeps } from './readership.js'

export type ShippingConfig = Pick<
  Config,
  'data' | 'min_free_disk' | 'site' | 'ingest_key' | 'ingest_key_file' | 'spool_limit'
> & { collector: string }

export const isShipping = <C extends Pick<Config, 'collector'>>(config: C): config is C & { collector: string } =>
  config.collector !== undefined

/**
 * Opens the spool in the data directory, and ships. Rejects with an error whose message is one line where the key cannot be
 * read, or the spool is another process's or cannot be written.
 */
export async function openShipping(
  config: ShippingConfig,
  deps: Pick<InstanceDeps, 'log' | 'version' | 'now' | 'proxy' | 'status'>,
): Promise<Instance> {
  const { log, version = '0', now = () => new Date() } = deps
  const { collector, site, ingest_key, ingest_key_file, spool_limit, min_free_disk } = config
  const key = ingest_key_file === undefined ? givenKey(ingest_key ?? '') : keyFile(ingest_key_file, log)
  const way = openSend(collector, version)
  const shipper = await createShipper({
    site,
    key,
    send: way.send,
    directory: join(config.data, 'spool'),
    spool_limit,
    min_free_disk,
    now: () => now().getTime(),
    clock: () => performance.now(),
    random: Math.random,
    id: () => randomBytes(8).toString('hex'),
    sleep,
    log,
  }).catch(async (error) => {
    await way.close()
    throw error
  })
  const drops = new Map<DropReason, number>()
  // What the collector's site says of paths and opt-outs is the collector's to apply; whose page it is the request says.
  const here: Site = {
    id: site,
    domains: [],
    timezone: 'UTC',
    respect_gpc: false,
    visitor_salt: 'month',
    excluded_paths: [],
  }
  const doors = createDoors({
    sites: async () => [here],
    record: ({ timestamp, ip, user_agent, headers, ...payload }) =>
      shipper.hit({ timestamp, ip, user_agent, ...(headers && { headers }), payload: writePayload(payload) }),
    drop: (_site, _door, reason, count = 1) => void drops.set(reason, (drops.get(reason) ?? 0) + count),
    limit: createLimit({ now: () => now().getTime(), random: randomBytes }),
    now: () => now().getTime(),
    log: (error) => log.error({ err: error }, 'a hit could not be taken'),
  })
  const started = now()
  const app = createShippingApp({
    collector,
    shipping: () => shipper.stats(),
    doors: () => [...drops].map(([reason, count]) => ({ door: 'track', reason, count })),
    proxy: () => deps.proxy?.(),
    status: () => ({ version, started_at: started.toISOString(), ...deps.status?.() }),
  })
  const script = createScript()
  const peer = (ip: string, operator: boolean): Peer => ({ ip, operator })
  return {
    record: (observation) => shipper.record(observation),
    hit: nodeDoors(doors),
    fetch: async (request, { ip }) => script(request) ?? app(request, peer(ip, false)),
    siteOf: () => site,
    control: (request) => app(request, peer('', true)),
    // The collector asks for the site's policies itself.
    policySeen() {},
    async close() {
      await shipper.close()
      await way.close()
    },
  }
}
