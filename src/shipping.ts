import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from './config.js'
import type { Peer } from './http/app.js'
import { createShippingApp } from './http/shipping.js'
import type { Instance, InstanceDeps } from './readership.js'
import type { RawHit } from './ship/item.js'
import { givenKey, keyFile } from './ship/key.js'
import { openSend } from './ship/send.js'
import { createShipper } from './ship/shipper.js'
import { sleep } from './ship/wait.js'

/** An instance without a store: what it records is another's to keep. */
export interface ShippingInstance extends Instance {
  /** What a track door here took: the collector decides whether it makes a row. Never throws, never waits. */
  hit(hit: RawHit): void
}

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
): Promise<ShippingInstance> {
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
  const started = now()
  const app = createShippingApp({
    collector,
    shipping: () => shipper.stats(),
    proxy: () => deps.proxy?.(),
    status: () => ({ version, started_at: started.toISOString(), ...deps.status?.() }),
  })
  const peer = (ip: string, operator: boolean): Peer => ({ ip, operator })
  return {
    record: (observation) => shipper.record(observation),
    hit: (hit) => shipper.hit(hit),
    fetch: (request, { ip }) => app(request, peer(ip, false)),
    control: (request) => app(request, peer('', true)),
    // The collector asks for the site's policies itself.
    policySeen() {},
    async close() {
      await shipper.close()
      await way.close()
    },
  }
}
