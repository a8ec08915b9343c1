import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'

/** Facts that the limits below are computed from; tests supply other machines. */
interface Machine {
  /** Text of a file; undefined if it does not exist. */
  readText(path: string): string | undefined
  total_bytes: number
  cores: number
}

export const inspectMachine = (): Machine => ({
  total_bytes: totalmem(),
  cores: availableParallelism(),
  readText(path) {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  },
})

/** More threads share their work rather than become faster, and each takes memory. */
const MAX_READ_THREADS = 4

/**
 * Threads for one read: as many as cores, at most four. One core is left to the site where threads have no priority of
 * their own (only Linux has; `worker/low-priority.cts` sets it).
 */
export const readThreads = (cores: number): number =>
  Math.max(1, Math.min(MAX_READ_THREADS, existsSync('/proc/self/task') ? cores : cores - 1))

/** Cores that this process may use: the machine's, or the share of them that its control groups allow. At least 1. */
export function usableCores(machine: Machine): number {
  const allowed = readCgroupLimits(machine, { v2: 'cpu.max' }).flatMap((limit) => {
    const [, quota, period] = /^(\d+) (\d+)$/.exec(limit) ?? []
    return quota === undefined ? [] : Number(quota) / Number(period)
  })
  return Math.max(1, Math.floor(Math.min(machine.cores, ...allowed)))
}

const STORE_MEMORY_SHARE = 0.5
/** Without a control group's limit, the store is one program of many on the machine. */
const MAX_MEMORY_WITHOUT_CGROUP_BYTES = 2_000_000_000
/** Less is not enough for any large query. */
const MIN_MEMORY_BYTES = 128_000_000

/**
 * Memory of the store if `--memory-limit` is not set, as DuckDB writes sizes: half of what the control groups allow;
 * without a limit there, half of the machine's memory, at most 2 GB. Never less than 128 MB.
 */
export function defaultMemoryLimit(machine: Machine): string {
  const limit = readMemoryLimit(machine)
  const bytes =
    limit === undefined
      ? Math.min(machine.total_bytes * STORE_MEMORY_SHARE, MAX_MEMORY_WITHOUT_CGROUP_BYTES)
      : limit * STORE_MEMORY_SHARE
  return `${Math.floor(Math.max(MIN_MEMORY_BYTES, bytes) / 1_000_000)}MB`
}

/** Returns the lowest limit of the process's control groups that is below the machine's memory; undefined without one. */
export function readMemoryLimit(machine: Machine): number | undefined {
  const limits = readCgroupLimits(machine, {
    v2: 'memory.max',
    v1: { controller: 'memory', file: 'memory.limit_in_bytes' },
  })
    // Without a limit, version 2 says `max` and version 1 a number beyond all memory.
    .filter((limit) => /^\d+$/.test(limit))
    .map(Number)
    .filter((limit) => limit > 0 && limit < machine.total_bytes)
  return limits.length === 0 ? undefined : Math.min(...limits)
}

/** A limit's file in control groups of version 2, and its controller and file in version 1. */
interface CgroupFile {
  v2: string
  v1?: { controller: string; file: string }
}

/** Contents of a limit's file in each control group of this process and in their ancestors. */
const readCgroupLimits = ({ readText }: Machine, limit: CgroupFile): string[] =>
  listLimitFiles(readText('/proc/self/cgroup') ?? '', limit).flatMap((file) => readText(file)?.trim() ?? [])

/**
 * Paths of the limit's files. `lines` is `/proc/self/cgroup`: lines `id:controllers:path`, in version 2 without an id and
 * controllers. Inside a container the path may be the host's; the root's files are then the container's own.
 */
function listLimitFiles(lines: string, { v2, v1 }: CgroupFile): string[] {
  return lines.split('\n').flatMap((line) => {
    const [, controllers = '', path] = /^\d+:([^:]*):(\/.*)$/.exec(line.trim()) ?? []
    if (path === undefined) return []
    if (controllers === '') return listAncestors(path).map((group) => `/sys/fs/cgroup${group}/${v2}`)
    if (v1 === undefined || !controllers.split(',').includes(v1.controller)) return []
    return listAncestors(path).map((group) => `/sys/fs/cgroup/${v1.controller}${group}/${v1.file}`)
  })
}

/** From `/a/b`: `/a/b`, `/a` and the root, which is empty. */
function listAncestors(path: string): string[] {
  const words = path.split('/').filter((word) => word !== '')
  return words.map((_, n) => `/${words.slice(0, words.length - n).join('/')}`).concat('')
}
