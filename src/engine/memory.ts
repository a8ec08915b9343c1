import { limitsOf, type Machine } from './machine.js'

/** The store's share where nothing is set: half of what the process may use. */
const SHARE = 0.5
/** Where the machine has no limit for it, the store is one of many. */
const MOST_OF_A_MACHINE = 2_000_000_000
/** Less is not enough to answer anything large. */
const LEAST = 128_000_000

/**
 * Memory of the store where `--memory-limit` does not say, as DuckDB writes sizes: half of what the control group
 * allows, or of any group around it; without one half of the machine's, at most 2 GB. Never less than 128 MB.
 */
export function memoryLimit(machine: Machine): string {
  const allowed = groupLimit(machine)
  const bytes = allowed === undefined ? Math.min(machine.total * SHARE, MOST_OF_A_MACHINE) : allowed * SHARE
  return `${Math.floor(Math.max(LEAST, bytes) / 1_000_000)}MB`
}

/** The least limit of the groups this process is in, below the machine's memory; undefined without. */
function groupLimit(machine: Machine): number | undefined {
  const limits = limitsOf(machine, { v2: 'memory.max', v1: { controller: 'memory', file: 'memory.limit_in_bytes' } })
    // Version 2 says `max` for none, version 1 a number beyond all memory.
    .filter((limit) => /^\d+$/.test(limit))
    .map(Number)
    .filter((limit) => limit > 0 && limit < machine.total)
  return limits.length === 0 ? undefined : Math.min(...limits)
}
