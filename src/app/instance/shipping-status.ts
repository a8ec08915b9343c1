import type { InstanceStatus } from '../../api/instance-status.js'
import type { Shipper } from '../../site/shipping/shipper.js'
import type { Config } from '../config.js'
import { measureDataFiles } from './data-files.js'
import type { InstanceDeps } from './instance.js'
import { createRateMeter } from './rate-meter.js'
import { describeProcess } from './status.js'

/** Returns the function that describes an instance that ships its rows, and the one that ends its measuring. */
export function createShippingStatus(
  shipper: Pick<Shipper, 'stats'>,
  {
    now,
    lastError,
    ...deps
  }: Pick<Config, 'data' | 'spool_limit'> &
    Required<Pick<InstanceDeps, 'version' | 'now' | 'lastError'>> &
    Pick<InstanceDeps, 'status' | 'proxy' | 'otherRecorders'> & { collector: string },
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
        ...(error && { last_error: { at: error.at.toISOString(), message: error.message } }),
      }
      return { ...deps.status?.(), ...status }
    },
    stop: rate.stop,
  }
}
