import { type Machine, readCgroupLimits } from './machine.js'

/** The store's share where nothing is set: half of what the process may use. */
const STORE_MEMORY_SHARE = 0.5
/** Where the machine has no limit for it, the store is one of many. */
const MAX_MEMORY_WITHOUT_CGROUP_BYTES = 2_000_000_000
/** Less is not enough to answer anything large. */
const MIN_MEMORY_BYTES = 128_000_000

/**
 * Memory of the store where `--memory-limit` does not say, as DuckDB writes sizes: half of what the control group
 * allows, or of any group around it; without one half of the machine's, at most 2 GB. Never less than 128 MB.
 */
export function defaultMemoryLimit(machine: Machine): string {
  const allowed = readMemoryLimit(machine)
  const bytes =
    allowed === undefined
      ? Math.min(machine.total_bytes * STORE_MEMORY_SHARE, MAX_MEMORY_WITHOUT_CGROUP_BYTES)
      : allowed * STORE_MEMORY_SHARE
  return `${Math.floor(Math.max(MIN_MEMORY_BYTES, bytes) / 1_000_000)}MB`
}

/** The least limit of the groups this process is in, below the machine's memory; undefined without. */
function readMemoryLimit(machine: Machine): number | undefined {
  const limits = readCgroupLimits(machine, {
    v2: 'memory.max',
    v1: { controller: 'memory', file: 'memory.limit_in_bytes' },
  })
    // Version 2 says `max` for none, version 1 a number beyond all memory.
    .filter((limit) => /^\d+$/.test(limit))
    .map(Number)
    .filter((limit) => limit > 0 && limit < machine.total_bytes)
  return limits.length === 0 ? undefined : Math.min(...limits)
}
