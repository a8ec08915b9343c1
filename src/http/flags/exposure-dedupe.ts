import { hash } from 'node:crypto'

/** A visitor is counted as exposed to a flag once within this. */
const EXPOSURE_WINDOW_MS = 1_800_000
/** Exposures remembered; some 10 MB. Of more the oldest are forgotten, and may be recorded again. */
const MAX_REMEMBERED_EXPOSURES = 100_000

/** Whether an exposure is new, which it then is no more. */
export type IsNewExposure = (site: number, flag: string, id: string) => boolean

/** `now` in milliseconds. Ids are remembered as digests. */
export function createExposureDedupe({
  now,
  most = MAX_REMEMBERED_EXPOSURES,
}: {
  now(): number
  most?: number
}): IsNewExposure {
  /** The oldest first. */
  const exposed = new Map<number, number>()
  return (site, flag, id) => {
    // 48 bits: one exposure in some billions is taken for another's.
    const key = hash('sha256', JSON.stringify([site, flag, id]), 'buffer').readUIntBE(0, 6)
    const at = now()
    const before = exposed.get(key)
    if (before !== undefined && at - before < EXPOSURE_WINDOW_MS) return false
    exposed.delete(key)
    for (const oldest of exposed.keys()) {
      if (exposed.size < most) break
      exposed.delete(oldest)
    }
    exposed.set(key, at)
    return true
  }
}
