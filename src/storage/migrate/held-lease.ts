import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createLease, keepLease, POLL_MS } from '../records/lease.js'
import type { Records } from '../store.js'

/** After so many polls, a second apart, the lease of a process that has died is free; one that lives renews it sooner. */
const MAX_POLLS = 12

export interface HeldLease {
  readonly epoch: number
  isLost(): boolean
  release(): Promise<void>
}

/** Takes the right to write to shared records, and keeps it; undefined if another process has it. */
export async function holdLease(records: Pick<Records, 'query' | 'write'>): Promise<HeldLease | undefined> {
  const lease = createLease({
    records,
    instance: randomBytes(8).toString('hex'),
    address: '',
    clock: () => performance.now(),
  })
  for (let polls = 1; ; polls++) {
    const epoch = await lease.take()
    if (epoch !== undefined) {
      let lost = false
      const kept = keepLease({ lease, epoch }, () => {
        lost = true
      })
      return { epoch, isLost: () => lost, release: () => kept.release() }
    }
    if (lease.isRenewed() || polls === MAX_POLLS) return undefined
    await delay(POLL_MS)
  }
}
