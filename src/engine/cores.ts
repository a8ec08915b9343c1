import { type Machine, readCgroupLimits } from './machine.js'

/** Cores that this process may use: the machine's, or as much of them as the control group has time on. At least 1. */
export function usableCores(machine: Machine): number {
  const allowed = readCgroupLimits(machine, { v2: 'cpu.max' }).flatMap((limit) => {
    const [, quota, period] = /^(\d+) (\d+)$/.exec(limit) ?? []
    return quota === undefined ? [] : Number(quota) / Number(period)
  })
  return Math.max(1, Math.floor(Math.min(machine.cores, ...allowed)))
}
